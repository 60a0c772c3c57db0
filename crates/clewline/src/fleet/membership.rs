//! What the engine lets a member of a fleet decide.
//!
//! Owns the seam between the engine, which knows no fleet, and the driver of a member. The engine
//! calls it in each of its turns and when it has something for it; what it has to do follows from
//! what it is answered.

use std::time::Duration;

use clewline_core::cookies::CookieJar;
use clewline_core::fleet::FleetTotals;
use clewline_core::frontier::{Frontier, JobId, Moment, Store, Work};
use clewline_core::url::CrawlUrl;

use super::FleetWord;
use crate::control::Change;
use crate::engine::{EngineError, JobResult};
use crate::entry::Entry;
use crate::record::Record;
use crate::report::StoppedBy;

/// What a member may look at and change in a turn of the engine.
pub(crate) struct AtWork<'a, S> {
    pub(crate) frontier: &'a mut Frontier<S>,
    /// The records of the open batch.
    pub(crate) batch: &'a mut Vec<Entry>,
    pub(crate) cookies: &'a mut CookieJar,
    /// A batch is on its way.
    pub(crate) is_writing: bool,
    pub(crate) now: Moment,
}

/// What the engine has to do after a turn.
#[derive(Debug, Default)]
pub(crate) struct FleetTurn {
    /// Jobs that are not to be waited for any more; their URLs stay open.
    pub(crate) abort: Vec<JobId>,
    /// Results that were held back.
    pub(crate) settle: Vec<JobResult>,
    /// Nothing is to be asked now.
    pub(crate) holds: bool,
    /// Somebody paused the fleet, or let it go on.
    pub(crate) paused: Option<bool>,
    /// Somebody wants other figures.
    pub(crate) changes: Vec<Change>,
    /// Something that people may want to hear.
    pub(crate) told: Vec<String>,
    /// The open batch is to be handed over.
    pub(crate) commit: bool,
    /// The crawl has ended here.
    pub(crate) ended: Option<StoppedBy>,
    /// The next turn is due then, if nothing happens before.
    pub(crate) due: Moment,
}

/// A member of a fleet, as the engine sees it.
pub(crate) trait Membership<S: Store>: Send {
    /// Hears something from the bus.
    fn hear(&mut self, word: FleetWord);

    /// Does what is due.
    fn turn(&mut self, at: AtWork<'_, S>) -> Result<FleetTurn, EngineError>;

    /// A job ended; its result, unless it has to wait or nobody waits for it any more.
    fn receive(&mut self, result: JobResult, frontier: &Frontier<S>) -> Option<JobResult>;

    /// A URL reached its end.
    fn finished(&mut self, record: &Record);

    /// The cookies of the site of a URL changed.
    fn cookies_changed(&mut self, url: &CrawlUrl);

    /// A job is handed out.
    fn started(&mut self, work: &Work, now: Moment);

    /// Nothing is left to do here, as far as it is known here.
    fn is_idle(&mut self);

    /// The open batch is about to be sealed.
    fn before_seal(&mut self, frontier: &mut Frontier<S>);

    /// The batch was sealed: what it says of its shards is known now.
    fn after_seal(&mut self, frontier: &mut Frontier<S>, cookies: &CookieJar, now: Moment);

    /// The batch is durable here; which records of it count.
    fn after_commit(
        &mut self,
        frontier: &mut Frontier<S>,
        entries: &mut Vec<Entry>,
        now: Moment,
    ) -> Result<(), EngineError>;

    /// How many members there are, and what all of them have done.
    fn totals(&self) -> (u64, FleetTotals);

    /// The crawl has ended here: nothing is committed any more, and nobody waits for it.
    fn end(&mut self);

    /// The crawl is to end: leaves the fleet, and gives what is in flight so long.
    fn leave(&mut self, grace: Duration);
}
