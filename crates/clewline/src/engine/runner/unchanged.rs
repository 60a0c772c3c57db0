//! Pages that an earlier crawl knows.
//!
//! Owns what a runner asks an earlier crawl and what it makes of "nothing changed": the page counts
//! as it was, and its links lead on. The files of an archive are read on threads that may wait.

use std::sync::Arc;

use bytes::BytesMut;
use clewline_core::link::LinkKind;

use super::page_links::{self, PageLinks};
use super::reading::whole;
use super::{JobResult, JobRunner, Target, WholeAnswer};
use crate::extract::Extracted;
use crate::previous::{Held, PastAnswer, UnchangedPage};

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
    let mark = runner.extractor_mark;
    let room = (
        runner.max_body,
        runner.renders.as_ref().map(|_| BytesMut::new()),
    );
    let read = tokio::task::spawn_blocking(move || held.known(&url, (&*extractor, mark), room));
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
        answer,
        extractor,
    } = known;
    // What could not be read of it then is no problem of now.
    extracted.problem = None;
    result.take_extracted(&mut extracted);
    result.digest = digest;
    result.content_type = content_type;
    result.charset = charset.map(Into::into);
    // What its scripts ask for may have changed all the same.
    let answer = answer.filter(|_| runner.is_kept(target, extracted.is_shell));
    result.whole = answer.and_then(|answer| past(runner, answer, &extracted, result));
    let page_links = PageLinks::new(target, extracted, extractor);
    page_links::take(runner, &page_links, result);
}

/// The page as it was, for a browser; nothing where memory is short.
fn past(
    runner: &JobRunner,
    answer: PastAnswer,
    extracted: &Extracted,
    result: &mut JobResult,
) -> Option<Box<WholeAnswer>> {
    let mut share = runner.held.share();
    share.hold(answer.body.len() as u64).ok()?;
    result.share = Some(share);
    Some(Box::new(WholeAnswer {
        status: answer.status,
        headers: answer.headers,
        ..whole(answer.body, extracted)
    }))
}
