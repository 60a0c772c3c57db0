//! The body of an answer, read once: hashed, searched for links, looked at, kept.
//!
//! Owns what is taken from a body while it arrives and how much of it is held. Refuses to know
//! why the page was asked for.

use bytes::{Bytes, BytesMut};
use clewline_core::frontier::{Answer, Look};
use clewline_core::link::LinkKind;
use clewline_core::outcome::FailureClass;
use xxhash_rust::xxh3::Xxh3;

use super::facts::{self, Content, FetchFacts};
use super::look;
use super::memory_budget::{Share, TooMuch};
use super::page_links::{self, PageLinks};
use super::task::{Target, TaskContext};
use crate::extract::{Extracted, Extraction, PageHead};
use crate::fetch::{FetchFailure, Response};
use crate::headers::Headers;

/// Bodies from this size are finished on a thread of their own.
const LARGE_BODY: usize = 1024 * 1024;

/// Bytes that are searched for links before other tasks of the thread have their turn.
const TURN: usize = 128 * 1024;

/// What the body told.
pub(super) struct BodyReading {
    extracted: Option<Extracted>,
    digest: u128,
    body: Option<Bytes>,
    look: Option<Box<Look>>,
    share: Share,
}

pub(super) async fn read_body(
    context: &TaskContext,
    target: &Target<'_>,
    response: &mut Response,
) -> Result<BodyReading, FetchFailure> {
    // Error pages link to the same places as all others, and redirects to one only.
    let reads_links = (200..300).contains(&response.status);
    let mut extraction: Option<Box<dyn Extraction>> = reads_links.then(|| {
        context.extractor.begin(PageHead {
            url: target.url,
            status: response.status,
            headers: &response.headers,
            sitemap: target.kind == LinkKind::SitemapFile,
        })
    });
    let mut look = (reads_links && target.closely).then(|| look::LookReader::new(target.url));
    let mut digest = Xxh3::new();
    let mut kept = context.keep_content.then(BytesMut::new);
    let mut share = context.held.share();
    let (mut size, mut turn) = (0, 0);
    while let Some(chunk) = response.body.chunk().await? {
        size += chunk.len();
        digest.update(&chunk);
        if let Some(look) = &mut look {
            look.feed(&chunk);
        }
        if let Some(extraction) = &mut extraction {
            extraction.feed(&chunk);
            turn += chunk.len();
        }
        if turn >= TURN {
            turn = 0;
            tokio::task::yield_now().await;
        }
        if let Some(kept) = &mut kept {
            kept.extend_from_slice(&chunk);
        }
        let holds = kept.as_ref().map_or(0, BytesMut::len)
            + extraction
                .as_ref()
                .map_or(0, |extraction| extraction.held());
        if share.hold(holds as u64) == Err(TooMuch) {
            return Err(short_of_memory(response));
        }
    }
    let is_cut = response.body.tally().truncated;
    if let Some(extraction) = extraction.as_mut().filter(|_| is_cut) {
        extraction.cut();
    }
    // A sitemap may have come packed.
    let is_heavy = size >= LARGE_BODY || target.kind == LinkKind::SitemapFile;
    let extracted = match extraction {
        Some(extraction) if is_heavy => Some(finish_apart(extraction).await),
        extraction => extraction.map(Extraction::finish),
    };
    let digest = digest.digest128();
    Ok(BodyReading {
        extracted,
        digest,
        look: look.map(|look| {
            Box::new(if has_markup(response) {
                look.finish()
            } else {
                look::of_digest(digest)
            })
        }),
        body: kept.map(BytesMut::freeze),
        share,
    })
}

/// Whether an answer claims to have a text between tags.
fn has_markup(response: &Response) -> bool {
    let claim = response.headers.text("content-type");
    claim.is_none_or(|claim| claim.contains("html") || claim.contains("xml"))
}

/// Ends the reading of a page without holding up the other tasks of a thread: formats that are
/// read whole are read now, which may take a second for the largest.
async fn finish_apart(extraction: Box<dyn Extraction>) -> Extracted {
    match tokio::task::spawn_blocking(|| extraction.finish()).await {
        Ok(extracted) => extracted,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // It is cancelled only with the runtime, and then nobody waits for the answer.
            Err(_) => Extracted::default(),
        },
    }
}

/// Too many large answers at once; this one is asked for again when there is room.
pub(super) fn short_of_memory(response: &Response) -> FetchFailure {
    FetchFailure {
        class: FailureClass::Incomplete,
        message: "too many large answers at once for --memory".to_owned(),
        timings: response.timings,
        wire: response.body.tally().wire,
        local: true,
        withheld: None,
        cut_short: false,
    }
}

/// Takes over what the body told; answers what is held for it beyond the facts.
pub(super) fn take_reading(
    context: &TaskContext,
    (source, read): (LinkKind, BodyReading),
    answer: &mut Answer,
    facts: &mut FetchFacts,
) -> Option<Share> {
    facts.digest = Some(facts::digest(read.digest));
    answer.look = read.look;
    let extracted = read.extracted.unwrap_or_default();
    facts.title = extracted.title;
    facts.canonical = extracted.canonical;
    facts.charset = extracted.charset.map(Into::into);
    facts.noindex = extracted.noindex;
    if facts.problem.is_none() {
        facts.problem = extracted.problem.map(str::to_owned);
    }
    let share = match read.body {
        Some(body) => {
            facts.content = Some(Content {
                headers: Headers::default(),
                body,
                links: extracted.links.to_vec(),
                share: read.share,
            });
            None
        }
        None => Some(read.share),
    };
    let page_links = PageLinks {
        source,
        links: extracted.links,
        nofollow: extracted.nofollow,
    };
    page_links::take(context, &page_links, answer, facts);
    share
}
