//! Batches of a member: when one is sealed, what it says, and what follows when it counts.
//!
//! Owns the moment of a commit, the facts that go with it, and mail that is taken in with it. How a
//! batch is committed is the [`committer`](super::committer)'s. Invariant: what was sent is known
//! here only when its batch counts, and mail is taken in once.

use std::sync::PoisonError;
use std::time::Duration;

use clewline_core::cookies::CookieJar;
use clewline_core::fleet::{BusError, JobPhase, MailRow, ShardId, ShardRow};
use clewline_core::frontier::{Frontier, Moment};

use super::asker::LongQuestion;
use super::batch::{FleetBatch, ShardFacts};
use super::driver::FleetDriver;
use super::journal::JournalStore;
use super::membership::AtWork;
use super::messages::read_mail;
use crate::engine::{EngineError, state};
use crate::entry::Entry;
use crate::record::{OutcomeKind, Record};

/// A log that is longer than that, and than its checkpoint, is shortened.
const LONG_LOG: u64 = 4 << 20;

/// Of so much mail it is known that it was read; of more, only for a while …
const MOST_READ: usize = 1 << 16;
/// … after which no commit that was rolled back is sent again.
const LONG_AGO: Duration = Duration::from_mins(10);

/// A batch that brought so many bytes from the network is not gathered any longer, whatever its time:
/// what it holds is fetched again if this worker dies, and is uploaded as a whole.
const LARGE_BATCH: u64 = 8 << 20;

/// Whether a batch that was begun at the first moment has gathered long enough by the second, or
/// enough.
fn has_gathered((begun, now): (Moment, Moment), batch_time: Duration, bytes: u64) -> bool {
    now >= begun + batch_time || bytes >= LARGE_BATCH
}

impl FleetDriver {
    /// A URL reached its end: what it adds to the open batch of its shard.
    pub(super) fn count(&mut self, record: &Record) {
        let shard = self.shard_of(record.key);
        let is_page = matches!(
            record.outcome,
            OutcomeKind::Fetched | OutcomeKind::Unmodified
        ) && record.kind.is_page();
        *self.pages.entry(shard).or_default() += u64::from(is_page);
        *self.bytes.entry(shard).or_default() += record.wire_bytes;
    }

    pub(super) fn note_cookies(&mut self, host: &str, shard: ShardId) {
        let site = CookieJar::site_name(host).to_owned();
        self.cookies.entry(shard).or_default().insert(site);
    }

    /// Whether a shard has pages that others need more: it has no roots left, and only roots are
    /// asked. It is not idle, because its other URLs wait.
    fn hoards_pages(&self, shard: ShardId, frontier: &Frontier<JournalStore>) -> bool {
        let counts = frontier.shard_counts(shard);
        self.phase == JobPhase::Roots
            && frontier.pages_granted(shard) > 0
            && counts.is_some_and(|counts| counts.roots_todo == 0)
    }

    /// Whether it is time to seal the open batch.
    pub(super) fn wants_commit(&self, at: &mut AtWork<'_, JournalStore>) -> bool {
        let has_open = at.frontier.store().has_open_batch() || !at.batch.is_empty();
        if self.pending.is_some() || self.member.shards().next().is_none() {
            return false;
        }
        if has_open && self.must_commit {
            return true;
        }
        let bytes = self.bytes.values().sum();
        if !has_gathered((self.sealed_at, at.now), self.batch_time, bytes) {
            return false;
        }
        let frontier = &*at.frontier;
        let working = self.working(frontier);
        let mut shards = working.iter();
        let news = self.is_idle && shards.any(|shard| !self.shown_idle.contains(shard));
        let waits = working.iter().any(|shard| frontier.wants_pages(*shard));
        let wishes = waits && at.now >= self.sealed_at + 4 * self.batch_time;
        let told = !self.untold(frontier).is_empty();
        let mut shards = working.iter();
        let hoards = shards.any(|shard| self.hoards_pages(*shard, frontier));
        has_open || news || wishes || told || hoards
    }

    /// Shards that have something to say though nothing changed in them are part of the batch.
    pub(super) fn mark_shards(&self, frontier: &mut Frontier<JournalStore>) {
        let working = self.working(frontier);
        for shard in &working {
            let is_new = self.is_idle && !self.shown_idle.contains(shard);
            if is_new || frontier.wants_pages(*shard) || self.hoards_pages(*shard, frontier) {
                frontier.store().mark(*shard);
            }
        }
        for shard in self.cookies.keys() {
            frontier.store().mark(*shard);
        }
        if let Some(shard) = working.first().or(self.closing.first()) {
            // Mail goes out with a shard at least.
            frontier.store().mark(*shard);
        }
    }

    /// Says what the sealed batch does beside its changes.
    pub(super) fn complete_batch(
        &mut self,
        frontier: &mut Frontier<JournalStore>,
        cookies: &CookieJar,
        now: Moment,
    ) {
        let Some(shared) = frontier.store().take_sealed() else {
            return;
        };
        let mut batch = shared.lock().unwrap_or_else(PoisonError::into_inner);
        self.sealed_at = now;
        self.must_commit = false;
        batch.number = self.batch;
        self.batch += 1;
        let shards: Vec<ShardId> = batch.deltas.keys().copied().collect();
        for shard in shards {
            let facts = self.facts(shard, frontier);
            batch.facts.insert(shard, facts);
            for site in self.cookies.remove(&shard).unwrap_or_default() {
                let of_site = cookies.only_site(&site);
                batch.delta(shard).cookies.insert(site, of_site);
            }
        }
        batch.imported = std::mem::take(&mut self.imported);
        batch.joined = self.untold(frontier);
        self.told.extend(batch.joined.iter().cloned());
        drop(batch);
        self.pending = Some(shared);
    }

    /// Hosts that joined the scope here, of which others do not hear yet.
    fn untold(&self, frontier: &Frontier<JournalStore>) -> Vec<String> {
        let joined = frontier.joined().iter().map(ToString::to_string);
        joined.filter(|url| !self.told.contains(url)).collect()
    }

    fn facts(&mut self, shard: ShardId, frontier: &mut Frontier<JournalStore>) -> ShardFacts {
        let is_working = !self.closing.contains(&shard) && !self.losing.contains(&shard);
        let is_idle = self.is_idle && is_working;
        if is_idle {
            self.shown_idle.insert(shard);
        } else {
            self.shown_idle.remove(&shard);
        }
        let gives = is_idle || (is_working && self.hoards_pages(shard, frontier));
        ShardFacts {
            tenure: self.tenures.get(&shard).copied().unwrap_or_default(),
            head: self.member.fence(shard).map_or(0, |fence| fence.head),
            counts: frontier.shard_counts(shard).unwrap_or_default(),
            pages: self.pages.remove(&shard).unwrap_or_default(),
            bytes: self.bytes.remove(&shard).unwrap_or_default(),
            returns: if gives {
                frontier.return_pages(shard)
            } else {
                0
            },
            wants: frontier.wants_pages(shard),
            idle_in: is_idle.then_some(self.phase),
        }
    }

    /// The batch that was on its way counts; what was lost of it is dropped.
    pub(super) fn batch_counts(
        &mut self,
        frontier: &mut Frontier<JournalStore>,
        entries: &mut Vec<Entry>,
        now: Moment,
    ) -> Result<(), EngineError> {
        let (Some(shared), Some((rows, lost))) = (self.pending.take(), self.committed.take())
        else {
            return Ok(());
        };
        let batch = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if !lost.is_empty() {
            let map = &self.map;
            entries.retain(|entry| !lost.contains_key(&map.shard_of(entry.record.key)));
        }
        if !rows.is_empty() {
            self.hear_count(&batch, &rows, frontier, now)?;
        }
        for (shard, tenure) in lost {
            let is_held = self.member.shards().any(|held| held == shard);
            if is_held && self.tenures.get(&shard) == Some(&tenure) {
                self.lose(shard);
            }
        }
        Ok(())
    }

    fn hear_count(
        &mut self,
        batch: &FleetBatch,
        rows: &[ShardRow],
        frontier: &mut Frontier<JournalStore>,
        now: Moment,
    ) -> Result<(), EngineError> {
        let lease_now = self.lease_now();
        frontier.know_sent(batch.sent_keys()).map_err(state)?;
        for id in &batch.imported {
            self.has_read.insert(*id, Some(lease_now));
        }
        if self.has_read.len() > MOST_READ {
            let kept = |read: &Option<Moment>| read.is_none_or(|at| at + LONG_AGO > lease_now);
            self.has_read.retain(|_, read| kept(read));
        }
        for (shard, facts) in &batch.facts {
            self.member.committed(*shard, lease_now);
            let row = rows.iter().find(|row| row.shard == *shard);
            if let Some(row) = row
                && frontier.shard_counts(*shard).is_some()
            {
                self.take_grant(row, frontier, now)?;
                if facts.wants {
                    self.shown_idle.remove(shard);
                }
                self.shorten(row);
            }
        }
        Ok(())
    }

    fn take_grant(
        &mut self,
        row: &ShardRow,
        frontier: &mut Frontier<JournalStore>,
        now: Moment,
    ) -> Result<(), EngineError> {
        let had = frontier.pages_granted(row.shard);
        let uncounted = self.pages.get(&row.shard).copied().unwrap_or_default();
        let more = row.grant.saturating_sub(uncounted + had);
        if more > 0 {
            frontier.grant_pages(row.shard, more, now).map_err(state)?;
            self.is_idle = false;
        }
        Ok(())
    }

    /// Has a long log shortened, one at a time.
    fn shorten(&mut self, row: &ShardRow) {
        let (checkpoint, tail) = row.log_bytes;
        if tail > LONG_LOG.max(checkpoint) && !std::mem::replace(&mut self.is_compacting, true) {
            let question = LongQuestion::Compact(row.shard, row.fence.epoch);
            self.asker.ask_long(question);
        }
    }

    /// Asks for mail about as often as something is committed.
    pub(super) fn ask_mail(&mut self, at: &AtWork<'_, JournalStore>) {
        let gap = self.batch_time.min(Duration::from_millis(250));
        if self.is_asking_mail || at.now < self.mail_asked + gap || !self.may_work() {
            return;
        }
        let shards = self.working(at.frontier);
        if !shards.is_empty() {
            self.is_asking_mail = true;
            self.mail_asked = at.now;
            let question = LongQuestion::Mail(shards.into_iter().collect());
            self.asker.ask_long(question);
        }
    }

    /// Takes in mail that was asked for at `sent`. What was taken in before is in the table again if
    /// its sender's commit was rolled back after it was read, and was sent anew: it is removed again.
    pub(super) fn hear_mail(
        &mut self,
        mail: Result<Vec<MailRow>, BusError>,
        sent: Moment,
        at: &mut AtWork<'_, JournalStore>,
    ) -> Result<(), EngineError> {
        self.is_asking_mail = false;
        let mail = match mail {
            Ok(mail) => mail,
            Err(error) => {
                self.is_away(error);
                return Ok(());
            }
        };
        let working = self.working(at.frontier);
        for row in mail {
            if !working.contains(&row.id.shard) {
                continue;
            }
            match self.has_read.get(&row.id) {
                None => {
                    let read = read_mail(&row.body, &self.map.keyer);
                    for one in read.map_err(state)? {
                        at.frontier.admit_mail(one, at.now).map_err(state)?;
                    }
                    self.is_idle = false;
                }
                Some(Some(durable)) if *durable <= sent => {}
                Some(_) => continue,
            }
            self.has_read.insert(row.id, None);
            at.frontier.store().mark(row.id.shard);
            self.imported.push(row.id);
        }
        Ok(())
    }

    /// What is open is committed without waiting for its time.
    pub(super) const fn must_commit_soon(&mut self) {
        self.must_commit = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gathers_for_its_time_or_until_it_is_large() {
        let moment = |seconds| Moment::ZERO + Duration::from_secs(seconds);
        for (now, bytes, expected) in [
            (0, 0, false),
            (4, LARGE_BATCH - 1, false),
            (5, 0, true),
            (0, LARGE_BATCH, true),
        ] {
            let times = (moment(0), moment(now));
            let gathered = has_gathered(times, Duration::from_secs(5), bytes);
            assert_eq!(gathered, expected, "{now} s, {bytes} bytes");
        }
    }
}
