//! Pages that an earlier crawl knows.
//!
//! Owns what a task asks an earlier crawl and what it makes of "nothing changed": the page counts
//! as it was, and its links lead on. The files of an archive are read on threads that may wait.

use std::sync::Arc;

use clewline_core::frontier::Answer;
use clewline_core::link::LinkKind;

use super::facts::FetchFacts;
use super::page_links::{self, PageLinks};
use super::task::{Target, TaskContext};
use crate::previous::{Held, Known};

/// What an earlier crawl holds of a URL. What cannot be read is asked for as if it were new, and
/// so are sitemaps: how they were announced is not in an archive.
pub(super) async fn held(context: &TaskContext, target: &Target<'_>) -> Option<Box<Held>> {
    let past = context.past.clone();
    let past = past.filter(|_| target.kind != LinkKind::SitemapFile)?;
    let url = target.url.clone();
    let asked = tokio::task::spawn_blocking(move || past.last(&url).ok().flatten());
    asked.await.ok().flatten().map(Box::new)
}

/// Takes a page as it was.
pub(super) async fn take(
    context: &TaskContext,
    target: &Target<'_>,
    held: Held,
    answer: &mut Answer,
    facts: &mut FetchFacts,
) {
    answer.unmodified = true;
    facts.unmodified = Some(held.original.clone());
    let (url, extractor) = (target.url.clone(), Arc::clone(&context.extractor));
    let limit = context.max_body;
    let read = tokio::task::spawn_blocking(move || held.known(&url, &*extractor, limit));
    let Some(known) = read.await.ok().flatten() else {
        let problem = "it has not changed, but the earlier crawl does not say where it links to";
        facts.problem = Some(problem.to_owned());
        return;
    };
    let Known {
        extracted,
        digest,
        content_type,
        charset,
    } = known;
    facts.digest = digest;
    facts.content_type = content_type;
    facts.charset = charset.map(Into::into);
    facts.title = extracted.title;
    facts.canonical = extracted.canonical;
    facts.noindex = extracted.noindex;
    let page_links = PageLinks {
        source: target.kind,
        links: extracted.links,
        nofollow: extracted.nofollow,
    };
    page_links::take(context, &page_links, answer, facts);
}
