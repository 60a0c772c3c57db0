//! What a job brought back, as a person reads it.
//!
//! Owns the way from a job's result to a hop and to the facts of a page. It refuses to know what
//! is asked next.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use clewline_core::frontier::Ending;
use clewline_core::link::Link;
use clewline_core::outcome::is_redirect_status;
use clewline_core::url::CrawlUrl;

use super::fields::{charset_source, shown};
use crate::clock::millis;
use crate::engine::runner::{JobResult, WholeAnswer};
use clewline_job::inspection::{Hop, PageFacts, Phases};

/// A page that was read.
pub(super) struct Reading {
    pub(super) facts: PageFacts,
    pub(super) links: Vec<Link>,
    pub(super) body: Bytes,
}

impl Reading {
    /// What an answer told; none where there was no whole answer.
    pub(super) fn new(result: &mut JobResult) -> Option<Self> {
        let (answer, whole) = (result.answer()?, result.whole.as_ref()?);
        // The runner takes it from the extractor, which knows all by name.
        let charset = match result.charset {
            Some(Cow::Borrowed(charset)) => Some(charset),
            _ => None,
        };
        let facts = PageFacts {
            url: result.url.clone()?,
            status: answer.status,
            content_type: result.content_type.clone(),
            charset,
            charset_by: charset.map(|it| charset_source(it, &whole.headers, &whole.body)),
            title: result.title.clone(),
            canonical: result.canonical.clone(),
            noindex: result.noindex,
            nofollow: answer.nofollow,
            wire_bytes: answer.wire,
            body_bytes: result.decoded,
            truncated: result.truncated,
            digest: result.digest.clone(),
            // That its type is not wanted is how the inspection ends.
            problem: result.problem.clone().filter(|_| answer.unread.is_none()),
            dropped_links: whole.dropped_links,
            other_references: whole.other_references,
        };
        let whole = result.whole.as_mut()?;
        Some(Self {
            facts,
            links: std::mem::take(&mut whole.links),
            body: std::mem::take(&mut whole.body),
        })
    }
}

/// A request as it was sent.
pub(super) struct Sent {
    pub(super) url: CrawlUrl,
    /// From the start of the inspection.
    pub(super) started: Duration,
    /// The address that it went to; none through a proxy.
    pub(super) address: Option<IpAddr>,
    pub(super) proxied: bool,
    pub(super) with_cookies: bool,
    /// The time of a resolution that it is charged with.
    pub(super) resolve: Option<Duration>,
}

impl Sent {
    /// The request with what came of it.
    pub(super) fn hop(self, result: &JobResult) -> Hop {
        let whole = result.whole.as_deref();
        let timings = &result.timings;
        let (wire_bytes, failure) = match &result.settlement.ending {
            Ending::Answered(answer) => (answer.wire, None),
            Ending::Failed(failure) => (failure.wire, Some(failure.into())),
            Ending::CutShort { wire, .. } => (*wire, None),
            Ending::Resolved { .. } | Ending::Withheld { .. } => (0, None),
        };
        let resolve = self.resolve.map(millis);
        let body = result.total.zip(result.head_after);
        let body = body.filter(|_| failure.is_none());
        Hop {
            address: self.address,
            proxied: self.proxied,
            status: whole.map(|whole| whole.status),
            location: whole.and_then(redirect).map(Cow::into_owned),
            headers: whole.map_or_else(Vec::new, |whole| shown(&whole.headers)),
            cookies_sent: self.with_cookies,
            failure,
            phases: Phases {
                resolve,
                connect: timings.connect.map(millis),
                tls: timings.tls.map(millis),
                first_byte: timings.first_byte.map(millis),
                body: body.map(|(total, head)| millis(total.saturating_sub(head))),
                total: result
                    .total
                    .map(|total| millis(total) + resolve.unwrap_or_default()),
            },
            wire_bytes,
            ..Hop::unasked(&self.url, millis(self.started))
        }
    }
}

/// Where a redirect points.
fn redirect(whole: &WholeAnswer) -> Option<Cow<'_, str>> {
    let location = whole.headers.reference("location");
    location.filter(|_| is_redirect_status(whole.status))
}
