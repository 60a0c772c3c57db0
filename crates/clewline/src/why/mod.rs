//! Why a URL was fetched, or was not: its whole trail through a crawl.
//!
//! Owns the joining of what the logs, the state and the configuration say about one URL. It
//! asks nobody on the network and changes nothing. A crawl that runs is asked over its socket,
//! the state of one that does not is looked at under the folder's lock.

mod judge;
mod linked_from;
#[cfg(test)]
mod lookup_tests;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use clewline_core::frontier::{FrontierState, Origin, Rules, Store as _};
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use clewline_job::lookup::{
    FinishedState, Logs, Lookup, LookupPlan, MOST_COPIED, Sources, log_ends,
};
use clewline_job::previous::IndexedArchive;
pub(crate) use clewline_job::why::{Fate, RedirectHop, Referrer, RobotsSaying, Why};

use self::linked_from::LinksTo;
use crate::control::Sight;
use crate::control::protocol::{ControlAnswer, ControlRequest};
use crate::control::server::ask;
use crate::engine::{FRONTIER_NOTE, given_up, saying};
use crate::folder::io_at;
use crate::log::{links, urls};
use crate::record::{OutcomeKind, Record};
use crate::status::OpenState;
use crate::store::{read_robots, robots_key};
use crate::stored::{JobError, JobStanding, StoredJob};

/// Hops of a chain of redirects that are followed in each direction.
const MOST_HOPS: usize = 20;

impl StoredJob {
    /// The whole trail of a URL.
    pub fn why(&self, url: &CrawlUrl) -> Result<Why, JobError> {
        self.why_with(url, LookupPlan::default())
    }

    fn why_with(&self, url: &CrawlUrl, plan: LookupPlan) -> Result<Why, JobError> {
        let mut rules = self.rules()?;
        let sight = self.sight(url, &rules)?;
        for root in self
            .config
            .roots
            .iter()
            .map(|root| &root.url)
            .chain(&sight.joined)
        {
            rules.scope.join(root);
        }
        let ends = log_ends(&self.path, &sight.ends);
        let lookup = Lookup::open(&self.path, &rules.keyer, ends, plan);
        let logs = Logs::new(&self.path, &rules.keyer, ends, lookup);
        let trail = self.trail(url, &rules, &sight, &logs).or_else(|_| {
            // Whatever is wrong with the lookup, the logs themselves are right, or say what is
            // wrong with them.
            Lookup::remove(&self.path);
            let logs = Logs::new(&self.path, &rules.keyer, ends, Lookup::default());
            self.trail(url, &rules, &sight, &logs)
        });
        trail.map_err(|source| io_at(&self.path, source).into())
    }

    fn trail(
        &self,
        url: &CrawlUrl,
        rules: &Rules,
        sight: &Sight,
        logs: &Logs<'_>,
    ) -> std::io::Result<Why> {
        let key = rules.keyer.key(url);
        let found = logs.find(key)?;
        let sources = logs.sources(key)?;
        let named = logs.records(&named_keys(&sources, found.record.as_ref(), rules))?;
        let mut why = Why {
            url: url.clone(),
            normalised: rules.keyer.normalised(url).into_owned(),
            dropped: judge::dropped(url, &rules.keyer),
            key,
            fate: Fate::Unknown,
            reason: None,
            rule: None,
            robots: sight.robots.clone(),
            queued_at: queued_at(found.record.as_ref(), &sources, &named, rules),
            referrers: referrers(&sources, &named),
            referrer_count: sources.count,
            before: Vec::new(),
            after: Vec::new(),
            redirected_from: found.redirects,
            redirected_from_count: found.redirect_count,
            host: sight.host.clone(),
            record: found.record,
        };
        if let Some(record) = why.record.clone() {
            why.fate = Fate::Recorded;
            why.reason = record.reason;
            why.rule.clone_from(&record.error);
            why.before = chain(&record, logs, rules, before)?;
            why.before.reverse();
            why.after = chain(&record, logs, rules, after)?;
        } else if sight.seen {
            let is_over = self.standing == JobStanding::Finished;
            let trap = sight.trap.as_deref().filter(|_| rules.traps);
            (why.fate, why.rule) = fate_of_seen(trap, is_over);
        } else {
            let links = LinksTo {
                target: key,
                sources: &sources,
                named: &named,
                archive: IndexedArchive::open(&self.path),
            };
            judge::refuse(&mut why, &self.config, rules, &links);
        }
        Ok(why)
    }

    /// What the crawl knows, wherever it keeps that.
    fn sight(&self, url: &CrawlUrl, rules: &Rules) -> Result<Sight, JobError> {
        match ask(self, &ControlRequest::Look(url.clone())) {
            Ok(ControlAnswer::Sight(sight)) => return Ok(*sight),
            Ok(_) => return Err(self.nonsense()),
            Err(JobError::NotRunning(_)) => {}
            Err(error) => return Err(error),
        }
        let key = rules.keyer.key(url);
        let is_over = self.standing == JobStanding::Finished;
        if is_over && let Some(kept) = FinishedState::read(&self.path) {
            return finished_sight(kept, key, url);
        }
        let state = match OpenState::open(self) {
            // The logs of a crawl that is over say all but what robots.txt said.
            Err(error) if is_over && error.is_read_only() => None,
            opened => opened?,
        };
        let Some(mut state) = state else {
            return Ok(Sight::default());
        };
        let frontier: FrontierState = state.note(FRONTIER_NOTE)?.unwrap_or_default();
        let mut ends = Vec::new();
        for log in [urls::NAME, links::NAME] {
            ends.push((log.to_owned(), state.store.offset(log)?.unwrap_or(0)));
        }
        if is_over && frontier.counts.todo() == 0 {
            keep_finished(self, &state, &frontier, &ends)?;
        }
        Ok(Sight {
            seen: state.store.contains(key)?,
            robots: saying(&state.store, key.host(), url)?,
            joined: frontier.joined,
            ends,
            host: None,
            trap: given_up(&state.store, url)?,
        })
    }
}

/// What a finished crawl says. Every URL that was let in has a record, and so nothing needs to be
/// said of others.
fn finished_sight(kept: FinishedState, key: Key, url: &CrawlUrl) -> Result<Sight, JobError> {
    let row = kept.robots(&robots_key(key.host(), Origin::from_url(url)));
    let robots = row.map(read_robots).transpose()?;
    Ok(Sight {
        robots: robots.map(|(robots, _)| RobotsSaying::new(&robots, url)),
        joined: kept.joined,
        ends: kept.ends,
        ..Sight::default()
    })
}

/// Copies what is asked of a state, so that it need not be opened for the next question.
fn keep_finished(
    job: &StoredJob,
    state: &OpenState,
    frontier: &FrontierState,
    ends: &[(String, u64)],
) -> Result<(), JobError> {
    if let Some(robots) = state.store.robots_rows(MOST_COPIED)? {
        let copy = FinishedState {
            joined: frontier.joined.clone(),
            ends: ends.to_vec(),
            robots,
        };
        // Without the copy the next question takes longer, and that is all.
        copy.keep(&job.path).ok();
    }
    Ok(())
}

/// What becomes of a URL that was let in and has no record, if URLs like it were given up as a
/// trap. Such a URL may have somebody who vouches for it, and then it is asked for in its turn:
/// only when nothing waits any more is it certain that this URL does not.
fn fate_of_seen(trap: Option<&str>, is_over: bool) -> (Fate, Option<String>) {
    match trap {
        Some(trap) if is_over => (Fate::Withheld, Some(trap.to_owned())),
        Some(trap) => {
            let rule = format!("URLs like it were {trap}, so it may be withheld");
            (Fate::Queued, Some(rule))
        }
        None => (Fate::Queued, None),
    }
}

/// Keys of pages whose records say more: the sources, and the page it was found on.
fn named_keys(sources: &Sources, record: Option<&Record>, rules: &Rules) -> Vec<Key> {
    let found_on = record.and_then(|record| record.found_on.as_ref());
    let sources = sources.first.iter().map(|(key, _)| *key);
    sources
        .chain(found_on.map(|url| rules.keyer.key(url)))
        .collect()
}

/// Links are let in when their page is settled.
fn queued_at(
    record: Option<&Record>,
    sources: &Sources,
    named: &HashMap<Key, Record>,
    rules: &Rules,
) -> Option<String> {
    let key = match record {
        Some(record) => rules.keyer.key(record.found_on.as_ref()?),
        None => sources.first.first()?.0,
    };
    named.get(&key).map(|page| page.fetched_at.clone())
}

fn referrers(sources: &Sources, named: &HashMap<Key, Record>) -> Vec<Referrer> {
    let known = sources.first.iter().filter_map(|(key, kind)| {
        let url = named.get(key)?.url.clone();
        Some(Referrer { url, kind: *kind })
    });
    known.collect()
}

/// The URL whose redirect led to a record.
fn before(record: &Record) -> Option<CrawlUrl> {
    let is_hop = record.kind == LinkKind::Redirect;
    record.found_on.clone().filter(|_| is_hop)
}

/// The URL that a record redirects to.
fn after(record: &Record) -> Option<CrawlUrl> {
    let target = record.redirect_to.as_deref();
    let redirects = record.outcome == OutcomeKind::Redirected;
    CrawlUrl::parse(target.filter(|_| redirects)?).ok()
}

/// Follows a chain of redirects in one direction, without coming back to where it was.
fn chain(
    record: &Record,
    logs: &Logs<'_>,
    rules: &Rules,
    step: fn(&Record) -> Option<CrawlUrl>,
) -> std::io::Result<Vec<RedirectHop>> {
    let mut visited = vec![record.key];
    let mut hops = Vec::new();
    let mut next = step(record);
    while let Some(url) = next.take().filter(|_| hops.len() < MOST_HOPS) {
        let key = rules.keyer.key(&url);
        let record = logs.records(&[key])?.remove(&key);
        hops.push(RedirectHop {
            url,
            status: record.as_ref().and_then(|record| record.status),
        });
        if visited.contains(&key) {
            break;
        }
        visited.push(key);
        next = record.as_ref().and_then(step);
    }
    Ok(hops)
}
