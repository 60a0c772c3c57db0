//! The health of a host: who is to blame when a request does not bring a page.
//!
//! Owns the judgement; [`super::pace`] does what follows from it. It refuses to know queues and
//! retries. Invariant: a fixed size, whatever a host answers.
//!
//! | what happened | counts against |
//! |---|---|
//! | no name, no connection, no TLS, reset before the first byte | the host at once; the page, if other pages were answered since its last failure |
//! | 5xx, time-out, too slow, cut off | the page, until most of the last answers to different URLs failed |
//! | 429, 503 | the host: it is paused; the page, if it says so again while other pages are answered |
//! | a run of 403 from URLs of a kind that was answered before | the host, as 429 |
//! | any other 4xx, a redirect | nobody |

use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::entry::{Attempts, QueueEntry};
use super::pace::Moment;
use crate::key::Key;
use crate::limits::Limits;
use crate::politeness::Politeness;
use crate::url::CrawlUrl;

#[cfg(test)]
mod tests;

/// Answers to different URLs that are needed before a host is judged by them.
const ENOUGH: u32 = 8;
/// Answers that are remembered.
const REMEMBERED: u32 = u32::BITS;
/// Pages that were asked again and failed again, before a host is given up for what fails on it.
const FAILED_AGAIN: u32 = 4;
/// A refusal among so many good answers says little about the host: one in four.
const FEW_REFUSALS: u32 = 4;
/// And so do a few in a row.
const FEW_IN_ROW: u32 = 2;
/// Refusals that were found to have nothing to do with the rate, after which they count for
/// their own page.
const UNRELATED: u8 = 2;
/// The shortest pause without Retry-After.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
/// Times that a host may ask for more patience than there is before it is given up; each costs
/// it one request.
const LONG_WAITS: u8 = 3;
/// Answers of 403 in a row that are taken for a refusal of the whole crawl.
const FORBIDDEN_RUN: u8 = 5;

/// One try of a URL, as its host's health sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried {
    key: Key,
    /// Nothing was known of this URL before.
    first: bool,
    /// When the try was handed out.
    since: Moment,
    /// When an earlier try was held against the host.
    blamed_host_at: Option<Moment>,
    now: Moment,
}

impl Tried {
    pub(super) fn new(entry: &QueueEntry, now: Moment) -> Self {
        let Attempts {
            asked_at,
            blamed_host_at,
            ..
        } = entry.attempts;
        Self {
            key: entry.key,
            first: entry.tries == 0,
            since: asked_at,
            blamed_host_at,
            now,
        }
    }
}

/// Who is to blame for a page that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The page: nothing happens to the host.
    Page,
    /// The host: it is slowed down and probed.
    Host,
    /// The host, and it is hopeless for this run.
    Hopeless,
}

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostRefusal {
    /// Only the page: the host goes on.
    Page,
    /// The page after all: what the host was slowed down by for it is taken back.
    PageAfterAll,
    /// The host, but it was paused already when this answer came, or is asked slowly enough. It
    /// is left alone until then if it named a time.
    Known(Option<Moment>),
    /// The host: it is left alone until then, and asked more slowly.
    Pause(Moment),
    /// It asks for more patience than there is. The URL ends, and if there is a moment, the host is
    /// left alone until then and asked for another URL.
    TooLong(Option<Moment>),
    /// The same, and the host is given up.
    GiveUp,
}

/// What is remembered of refusals.
#[derive(Debug, Clone, Copy, Default)]
struct Refusals {
    /// The last pause that the host did not name.
    pause: Duration,
    /// When the host was paused last, and by whom.
    at: Option<Moment>,
    by: Option<Key>,
    /// Pauses since the last good answer.
    rounds: u32,
    /// Pages that were refused again while others were answered.
    own: u8,
    /// Refusals that a much lower rate did not prevent.
    unrelated: u8,
    /// Most answers before the last refusal were good.
    few: bool,
}

/// What is remembered of a host that asks for more patience than there is.
#[derive(Debug, Clone, Copy, Default)]
struct LongWaits {
    rounds: u8,
    /// Another URL was answered meanwhile: such values bind only their own URL.
    own: bool,
}

/// What is kept of a host's health when its lane is put aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthRow {
    /// The last pause after a refusal without Retry-After.
    pub pause: Duration,
    /// Times that the host asked for more patience than there is.
    pub long_waits: u8,
    /// Such values bind only the URL that said so.
    pub long_waits_are_own: bool,
}

/// The health of one host.
#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    /// The last answers to different URLs, the newest in the lowest bit: those that failed, and
    /// those that were refusals.
    failed: u32,
    refused: u32,
    count: u32,
    /// Different pages that failed, and further tries of them, since anything was answered.
    failures_in_row: u32,
    failures_again: u32,
    /// When the newest request was handed out that was answered well.
    good_since: Option<Moment>,
    refusals: Refusals,
    long_waits: LongWaits,
    kinds: Kinds,
    forbidden: u8,
}

impl Health {
    /// A page was answered, whatever it says, and nobody is to blame.
    pub(super) fn answered(&mut self, tried: &Tried) {
        self.remember(false, false);
        self.failures_in_row = 0;
        self.failures_again = 0;
        self.forbidden = 0;
        self.good_since = self.good_since.max(Some(tried.since));
        let paused_at = self.refusals.at.unwrap_or_default();
        if tried.since >= paused_at {
            self.refusals.rounds = 0;
            if self.long_waits.rounds > 0 {
                self.long_waits = LongWaits {
                    rounds: 0,
                    own: true,
                };
            }
        }
        if tried.blamed_host_at.is_some() {
            self.refusals.own = self.refusals.own.saturating_sub(1);
        }
    }

    /// A kind of page was answered with a page.
    pub(super) fn know_kind(&mut self, url: &CrawlUrl) {
        self.kinds.add(url);
    }

    /// A page failed in a way that may be its own affair.
    pub(super) fn failed(&mut self, tried: &Tried, limits: &Limits) -> Blame {
        if tried.first {
            self.remember(true, false);
            self.failures_in_row += 1;
        } else {
            self.failures_again += 1;
        }
        // Pages that fail at first may all be well a moment later.
        let were_asked_again = limits.tries <= 1 || self.failures_again >= FAILED_AGAIN;
        if !self.is_failing() {
            Blame::Page
        } else if self.failures_in_row >= limits.failed_pages && were_asked_again {
            Blame::Hopeless
        } else if tried.first {
            Blame::Host
        } else {
            Blame::Page
        }
    }

    /// Whether most of the last answers to different URLs were failures.
    pub(super) const fn is_failing(&self) -> bool {
        self.count >= ENOUGH && self.failed.count_ones() * 2 >= self.count
    }

    /// The host recovered: it is judged anew by what comes from now on.
    pub(super) const fn start_afresh(&mut self) {
        (self.failed, self.refused, self.count) = (0, 0, 0);
    }

    /// Whether a failure to reach the host is the URL's own affair: it failed so before, and other
    /// URLs were answered since.
    pub(super) fn is_own(&self, tried: &Tried) -> bool {
        let blamed = tried.blamed_host_at;
        blamed.is_some() && self.good_since > blamed
    }

    /// Whether a 403 is one of many from a host that answered such URLs before.
    pub(super) fn is_forbidden_run(&mut self, url: &CrawlUrl, tried: &Tried) -> bool {
        if !self.kinds.has(url) {
            return false;
        }
        self.forbidden = self.forbidden.saturating_add(u8::from(tried.first));
        self.forbidden >= FORBIDDEN_RUN
    }

    /// The host said "not now", and perhaps for how long.
    pub(super) fn refused(
        &mut self,
        tried: &Tried,
        retry_after: Option<Duration>,
        politeness: &Politeness,
    ) -> HostRefusal {
        let longest = politeness.longest_retry_after;
        let is_own = self.is_own(tried);
        self.refusals.few = self.are_refusals_few();
        if tried.first {
            self.remember(false, true);
        }
        match retry_after {
            Some(after) if after > longest => self.refused_too_long(tried, longest),
            Some(after) => {
                let until = tried.now + after;
                let is_known = is_own || self.was_paused_after(tried);
                self.pause(tried);
                if is_known {
                    HostRefusal::Known(Some(until))
                } else {
                    HostRefusal::Pause(until)
                }
            }
            None if is_own => self.refused_again(tried),
            None if self.was_paused_after(tried) => HostRefusal::Known(None),
            None if self.refusals.few && self.is_presumed_own() => HostRefusal::Page,
            None => {
                let pause = self.next_pause(politeness);
                self.pause(tried);
                self.refusals.pause = pause;
                HostRefusal::Pause(tried.now + pause)
            }
        }
    }

    /// Pauses in a row without a good answer between them.
    pub(super) const fn refused_rounds(&self) -> u32 {
        self.refusals.rounds
    }

    /// Whether the host was paused after this try had been handed out.
    pub(super) fn was_paused_after(&self, tried: &Tried) -> bool {
        self.refusals.at > Some(tried.since)
    }

    /// A refusal came at a rate far below one that was refused before. If that happens again while
    /// most answers are good, the rate has nothing to do with it: answers so.
    pub(super) fn rate_hardly_matters(&mut self) -> bool {
        if !self.refusals.few {
            self.refusals.unrelated = 0;
            return false;
        }
        self.refusals.unrelated = self.refusals.unrelated.saturating_add(1);
        self.refusals.unrelated >= UNRELATED
    }

    /// A refusal came at about the rate that was refused before: the rate is the cause.
    pub(super) const fn rate_matters(&mut self) {
        self.refusals.unrelated = 0;
    }

    pub(super) const fn row(&self) -> HealthRow {
        HealthRow {
            pause: self.refusals.pause,
            long_waits: self.long_waits.rounds,
            long_waits_are_own: self.long_waits.own,
        }
    }

    pub(super) fn restore(&mut self, row: HealthRow) {
        self.refusals.pause = row.pause;
        self.long_waits = LongWaits {
            rounds: row.long_waits,
            own: row.long_waits_are_own,
        };
    }

    fn remember(&mut self, failed: bool, refused: bool) {
        self.failed = self.failed << 1 | u32::from(failed);
        self.refused = self.refused << 1 | u32::from(refused);
        self.count = (self.count + 1).min(REMEMBERED);
    }

    fn pause(&mut self, tried: &Tried) {
        if !self.was_paused_after(tried) {
            self.refusals.rounds += 1;
        }
        self.refusals.at = Some(tried.now);
        self.refusals.by = Some(tried.key);
    }

    /// A page was refused again while others were answered.
    fn refused_again(&mut self, tried: &Tried) -> HostRefusal {
        self.refusals.own = self.refusals.own.saturating_add(1);
        if self.refusals.by == Some(tried.key) {
            self.refusals.by = None;
            HostRefusal::PageAfterAll
        } else {
            HostRefusal::Page
        }
    }

    fn refused_too_long(&mut self, tried: &Tried, longest: Duration) -> HostRefusal {
        if self.long_waits.own || self.was_paused_after(tried) {
            return HostRefusal::TooLong(None);
        }
        self.pause(tried);
        self.long_waits.rounds += 1;
        if self.long_waits.rounds >= LONG_WAITS {
            HostRefusal::GiveUp
        } else {
            HostRefusal::TooLong(Some(tried.now + longest))
        }
    }

    /// The pause grows while other URLs get the same answer, and shrinks when they do not.
    fn next_pause(&self, politeness: &Politeness) -> Duration {
        let last = self.refusals.pause;
        if last.is_zero() {
            politeness.first_pause
        } else if self.refusals.rounds > 0 {
            (last * 2).min(politeness.longest_pause)
        } else {
            (last / 2).max(SHORTEST_PAUSE)
        }
    }

    fn are_refusals_few(&self) -> bool {
        let in_row = self.refused.trailing_ones();
        self.refused.count_ones() * FEW_REFUSALS < self.count && in_row < FEW_IN_ROW
    }

    fn is_presumed_own(&self) -> bool {
        self.refusals.own > 0 || self.refusals.unrelated >= UNRELATED
    }
}

/// Kinds of URLs that were answered with pages: the first folder, how deep, and the ending of the
/// name. A set that may take one kind for another, and never forgets one.
#[derive(Debug, Clone, Copy, Default)]
struct Kinds([u64; 4]);

impl Kinds {
    fn add(&mut self, url: &CrawlUrl) {
        let (word, bit) = place(url);
        self.0[word] |= bit;
    }

    fn has(self, url: &CrawlUrl) -> bool {
        let (word, bit) = place(url);
        self.0[word] & bit != 0
    }
}

fn place(url: &CrawlUrl) -> (usize, u64) {
    let path = url.path().as_bytes();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let more = memchr::memchr_iter(b'/', path).count();
    // A name directly below the root is no folder.
    let folder = memchr::memchr(b'/', path).unwrap_or(0);
    let ending = match memchr::memrchr2(b'.', b'/', path) {
        Some(at) if path[at] == b'.' => &path[at + 1..],
        _ => &[],
    };
    let hash = xxh3_64_with_seed(&path[..folder], more as u64) ^ xxh3_64_with_seed(ending, 1);
    let hash = (hash ^ hash >> 32) as usize;
    (hash >> 6 & 3, 1 << (hash & 63))
}
