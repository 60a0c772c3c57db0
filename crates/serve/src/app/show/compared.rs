//! What is wrong, and what changed.
//!
//! Owns what these two pages say while it is not known. Refuses to know how it is found.

use super::{Shown, ShownJob};
use crate::app::background::BackgroundResult;
use crate::app::changes;
use crate::app::reply::ApiProblem;
use crate::pages::{ChangesPage, IssuesPage};
use crate::server::ServerRequest;

pub(super) fn issues(job: &ShownJob<'_>) -> Result<Shown, ApiProblem> {
    let status = job.status()?;
    let mut page = IssuesPage {
        frame: job.frame_of(&status),
        sentence: String::new(),
        when: String::new(),
        list: String::new(),
    };
    match job.app.findings.of(&job.path, &status) {
        BackgroundResult::Made(found) => {
            page.sentence.clone_from(&found.sentence);
            page.when.clone_from(&found.when);
            page.list = found.list();
        }
        BackgroundResult::Failed(why) => page.when = format!("{why}."),
        BackgroundResult::Making => {
            "The crawl is being checked.".clone_into(&mut page.sentence);
            "The findings appear here.".clone_into(&mut page.when);
            return Ok(Shown::Making(page.html()));
        }
    }
    Ok(Shown::Page(page.html()))
}

pub(super) fn changes(job: &ShownJob<'_>, request: &ServerRequest) -> Result<Shown, ApiProblem> {
    let mut page = ChangesPage {
        frame: job.frame()?,
        sentence: String::new(),
        when: String::new(),
        others: changes::offered(job.app, &job.id),
        with: String::new(),
        list: String::new(),
    };
    let Some(jobs) = changes::wished(job.app, request, &job.path)? else {
        return Ok(Shown::Page(page.html()));
    };
    page.with.clone_from(&jobs.old);
    match jobs.difference(job.app) {
        BackgroundResult::Made(difference) => {
            (page.sentence, page.list) = changes::shown(&difference);
            page.when = format!("From {} to {}.", jobs.old, job.id);
        }
        BackgroundResult::Failed(why) => {
            "The crawls are not compared.".clone_into(&mut page.sentence);
            page.when = format!("{why}.");
        }
        BackgroundResult::Making => {
            "The crawls are being compared.".clone_into(&mut page.sentence);
            "The changes appear here.".clone_into(&mut page.when);
            return Ok(Shown::Making(page.html()));
        }
    }
    Ok(Shown::Page(page.html()))
}
