//! The body of an answer, read once: hashed, searched for links, looked at, kept.
//!
//! Owns what is taken from a body while it arrives and how much of it is held. Refuses to know
//! why the page was asked for.

use bytes::BytesMut;
use clewline_core::link::LinkKind;
use clewline_core::outcome::FailureClass;
use data_encoding::HEXLOWER;
use xxhash_rust::xxh3::Xxh3;

use super::super::look;
use super::super::memory_budget::TooMuch;
use super::super::rendering::RenderProspect;
use super::page_links::{self, PageLinks};
use super::{JobResult, JobRunner, Target, WholeAnswer};
use crate::extract::{Extracted, Extraction, PageHead};
use crate::fetch::{FetchFailure, Response};

/// Bodies from this size are finished on a thread of their own.
const LARGE_BODY: usize = 1024 * 1024;

/// Bytes that are searched for links before other tasks of the thread have their turn.
pub(super) const TURN: usize = 128 * 1024;

/// Reads the body of a page and takes over what it tells.
pub(super) async fn read_body(
    runner: &JobRunner,
    target: &Target<'_>,
    response: &mut Response,
    result: &mut JobResult,
) -> Result<(), FetchFailure> {
    let is_sitemap = target.kind == Some(LinkKind::SitemapFile);
    // Error pages link to the same places as all others, and redirects to one only.
    let reads_links = (200..300).contains(&response.status);
    let mut extraction: Option<Box<dyn Extraction>> = reads_links.then(|| {
        runner.extractor.begin(PageHead {
            url: target.url,
            status: response.status,
            headers: &response.headers,
            sitemap: is_sitemap,
        })
    });
    let mut look = (reads_links && target.closely).then(|| look::LookReader::new(target.url));
    let mut digest = Xxh3::new();
    let mut kept = KeptBody::begin(runner, target, response);
    let mut share = runner.held.share();
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
        kept.push(&chunk, extraction.as_deref());
        let holds = kept.len()
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
    let is_heavy = size >= LARGE_BODY || is_sitemap;
    let extracted = match extraction {
        Some(extraction) if is_heavy => Some(finish_apart(extraction).await),
        extraction => extraction.map(Extraction::finish),
    };
    let digest = digest.digest128();
    result.digest = Some(spelled(digest));
    result.share = Some(share);
    if let (Some(look), Some(answer)) = (look, result.answer_mut()) {
        answer.look = Some(Box::new(if has_markup(response) {
            look.finish()
        } else {
            look::of_digest(digest)
        }));
    }
    let mut extracted = extracted.unwrap_or_default();
    result.take_extracted(&mut extracted);
    let kept = kept.bytes;
    let kept = kept.filter(|_| runner.is_kept(target, extracted.is_shell));
    result.whole = kept.map(|body| Box::new(whole(body, &extracted)));
    let extractor = runner.extractor_mark.filter(|_| reads_links && !is_cut);
    let page_links = PageLinks::new(target, extracted, extractor);
    page_links::take(runner, &page_links, result);
    Ok(())
}

/// The body of an answer, as long as somebody may want it whole.
struct KeptBody {
    bytes: Option<BytesMut>,
    /// Only a page that looks empty is wanted.
    only_shell: bool,
}

impl KeptBody {
    fn begin(runner: &JobRunner, target: &Target<'_>, response: &Response) -> Self {
        let is_success = (200..300).contains(&response.status);
        let may_be_used = is_success && (has_markup(response) || is_shared_part(target));
        let prospect = if runner.keeps_whole || may_be_used {
            runner.prospect(target)
        } else {
            RenderProspect::Closed
        };
        Self {
            bytes: (prospect != RenderProspect::Closed).then(BytesMut::new),
            only_shell: prospect == RenderProspect::ShellOnly,
        }
    }

    /// Takes a piece that was searched already; forgets all of them once the page has too much to look empty.
    fn push(&mut self, chunk: &[u8], extraction: Option<&dyn Extraction>) {
        let may_be_shell = || extraction.is_some_and(Extraction::may_be_shell);
        match &mut self.bytes {
            None => {}
            Some(_) if self.only_shell && !may_be_shell() => self.bytes = None,
            Some(bytes) => bytes.extend_from_slice(chunk),
        }
    }

    fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, BytesMut::len)
    }
}

/// Reads what a page asked for, whole.
pub(super) async fn read_part(
    runner: &JobRunner,
    response: &mut Response,
    result: &mut JobResult,
) -> Result<(), FetchFailure> {
    let mut body = BytesMut::new();
    let mut share = runner.held.share();
    while let Some(chunk) = response.body.chunk().await? {
        body.extend_from_slice(&chunk);
        if share.hold(body.len() as u64) == Err(TooMuch) {
            return Err(short_of_memory(response));
        }
    }
    result.share = Some(share);
    result.whole = Some(Box::new(WholeAnswer {
        body: body.freeze(),
        ..WholeAnswer::default()
    }));
    Ok(())
}

/// Whether rendered pages may need the same.
pub(super) fn is_shared_part(target: &Target<'_>) -> bool {
    matches!(target.kind, Some(LinkKind::Style | LinkKind::Script))
}

pub(super) fn whole(body: BytesMut, extracted: &Extracted) -> WholeAnswer {
    WholeAnswer {
        body: body.freeze(),
        links: extracted.links.to_vec(),
        dropped_links: extracted.dropped_links,
        other_references: extracted.other_references,
        ..WholeAnswer::default()
    }
}

/// Whether an answer claims to have a text between tags.
fn has_markup(response: &Response) -> bool {
    let claim = response.headers.text("content-type");
    claim.is_none_or(|claim| claim.contains("html") || claim.contains("xml"))
}

/// Ends the reading of a page without holding up the other tasks of a thread: formats that are
/// read whole are read now, which may take a second for the largest.
pub(super) async fn finish_apart(extraction: Box<dyn Extraction>) -> Extracted {
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

/// A digest as it stands in a record. Every page has one, so it is not left to `format!`.
fn spelled(digest: u128) -> String {
    let mut text = String::with_capacity("xxh3:".len() + 32);
    text.push_str("xxh3:");
    HEXLOWER.encode_append(&digest.to_be_bytes(), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_all_their_digits() {
        for number in [0, 0xabc, 1 << 127, u128::MAX] {
            assert_eq!(spelled(number), format!("xxh3:{number:032x}"));
        }
    }
}
