//! What is wrong, and what changed.
//!
//! Owns what these two pages say while it is not known. Refuses to know how it is found.

use super::{Shown, ShownJob};
use crate::app::changes;
use crate::app::reply::ApiProblem;
use crate::app::workbench::Asked;
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
        Asked::Made(found) => {
            page.sentence.clone_from(&found.sentence);
            page.when.clone_from(&found.when);
            page.list = found.list();
        }
        Asked::Failed(why) => page.when = format!("{why}."),
        Asked::Making => {
            page.sentence = "The crawl is being checked.".to_owned();
            page.when = "The findings appear here.".to_owned();
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
        Asked::Made(difference) => {
            (page.sentence, page.list) = changes::shown(&difference);
            page.when = format!("From {} to {}.", jobs.old, job.id);
        }
        Asked::Failed(why) => {
            page.sentence = "The crawls are not compared.".to_owned();
            page.when = format!("{why}.");
        }
        Asked::Making => {
            page.sentence = "The crawls are being compared.".to_owned();
            page.when = "The changes appear here.".to_owned();
            return Ok(Shown::Making(page.html()));
        }
    }
    Ok(Shown::Page(page.html()))
}
