//! Pages that an earlier crawl knows.
//!
//! Owns what a runner asks an earlier crawl and what it makes of "nothing changed": the page counts
//! as it was, and its links lead on. The files of an archive are read on threads that may wait.

use std::sync::Arc;

use clewline_core::link::LinkKind;

use super::page_links::{self, PageLinks};
use super::{JobResult, JobRunner, Target};
use crate::previous::{Held, UnchangedPage};

/// What an earlier crawl holds of a URL. What cannot be read is asked for as if it were new, and
/// so are sitemaps: how they were announced is not in an archive.
pub(super) async fn held(runner: &JobRunner, target: &Target<'_>) -> Option<Box<Held>> {
    let is_page = target
        .kind
        .is_some_and(|kind| kind != LinkKind::SitemapFile);
    let past = runner.past.clone().filter(|_| is_page)?;
    let url = target.url.clone();
    let asked = tokio::task::spawn_blocking(move || past.last(&url).ok().flatten());
    asked.await.ok().flatten().map(Box::new)
}

/// Takes a page as it was.
pub(super) async fn take(
    runner: &JobRunner,
    target: &Target<'_>,
    held: Held,
    result: &mut JobResult,
) {
    if let Some(answer) = result.answer_mut() {
        answer.unmodified = true;
    }
    result.unmodified = Some(held.original.clone());
    let (url, extractor) = (target.url.clone(), Arc::clone(&runner.extractor));
    let limit = runner.max_body;
    let read = tokio::task::spawn_blocking(move || held.known(&url, &*extractor, limit));
    let Some(known) = read.await.ok().flatten() else {
        let problem = "it has not changed, but the earlier crawl does not say where it links to";
        result.problem = Some(problem.to_owned());
        return;
    };
    let UnchangedPage {
        mut extracted,
        digest,
        content_type,
        charset,
    } = known;
    // What could not be read of it then is no problem of now.
    extracted.problem = None;
    result.take_extracted(&mut extracted);
    result.digest = digest;
    result.content_type = content_type;
    result.charset = charset.map(Into::into);
    page_links::take(runner, &PageLinks::new(target, extracted), result);
}
