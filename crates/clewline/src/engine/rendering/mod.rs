//! Pages that are with a browser before they are settled.
//!
//! Owns which pages are rendered, those that are just now, and the way of their requests through the
//! frontier. A page that was fetched is [postponed](Frontier::postpone): its host is free, and its
//! requests are errands of their hosts' lanes. It refuses to know browsers. Invariants: a page that is
//! rendered is settled exactly once, by what the rendering brought or, if that failed, as the answer
//! alone says; a crawl that stops or dies forgets its renderings, and their pages are fetched again.

mod part_cache;
mod part_door;
mod sampling;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use clewline_core::frontier::{
    Ending, Errand, ErrandRefusal, Frontier, Handout, JobId, Moment, RefusedErrand, Settled, Store,
};
use clewline_core::key::HostId;
use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_core::url::CrawlUrl;
use clewline_render::{PartAnswer, PartKind, PartRefusal, RenderInput};
use tokio::sync::oneshot;

use super::memory_budget::Share;
use super::runner::{GivenAnswer, RenderJob};
use super::{Engine, EngineError, JobResult, Message, state};
use crate::config::RenderConfig;
use crate::headers::Headers;
use crate::render::{self, RenderPage};

use part_cache::PartCache;
pub(crate) use part_door::PartCall;
use part_door::PartDoor;
pub(crate) use sampling::{Gain, RenderProspect, RenderWish};

/// Requests of one page that reach a server.
const MOST_PARTS: u32 = 100;
/// Pages that wait for a tab, for each tab.
const AHEAD: usize = 4;

/// Fields that tell how a body was sent, which is over.
const OF_TRANSFER: [&str; 3] = ["content-encoding", "content-length", "transfer-encoding"];

/// The pages that are rendered just now, and what they wait for.
pub(super) struct Renderings {
    render: RenderPage,
    engine: Sender<Message>,
    /// Pages that may still be rendered.
    left: u64,
    /// Pages in hand at the most.
    most: usize,
    pages: BTreeMap<JobId, RenderedNow>,
    waiting: HashMap<u64, WaitingPart>,
    /// The number of the last errand.
    last: u64,
    cache: PartCache,
    wish: RenderWish,
    handout: Handout,
}

/// A page that is rendered just now.
#[derive(Debug)]
struct RenderedNow {
    host: HostId,
    parts: u32,
}

/// Somebody waits for an errand.
#[derive(Debug)]
struct WaitingPart {
    page: JobId,
    url: String,
    kind: PartKind,
    is_head: bool,
    reply: oneshot::Sender<PartAnswer>,
}

impl Renderings {
    /// `share` is what kept parts take of the memory.
    pub(super) fn new(
        render: RenderPage,
        (config, wish): (&RenderConfig, RenderWish),
        share: Share,
        engine: Sender<Message>,
    ) -> Self {
        Self {
            render,
            engine,
            left: config.limit.unwrap_or(u64::MAX),
            most: render::tabs(config) * (1 + AHEAD),
            pages: BTreeMap::new(),
            waiting: HashMap::new(),
            last: 0,
            cache: PartCache::new(share),
            wish,
            handout: Handout::All,
        }
    }

    /// Whether a page is to be rendered.
    fn wants(&mut self, host: HostId, result: &JobResult) -> bool {
        let Some(url) = result.url.as_ref().filter(|_| self.left > 0) else {
            return false;
        };
        let is_html = match result.content_type.as_deref() {
            Some(kind) => matches!(kind, "text/html" | "application/xhtml+xml"),
            None => result.is_shell,
        };
        is_html && self.wish.wants(host, url, result.is_shell)
    }

    fn begin(&mut self, result: &JobResult, of: (HostId, LinkKind)) -> Option<RenderJob> {
        let page = result.settlement.job;
        let whole = result.whole.as_ref()?;
        let url = result.url.clone()?;
        let input = RenderInput {
            url: url.to_string(),
            status: whole.status,
            headers: fields(&whole.headers),
            body: whole.body.clone(),
        };
        let (host, kind) = of;
        self.left -= 1;
        if self.left == 0 {
            self.wish.end();
        }
        self.pages.insert(page, RenderedNow { host, parts: 0 });
        Some(RenderJob {
            render: Arc::clone(&self.render),
            page: input,
            parts: Arc::new(PartDoor {
                page,
                engine: self.engine.clone(),
            }),
            url,
            kind,
        })
    }

    /// Answers a request without asking anybody, or gives it a number.
    fn take_on(&mut self, call: PartCall) -> Option<Errand> {
        let PartCall {
            page,
            request,
            reply,
        } = call;
        let url = match self.judge(page, &request.url) {
            Ok(url) => url,
            Err(answer) => {
                reply.send(answer).ok();
                return None;
            }
        };
        self.last += 1;
        let part = WaitingPart {
            page,
            url: request.url,
            kind: request.kind,
            is_head: request.is_head,
            reply,
        };
        self.waiting.insert(self.last, part);
        let errand = Errand::new(page, self.last, url);
        Some(if request.is_head {
            errand.for_head()
        } else {
            errand
        })
    }

    /// What is to be asked for, or the answer that is known without asking.
    fn judge(&mut self, page: JobId, url: &str) -> Result<CrawlUrl, PartAnswer> {
        let Some(now) = self.pages.get_mut(&page) else {
            return Err(PartAnswer::Refused(PartRefusal::Stopping));
        };
        if let Some(kept) = self.cache.find(url) {
            return Err(kept.answer());
        }
        let url = CrawlUrl::parse(url).map_err(|error| PartAnswer::Failed(error.to_string()))?;
        if now.parts >= MOST_PARTS {
            return Err(PartAnswer::Refused(PartRefusal::Limit));
        }
        now.parts += 1;
        Ok(url)
    }

    fn answer(&mut self, number: u64, answer: PartAnswer) {
        // Its page may have ended before.
        if let Some(part) = self.waiting.remove(&number) {
            part.reply.send(answer).ok();
        }
    }

    /// Keeps what an errand brought, if others of the crawl may need it.
    fn keep(&mut self, number: u64, result: &JobResult) {
        let part = self.waiting.get(&number).filter(|part| !part.is_head);
        if let (Some(part), Some(answer)) = (part, GivenAnswer::of(result)) {
            self.cache.keep(&part.url, part.kind, answer);
        }
    }

    /// The answer to a part of pages that a rendering asked for already, or that came as such.
    pub(super) fn given(&self, url: &CrawlUrl) -> Option<Box<GivenAnswer>> {
        self.cache.find(url.as_str()).cloned().map(Box::new)
    }

    /// Keeps a style sheet or a script that came by itself.
    fn keep_requisite(&mut self, kind: LinkKind, result: &JobResult) {
        let kind = match kind {
            LinkKind::Style => PartKind::Style,
            LinkKind::Script => PartKind::Script,
            _ => return,
        };
        if let (Some(url), Some(answer)) = (&result.url, GivenAnswer::of(result)) {
            self.cache.keep(url.as_str(), kind, answer);
        }
    }

    /// A page is not rendered any more.
    fn end(&mut self, page: JobId) -> Option<RenderedNow> {
        self.waiting.retain(|_, part| part.page != page);
        self.pages.remove(&page)
    }

    pub(super) fn are_any(&self) -> bool {
        !self.pages.is_empty()
    }
}

fn fields(headers: &Headers) -> Vec<(String, Vec<u8>)> {
    let is_of_transfer = |name: &str| {
        OF_TRANSFER
            .iter()
            .any(|other| other.eq_ignore_ascii_case(name))
    };
    let fields = headers.iter().filter(|(name, _)| !is_of_transfer(name));
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_vec()));
    fields.collect()
}

impl GivenAnswer {
    fn answer(&self) -> PartAnswer {
        PartAnswer::Response {
            status: self.status,
            headers: fields(&self.headers),
            body: self.body.clone(),
        }
    }
}

/// What a browser hears of the end of an errand.
fn part_answer(result: &mut JobResult) -> PartAnswer {
    match (&result.settlement.ending, result.whole.take()) {
        (Ending::Answered(_), Some(whole)) => PartAnswer::Response {
            status: whole.status,
            headers: fields(&whole.headers),
            body: whole.body,
        },
        (Ending::Failed(failure), _) => PartAnswer::Failed(failure.message.to_string()),
        _ => PartAnswer::Failed("the answer did not come whole".to_owned()),
    }
}

fn refusal(refused: &RefusedErrand) -> PartAnswer {
    let by_whom = match refused.by {
        ErrandRefusal::Budget => PartRefusal::Limit,
        ErrandRefusal::Rule(
            SkipReason::Robots | SkipReason::RobotsUnreachable | SkipReason::CrawlDelay,
        ) => PartRefusal::Robots,
        ErrandRefusal::Rule(SkipReason::PrivateAddress) => PartRefusal::Address,
        ErrandRefusal::Rule(_) | ErrandRefusal::Failure(_) => {
            return PartAnswer::Failed(refused.why.to_string());
        }
    };
    PartAnswer::Refused(by_whom)
}

impl<S: Store> Engine<S> {
    /// Gives a page to the browser first, or gives the result back to be settled at once.
    pub(super) fn rendered_first(
        &mut self,
        mut result: JobResult,
        now: Moment,
    ) -> Result<Option<JobResult>, EngineError> {
        let Some(renderings) = &mut self.renderings else {
            return Ok(Some(result));
        };
        // Most pages are of no interest to a browser, which those who read them know.
        if result.whole.is_none() {
            return Ok(Some(result));
        }
        let job = result.settlement.job;
        let page = self.frontier.in_hand(job);
        let Some((host, kind)) = page.map(|entry| (entry.key.host(), entry.kind)) else {
            return Ok(Some(result));
        };
        renderings.keep_requisite(kind, &result);
        if self.stop_at.is_none()
            && renderings.wants(host, &result)
            && postpone(&mut self.frontier, &mut result, now)?
        {
            result.is_postponed = true;
            // What it could do to the crawler, it has not done.
            if let Some(board) = &mut self.leases {
                board.give_back(job);
            }
            if let Some(job) = renderings.begin(&result, (host, kind)) {
                let engine = renderings.engine.clone();
                self.task_pool.render(job, result, engine);
                return Ok(None);
            }
        }
        if !self.delivery.has_reader() {
            result.whole = None;
        }
        Ok(Some(result))
    }

    /// A rendering has ended: now its page is settled.
    pub(super) fn rendered(
        &mut self,
        mut result: JobResult,
        gain: Option<Gain>,
    ) -> Result<(), EngineError> {
        let Some(renderings) = &mut self.renderings else {
            return Ok(());
        };
        let Some(ended) = renderings.end(result.settlement.job) else {
            return Ok(());
        };
        if let (Some(gain), Some(url)) = (gain, &result.url) {
            renderings.wish.learn(ended.host, url, gain);
        }
        if !self.delivery.has_reader() {
            result.whole = None;
        }
        self.settle_shown(result)
    }

    /// A page asks for something.
    pub(super) fn send_part(&mut self, call: PartCall) -> Result<(), EngineError> {
        let errand = self
            .renderings
            .as_mut()
            .and_then(|renderings| renderings.take_on(call));
        if let Some(errand) = errand {
            let sent = self.frontier.send_errand(errand, self.clock.now());
            sent.map_err(state)?;
        }
        Ok(())
    }

    /// An errand was answered, or failed.
    pub(super) fn errand_ended(&mut self, number: u64, mut result: JobResult) {
        self.exchanges.add(result.exchange.take());
        if let Some(renderings) = &mut self.renderings {
            renderings.keep(number, &result);
            renderings.answer(number, part_answer(&mut result));
        }
    }

    /// Tells browsers which of their requests were refused.
    pub(super) fn tell_refusals(&mut self) {
        if let Some(renderings) = &mut self.renderings {
            for refused in self.frontier.refused_errands() {
                renderings.answer(refused.number, refusal(&refused));
            }
        }
    }

    /// Whether pages in hand need what the frontier hands out, whatever else there is no room for.
    pub(super) fn has_renderings(&self) -> bool {
        self.renderings.as_ref().is_some_and(Renderings::are_any)
    }

    /// Holds pages back while enough of them are with a browser.
    pub(super) fn mind_gate(&mut self, now: Moment) -> Result<(), EngineError> {
        let Some(renderings) = &mut self.renderings else {
            return Ok(());
        };
        let is_short = !self.held.has_room() || self.delivery.is_behind();
        let is_full = renderings.pages.len() >= renderings.most;
        let handout = if is_full || (is_short && renderings.are_any()) {
            Handout::ErrandsOnly
        } else {
            Handout::All
        };
        if handout != renderings.handout {
            renderings.handout = handout;
            self.frontier.hand_out(handout, now).map_err(state)?;
        }
        Ok(())
    }

    /// The crawl stops: what is with a browser is fetched again by the next run.
    pub(super) fn forget_renderings(&mut self) {
        if let Some(renderings) = &mut self.renderings {
            renderings.pages.clear();
            renderings.waiting.clear();
        }
    }
}

fn postpone<S: Store>(
    frontier: &mut Frontier<S>,
    result: &mut JobResult,
    now: Moment,
) -> Result<bool, EngineError> {
    let postponed = frontier.postpone(&mut result.settlement, now);
    postponed.map_err(state)
}

/// The number of the errand that a settlement ended.
pub(super) fn ended_errand(settled: &Settled) -> Option<u64> {
    match settled {
        Settled::Errand(errand) => Some(errand.number),
        _ => None,
    }
}
