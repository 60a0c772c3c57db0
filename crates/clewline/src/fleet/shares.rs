//! Shards that come to a member and leave it.
//!
//! Owns the steps: a shard that was claimed is loaded and taken over; one too many is closed,
//! drained, committed and given back; one that has another owner is dropped with all that was done
//! in it since the last commit. The store takes shards in and out only while no batch is on its way.
//! Invariant: what was done in a shard that was lost is in no batch that is sealed after that.

use std::collections::{BTreeMap, BTreeSet};

use clewline_core::fleet::{BusError, ShardId, ShardRow};
use clewline_core::frontier::{Adoption, Frontier, JobId, Moment};

use super::asker::LongQuestion;
use super::driver::{FleetDriver, Leaving, Loading, all_flights};
use super::journal::JournalStore;
use super::lease::HeldLease;
use super::membership::AtWork;
use super::shard_log::ShardLog;
use crate::engine::{EngineError, state};

impl FleetDriver {
    /// The shards that it owns and may work in.
    pub(super) fn working(&self, frontier: &Frontier<JournalStore>) -> BTreeSet<ShardId> {
        let owned = frontier.owned_shards().into_iter();
        let is_open = |shard: &ShardId| {
            self.member.fence(*shard).is_some()
                && !self.closing.contains(shard)
                && !self.losing.contains(shard)
        };
        owned.filter(is_open).collect()
    }

    /// What commits may believe: the shards that are held, in which tenure and epoch.
    pub(super) fn held_leases(&self) -> BTreeMap<ShardId, HeldLease> {
        let held = self.member.shards();
        let held = held.filter(|shard| !self.losing.contains(shard));
        held.map(|shard| {
            let lease = HeldLease {
                tenure: self.tenures.get(&shard).copied().unwrap_or_default(),
                epoch: self.member.fence(shard).map(|fence| fence.epoch),
            };
            (shard, lease)
        })
        .collect()
    }

    /// A shard is somebody else's: nothing of it counts from the last commit on.
    pub(super) fn lose(&mut self, shard: ShardId) {
        self.member.lost(shard);
        self.loading.remove(&shard);
        self.losing.insert(shard);
    }

    /// Jobs that must not be waited for: all of them when others may ask their hosts soon, and those
    /// of shards that are lost.
    pub(super) fn jobs_to_drop(&mut self, frontier: &Frontier<JournalStore>) -> Vec<JobId> {
        let now = self.lease_now();
        let grace_is_over = matches!(self.leaving, Leaving::Until(at) if self.clock_is_past(at));
        if self.member.must_drop(now) || grace_is_over || self.has_job_ended() {
            self.ungranted.clear();
            return all_flights(frontier);
        }
        let flights = |shards: &BTreeSet<ShardId>| -> BTreeSet<JobId> {
            let shards = shards.iter();
            shards
                .flat_map(|shard| frontier.flights_of(*shard))
                .collect()
        };
        let mut jobs = flights(&self.losing);
        // A name of a closed shard that waits for a grant would wait for ever, and its shard with it.
        if !self.ungranted.is_empty() {
            let closed = flights(&self.closing);
            let waiting = self.ungranted.iter();
            let waiting = waiting.map(|(result, _)| result.settlement.job);
            jobs.extend(waiting.filter(|job| closed.contains(job)));
        }
        self.ungranted
            .retain(|(result, _)| !jobs.contains(&result.settlement.job));
        jobs.into_iter().collect()
    }

    const fn has_job_ended(&self) -> bool {
        matches!(self.leaving, Leaving::JobEnded(_))
    }

    /// Whether the time for what is in flight is over, by the clock of the lease.
    fn clock_is_past(&self, at: Moment) -> bool {
        self.lease_now() >= at
    }

    /// Takes shards over, gives them back and drops them, as far as that can be done now.
    pub(super) fn move_shards(
        &mut self,
        at: &mut AtWork<'_, JournalStore>,
    ) -> Result<(), EngineError> {
        self.ask_for_logs();
        self.close_surplus(at)?;
        self.close_lost(at)?;
        if at.is_writing {
            return Ok(());
        }
        self.drop_lost(at)?;
        self.give_back_drained(at)?;
        self.take_over(at)
    }

    fn ask_for_logs(&mut self) {
        for (shard, loading) in &mut self.loading {
            let is_sure = self.member.fence(*shard).is_some();
            if is_sure && loading.loaded.is_none() && !loading.is_asked {
                loading.is_asked = true;
                self.asker.ask_long(LongQuestion::Load(*shard));
            }
        }
    }

    pub(super) fn hear_loaded(
        &mut self,
        shard: ShardId,
        loaded: Result<Box<(ShardRow, ShardLog)>, BusError>,
    ) {
        let fence = self.member.fence(shard);
        if let Some(loading) = self.loading.get_mut(&shard) {
            loading.is_asked = false;
            match loaded {
                // A late write of the former owner may have come after the claim was heard of, but
                // none after the claim.
                Ok(loaded)
                    if loaded.0.worker == Some(self.member.id())
                        && Some(loaded.0.fence) == fence =>
                {
                    loading.loaded = Some(loaded);
                }
                Ok(_) => {}
                Err(error) => self.is_away(error),
            }
        }
    }

    /// Takes over the shards that are loaded.
    fn take_over(&mut self, at: &mut AtWork<'_, JournalStore>) -> Result<(), EngineError> {
        let member = &self.member;
        let is_ready = |shard: &ShardId, loading: &mut Loading| {
            let row = loading.loaded.as_ref().map(|loaded| loaded.0.fence);
            row.is_some() && row == member.fence(*shard)
        };
        let ready: Vec<(ShardId, Loading)> = self.loading.extract_if(.., is_ready).collect();
        if ready.is_empty() {
            return Ok(());
        }
        let mut logs = Vec::new();
        let mut adoptions = Vec::new();
        for (shard, loading) in ready {
            let Some(loaded) = loading.loaded else {
                continue;
            };
            let (row, log) = *loaded;
            for (site, cookies) in &log.cookies {
                at.cookies.replace_site(site, cookies);
            }
            logs.push((shard, log));
            adoptions.push((shard, row, loading.grace));
        }
        at.frontier.store().import(logs).map_err(state)?;
        for (shard, row, grace) in adoptions {
            let adoption = Adoption {
                counts: row.counts,
                pages: row.grant,
                grace,
            };
            at.frontier.adopt_shard(shard, adoption, at.now);
            if row.fence.head == 0 {
                self.bring_roots(shard, at)?;
            }
        }
        self.deaths.suspect_in(at.frontier);
        self.is_idle = false;
        Ok(())
    }

    /// The first owner of all brings the roots of a shard.
    fn bring_roots(
        &mut self,
        shard: ShardId,
        at: &mut AtWork<'_, JournalStore>,
    ) -> Result<(), EngineError> {
        at.frontier.store().mark(shard);
        for root in self.roots.clone() {
            if self.shard_of(self.map.keyer.key(&root.url)) == shard {
                at.frontier
                    .admit_root(root.url, root.guessed_scheme, at.now)
                    .map_err(state)?;
            }
        }
        Ok(())
    }

    /// Closes shards beyond its share, or all of them if it leaves.
    fn close_surplus(&mut self, at: &mut AtWork<'_, JournalStore>) -> Result<(), EngineError> {
        if self.is_leaving() {
            for shard in self.working(at.frontier) {
                self.close(shard, at)?;
            }
            self.loading.clear();
            self.give_back_unloaded(at.frontier);
        } else if self.member.surplus() > self.closing.len()
            && let Some(shard) = self.emptiest(at.frontier)
        {
            self.close(shard, at)?;
        }
        Ok(())
    }

    fn close(
        &mut self,
        shard: ShardId,
        at: &mut AtWork<'_, JournalStore>,
    ) -> Result<(), EngineError> {
        at.frontier.close_shard(shard, at.now).map_err(state)?;
        self.closing.insert(shard);
        Ok(())
    }

    fn give_back_unloaded(&mut self, frontier: &Frontier<JournalStore>) {
        let unloaded: Vec<ShardId> = self.member.shards().collect();
        for shard in unloaded {
            if frontier.shard_counts(shard).is_none()
                && let Some(request) = self.member.give_back(shard)
            {
                let info = self.info(frontier);
                self.ask_member(request, &info);
            }
        }
    }

    /// A shard to give back, the emptiest one.
    fn emptiest(&self, frontier: &Frontier<JournalStore>) -> Option<ShardId> {
        let shards = self.working(frontier).into_iter();
        shards.min_by_key(|shard| frontier.shard_counts(*shard).map(|counts| counts.todo()))
    }

    fn close_lost(&mut self, at: &mut AtWork<'_, JournalStore>) -> Result<(), EngineError> {
        for shard in &self.losing {
            if at.frontier.shard_counts(*shard).is_some() && !self.closing.contains(shard) {
                at.frontier.close_shard(*shard, at.now).map_err(state)?;
                self.closing.insert(*shard);
            }
        }
        Ok(())
    }

    /// Drops shards that have another owner, and what of them is in the open batch.
    fn drop_lost(&mut self, at: &mut AtWork<'_, JournalStore>) -> Result<(), EngineError> {
        let losing: Vec<ShardId> = self.losing.iter().copied().collect();
        for shard in losing {
            let is_owned = at.frontier.shard_counts(shard).is_some();
            if is_owned && !at.frontier.drop_shard(shard).map_err(state)? {
                continue;
            }
            self.losing.remove(&shard);
            if is_owned {
                self.forget(shard, at);
            }
        }
        Ok(())
    }

    /// Whether something of a closed shard has to count before another may have it. What is open in
    /// other shards need not.
    fn has_uncommitted(&self, shard: ShardId, at: &mut AtWork<'_, JournalStore>) -> bool {
        let mut entries = at.batch.iter();
        entries.any(|entry| self.map.shard_of(entry.record.key) == shard)
            || self.imported.iter().any(|id| id.shard == shard)
            || self.cookies.contains_key(&shard)
            || at.frontier.has_unsaved_lanes(shard)
            || at.frontier.store().has_open_part_of(shard)
    }

    /// Drops closed shards of which nothing is in flight or uncommitted, and gives them back.
    fn give_back_drained(&mut self, at: &mut AtWork<'_, JournalStore>) -> Result<(), EngineError> {
        let closing = self.closing.iter().copied();
        let quiet = closing.filter(|shard| at.frontier.flights_of(*shard).is_empty());
        let quiet: Vec<ShardId> = quiet.collect();
        if quiet.is_empty() || !self.is_sure_of_all(at.frontier) {
            return Ok(());
        }
        for shard in quiet {
            if self.has_uncommitted(shard, at) {
                at.frontier.store().mark(shard);
                self.must_commit_soon();
            } else if at.frontier.drop_shard(shard).map_err(state)? {
                self.forget(shard, at);
                if let Some(request) = self.member.give_back(shard) {
                    let info = self.info(at.frontier);
                    self.ask_member(request, &info);
                }
            }
        }
        Ok(())
    }

    /// Forgets what is known here of a shard that was dropped.
    fn forget(&mut self, shard: ShardId, at: &mut AtWork<'_, JournalStore>) {
        self.closing.remove(&shard);
        self.imported.retain(|id| id.shard != shard);
        self.pages.remove(&shard);
        self.bytes.remove(&shard);
        self.cookies.remove(&shard);
        self.shown_idle.remove(&shard);
        // A batch that is written in a later tenure must not count them.
        at.batch
            .retain(|entry| self.map.shard_of(entry.record.key) != shard);
        // What was imported may be mail again.
        self.has_read.clear();
        let read = self.imported.iter().map(|id| (*id, None));
        self.has_read.extend(read);
        self.is_idle = false;
    }
}
