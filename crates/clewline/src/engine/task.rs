//! One job, done: resolve, fetch, read, hash, extract.
//!
//! Owns the life of a try outside the frontier. A task shares nothing but immutable parts; it
//! ends with exactly one message to the engine, whatever happens in it: a panic too is an end.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clewline_core::frontier::{
    Answer, Ending, Failure, Job, JobId, Patience, Settlement, VerdictCache, Work,
};
use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason, is_redirect_status};
use clewline_core::robots::Robots;
use clewline_core::url::{CrawlUrl, redacted};
use futures_util::FutureExt;

use super::completions::CompletionQueue;
use super::facts::{self, FetchFacts, phases};
use super::memory_budget::{MemoryBudget, Share, TooMuch};
use super::pausing::{Pausing, pause_asked};
use super::reading::{read_body, short_of_memory, take_reading};
use super::{JobDone, unchanged};
use crate::clock::Clock;
use crate::config::ScopeConfig;
use crate::exchange::{Recording, Spool};
use crate::extract::Extractor;
use crate::fetch::{
    BodyTally, FetchFailure, Fetcher, GUESS_PATIENCE, Request, Response, Silence, SlotDemand,
};
use crate::leases::Lease;
use crate::previous::{self, PreviousCrawl};
use crate::robots_file::{self, RulesReader};

/// The page is as it was (RFC 9110 section 15.4.5).
const NOT_MODIFIED: u16 = 304;

/// A sitemap may be larger than a page: 50 MB by the protocol.
const SITEMAP_BODY: u64 = 50 * 1024 * 1024;

/// What all tasks of a crawl share.
pub(super) struct TaskContext {
    pub(super) fetcher: Arc<dyn Fetcher>,
    pub(super) extractor: Arc<dyn Extractor>,
    pub(super) keyer: Keyer,
    pub(super) verdict_cache: Arc<VerdictCache>,
    pub(super) clock: Clock,
    pub(super) robots_token: String,
    pub(super) scope: ScopeConfig,
    pub(super) max_body: u64,
    pub(super) timeout: Duration,
    pub(super) keep_content: bool,
    pub(super) held: Arc<MemoryBudget>,
    /// An earlier crawl of the same pages.
    pub(super) past: Option<PreviousCrawl>,
    /// Where exchanges are kept; none without an archive.
    pub(super) spool: Option<Arc<Spool>>,
    pub(super) completions: Arc<CompletionQueue>,
    pub(super) pausing: Pausing,
    pub(super) slots: SlotDemand,
}

/// What is added to a request on its way: secrets never pass through the frontier.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestExtras {
    pub(super) cookie: Option<String>,
    pub(super) credentials: bool,
    /// The page's place on the board of what is in hand.
    pub(super) lease: Option<Lease>,
    pub(super) recording: Option<Recording>,
    /// A second request instead of a lost one has to wait for its turn.
    pub(super) spaced: bool,
    /// Longest time for a connection, where that is less than usual.
    pub(super) patience: Option<Duration>,
    /// Longest time to the first byte, where the host usually answers far sooner.
    pub(super) first_byte: Option<Duration>,
    /// Who waits for the slot, where the job gives way.
    pub(super) slots: Option<SlotDemand>,
}

/// What a piece of work brought.
struct Done {
    ending: Ending,
    facts: FetchFacts,
    set_cookies: Vec<Vec<u8>>,
    share: Option<Share>,
}

impl Done {
    fn only(ending: Ending) -> Self {
        Self {
            ending,
            facts: FetchFacts::default(),
            set_cookies: Vec::new(),
            share: None,
        }
    }
}

/// A job's work and what it takes along. In one box, of which the functions below hold a
/// reference: tens of thousands wait at a time, and a future keeps what it is given twice.
struct TaskInput {
    work: Work,
    extras: RequestExtras,
}

/// Does a job and sends its end to the engine.
pub(super) fn run(
    context: Arc<TaskContext>,
    job: Job,
    mut extras: RequestExtras,
) -> impl Future<Output = ()> + Send {
    let Job { id, work, patience } = job;
    match patience {
        Patience::Full => {}
        Patience::GivesWay => extras.slots = Some(context.slots.clone()),
        Patience::FirstByte(limit) => extras.first_byte = Some(limit),
    }
    let input = Box::new(TaskInput { work, extras });
    async move {
        let done = AssertUnwindSafe(perform(&context, input))
            .catch_unwind()
            .await;
        let done = done.unwrap_or_else(|panic| Done::only(Ending::Failed(internal(&*panic))));
        let job_done = message(id, done);
        context.completions.leave(job_done, Instant::now());
    }
}

fn message(job: JobId, done: Done) -> JobDone {
    JobDone {
        settlement: Settlement {
            job,
            ending: done.ending,
        },
        facts: done.facts,
        set_cookies: done.set_cookies,
        share: done.share,
    }
}

fn internal(panic: &(dyn std::any::Any + Send)) -> Failure {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("a defect of the crawler: {}", words.unwrap_or("panic"));
    let class = FailureClass::Internal;
    Failure {
        class,
        message: message.into(),
        local: false,
        connected: false,
        wire: 0,
        sent_at: None,
    }
}

async fn perform(context: &TaskContext, mut input: Box<TaskInput>) -> Done {
    let spool = context.spool.as_ref();
    let recording = spool.map(|spool| Recording::new(Arc::clone(spool)));
    let TaskInput { work, extras } = &mut *input;
    extras.recording.clone_from(&recording);
    extras.patience = work.is_guess().then_some(GUESS_PATIENCE);
    extras.spaced = work.is_spaced();
    let mut done = match work {
        Work::Resolve { url } => {
            let silence = Silence::begin(extras.slots.take());
            return Done::only(resolve(context, url, silence).await);
        }
        Work::Robots { url, address, .. } => fetch_robots(context, url, *address, extras).await,
        Work::Page {
            url,
            address,
            kind,
            closely,
            ..
        } => {
            let target = Target {
                url,
                address: *address,
                kind: *kind,
                closely: *closely,
            };
            fetch_page(context, target, extras).await
        }
    };
    if let (Work::Page { url, .. }, Some(_)) = (input.work, done.facts.status) {
        done.facts.url = Some(url);
    }
    let unmodified = done.facts.unmodified.take();
    let exchange = recording.and_then(|recording| recording.take());
    done.facts.exchange = exchange.map(|mut exchange| {
        exchange.unmodified = unmodified;
        Arc::new(exchange)
    });
    done
}

async fn resolve(context: &TaskContext, url: &CrawlUrl, mut silence: Silence) -> Ending {
    if context.fetcher.proxied(url) {
        let ttl = Duration::from_hours(24);
        return Ending::Resolved {
            addresses: Vec::new(),
            ttl,
            trusted: false,
        };
    }
    let resolving = context.fetcher.resolve(url.host(), url.port());
    match silence.watch(resolving).await.flatten() {
        Ok(found) => {
            let (addresses, ttl, trusted) = (found.addresses, found.ttl, found.trusted);
            Ending::Resolved {
                addresses,
                ttl,
                trusted,
            }
        }
        Err(failure) => context.ending(&failure),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) url: &'a CrawlUrl,
    address: Option<IpAddr>,
    pub(super) kind: LinkKind,
    /// Its text is looked at closely.
    pub(super) closely: bool,
}

impl TaskContext {
    /// What is sent to an address; it takes from the extras what can be used once.
    fn request(
        &self,
        (url, address): (&CrawlUrl, Option<IpAddr>),
        max_body: u64,
        extras: &mut RequestExtras,
    ) -> Request {
        Request {
            url: url.clone(),
            address,
            cookie: extras.cookie.take(),
            credentials: extras.credentials,
            condition: None,
            max_body,
            timeout: self.timeout,
            patience: extras.patience,
            spaced: extras.spaced,
            recording: extras.recording.take(),
            pauses: Some(self.pausing.pauses.clone()),
            slots: extras.slots.take(),
            first_byte: extras.first_byte,
        }
    }

    /// What a failure means to the frontier.
    fn ending(&self, failure: &FetchFailure) -> Ending {
        let sent_at = failure.timings.sent_at.map(|at| self.clock.moment(at));
        match failure.withheld {
            Some(until) => Ending::Withheld {
                until: self.clock.moment(until),
                sent_at,
            },
            None if failure.cut_short => Ending::CutShort {
                wire: failure.wire,
                sent_at,
            },
            None => Ending::Failed(failure.told(sent_at)),
        }
    }

    fn failed(&self, failure: &FetchFailure, started: Instant) -> Done {
        let facts = FetchFacts {
            timings: phases(&failure.timings, started.elapsed()),
            ..FetchFacts::default()
        };
        Done {
            ending: self.ending(failure),
            facts,
            set_cookies: Vec::new(),
            share: None,
        }
    }

    /// The part of an answer that its head tells.
    fn answer(&self, response: &Response, url: &CrawlUrl) -> Answer {
        let headers = &response.headers;
        let location = headers
            .reference("location")
            .filter(|_| is_redirect_status(response.status));
        Answer {
            status: response.status,
            location: location.and_then(|location| url.join(&location).ok()),
            retry_after: pause_asked(response),
            first_byte: response.timings.first_byte.unwrap_or_default(),
            connect: response.timings.connect.unwrap_or_default(),
            sent_at: response.timings.sent_at.map(|at| self.clock.moment(at)),
            ..Answer::default()
        }
    }
}

async fn fetch_robots(
    context: &TaskContext,
    url: &CrawlUrl,
    address: Option<IpAddr>,
    extras: &mut RequestExtras,
) -> Done {
    let started = Instant::now();
    let request = context.request((url, address), robots_file::LONGEST, extras);
    let response = match context.fetcher.fetch(request).await {
        Ok(response) => response,
        Err(failure) => return context.failed(&failure, started),
    };
    context.pausing.heed(&response, url);
    Box::pin(read_robots(context, url, response, started)).await
}

async fn read_robots(
    context: &TaskContext,
    url: &CrawlUrl,
    mut response: Response,
    started: Instant,
) -> Done {
    let mut answer = context.answer(&response, url);
    if (200..300).contains(&response.status) {
        match read_rules(context, &mut response).await {
            Ok(rules) => answer.robots = Some(Box::new(rules)),
            Err(failure) => return context.failed(&failure, started),
        }
    }
    answer.wire = response.body.tally().wire;
    Done::only(Ending::Answered(Box::new(answer)))
}

async fn read_rules(
    context: &TaskContext,
    response: &mut Response,
) -> Result<Robots, FetchFailure> {
    let mut reader = RulesReader::new(response, &context.robots_token)?;
    let mut share = context.held.share();
    while let Some(chunk) = response.body.chunk().await? {
        reader.feed(&chunk);
        if share.hold(reader.held() as u64) == Err(TooMuch) {
            return Err(short_of_memory(response));
        }
    }
    Ok(reader.finish(response.body.tally()))
}

async fn fetch_page(context: &TaskContext, target: Target<'_>, extras: &mut RequestExtras) -> Done {
    let started = Instant::now();
    let earlier = unchanged::held(context, &target).await;
    let max_body = match target.kind {
        LinkKind::SitemapFile => SITEMAP_BODY,
        _ => context.max_body,
    };
    let mut request = context.request((target.url, target.address), max_body, extras);
    request.condition = earlier.as_ref().map(|earlier| earlier.condition.clone());
    let response = match context.fetcher.fetch(request).await {
        Ok(response) => response,
        Err(failure) => return context.failed(&failure, started),
    };
    context.pausing.heed(&response, target.url);
    if let Some(lease) = &extras.lease {
        lease.reading();
    }
    // Boxed, because reading needs far more room than the wait before it.
    Box::pin(read_page(context, target, response, started, earlier)).await
}

/// Takes an answer to its end; `earlier` is what was known of the page when it was asked for.
async fn read_page(
    context: &TaskContext,
    target: Target<'_>,
    mut response: Response,
    started: Instant,
    earlier: Option<Box<previous::Held>>,
) -> Done {
    let mut answer = context.answer(&response, target.url);
    let mut facts = head_facts(&response, &answer);
    let set_cookies = response
        .headers
        .all("set-cookie")
        .map(<[u8]>::to_vec)
        .collect();
    let mut share = None;
    let earlier = earlier.filter(|_| response.status == NOT_MODIFIED);
    if let Some(earlier) = earlier {
        if let Err(failure) = drain(&mut response).await {
            return context.failed(&failure, started);
        }
        unchanged::take(context, &target, *earlier, &mut answer, &mut facts).await;
    } else if !context.scope.accepts(facts.content_type.as_deref())
        && !is_redirect_status(response.status)
    {
        answer.unread = Some(SkipReason::ContentType);
        facts.problem = facts
            .content_type
            .as_ref()
            .map(|kind| format!("its type is {kind}"));
    } else {
        let read = match read_body(context, &target, &mut response).await {
            Ok(read) => read,
            Err(failure) => return context.failed(&failure, started),
        };
        share = take_reading(context, (target.kind, read), &mut answer, &mut facts);
    }
    let tally = response.body.tally();
    count(&tally, &mut answer, &mut facts);
    facts.timings = phases(&response.timings, started.elapsed());
    if let Some(content) = &mut facts.content {
        content.headers = std::mem::take(&mut response.headers);
    }
    Done {
        ending: Ending::Answered(Box::new(answer)),
        facts,
        set_cookies,
        share,
    }
}

/// Reads an answer to its end, so that its connection can be used again.
async fn drain(response: &mut Response) -> Result<(), FetchFailure> {
    while response.body.chunk().await?.is_some() {}
    Ok(())
}

fn count(tally: &BodyTally, answer: &mut Answer, facts: &mut FetchFacts) {
    answer.wire = tally.wire;
    facts.decoded = tally.decoded;
    facts.truncated = tally.truncated;
}

fn head_facts(response: &Response, answer: &Answer) -> FetchFacts {
    let location = response
        .headers
        .reference("location")
        .filter(|_| is_redirect_status(response.status));
    let unusable = location.filter(|_| answer.location.is_none());
    let problem = unusable
        .as_ref()
        .map(|_| "the redirect's target cannot be followed".to_owned());
    FetchFacts {
        status: Some(response.status),
        address: response.address,
        content_type: response.headers.media_type(),
        last_modified: response
            .headers
            .text("last-modified")
            .map(std::borrow::Cow::into_owned),
        problem: problem.or_else(|| facts::unknown_authentication(response)),
        redirect_to: unusable.map(|location| redacted(&location).into_owned()),
        ..FetchFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room<F: Future>(_: impl Fn(Arc<TaskContext>, Job, RequestExtras) -> F) -> usize {
        size_of::<F>()
    }

    /// Tens of thousands wait for their first byte at a time: what is needed only after it
    /// belongs into a box.
    #[test]
    fn a_task_that_waits_is_small() {
        let room = room(run);
        assert!(room <= 1024, "a task takes {room} bytes");
    }
}
