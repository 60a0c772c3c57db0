//! One job, done: resolve, fetch, read, hash, extract.
//!
//! Owns the way from a [`FetchJob`] of the frontier to its [`JobResult`], for a crawl and for an
//! inspection alike: how a request is made, how its answer is read, what is taken from it. A new
//! protocol, a browser or a header is added here, once. Refuses to know what a result means, and
//! who waits for it. Invariants: a runner shares nothing but immutable parts; whatever happens on
//! the network is a result.

mod given;
mod joined_links;
mod page_links;
mod pausing;
mod reading;
mod rendered;
mod result;
mod unchanged;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clewline_core::frontier::{
    Answer, Ending, FetchJob, Frontier, JobId, Patience, Store, VerdictCache, Work,
};
use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{SkipReason, is_redirect_status};
use clewline_core::url::CrawlUrl;
use xxhash_rust::xxh3::xxh3_64;

use super::memory_budget::{MemoryBudget, TooMuch};
use super::rendering::{RenderProspect, RenderWish};
use crate::clock::Clock;
use crate::config::{Config, ScopeConfig};
use crate::exchange::{Recording, Spool};
use crate::extract::Extractor;
use crate::fetch::{FetchFailure, Fetcher, GUESS_PATIENCE, Request, Response, Silence, SlotDemand};
use crate::leases::Lease;
use crate::previous::{self, PreviousCrawl};
use crate::robots_file::{self, RulesReader};

pub(in crate::engine) use given::GivenAnswer;
pub(crate) use joined_links::JoinedLinks;
pub(super) use pausing::Pausing;
use pausing::pause_asked;
use reading::{read_body, read_part, short_of_memory};
pub(in crate::engine) use rendered::RenderJob;
pub(crate) use result::{JobResult, WholeAnswer};

/// The page is as it was (RFC 9110 section 15.4.5).
const NOT_MODIFIED: u16 = 304;

/// The largest body of what a rendered page asks for: it is kept whole.
const PART_BODY: u64 = 16 * 1024 * 1024;

/// A sitemap may be larger than a page: 50 MB by the protocol.
const SITEMAP_BODY: u64 = 50 * 1024 * 1024;

/// How long it is believed that a proxy does the resolving.
const PROXIED: Duration = Duration::from_hours(24);

/// What all jobs of a crawl or an inspection share.
pub(crate) struct JobRunner {
    pub(crate) fetcher: Arc<dyn Fetcher>,
    extractor: Arc<dyn Extractor>,
    /// What stands for the extractor and for how much of a page it sees.
    extractor_mark: Option<u64>,
    keyer: Keyer,
    verdict_cache: Arc<VerdictCache>,
    /// The time of the frontier.
    pub(crate) clock: Clock,
    robots_token: String,
    scope: ScopeConfig,
    max_body: u64,
    timeout: Duration,
    pub(super) held: Arc<MemoryBudget>,
    /// Whether answers are kept whole, for whoever wants to see more than their record.
    pub(crate) keeps_whole: bool,
    /// Whether pages may be rendered, so that their answers are kept until that is decided.
    pub(super) renders: Option<RenderWish>,
    /// Whether the frontier is to say what it thinks of each link.
    pub(crate) wants_verdicts: bool,
    /// An earlier crawl of the same pages.
    pub(super) past: Option<PreviousCrawl>,
    /// Where exchanges are kept; none without an archive.
    pub(super) spool: Option<Arc<Spool>>,
    /// Pauses that count for requests under way; none where they are made one by one.
    pub(super) pausing: Option<Pausing>,
    pub(super) slots: SlotDemand,
}

/// What is added to a request on its way: secrets never pass through the frontier.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestExtras {
    cookie: Option<String>,
    credentials: bool,
    /// The page's place on the board of what is in hand.
    pub(super) lease: Option<Lease>,
    recording: Option<Recording>,
    /// Longest time to the first byte, where the host usually answers far sooner.
    first_byte: Option<Duration>,
    /// Who waits for the slot, where the job gives way.
    slots: Option<SlotDemand>,
    /// The answer, if it is here already.
    pub(super) given: Option<Box<GivenAnswer>>,
}

impl RequestExtras {
    pub(crate) fn new(cookie: Option<String>, credentials: bool) -> Self {
        Self {
            cookie,
            credentials,
            ..Self::default()
        }
    }
}

/// A job and what it takes along. In one box, of which the functions below hold a reference:
/// tens of thousands wait at a time, and a future keeps what it is given twice.
pub(crate) struct JobInput {
    id: JobId,
    work: Work,
    extras: RequestExtras,
}

/// What is asked for.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the request"
)]
struct Target<'a> {
    job: JobId,
    url: &'a CrawlUrl,
    address: Option<IpAddr>,
    /// How the page was named; none for a robots.txt and for what a page asked for.
    kind: Option<LinkKind>,
    /// A page that is being rendered asked for it.
    is_errand: bool,
    /// It asked for the head of the answer alone.
    is_head: bool,
    /// Its text is looked at closely.
    closely: bool,
    /// Longest time for a connection, where that is less than usual.
    patience: Option<Duration>,
    /// A second request instead of a lost one has to wait for its turn.
    spaced: bool,
    /// Requests that the host may have in flight.
    streams: u32,
}

impl<'a> Target<'a> {
    /// What a job asks for; none if that is a name.
    fn new(job: JobId, work: &'a Work) -> Option<Self> {
        let (url, address, kind, closely, streams) = match work {
            Work::Resolve { .. } => return None,
            Work::Robots {
                url,
                address,
                streams,
                ..
            }
            | Work::Errand {
                url,
                address,
                streams,
                ..
            } => (url, *address, None, false, *streams),
            Work::Page {
                url,
                address,
                kind,
                closely,
                streams,
                ..
            } => (url, *address, Some(*kind), *closely, *streams),
        };
        Some(Self {
            job,
            url,
            address,
            kind,
            is_errand: matches!(work, Work::Errand { .. }),
            is_head: matches!(work, Work::Errand { is_head: true, .. }),
            closely,
            patience: work.is_guess().then_some(GUESS_PATIENCE),
            spaced: work.is_spaced(),
            streams,
        })
    }
}

impl JobRunner {
    /// A runner for the jobs of a frontier that keeps no more than records need, has no earlier
    /// crawl to ask and no archive.
    pub(crate) fn new<S: Store>(
        config: &Config,
        frontier: &Frontier<S>,
        fetcher: Arc<dyn Fetcher>,
        extractor: Arc<dyn Extractor>,
    ) -> Self {
        let mark = extractor.fingerprint().map(|fingerprint| {
            let all = [fingerprint, config.fetch.max_body].map(u64::to_le_bytes);
            xxh3_64(all.as_flattened())
        });
        Self {
            fetcher,
            extractor,
            extractor_mark: mark,
            keyer: frontier.rules().keyer.clone(),
            verdict_cache: frontier.verdict_cache(),
            clock: Clock::start(),
            robots_token: config.fetch.robots_token(),
            scope: config.scope.clone(),
            max_body: config.fetch.max_body,
            timeout: config.fetch.timeout,
            held: MemoryBudget::within(config.output.memory.0),
            keeps_whole: false,
            renders: None,
            wants_verdicts: false,
            past: None,
            spool: None,
            pausing: None,
            slots: SlotDemand::default(),
        }
    }

    /// What an answer has to be for somebody to want it whole: nobody may want a page that will not be rendered.
    fn prospect(&self, target: &Target<'_>) -> RenderProspect {
        match &self.renders {
            _ if self.keeps_whole => RenderProspect::Open,
            None => RenderProspect::Closed,
            Some(_) if reading::is_shared_part(target) => RenderProspect::Open,
            Some(wish) => wish.prospect(self.keyer.key(target.url).host(), target.url),
        }
    }

    /// Whether an answer is kept whole once it is read.
    fn is_kept(&self, target: &Target<'_>, is_shell: bool) -> bool {
        match self.prospect(target) {
            RenderProspect::Open => true,
            RenderProspect::ShellOnly => is_shell,
            RenderProspect::Closed => false,
        }
    }

    /// Makes a job ready to be run.
    pub(crate) fn prepare(&self, job: FetchJob, mut extras: RequestExtras) -> Box<JobInput> {
        let FetchJob { id, work, patience } = job;
        match patience {
            Patience::Full => {}
            Patience::GivesWay => extras.slots = Some(self.slots.clone()),
            Patience::FirstByte(limit) => extras.first_byte = Some(limit),
        }
        Box::new(JobInput { id, work, extras })
    }

    /// Does a job.
    pub(crate) async fn run(&self, mut input: Box<JobInput>) -> JobResult {
        let spool = self.spool.as_ref();
        let recording = spool.map(|spool| Recording::new(Arc::clone(spool)));
        let JobInput { id, work, extras } = &mut *input;
        extras.recording.clone_from(&recording);
        let Some(target) = Target::new(*id, work) else {
            return self.resolve(*id, work, extras.slots.take()).await;
        };
        let mut result = self.fetch(&target, extras).await;
        if let (Work::Page { url, .. } | Work::Errand { url, .. }, Some(_)) =
            (input.work, result.answer())
        {
            result.url = Some(url);
        }
        let unmodified = result.unmodified.take();
        let exchange = recording.and_then(|recording| recording.take());
        result.exchange = exchange.map(|mut exchange| {
            exchange.unmodified = unmodified;
            Arc::new(exchange)
        });
        result
    }

    async fn resolve(&self, job: JobId, work: &Work, slots: Option<SlotDemand>) -> JobResult {
        let url = work.url();
        let mut silence = Silence::begin(slots);
        if self.fetcher.proxied(url) {
            let unresolved = Ending::Resolved {
                addresses: Vec::new(),
                ttl: PROXIED,
                trusted: false,
            };
            return JobResult::new(job, unresolved);
        }
        let resolving = self.fetcher.resolve(url.host(), url.port());
        let ending = match silence.watch(resolving).await.flatten() {
            Ok(found) => Ending::Resolved {
                addresses: found.addresses,
                ttl: found.ttl,
                trusted: found.trusted,
            },
            Err(failure) => self.ending(&failure),
        };
        JobResult::new(job, ending)
    }

    async fn fetch(&self, target: &Target<'_>, extras: &mut RequestExtras) -> JobResult {
        let started = Instant::now();
        if let Some(given) = extras.given.take() {
            return Box::pin(self.read(target, given.response(), started, None)).await;
        }
        let earlier = unchanged::held(self, target).await;
        let mut request = self.request(target, extras);
        request.condition = earlier.as_ref().map(|earlier| earlier.condition.clone());
        let response = match self.fetcher.fetch(request).await {
            Ok(response) => response,
            Err(failure) => return self.failed(target.job, &failure, started),
        };
        if let Some(pausing) = &self.pausing {
            pausing.heed(&response, target.url);
        }
        if let Some(lease) = &extras.lease {
            lease.reading();
        }
        // Boxed, because reading needs far more room than the wait before it.
        Box::pin(self.read(target, response, started, earlier)).await
    }

    /// What is sent to an address; it takes from the extras what can be used once.
    fn request(&self, target: &Target<'_>, extras: &mut RequestExtras) -> Request {
        let max_body = match target.kind {
            None if target.is_errand => self.max_body.min(PART_BODY),
            None => robots_file::LONGEST,
            Some(LinkKind::SitemapFile) => SITEMAP_BODY,
            Some(_) => self.max_body,
        };
        let pausing = self.pausing.as_ref();
        Request {
            url: target.url.clone(),
            is_head: target.is_head,
            address: target.address,
            cookie: extras.cookie.take(),
            credentials: extras.credentials,
            condition: None,
            max_body,
            timeout: self.timeout,
            patience: target.patience,
            spaced: target.spaced,
            // An index finds captures by their URL: an answer without its body would hide the page.
            recording: extras.recording.take().filter(|_| !target.is_head),
            pauses: pausing.map(|pausing| pausing.pauses.clone()),
            slots: extras.slots.take(),
            first_byte: extras.first_byte,
            streams: target.streams,
        }
    }

    /// Takes an answer to its end; `earlier` is what was known of the page when it was asked for.
    async fn read(
        &self,
        target: &Target<'_>,
        mut response: Response,
        started: Instant,
        earlier: Option<Box<previous::Held>>,
    ) -> JobResult {
        let mut result = JobResult::new(target.job, self.answered(&response, target.url));
        result.head_after = Some(started.elapsed());
        let read = if target.is_errand {
            result.take_head(&response);
            read_part(self, &mut response, &mut result).await
        } else if target.kind.is_none() {
            self.read_robots(&mut response, &mut result).await
        } else {
            result.take_head(&response);
            self.read_page(target, &mut response, earlier, &mut result)
                .await
        };
        match read {
            Ok(()) => result.count(&response),
            Err(failure) => {
                let head_after = result.head_after;
                result = self.failed(target.job, &failure, started);
                result.head_after = head_after;
            }
        }
        result.total = Some(started.elapsed());
        // What stands for an answer that did not change has its own head.
        let is_past = result.unmodified.is_some() && result.whole.is_some();
        if (self.keeps_whole || result.whole.is_some()) && !is_past {
            let whole = result.whole.get_or_insert_default();
            whole.status = response.status;
            whole.headers = std::mem::take(&mut response.headers);
        }
        result
    }

    async fn read_robots(
        &self,
        response: &mut Response,
        result: &mut JobResult,
    ) -> Result<(), FetchFailure> {
        if !(200..300).contains(&response.status) {
            return Ok(());
        }
        let mut reader = RulesReader::new(response, &self.robots_token)?;
        let mut share = self.held.share();
        while let Some(chunk) = response.body.chunk().await? {
            reader.feed(&chunk);
            if share.hold(reader.held() as u64) == Err(TooMuch) {
                return Err(short_of_memory(response));
            }
        }
        let rules = reader.finish(response.body.tally());
        if let Some(answer) = result.answer_mut() {
            answer.robots = Some(Box::new(rules));
        }
        Ok(())
    }

    async fn read_page(
        &self,
        target: &Target<'_>,
        response: &mut Response,
        earlier: Option<Box<previous::Held>>,
        result: &mut JobResult,
    ) -> Result<(), FetchFailure> {
        if let Some(earlier) = earlier.filter(|_| response.status == NOT_MODIFIED) {
            drain(response).await?;
            unchanged::take(self, target, *earlier, result).await;
        } else if !self.scope.accepts(result.content_type.as_deref())
            && !is_redirect_status(response.status)
        {
            let kind = result.content_type.as_ref();
            result.problem = kind.map(|kind| format!("its type is {kind}"));
            if let Some(answer) = result.answer_mut() {
                answer.unread = Some(SkipReason::ContentType);
            }
        } else {
            read_body(self, target, response, result).await?;
        }
        Ok(())
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

    fn failed(&self, job: JobId, failure: &FetchFailure, started: Instant) -> JobResult {
        let mut result = JobResult::new(job, self.ending(failure));
        result.timings = failure.timings;
        result.total = Some(started.elapsed());
        result
    }

    /// The part of an answer that its head tells.
    fn answered(&self, response: &Response, url: &CrawlUrl) -> Ending {
        let location = response.headers.reference("location");
        let location = location.filter(|_| is_redirect_status(response.status));
        Ending::Answered(Box::new(Answer {
            status: response.status,
            location: location.and_then(|location| url.join(&location).ok()),
            retry_after: pause_asked(response),
            first_byte: response.timings.first_byte.unwrap_or_default(),
            connect: response.timings.connect.unwrap_or_default(),
            sent_at: response.timings.sent_at.map(|at| self.clock.moment(at)),
            verdicts: self.wants_verdicts.then(Vec::new),
            ..Answer::default()
        }))
    }
}

/// Reads an answer to its end, so that its connection can be used again.
async fn drain(response: &mut Response) -> Result<(), FetchFailure> {
    while response.body.chunk().await?.is_some() {}
    Ok(())
}
