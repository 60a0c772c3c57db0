//! What a try brought to light, and the record made of it.
//!
//! Owns the way from an answer's facts to a line of `urls.jsonl`.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use clewline_core::frontier::{Finished, Try};
use clewline_core::key::Key;
use clewline_core::link::{Link, LinkKind};
use clewline_core::outcome::Outcome;
use clewline_core::url::CrawlUrl;
use data_encoding::HEXLOWER;

use super::memory_budget::Share;
use crate::clock::{rfc3339, timestamp};
use crate::exchange::{Exchange, Unmodified};
use crate::fetch::{Response, Timings};
use crate::headers::Headers;
use crate::record::{EarlierTry, Entry, FORMAT, OutcomeKind, PhaseMillis, Record};

/// What a try brought to light.
#[derive(Debug, Default)]
pub(super) struct FetchFacts {
    /// The URL that was asked, if an answer came.
    pub(super) url: Option<CrawlUrl>,
    pub(super) status: Option<u16>,
    pub(super) address: Option<IpAddr>,
    pub(super) timings: PhaseMillis,
    pub(super) decoded: u64,
    pub(super) truncated: bool,
    pub(super) content_type: Option<String>,
    pub(super) charset: Option<Cow<'static, str>>,
    pub(super) title: Option<String>,
    pub(super) canonical: Option<CrawlUrl>,
    pub(super) last_modified: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) noindex: bool,
    pub(super) redirect_to: Option<String>,
    pub(super) problem: Option<String>,
    pub(super) links: Vec<(Key, LinkKind)>,
    pub(super) content: Option<Content>,
    pub(super) exchange: Option<Arc<Exchange>>,
    pub(super) outlinks: Option<Vec<u8>>,
    /// The earlier capture that the answer stands for.
    pub(super) unmodified: Option<Unmodified>,
}

/// What only the users of the library want: the page itself.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) headers: Headers,
    pub(super) body: Bytes,
    pub(super) links: Vec<Link>,
    pub(super) share: Share,
}

/// Phases in milliseconds; `total` runs from hand-out to the last byte.
pub(super) fn phases(timings: &Timings, total: Duration) -> PhaseMillis {
    let millis = |phase: Duration| (phase.as_secs_f64() * 1e6).round() / 1e3;
    PhaseMillis {
        connect: timings.connect.map(millis),
        tls: timings.tls.map(millis),
        first_byte: timings.first_byte.map(millis),
        total: Some(millis(total)),
    }
}

/// A digest as it stands in a record. Every page has one, so it is not left to `format!`.
pub(super) fn digest(digest: u128) -> String {
    let mut text = String::with_capacity("xxh3:".len() + 32);
    text.push_str("xxh3:");
    HEXLOWER.encode_append(&digest.to_be_bytes(), &mut text);
    text
}

/// What a server asks for that takes names and passwords only in a way that is not known here
/// (RFC 9110 section 11.6.1).
pub(super) fn unknown_authentication(response: &Response) -> Option<String> {
    let challenges = response.headers.all("www-authenticate");
    let challenges: Vec<_> = challenges.map(String::from_utf8_lossy).collect();
    let words = challenges.iter().flat_map(|text| text.split([' ', ',']));
    let names = |scheme: &str| words.clone().any(|word| word.eq_ignore_ascii_case(scheme));
    if response.status != 401 || names("Basic") {
        return None;
    }
    let others = ["Digest", "Negotiate", "NTLM", "Bearer"];
    let scheme = others.into_iter().find(|scheme| names(scheme))?;
    Some(format!(
        "it asks for {scheme} authentication, and clewline knows only Basic (-u)"
    ))
}

fn earlier_try(one: &Try) -> EarlierTry {
    EarlierTry {
        at: rfc3339(Duration::from_millis(one.at)),
        status: one.status,
        failure: one.failure,
    }
}

/// The record of a URL that reached its end.
pub(super) fn entry(finished: Finished, facts: FetchFacts) -> Entry {
    let Finished {
        entry,
        outcome,
        new_links,
        error,
        ..
    } = finished;
    let (kind, redirect, reason, failure) = match outcome {
        Outcome::Fetched => (OutcomeKind::Fetched, None, None, None),
        Outcome::Redirected(to) => (OutcomeKind::Redirected, Some(to.to_string()), None, None),
        Outcome::Unmodified => (OutcomeKind::Unmodified, None, None, None),
        Outcome::Skipped(reason) => (OutcomeKind::Skipped, None, Some(reason), None),
        Outcome::Failed(class) => (OutcomeKind::Failed, None, None, Some(class)),
    };
    let record = Record {
        v: FORMAT,
        url: entry.url,
        key: entry.key,
        outcome: kind,
        status: facts.status,
        redirect_to: redirect.or(facts.redirect_to),
        reason,
        failure,
        error: error.map(String::from).or(facts.problem),
        wire_bytes: entry.wire,
        body_bytes: facts.decoded,
        truncated: facts.truncated,
        content_type: facts.content_type,
        charset: facts.charset.map(Cow::into_owned),
        links: facts.links.len() as u32,
        new_links,
        depth: entry.depth,
        kind: entry.kind,
        found_on: entry.found_on.map(|url| (*url).clone()),
        tries: entry.tries,
        earlier: entry.earlier.iter().map(earlier_try).collect(),
        timings: facts.timings,
        address: facts.address,
        title: facts.title,
        canonical: facts.canonical,
        lastmod: entry.lastmod.map(String::from).or(facts.last_modified),
        digest: facts.digest,
        noindex: facts.noindex,
        fetched_at: timestamp(),
    };
    Entry {
        record,
        links: facts.links,
        exchange: facts.exchange,
        outlinks: facts.outlinks.unwrap_or_default(),
        line: OnceLock::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_all_their_digits() {
        for number in [0, 0xabc, 1 << 127, u128::MAX] {
            assert_eq!(digest(number), format!("xxh3:{number:032x}"));
        }
    }
}
