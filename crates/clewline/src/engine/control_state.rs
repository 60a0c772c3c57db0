//! The engine's answers to whoever asks it, and what it does when told.
//!
//! Owns pause, changes of figures, and the last figures for a status. Everything is answered
//! from memory; the summary of all lanes is made anew only after a time that grows with their
//! number, so that asking cannot hold the crawl up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use clewline_core::frontier::{Admission, FrontierSummary, Hold, Moment, Origin, Site, Store};
use clewline_core::key::HostId;
use clewline_core::url::CrawlUrl;
use clewline_job::hosts::HostPage;
use clewline_job::status::{CommitUse, MOST_NOTES, MachineUse, StatusNote};
use clewline_platform::free_bytes;
use clewline_platform::process::{resident_bytes, thread_time};

use super::log_writer::WrittenBatch;
use super::{Engine, EngineError, Event, Progress, Room, state};
use crate::config::{ConfigProblem, Root};
use crate::connections;
use crate::control::{Asked, Change, ControlError, RobotsSaying, Sight};
use crate::descriptors;
use crate::folder::JobFolder;
use crate::status::{Figures, MOST_HOSTS, State, Status, time_left};

/// A summary is kept for this long per lane: 100,000 lanes are looked at every five seconds at
/// the most, which takes some milliseconds.
const KEPT_PER_LANE: Duration = Duration::from_micros(50);

/// What the engine keeps for whoever asks.
pub(super) struct ControlState {
    /// What held the crawl since progress was told: at a rate as high as that of telling, the
    /// two could always miss each other.
    pub(super) hold: Option<Hold>,
    paused: bool,
    progress: Progress,
    summary: Option<(Moment, FrontierSummary)>,
    ends: Vec<(&'static str, u64)>,
    folder: Option<Arc<JobFolder>>,
    notes: VecDeque<StatusNote>,
    noted: u64,
    commits: CommitUse,
    /// When a status was made last, and how much time this thread had used.
    looked: (Moment, Duration),
}

impl ControlState {
    pub(super) fn new(folder: Option<Arc<JobFolder>>) -> Self {
        Self {
            hold: None,
            paused: false,
            progress: Progress::default(),
            summary: None,
            ends: Vec::new(),
            folder,
            notes: VecDeque::new(),
            noted: 0,
            commits: CommitUse::default(),
            looked: (Moment::ZERO, Duration::ZERO),
        }
    }

    /// Keeps a note for whoever asks.
    pub(super) fn keep_note(&mut self, text: String) {
        if self.notes.len() == MOST_NOTES {
            self.notes.pop_front();
        }
        self.noted += 1;
        self.notes.push_back(StatusNote {
            number: self.noted,
            text,
        });
    }

    /// The share of the time since the last question in which this thread was busy.
    fn busy_share(&mut self, now: Moment) -> f64 {
        let used = thread_time();
        let (since, before) = std::mem::replace(&mut self.looked, (now, used));
        let time = now.saturating_sub(since).as_secs_f64();
        if time <= 0.0 {
            return 0.0;
        }
        (used.saturating_sub(before).as_secs_f64() / time).min(1.0)
    }

    /// Whether nothing is to be handed out until somebody says so.
    pub(super) const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Keeps the figures that are told anyway.
    pub(super) fn note(&mut self, progress: &mut Progress) {
        progress.paused = self.paused;
        self.progress.clone_from(progress);
    }

    /// Keeps where the logs end, and what that took.
    pub(super) fn committed(&mut self, written: &WrittenBatch) {
        self.ends.clear();
        self.ends.extend_from_slice(&written.offsets);
        self.commits.times.add_time(written.took);
        self.commits.records += written.entries.len() as u64;
    }
}

impl<S: Store> Engine<S> {
    /// Answers a question or obeys an order. Whoever asked may be gone; that is their business.
    pub(super) fn answer(&mut self, asked: Asked) -> Result<(), EngineError> {
        match asked {
            Asked::Status(reply) => {
                let status = self.status();
                reply.send(status).ok();
            }
            Asked::Look(url, reply) => {
                let sight = self.look(&url)?;
                reply.send(sight).ok();
            }
            Asked::Hosts(question, reply) => {
                let active = self.frontier.active_hosts(self.clock.now());
                let page = HostPage::from_parts(&question, active, &self.tally);
                reply.send(page).ok();
            }
            Asked::Tally(reply) => {
                reply.send(self.tally.without_hosts()).ok();
            }
            Asked::Preview(pattern, reply) => {
                let preview = self.preview(&pattern)?;
                reply.send(preview).ok();
            }
            Asked::Exclude(pattern, reply) => {
                let excluded = self.exclude(&pattern);
                reply.send(excluded).ok();
            }
            Asked::Pause => self.pause(true),
            Asked::GoOn => self.pause(false),
            Asked::Change(change, reply) => {
                let changed = self.change(change)?;
                reply.send(changed).ok();
            }
            Asked::Add(root, reply) => {
                let added = self.add(&root)?;
                reply.send(added).ok();
            }
        }
        Ok(())
    }

    /// Lets one more root in; whether it was new.
    fn add(&mut self, root: &Root) -> Result<Result<bool, ControlError>, EngineError> {
        let refused = |why: &str| {
            let problem = format!("{} is not crawled: {why}", root.url);
            let setting = "url";
            Err(ControlError::Refused(vec![ConfigProblem {
                setting,
                problem,
            }]))
        };
        if self.member.is_some() {
            return Ok(refused("`clewline fleet` adds roots to a fleet"));
        }
        let url = root.url.clone();
        let now = self.clock.now();
        let admitted = self.frontier.admit_root(url, root.guessed_scheme, now);
        Ok(match admitted.map_err(state)? {
            Admission::Accepted | Admission::Sent => Ok(true),
            Admission::Known => Ok(false),
            Admission::Refused(reason) => refused(reason.about()),
        })
    }

    pub(super) fn pause(&mut self, paused: bool) {
        if std::mem::replace(&mut self.control_state.paused, paused) != paused {
            (self.observer)(Event::Told(if paused {
                "paused; `clewline ctl continue` goes on"
            } else {
                "going on"
            }));
        }
    }

    pub(super) fn change(
        &mut self,
        change: Change,
    ) -> Result<Result<(), ControlError>, EngineError> {
        let mut config = self.config.clone();
        if let Err(problems) = change.apply(&mut config) {
            return Ok(Err(ControlError::Refused(problems)));
        }
        let mut rules = config.rules(0).map_err(state)?;
        if self.member.is_some() {
            rules.limits.leave_to_fleet();
        }
        if let Some(time) = &mut rules.limits.time {
            // The budget covers all runs, the frontier's clock only this one.
            *time = time.saturating_sub(self.resume_notes.spent);
        }
        let now = self.clock.now();
        self.frontier.adopt(&rules, now).map_err(state)?;
        if let Change::Concurrency(number) = change {
            descriptors::share_out(number as usize);
            self.room = Room::new(descriptors::room_for(number as usize));
        }
        self.config = config;
        self.control_state.summary = None;
        (self.observer)(Event::Told(&format!("{change} from now on")));
        Ok(self.keep_config())
    }

    /// Writes the configuration down for later runs.
    pub(super) fn keep_config(&self) -> Result<(), ControlError> {
        let folder = self.control_state.folder.as_ref();
        match folder.map(|folder| folder.keep(&self.config)) {
            Some(Err(error)) => Err(ControlError::NotKept(error.to_string())),
            _ => Ok(()),
        }
    }

    fn status(&mut self) -> Status {
        let now = self.clock.now();
        let counts = self.frontier.counts();
        let state = if self.stop_at.is_some() {
            State::Stopping
        } else if self.control_state.paused {
            State::Paused
        } else {
            State::Running
        };
        let progress = &self.control_state.progress;
        let (pages_per_second, bytes_per_second) =
            (progress.pages_per_second, progress.bytes_per_second);
        Status {
            folder: self.config.output.folder.clone(),
            state,
            ended: None,
            held: self.held(),
            done: self.tally.done,
            queued: self.left_to_do().saturating_sub(counts.withheld),
            withheld: counts.withheld,
            in_flight: counts.in_flight,
            pages: counts.pages,
            bytes: counts.wire,
            hosts_met: counts.hosts,
            failed: self.tally.outcomes.failed,
            broken: self.tally.broken,
            seconds: self.resume_notes.spent(now).as_secs_f64(),
            pages_per_second,
            bytes_per_second,
            time_left: self
                .time_left(now, pages_per_second)
                .map(|left| left.as_secs_f64()),
            figures: Figures::from_config(&self.config),
            machine: Some(self.machine(now)),
            notes: self.control_state.notes.iter().cloned().collect(),
            summary: self.summary(now).clone(),
        }
    }

    /// What the crawl uses of its machine; found out when somebody asks.
    fn machine(&mut self, now: Moment) -> MachineUse {
        let folder = self.config.output.folder.as_deref();
        let (active, idle) = connections::counted();
        MachineUse {
            engine_busy: self.control_state.busy_share(now),
            active_connections: active as u64,
            idle_connections: idle as u64,
            open_descriptors: descriptors::taken() as u64,
            held_bytes: self.held.bytes(),
            memory_limit: self.config.output.memory.0,
            resident_bytes: resident_bytes(),
            disk_free_bytes: folder.and_then(free_bytes),
            commits: self.control_state.commits,
        }
    }

    /// URLs that are not done: what is settled but not durable is not. What a member of a fleet did
    /// in shards that it does not own any more is not among what it knows.
    pub(super) fn left_to_do(&self) -> u64 {
        let counts = self.frontier.counts();
        match &self.member {
            Some(_) => counts.todo(),
            None => counts.admitted - self.tally.done,
        }
    }

    fn summary(&mut self, now: Moment) -> &FrontierSummary {
        let kept = KEPT_PER_LANE.saturating_mul(self.frontier.active() as u32);
        let last = self.control_state.summary.take();
        let fresh = last.filter(|(made, _)| now < *made + kept);
        let frontier = &self.frontier;
        let (_, summary) = self
            .control_state
            .summary
            .insert(fresh.unwrap_or_else(|| (now, frontier.summary(now, MOST_HOSTS))));
        summary
    }

    /// How long what is queued takes, at this many pages per second; for progress and status the
    /// same.
    pub(super) fn time_left(&mut self, now: Moment, pages_per_second: f64) -> Option<Duration> {
        let queued = self.frontier.counts().todo();
        let least = self.summary(now).left;
        time_left(queued, pages_per_second, least, now)
    }

    /// Why nothing new is started, where the hosts are not the reason.
    fn held(&self) -> Option<String> {
        let why = if self.control_state.paused {
            "paused by hand"
        } else if self.no_room {
            "nothing can be written for lack of room on the disk"
        } else if self.disk.is_low() {
            "the disk is nearly full"
        } else if self.delivery.is_behind() {
            "the reader of its pages is behind"
        } else if self.are_logs_behind() {
            "the logs are behind"
        } else if self.frontier.is_network_away() {
            "the network seems to be away"
        } else if !self.held.has_room() {
            "the answers under way fill the memory"
        } else if self.room.is_full(self.frontier.counts().in_flight) {
            "as many requests are in flight as may be"
        } else {
            return None;
        };
        Some(why.to_owned())
    }

    fn look(&mut self, url: &CrawlUrl) -> Result<Sight, EngineError> {
        let now = self.clock.now();
        let key = self.frontier.rules().keyer.key(url);
        let store = self.frontier.store();
        let seen = store.contains(key).map_err(state)?;
        let robots = saying(store, key.host(), url).map_err(state)?;
        let trap = given_up(store, url).map_err(state)?;
        Ok(Sight {
            seen,
            robots,
            trap,
            joined: self.frontier.state().joined,
            ends: self
                .control_state
                .ends
                .iter()
                .map(|(name, end)| ((*name).to_owned(), *end))
                .collect(),
            host: self.frontier.host(key.host(), now),
        })
    }
}

/// The template of a URL, if it was given up as a trap.
pub(crate) fn given_up<S: Store>(store: &S, url: &CrawlUrl) -> Result<Option<String>, S::Error> {
    let row = store.load_lane(Site::row_of(url))?;
    let site = row.as_ref().and_then(Site::read);
    let given_up = site.as_ref().and_then(|site| site.given_up(url));
    Ok(given_up.map(|it| {
        let (template, alike) = (&it.template, it.alike);
        format!("given up as a trap: {template}, {alike} pages alike")
    }))
}

/// What the stored robots.txt of its origin says of a URL.
pub(crate) fn saying<S: Store>(
    store: &S,
    host: HostId,
    url: &CrawlUrl,
) -> Result<Option<RobotsSaying>, S::Error> {
    let stored = store.load_robots(host, Origin::from_url(url))?;
    Ok(stored.map(|(robots, _)| RobotsSaying::new(&robots, url)))
}
