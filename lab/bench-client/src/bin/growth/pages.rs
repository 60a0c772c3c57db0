//! What a page costs when very many URLs are known.
//!
//! Owns the settling of pages over a store in memory and over one on disk, which is filled
//! before and left alone until its own threads are done with that. Making up links is not
//! counted. Invariant: every page brings as many new links as were made new.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clewline::measuring::{DiskStore, frontier_notes, frontier_on_disk};
use clewline_core::frontier::{
    Frontier, JobId, MemoryStore, Moment, Next, Sealed as _, Settled, Store, Work,
};
use frontier_alone::{NOW, answered, rules};
use serde_json::{Value, json};

use super::decisions::resolve;
use super::known::Known;
use super::{processor, thread_time};

/// Links of a page, as many as the documentation has once repeated ones are dropped.
pub(crate) const LINKS: usize = 32;
/// New links among them: a page that is fetched was found once.
pub(crate) const NEW: usize = 1;
/// Pages that are known at the start.
pub(crate) const ROOTS: usize = 64;
/// Pages that are settled at once, as an engine hears of them.
const TOGETHER: usize = 32;
/// Pages of a batch: about what a crawl at full speed commits at once.
const BATCH: usize = 1000;
/// Pages that are settled before the clock runs, so that hosts are met and caches are warm.
const WARM_UP: usize = 2 * BATCH;
/// The pages are settled so often; the median counts.
const ROUNDS: usize = 3;
/// Keys of a batch while the store is filled.
const KEYS: usize = 100_000;
/// The store's threads are done when so many looks in a row find them idle …
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// … with no more than this used in between.
const IDLE: Duration = Duration::from_millis(4);
/// Longest wait for them.
const PATIENCE: Duration = Duration::from_mins(5);
/// What the store may take of the memory while it is filled for a race.
const MEMORY: u64 = 256 << 20;

/// Settles pages over a store in memory.
pub(crate) fn in_memory(known: u64, pages: usize) -> Result<Value> {
    let mut web = Known::new(known);
    let mut frontier = Frontier::new(rules(), MemoryStore::default());
    for key in web.keys() {
        frontier.store().add(key)?;
    }
    let costs = settle_all(&mut frontier, &mut web, pages, |_| Ok(()))?;
    Ok(figures("memory", known, pages, &costs))
}

/// The same over a store on disk.
pub(crate) fn on_disk(folder: &Path, known: u64, pages: usize, memory: u64) -> Result<Value> {
    ensure!(!folder.exists(), "{} is there already", folder.display());
    let mut web = Known::new(known);
    let mut frontier = frontier_on_disk(folder, rules(), memory)?;
    fill(&mut frontier, &mut web)?;
    drop(frontier);
    let mut frontier = frontier_on_disk(folder, rules(), memory)?;
    let costs = settle_all(&mut frontier, &mut web, pages, commit)?;
    Ok(figures("disk", known, pages, &costs))
}

/// Fills a store that is there already.
pub(crate) fn seed(folder: &Path, known: u64) -> Result<Value> {
    ensure!(folder.is_dir(), "{} is not there", folder.display());
    let mut frontier = frontier_on_disk(folder, rules(), MEMORY)?;
    fill(&mut frontier, &mut Known::new(known))?;
    let disk = frontier.store().disk_use()?;
    Ok(json!({"known": known, "key_bytes": disk.keys}))
}

/// What the rounds of a verb took, in microseconds per page.
pub(crate) fn figures(store: &str, known: u64, pages: usize, costs: &[Duration]) -> Value {
    let micros = |cost: &Duration| cost.as_secs_f64() * 1e6 / pages.max(1) as f64;
    let mut rounds: Vec<f64> = costs.iter().map(micros).collect();
    rounds.sort_unstable_by(f64::total_cmp);
    json!({
        "store": store,
        "known": known,
        "pages": pages,
        "micros_per_page": rounds.get(rounds.len() / 2),
        "rounds": rounds,
    })
}

/// Makes all keys known, in batches that leave the notes and offsets of a crawl as they are, and
/// waits until the store has come to rest.
fn fill(frontier: &mut Frontier<DiskStore>, web: &mut Known) -> Result<()> {
    let mut keys = web.keys().peekable();
    while keys.peek().is_some() {
        for key in keys.by_ref().take(KEYS) {
            frontier.store().add(key)?;
        }
        commit_keys(frontier)?;
    }
    // What the store's threads made of it counts with the next commit.
    wait_for_threads()?;
    commit_keys(frontier)
}

fn commit_keys(frontier: &mut Frontier<DiskStore>) -> Result<()> {
    frontier.seal(Vec::new())?.commit(&[])?;
    frontier.committed();
    Ok(())
}

/// Makes everything durable, with what a restart needs.
fn commit(frontier: &mut Frontier<DiskStore>) -> Result<()> {
    let notes = frontier_notes(&frontier.state());
    frontier.seal(notes)?.commit(&[])?;
    frontier.committed();
    Ok(())
}

/// Settles pages batch by batch; answers the processor time that each round took.
fn settle_all<S: Store>(
    frontier: &mut Frontier<S>,
    web: &mut Known,
    pages: usize,
    mut commit: impl FnMut(&mut Frontier<S>) -> Result<()>,
) -> Result<[Duration; ROUNDS]> {
    for _ in 0..ROOTS {
        frontier.admit_root(web.fresh(), false, Moment::ZERO)?;
    }
    for _ in 0..WARM_UP.div_ceil(TOGETHER) {
        settle(frontier, web, TOGETHER)?;
    }
    commit(frontier)?;
    let mut costs = [Duration::ZERO; ROUNDS];
    for cost in &mut costs {
        let begun = processor();
        let mut made_up = Duration::ZERO;
        for begin in (0..pages).step_by(BATCH) {
            let end = pages.min(begin + BATCH);
            for page in (begin..end).step_by(TOGETHER) {
                made_up += settle(frontier, web, TOGETHER.min(end - page))?;
            }
            commit(frontier)?;
        }
        *cost = processor().saturating_sub(begun + made_up);
    }
    Ok(costs)
}

/// Settles the next pages; answers the processor time that making up their links took.
fn settle<S: Store>(frontier: &mut Frontier<S>, web: &mut Known, pages: usize) -> Result<Duration> {
    let mut made_up = Duration::ZERO;
    let mut settlements = Vec::with_capacity(pages);
    for _ in 0..pages {
        let begun = thread_time();
        let links = web.links(LINKS, NEW);
        made_up += thread_time().saturating_sub(begun);
        settlements.push(answered(next_page(frontier)?, links));
    }
    frontier.look_ahead(settlements.iter())?;
    for mut settlement in settlements {
        let Settled::Done(finished) = frontier.settle(&mut settlement, NOW)? else {
            bail!("a page that was answered is not done");
        };
        let new = finished.new_links as usize;
        ensure!(new == NEW, "{new} links of a page were new, not {NEW}");
    }
    Ok(made_up)
}

/// Hands out a page.
fn next_page<S: Store>(frontier: &mut Frontier<S>) -> Result<JobId> {
    loop {
        let Next::Start(job) = frontier.next(NOW)? else {
            bail!("nothing is left to hand out");
        };
        match job.work {
            Work::Resolve { url } => resolve(frontier, job.id, &url),
            _ => return Ok(job.id),
        }
    }
}

/// Waits until the threads of the store have nothing left to do.
fn wait_for_threads() -> Result<()> {
    let begun = Instant::now();
    let mut idle = 0;
    while idle < LOOKS {
        let before = processor();
        thread::sleep(BETWEEN_LOOKS);
        let is_idle = processor().saturating_sub(before) <= IDLE;
        idle = if is_idle { idle + 1 } else { 0 };
        let patient = (begun.elapsed() < PATIENCE).then_some(());
        patient.context("the store's threads do not come to rest")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_settled_in_memory_and_on_disk() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("store");
        for figures in [
            in_memory(3000, 1500).unwrap(),
            on_disk(&folder, 3000, 1500, 32 << 20).unwrap(),
        ] {
            assert!(figures["micros_per_page"].as_f64() > Some(0.0), "{figures}");
        }
        assert!(
            on_disk(&folder, 1, 1, 32 << 20).is_err(),
            "it is there already"
        );
        assert!(seed(&place.path().join("nowhere"), 1).is_err());
    }

    #[test]
    fn a_store_that_was_seeded_goes_on_and_knows_the_keys() {
        let place = tempfile::tempdir().unwrap();
        let mut web = Known::new(5000);
        let mut frontier = frontier_on_disk(place.path(), rules(), 32 << 20).unwrap();
        frontier
            .admit_root(web.fresh(), false, Moment::ZERO)
            .unwrap();
        commit(&mut frontier).unwrap();
        drop(frontier);
        seed(place.path(), 5000).unwrap();
        let mut frontier = frontier_on_disk(place.path(), rules(), 32 << 20).unwrap();
        assert_eq!(frontier.counts().admitted, 1, "the notes are as they were");
        let keys: Vec<_> = web.keys().collect();
        for key in keys {
            assert!(frontier.store().contains(key).unwrap());
        }
    }
}
