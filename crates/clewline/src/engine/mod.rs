//! The engine: one loop, one thread, no locks.
//!
//! Owns the frontier, its store and the cookies by value. Tasks do everything that waits; they
//! and the log thread talk to the loop by messages. The loop takes the messages that are there,
//! hands out while there is room, commits what is written, and waits for the next event. It
//! never parses; a page counts only when its record is durable.

mod batches;
mod completions;
mod control_state;
mod cookies;
mod delivery;
mod disk;
mod ending;
mod entries;
mod error;
mod exchanges;
mod exclusion;
mod finishing;
mod fleet_turn;
mod log_writer;
pub(crate) mod look;
mod memory_budget;
mod progress;
mod rendering;
mod resume_notes;
mod room;
pub(crate) mod runner;
mod suspend_detector;
mod task;
mod task_pool;
mod turns;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use clewline_core::cookies::CookieJar;
use clewline_core::frontier::{
    End, Ending, Excuse, FetchJob, Frontier, JobId, Moment, Next, Note, Settled, Store, Work,
};
use clewline_core::url::CrawlUrl;
use clewline_job::notes::note_line;
use clewline_platform::process::slept;
use tokio::sync::mpsc as pages_channel;

use crate::clock::Clock;
use crate::config::Config;
use crate::control::Asked;
use crate::descriptors;
use crate::entry::Entry;
use crate::exchange::Spool;
use crate::extract::Extractor;
use crate::fetch::{Fetcher, SlotDemand};
use crate::fleet::{FleetLease, FleetWord, Membership};
use crate::folder::JobFolder;
use crate::leases::LeaseBoard;
use crate::log::Log;
use crate::previous::PreviousCrawl;
use crate::render::RenderPage;
use crate::report::{RunFacts, StoppedBy, Tally};
use crate::trusted::{Trusted, Way};
use crate::witness::Witness;

use batches::BATCH_SIZE;
use completions::CompletionQueue;
use control_state::ControlState;
pub(crate) use control_state::{given_up, saying};
pub(crate) use cookies::{keep_cookies, sent_cookies};
use delivery::{Delivery, Reader};
use disk::DiskWatch;
use ending::Closing;
pub use error::EngineError;
pub(crate) use error::state;
use exchanges::Exchanges;
use fleet_turn::MemberSays;
use log_writer::{LogWriter, Word};
pub(crate) use look::LookReader;
use memory_budget::MemoryBudget;
use progress::Meter;
pub use progress::{Event, Progress};
use rendering::{Gain, PartCall, RenderWish, Renderings, ended_errand};
use resume_notes::ResumeNotes;
pub(crate) use resume_notes::{
    COOKIES_NOTE, EarlierRuns, FRONTIER_NOTE, JOB_NOTE, SPENT_NOTE, STARTED_NOTE, TALLY_NOTE,
};
use room::Room;
pub(crate) use runner::JobResult;
use runner::{JobRunner, Pausing, RequestExtras};
use suspend_detector::SuspendDetector;
use task::TaskContext;
use task_pool::{Readiness, TaskPool};
use turns::ReaderTurns;
pub(crate) use turns::{HandedPage, LinkWord};

/// How often progress is told.
const PROGRESS_TIME: Duration = Duration::from_millis(100);
/// Pages that wait for the user of the library, at the most.
pub(crate) const PAGES_AHEAD: usize = 16;

/// What reaches the engine from outside its thread.
#[derive(Debug)]
pub(crate) enum Message {
    /// Jobs have ended.
    Done(Vec<JobResult>),
    /// From the thread that writes.
    LogWriter(Word),
    /// Hand out nothing more; what is in flight has this long.
    Stop(Duration),
    /// The user of the library took a page.
    Taken,
    /// The user of the library is done with a page that waited for that.
    Read(JobId, LinkWord),
    /// A page that is being rendered asks for something.
    Part(PartCall),
    /// A rendering has ended, and was good for this.
    Rendered(Box<JobResult>, Option<Gain>),
    /// Somebody asks, or orders.
    Asked(Asked),
    /// From those who share the crawl.
    Fleet(FleetWord),
}

/// Everything a crawl is made of.
pub(crate) struct Parts<S> {
    pub(crate) config: Config,
    pub(crate) fetcher: Arc<dyn Fetcher>,
    pub(crate) extractor: Arc<dyn Extractor>,
    pub(crate) logs: Vec<Box<dyn Log>>,
    pub(crate) spool: Option<Arc<Spool>>,
    pub(crate) past: Option<PreviousCrawl>,
    pub(crate) cookies: CookieJar,
    pub(crate) frontier: Frontier<S>,
    /// In a fleet, what decides for it.
    pub(crate) member: Option<Box<dyn Membership<S>>>,
    /// In a fleet, what every request needs.
    pub(crate) lease: Option<FleetLease>,
    pub(crate) earlier: EarlierRuns,
    pub(crate) leases: Option<LeaseBoard>,
    pub(crate) folder: Option<Arc<JobFolder>>,
    pub(crate) witness: Option<Witness>,
    pub(crate) observer: Observer,
    pub(crate) pages: Option<pages_channel::Sender<HandedPage>>,
    /// Renders pages, if any are to be rendered.
    pub(crate) render: Option<RenderPage>,
    /// Whether a page is settled only after its reader's turn.
    pub(crate) holds_links: bool,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) outbox: Sender<Message>,
}

/// Hears of events, on the engine's thread.
pub(crate) type Observer = Box<dyn FnMut(Event<'_>) + Send>;

/// How a crawl ended.
#[derive(Debug)]
pub(crate) struct CrawlOutcome {
    /// As it was in the end: some of it can be changed on the way.
    pub(crate) config: Config,
    pub(crate) tally: Tally,
    pub(crate) facts: RunFacts,
    pub(crate) failed_roots: Vec<(CrawlUrl, String)>,
    pub(crate) error: Option<EngineError>,
    pub(crate) closing: Closing,
}

/// The loop's state.
pub(crate) struct Engine<S> {
    config: Config,
    trusted: Trusted,
    /// What was repaired before this run.
    repaired: Vec<String>,
    clock: Clock,
    frontier: Frontier<S>,
    member: Option<Box<dyn Membership<S>>>,
    member_says: MemberSays,
    cookies: CookieJar,
    task_pool: TaskPool,
    /// How many slots are wanted, for the tasks to know.
    slots: SlotDemand,
    log_writer: LogWriter,
    inbox: Receiver<Message>,
    batch: Vec<Entry>,
    /// The room of an earlier batch, for the next.
    spare: Vec<Entry>,
    exchanges: Exchanges,
    batch_since: Moment,
    batch_links: usize,
    delivery: Delivery,
    turns: ReaderTurns,
    renderings: Option<Renderings>,
    room: Room,
    stop_at: Option<Moment>,
    observer: Observer,
    tally: Tally,
    meter: Meter,
    joined_hosts: Vec<String>,
    failed_roots: Vec<(CrawlUrl, String)>,
    empty_root: Option<CrawlUrl>,
    any_page_fetched: bool,
    resumed: bool,
    resume_notes: ResumeNotes,
    no_room: bool,
    disk: DiskWatch,
    held: Arc<MemoryBudget>,
    leases: Option<LeaseBoard>,
    suspend_detector: SuspendDetector,
    control_state: ControlState,
}

impl<S: Store> Engine<S> {
    pub(crate) fn new(parts: Parts<S>) -> Result<Self, EngineError> {
        let config = parts.config;
        let is_member = parts.member.is_some();
        let completions = Arc::new(CompletionQueue::new(parts.outbox.clone()));
        let politeness = &parts.frontier.rules().host.politeness;
        let pausing = Pausing::by(politeness);
        if let Some(lease) = parts.lease {
            pausing.pauses.bind(lease);
        }
        let mut runner = JobRunner::new(&config, &parts.frontier, parts.fetcher, parts.extractor);
        runner.keeps_whole = parts.pages.is_some();
        let wish = RenderWish::new(config.render.when);
        runner.renders = parts.render.as_ref().map(|_| wish.clone());
        runner.spool.clone_from(&parts.spool);
        runner.past = parts.past;
        runner.pausing = Some(pausing);
        let (clock, slots) = (runner.clock, runner.slots.clone());
        let held = Arc::clone(&runner.held);
        let context = TaskContext {
            runner,
            completions: Arc::clone(&completions),
        };
        let renderings = parts.render.map(|render| {
            let engine = parts.outbox.clone();
            Renderings::new(render, (&config.render, wish), held.share(), engine)
        });
        let room = Room::new(descriptors::room_for(config.limits.concurrency as usize));
        let mut task_pool = TaskPool::start(context, &completions).map_err(EngineError::Start)?;
        if is_member {
            task_pool.allow_aborts();
        }
        Ok(Self {
            log_writer: LogWriter::start(parts.logs, parts.witness, parts.outbox)
                .map_err(EngineError::Start)?,
            clock,
            frontier: parts.frontier,
            member: parts.member,
            member_says: MemberSays::default(),
            cookies: parts.cookies,
            task_pool,
            slots,
            inbox: parts.inbox,
            batch: Vec::new(),
            spare: Vec::new(),
            exchanges: Exchanges::new(parts.spool),
            batch_since: Moment::ZERO,
            batch_links: 0,
            delivery: Delivery::new(parts.pages),
            turns: ReaderTurns::new(parts.holds_links && !is_member),
            renderings,
            room,
            stop_at: None,
            observer: parts.observer,
            resume_notes: ResumeNotes::new(&parts.earlier),
            tally: parts.earlier.tally,
            meter: Meter::default(),
            joined_hosts: Vec::new(),
            failed_roots: Vec::new(),
            empty_root: None,
            any_page_fetched: parts.earlier.resumed,
            resumed: parts.earlier.resumed,
            repaired: parts.earlier.repaired,
            no_room: false,
            control_state: ControlState::new(parts.folder),
            disk: DiskWatch::new(config.output.folder.as_deref(), config.output.min_free.0),
            held,
            leases: parts.leases,
            suspend_detector: SuspendDetector::begin(clock.now(), slept()),
            trusted: Trusted::for_roots(&config),
            config,
        })
    }

    fn work(&mut self) -> Result<StoppedBy, EngineError> {
        self.take_up()?;
        loop {
            self.notice_stop();
            while let Ok(message) = self.inbox.try_recv() {
                self.take(message)?;
            }
            if let Some(stopped_by) = self.fleet_turn()? {
                return Ok(stopped_by);
            }
            let now = self.clock.now();
            self.watch_disk(now);
            if self.stop_at.is_some() {
                self.end_turns()?;
                self.forget_renderings();
            }
            self.hand_batch_over(now, BATCH_SIZE)?;
            if self
                .stop_at
                .is_some_and(|at| now >= at || self.frontier.counts().in_flight == 0)
            {
                return Ok(StoppedBy::Interrupted);
            }
            self.frontier.set_slots(self.room.slots());
            self.mind_gate(now)?;
            let next = if self.has_room() {
                self.frontier.next(now).map_err(state)?
            } else {
                Next::Waiting
            };
            self.tell_refusals();
            if !matches!(next, Next::Start(_)) {
                self.send_out();
            }
            match next {
                Next::Start(job) => self.start(job),
                Next::Settled(finished) => {
                    self.finished(*finished, None);
                    self.tell_progress(now);
                }
                Next::WaitUntil(at) => self.wait(now, Some(at))?,
                Next::Waiting => self.wait(now, None)?,
                Next::Idle => {
                    if let Some(member) = &mut self.member {
                        member.is_idle();
                    }
                    self.wait(now, None)?;
                }
                Next::Done(End::Finished) => return Ok(StoppedBy::Finished),
                Next::Done(End::Budget(budget)) => {
                    return Ok(StoppedBy::Budget(budget.flag().to_owned()));
                }
            }
        }
    }

    /// Says what this run goes on with, and admits the roots.
    fn take_up(&mut self) -> Result<(), EngineError> {
        if self.resumed {
            let counts = self.frontier.counts();
            (self.observer)(Event::Resumed {
                done: self.tally.done,
                todo: counts.todo(),
            });
        }
        for told in &self.repaired {
            (self.observer)(Event::Repaired(told));
        }
        // In a fleet roots come with their shards.
        let roots = self.config.roots.iter().filter(|_| self.member.is_none());
        for root in roots.cloned().collect::<Vec<_>>() {
            self.frontier
                .admit_root(root.url, root.guessed_scheme, self.clock.now())
                .map_err(state)?;
        }
        Ok(())
    }

    /// Waits for a message, or for the first thing that is due.
    fn wait(&mut self, now: Moment, until: Option<Moment>) -> Result<(), EngineError> {
        self.tell_notes();
        self.slots.publish(self.frontier.slots_wanted(now));
        // Only now, with everything handed out that may be, is it known what holds the crawl.
        if until.is_some() && self.control_state.hold.is_none() {
            self.control_state.hold = self.frontier.hold(now);
        }
        self.tell_progress(now);
        let progress_due = now + PROGRESS_TIME;
        let due = [until, self.batch_due(), self.stop_at, self.member_says.due];
        let due = due.into_iter().flatten().min();
        let due = due.map_or(progress_due, |due| due.min(progress_due));
        let word = self.inbox.recv_timeout(due.saturating_sub(now));
        self.notice_stop();
        match word {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => unreachable!("the task context holds a sender"),
        }
    }

    fn take(&mut self, message: Message) -> Result<(), EngineError> {
        match message {
            Message::Done(ended) => {
                let ended = self.received(ended);
                let settlements = ended.iter().map(|done| &done.settlement);
                self.frontier.look_ahead(settlements).map_err(state)?;
                for done in ended {
                    self.settle(done)?;
                }
            }
            Message::LogWriter(word) => self.listen(word)?,
            Message::Stop(grace) if self.member.is_some() => self.leave_fleet(grace),
            Message::Stop(grace) => {
                self.log_writer.give_up();
                let at = self.clock.now() + grace;
                self.stop_at = Some(self.stop_at.map_or(at, |known| known.min(at)));
            }
            Message::Taken => {
                let reader = self.delivery.pass_on();
                self.mind(reader);
            }
            Message::Read(job, word) => self.end_turn(job, word)?,
            Message::Part(call) => self.send_part(call)?,
            Message::Rendered(result, gain) => self.rendered(*result, gain)?,
            Message::Asked(asked) => self.answer(asked)?,
            Message::Fleet(word) => {
                if let Some(member) = &mut self.member {
                    member.hear(word);
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, job: FetchJob) {
        let mut extras = match &job.work {
            Work::Resolve { .. } => RequestExtras::default(),
            Work::Page { url, .. } | Work::Robots { url, .. } | Work::Errand { url, .. } => {
                self.extras(job.id, url)
            }
        };
        let in_flight = self.frontier.counts().in_flight;
        self.meter.started(in_flight, &job.work);
        if let Some(member) = &mut self.member {
            member.started(&job.work, self.clock.now());
        }
        if let (Some(renderings), Work::Page { url, kind, .. }) = (&self.renderings, &job.work)
            && kind.is_requisite()
        {
            extras.given = renderings.given(url);
        }
        if let Some(board) = &mut self.leases
            && let Some(key) = self.frontier.leased(job.id)
        {
            extras.lease = Some(board.lend(job.id, key));
        }
        if self.task_pool.take_on(job, extras) == Readiness::Full {
            self.send_out();
        }
    }

    /// Gives what was handed out to the threads; the board knows of it before they do.
    fn send_out(&mut self) {
        if let Some(board) = &mut self.leases {
            board.write();
        }
        self.task_pool.send_out();
    }

    fn extras(&mut self, job: JobId, url: &CrawlUrl) -> RequestExtras {
        self.trusted.join(self.frontier.joined());
        let way = if self.frontier.is_for_root(job, self.clock.now()) {
            Way::Root
        } else {
            Way::Link
        };
        let cookie = if self.config.fetch.cookies {
            sent_cookies(&self.cookies, url)
        } else {
            None
        };
        RequestExtras::new(cookie, self.trusted.includes(url, way))
    }

    fn settle(&mut self, mut result: JobResult) -> Result<(), EngineError> {
        let now = self.clock.now();
        let has_cookie = self.keep_cookies(&result);
        match &mut result.settlement.ending {
            Ending::Answered(answer) => {
                answer.cookie = has_cookie;
                self.room.widen();
            }
            // Fewer requests at once, so that the next one finds what this one lacked.
            Ending::Failed(failure) if failure.excuse == Some(Excuse::Shortage) => {
                self.room.narrow(self.frontier.counts().in_flight as usize);
            }
            _ => {}
        }
        match self.rendered_first(result, now)? {
            Some(result) => self.settle_shown(result),
            None => Ok(()),
        }
    }

    /// Settles a job; where a reader is to see the page first, after that.
    fn settle_shown(&mut self, result: JobResult) -> Result<(), EngineError> {
        let Some(mut result) = self.shown_first(result) else {
            return Ok(());
        };
        let job = result.settlement.job;
        let settled = self
            .frontier
            .settle(&mut result.settlement, self.clock.now());
        let settled = settled.map_err(state)?;
        if let Some(number) = ended_errand(&settled) {
            self.errand_ended(number, result);
        } else if let Settled::Done(finished) = settled {
            self.finished(*finished, Some(result));
        } else {
            self.exchanges.add(result.exchange);
        }
        self.settled(job);
        Ok(())
    }

    /// What follows the settlement of any job.
    fn settled(&mut self, job: JobId) {
        if let Some(board) = &mut self.leases {
            board.give_back(job);
        }
        self.tell_notes();
    }

    fn keep_cookies(&mut self, result: &JobResult) -> bool {
        let Some(url) = result.url.as_ref().filter(|_| self.config.fetch.cookies) else {
            return false;
        };
        let set = &result.set_cookies;
        self.resume_notes.cookies_changed |= !set.is_empty();
        if let Some(member) = self.member.as_mut().filter(|_| !set.is_empty()) {
            member.cookies_changed(url);
        }
        keep_cookies(&mut self.cookies, url, set.iter().map(Vec::as_slice)) > 0
    }

    /// Where nobody wants pages any more, the crawl ends as if stopped.
    fn mind(&mut self, reader: Reader) {
        if reader == Reader::Gone {
            self.stop_at = Some(Moment::ZERO);
        }
    }

    fn tell_notes(&mut self) {
        let notes: Vec<Note> = self.frontier.notes().collect();
        for note in &notes {
            if let Note::HostJoined { host } = note {
                self.joined_hosts.push(host.to_string());
            }
            self.control_state.keep_note(note_line(note));
            (self.observer)(Event::Note(note));
        }
    }

    fn tell_progress(&mut self, now: Moment) {
        if !self.meter.is_due(now, PROGRESS_TIME) {
            return;
        }
        let seen = self.control_state.hold.take();
        let hold = self.frontier.hold(now).or(seen);
        let counts = self.frontier.counts();
        self.tally
            .tick(self.resume_notes.spent(now), counts.in_flight as u32);
        let mut progress = Progress {
            bytes_in_flight: self.held.bytes(),
            peak_bytes_in_flight: self.held.peak(),
            ..self.meter.measure(now, &self.tally, counts, hold)
        };
        progress.time_left = self.time_left(now, progress.pages_per_second);
        progress.fleet = self.member.as_ref().map(|member| member.totals());
        self.control_state.note(&mut progress);
        (self.observer)(Event::Progress(&progress));
    }
}
