//! The engine: one loop, one thread, no locks.
//!
//! Owns the frontier, its store and the cookies by value. Tasks do everything that waits; they
//! and the log thread talk to the loop by messages. The loop takes the messages that are there,
//! hands out while there is room, commits what is written, and waits for the next event. It
//! never parses; a page counts only when its record is durable.

mod delivery;
mod facts;
mod open_files;
mod progress;
mod scribe;
mod task;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use clewline_core::cookies::{CookieChange, CookieContext, CookieJar};
use clewline_core::frontier::{
    End, Ending, Finished, Frontier, Job, MemoryStore, Moment, Next, Note, Settled, Settlement,
    Store, Work,
};
use clewline_core::link::LinkKind;
use clewline_core::url::{CrawlUrl, Scheme};
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio::sync::mpsc as pages_channel;

use crate::clock::{Clock, timestamp, unix_seconds};
use crate::config::Config;
use crate::extract::Extractor;
use crate::fetch::Fetcher;
use crate::log::Log;
use crate::page::Page;
use crate::record::{Entry, OutcomeKind};
use crate::report::{RunFacts, StoppedBy, Tally};

use delivery::{Delivery, Reader};
use facts::Facts;
use progress::Meter;
pub use progress::{Event, Progress};
use scribe::{Scribe, Written};
use task::{Passport, Workshop};

/// A batch is handed to the logs after this time …
const BATCH_TIME: Duration = Duration::from_millis(100);
/// … or at this size, whichever comes first.
const BATCH_SIZE: usize = 2000;
/// How often progress is told.
const PROGRESS_TIME: Duration = Duration::from_millis(100);
/// Pages that wait for the user of the library, at the most.
pub(crate) const PAGES_AHEAD: usize = 16;

/// What stops a crawl.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A log could not be written.
    #[error("the results cannot be written: {0}")]
    Log(#[source] io::Error),
    /// Threads or the runtime could not be started.
    #[error("the crawl cannot be started: {0}")]
    Start(#[source] io::Error),
}

impl From<Infallible> for EngineError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// What reaches the engine from outside its thread.
#[derive(Debug)]
pub(crate) enum Message {
    /// A job has ended.
    Done(Box<JobDone>),
    /// A batch is durable, or the logs failed.
    Written(io::Result<Written>),
    /// Hand out nothing more; what is in flight has this long.
    Stop(Duration),
    /// The user of the library took a page.
    Taken,
}

/// The end of a job, with what only the engine cares about.
#[derive(Debug)]
pub(crate) struct JobDone {
    settlement: Settlement,
    facts: Facts,
    set_cookies: Vec<Vec<u8>>,
}

/// Everything a crawl is made of.
pub(crate) struct Parts {
    pub(crate) config: Config,
    pub(crate) fetcher: Arc<dyn Fetcher>,
    pub(crate) extractor: Arc<dyn Extractor>,
    pub(crate) logs: Vec<Box<dyn Log>>,
    pub(crate) cookies: CookieJar,
    pub(crate) frontier: Frontier<MemoryStore>,
    pub(crate) observer: Observer,
    pub(crate) pages: Option<pages_channel::Sender<Page>>,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) outbox: Sender<Message>,
}

/// Hears of events, on the engine's thread.
pub(crate) type Observer = Box<dyn FnMut(Event<'_>) + Send>;

/// How a crawl ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    pub(crate) facts: RunFacts,
    pub(crate) failed_roots: Vec<(CrawlUrl, String)>,
    pub(crate) error: Option<EngineError>,
}

/// The loop's state.
pub(crate) struct Engine {
    config: Config,
    clock: Clock,
    frontier: Frontier<MemoryStore>,
    cookies: CookieJar,
    workshop: Arc<Workshop>,
    runtime: Option<Runtime>,
    scribe: Scribe,
    inbox: Receiver<Message>,
    batch: Vec<Entry>,
    batch_since: Moment,
    delivery: Delivery,
    room: usize,
    stop_at: Option<Moment>,
    observer: Observer,
    tally: Tally,
    meter: Meter,
    joined_hosts: Vec<String>,
    failed_roots: Vec<(CrawlUrl, String)>,
    any_root_reached: bool,
    started_at: String,
}

impl Engine {
    pub(crate) fn new(parts: Parts) -> Result<Self, EngineError> {
        let clock = Clock::start();
        let config = parts.config;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("clewline-tasks")
            .enable_all()
            .build()
            .map_err(EngineError::Start)?;
        let workshop = Workshop {
            fetcher: parts.fetcher,
            extractor: parts.extractor,
            keyer: parts.frontier.rules().keyer.clone(),
            clock,
            robots_token: config.fetch.robots_token(),
            accept_types: config.scope.accept_types.clone(),
            max_body: config.fetch.max_body,
            timeout: config.fetch.timeout,
            keep_content: parts.pages.is_some(),
            engine: parts.outbox.clone(),
        };
        let room = open_files::room_for(config.limits.concurrency as usize);
        Ok(Self {
            scribe: Scribe::start(parts.logs, parts.outbox).map_err(EngineError::Start)?,
            clock,
            frontier: parts.frontier,
            cookies: parts.cookies,
            workshop: Arc::new(workshop),
            runtime: Some(runtime),
            inbox: parts.inbox,
            batch: Vec::new(),
            batch_since: Moment::ZERO,
            delivery: Delivery::new(parts.pages),
            room,
            stop_at: None,
            observer: parts.observer,
            tally: Tally::default(),
            meter: Meter::default(),
            joined_hosts: Vec::new(),
            failed_roots: Vec::new(),
            any_root_reached: false,
            started_at: timestamp(),
            config,
        })
    }

    /// Crawls to the end. What stops it early is part of the outcome: what was done counts.
    pub(crate) fn run(mut self) -> Outcome {
        let ended = self.work().and_then(|stopped_by| {
            self.abandon_tasks();
            self.flush().map(|()| stopped_by)
        });
        self.abandon_tasks();
        self.scribe.close();
        self.outcome(ended)
    }

    /// Tasks that still run are not waited for: their URLs stay open.
    fn abandon_tasks(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    fn work(&mut self) -> Result<StoppedBy, EngineError> {
        for root in self.config.roots.clone() {
            self.frontier
                .admit_root(root.url, root.guessed_scheme, self.clock.now())?;
        }
        loop {
            while let Ok(message) = self.inbox.try_recv() {
                self.take(message)?;
            }
            let now = self.clock.now();
            self.hand_batch_over(now, BATCH_SIZE);
            if self
                .stop_at
                .is_some_and(|at| now >= at || self.frontier.counts().in_flight == 0)
            {
                return Ok(StoppedBy::Interrupted);
            }
            let next = if self.has_room() {
                self.frontier.next(now)?
            } else {
                Next::Waiting
            };
            match next {
                Next::Start(job) => self.start(job),
                Next::Settled(finished) => {
                    self.finished(*finished, Facts::default());
                    self.tell_progress(now);
                }
                Next::WaitUntil(at) => self.wait(now, Some(at))?,
                Next::Waiting => self.wait(now, None)?,
                Next::Done(End::Finished) => return Ok(StoppedBy::Finished),
                Next::Done(End::Budget(budget)) => {
                    return Ok(StoppedBy::Budget(budget.flag().to_owned()));
                }
            }
        }
    }

    /// Whether something new may be handed out.
    fn has_room(&self) -> bool {
        self.stop_at.is_none()
            && (self.frontier.counts().in_flight as usize) < self.room
            && self.scribe.has_room()
            && !self.delivery.is_behind()
    }

    /// Waits for a message, or for the first thing that is due.
    fn wait(&mut self, now: Moment, until: Option<Moment>) -> Result<(), EngineError> {
        // Only now, with everything handed out that may be, is it known what holds the crawl.
        self.tell_progress(now);
        let batch_due = (!self.batch.is_empty()).then(|| self.batch_since + BATCH_TIME);
        let progress_due = now + PROGRESS_TIME;
        let due = [until, batch_due, self.stop_at].into_iter().flatten().min();
        let due = due.map_or(progress_due, |due| due.min(progress_due));
        match self.inbox.recv_timeout(due.saturating_sub(now)) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => unreachable!("the workshop holds a sender"),
        }
    }

    fn take(&mut self, message: Message) -> Result<(), EngineError> {
        match message {
            Message::Done(done) => self.settle(*done)?,
            Message::Written(Ok(written)) => self.commit(&written)?,
            Message::Written(Err(error)) => return Err(EngineError::Log(error)),
            Message::Stop(grace) => {
                let at = self.clock.now() + grace;
                self.stop_at = Some(self.stop_at.map_or(at, |known| known.min(at)));
            }
            Message::Taken => {
                let reader = self.delivery.pass_on();
                self.mind(reader);
            }
        }
        Ok(())
    }

    fn start(&mut self, job: Job) {
        let passport = match &job.work {
            Work::Resolve { .. } => Passport::default(),
            Work::Page { url, .. } | Work::Robots { url, .. } => self.passport(url),
        };
        let in_flight = self.frontier.counts().in_flight;
        self.meter.started(in_flight, &job.work);
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task::run(Arc::clone(&self.workshop), job, passport));
        }
    }

    fn passport(&self, url: &CrawlUrl) -> Passport {
        let cookie = if self.config.fetch.cookies {
            self.cookies.header(cookie_context(url), unix_seconds())
        } else {
            None
        };
        let on_root = self
            .config
            .roots
            .iter()
            .any(|root| root.url.origin() == url.origin());
        Passport {
            cookie,
            credentials: on_root,
        }
    }

    fn settle(&mut self, done: JobDone) -> Result<(), EngineError> {
        let JobDone {
            mut settlement,
            facts,
            set_cookies,
        } = done;
        let now = self.clock.now();
        match &mut settlement.ending {
            Ending::Answered(answer) => answer.cookie = self.keep_cookies(&facts, &set_cookies),
            // Fewer requests at once, so that the next one finds a descriptor.
            Ending::Failed(failure) if failure.local => {
                let in_flight = self.frontier.counts().in_flight as usize;
                self.room = (in_flight * 3 / 4).clamp(1, self.room);
            }
            _ => {}
        }
        if let Settled::Done(finished) = self.frontier.settle(settlement, now)? {
            self.finished(*finished, facts);
        }
        self.tell_notes();
        Ok(())
    }

    fn keep_cookies(&mut self, facts: &Facts, set_cookies: &[Vec<u8>]) -> bool {
        let Some(url) = facts.url.as_ref().filter(|_| self.config.fetch.cookies) else {
            return false;
        };
        let now = unix_seconds();
        let mut accepted = false;
        for cookie in set_cookies {
            let change = self.cookies.store(cookie_context(url), cookie, now);
            accepted |= change == CookieChange::Accepted;
        }
        accepted
    }

    /// A URL reached its end: its record goes into the open batch.
    fn finished(&mut self, finished: Finished, mut facts: Facts) {
        let content = facts.content.take();
        let entry = facts::entry(finished, facts);
        self.watch_roots(&entry);
        if let Some(content) = content
            && entry.record.outcome == OutcomeKind::Fetched
        {
            let page = Page {
                record: entry.record.clone(),
                headers: content.headers,
                body: content.body,
                links: content.links,
            };
            let reader = self.delivery.offer(page);
            self.mind(reader);
        }
        if self.batch.is_empty() {
            self.batch_since = self.clock.now();
        }
        self.batch.push(entry);
    }

    fn watch_roots(&mut self, entry: &Entry) {
        let record = &entry.record;
        if record.kind != LinkKind::Root {
            return;
        }
        let unreached = record.status.is_none()
            && matches!(record.outcome, OutcomeKind::Failed | OutcomeKind::Skipped);
        if unreached {
            let why = record.error.clone().unwrap_or_default();
            self.failed_roots.push((record.url.clone(), why));
        } else {
            self.any_root_reached = true;
        }
    }

    /// Where nobody wants pages any more, the crawl ends as if stopped.
    fn mind(&mut self, reader: Reader) {
        if reader == Reader::Gone {
            self.stop_at = Some(Moment::ZERO);
        }
    }

    fn hand_batch_over(&mut self, now: Moment, size: usize) {
        let due = now >= self.batch_since + BATCH_TIME || self.batch.len() >= size;
        if self.batch.is_empty() || !due || !self.scribe.has_room() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        if let Err(batch) = self.scribe.write(batch) {
            self.batch = batch;
        }
    }

    /// A batch is in the logs: now it counts.
    fn commit(&mut self, written: &Written) -> Result<(), EngineError> {
        self.scribe.written();
        self.frontier.store().commit(&written.offsets)?;
        for entry in &written.entries {
            self.tally.add(&entry.record);
            (self.observer)(Event::Settled(&entry.record));
        }
        Ok(())
    }

    /// Writes everything that is left and waits for it.
    fn flush(&mut self) -> Result<(), EngineError> {
        loop {
            self.hand_batch_over(Moment::MAX, 1);
            if self.batch.is_empty() && self.scribe.unwritten() == 0 {
                return Ok(());
            }
            match self.inbox.recv() {
                Ok(Message::Written(Ok(written))) => self.commit(&written)?,
                Ok(Message::Written(Err(error))) => return Err(EngineError::Log(error)),
                // Jobs that end now stay open: they belong to nobody's batch.
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
    }

    fn tell_notes(&mut self) {
        let notes: Vec<Note> = self.frontier.notes().collect();
        for note in &notes {
            if let Note::HostJoined { host } = note {
                self.joined_hosts.push(host.to_string());
            }
            (self.observer)(Event::Note(note));
        }
    }

    fn tell_progress(&mut self, now: Moment) {
        if !self.meter.is_due(now, PROGRESS_TIME) {
            return;
        }
        let hold = self.frontier.hold(now);
        let counts = self.frontier.counts();
        self.tally.tick(now, counts.in_flight as u32);
        let progress = self.meter.measure(now, &self.tally, counts, hold);
        (self.observer)(Event::Progress(&progress));
    }

    fn outcome(mut self, ended: Result<StoppedBy, EngineError>) -> Outcome {
        let counts = self.frontier.counts();
        for (reason, count) in self.frontier.refused() {
            self.tally.refuse(reason, count);
        }
        let mut notes = Vec::new();
        if !self.config.scope.robots {
            notes.push("robots.txt was ignored (--ignore-robots)".to_owned());
        }
        let (stopped_by, error) = match ended {
            Ok(stopped_by) => (stopped_by, None),
            Err(error) => (StoppedBy::Error(error.to_string()), Some(error)),
        };
        let facts = RunFacts {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            finished_at: timestamp(),
            seconds: self.clock.now().as_secs_f64(),
            folder: self.config.output.folder.clone(),
            roots: self
                .config
                .roots
                .iter()
                .map(|root| root.url.clone())
                .collect(),
            joined_hosts: self.joined_hosts,
            concurrency: self.config.limits.concurrency,
            peak_in_flight: self.meter.peak_in_flight(),
            admitted: counts.admitted,
            // What is settled but not durable is not done.
            todo: counts.admitted - self.tally.done,
            stopped_by,
            notes,
        };
        self.delivery.finish();
        let failed_roots = if self.any_root_reached {
            Vec::new()
        } else {
            self.failed_roots
        };
        Outcome {
            tally: self.tally,
            facts,
            failed_roots,
            error,
        }
    }
}

fn cookie_context(url: &CrawlUrl) -> CookieContext<'_> {
    CookieContext {
        secure: url.scheme() == Scheme::Https,
        host: url.host(),
        path: url.path(),
    }
}
