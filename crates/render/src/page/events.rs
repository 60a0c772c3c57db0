//! What a browser tells while it renders a page, and what is done about it.
//!
//! Owns the sessions of the page and of what it opens, the parts in flight and the notes. It refuses to
//! know when a page is ready. Invariants: whatever the page opens is told to ask here before it runs; a
//! window that it opens is noted and closed.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::answer::FulfilParams;
use super::notes::{LONGEST_URL, PageNotes};
use super::request::{PausedRequest, RequestPlan, RequestRules};
use super::{PageProgress, answer};
use crate::devtools::{DevTools, attach_to_all};
use crate::message::BrowserEvent;
use crate::options::BrowserOptions;
use crate::part::{PartAnswer, PartFetcher, PartRequest};
use crate::rendering::{RenderError, RenderInput, RequestFate, RequestedUrl};

/// Targets of a page, its workers included; further ones are closed.
pub(super) const MOST_SESSIONS: usize = 64;

/// Bytes of the name of a session or a target; Chromium's have 32.
const LONGEST_NAME: usize = 256;

/// The page's requests and whatever else its browser tells.
pub(super) struct PageEvents<'a> {
    devtools: &'a DevTools,
    options: &'a BrowserOptions,
    input: &'a RenderInput,
    context: &'a str,
    progress: watch::Sender<PageProgress>,
    parts: Arc<dyn PartFetcher>,
    /// The page's main frame, whose name is that of its target.
    frame: String,
    sessions: HashSet<String>,
    has_page: bool,
    workers: u32,
    fetched: u32,
    bytes: u64,
    in_flight: FuturesUnordered<BoxFuture<'static, (PausedRequest, PartAnswer)>>,
    notes: PageNotes,
}

impl<'a> PageEvents<'a> {
    pub(super) fn new(
        devtools: &'a DevTools,
        options: &'a BrowserOptions,
        input: &'a RenderInput,
        (context, progress, parts): (&'a str, watch::Sender<PageProgress>, Arc<dyn PartFetcher>),
    ) -> Self {
        Self {
            devtools,
            options,
            input,
            context,
            progress,
            parts,
            frame: String::new(),
            sessions: HashSet::new(),
            has_page: false,
            workers: 0,
            fetched: 0,
            bytes: 0,
            in_flight: FuturesUnordered::new(),
            notes: PageNotes::new(&input.url, options.bounds.noted),
        }
    }

    pub(super) fn into_notes(self) -> PageNotes {
        self.notes
    }

    /// Targets that are heard.
    pub(super) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The next answer to a request of the page; none while it asks for nothing.
    pub(super) fn answers(
        &mut self,
    ) -> impl Future<Output = Option<(PausedRequest, PartAnswer)>> + '_ {
        poll_fn(|context| match self.in_flight.poll_next_unpin(context) {
            // An empty set has an end, and the page may ask again.
            Poll::Ready(None) => Poll::Pending,
            other => other,
        })
    }

    /// Takes what the browser tells.
    pub(super) fn take(&mut self, event: &BrowserEvent) -> Result<(), RenderError> {
        let params = &event.params;
        let session = event.session.as_deref();
        if event.method == "Target.attachedToTarget" {
            self.attach(params);
            return Ok(());
        }
        match &*event.method {
            "Browser.downloadWillBegin" => {
                self.notes
                    .navigate(params["url"].as_str().unwrap_or_default());
                return Ok(());
            }
            "Target.targetCrashed" if params["targetId"].as_str() == Some(&self.frame) => {
                return Err(RenderError::Crashed);
            }
            "Target.detachedFromTarget" => return self.detach(params),
            _ => {}
        }
        // What earlier pages of this browser left behind is of no interest.
        let Some(session) = session.filter(|session| self.sessions.contains(*session)) else {
            return Ok(());
        };
        let is_main = self.progress.borrow().session.as_deref() == Some(session);
        let is_main_frame = params["frameId"].as_str() == Some(&self.frame);
        match &*event.method {
            "Fetch.requestPaused" => match PausedRequest::read(Some(session.to_owned()), params) {
                Some(request) => self.ask(request),
                None => return Err(RenderError::Protocol("a request without a name".into())),
            },
            "Page.loadEventFired" if is_main => self.loaded(),
            // A page that wants to leave while it loads has no load event.
            "Page.frameStoppedLoading" if is_main_frame && self.has_page => self.loaded(),
            "Emulation.virtualTimeBudgetExpired" if is_main => {
                self.progress.send_modify(|progress| progress.budgets += 1);
            }
            "Page.navigatedWithinDocument" | "Page.frameRequestedNavigation" if is_main_frame => {
                self.notes
                    .navigate(params["url"].as_str().unwrap_or_default());
            }
            "Page.windowOpen" => {
                self.notes
                    .navigate(params["url"].as_str().unwrap_or_default());
            }
            "Page.javascriptDialogOpening" => {
                let is_farewell = params["type"].as_str() == Some("beforeunload");
                let choice = json!({ "accept": is_farewell });
                self.devtools
                    .send(Some(session), "Page.handleJavaScriptDialog", &choice);
            }
            // Without its zygote, Chromium can't tell that a page crashed, and says that its process is gone.
            "Inspector.targetCrashed" | "Inspector.detached" if is_main => {
                return Err(RenderError::Crashed);
            }
            _ => {}
        }
        Ok(())
    }

    fn loaded(&self) {
        self.progress
            .send_modify(|progress| progress.is_loaded = true);
    }

    /// Takes the session of a target that was opened, and tells it to ask here before it runs.
    fn attach(&mut self, params: &Value) {
        let (Some(session), info) = (params["sessionId"].as_str(), &params["targetInfo"]) else {
            return;
        };
        if info["browserContextId"].as_str() != Some(self.context) {
            return;
        }
        let target = info["targetId"].as_str().unwrap_or_default();
        let is_worker = info["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("worker") || kind == "worklet");
        let is_page = matches!(info["type"].as_str(), Some("page" | "tab" | "webview"));
        if is_page && !self.frame.is_empty() {
            self.notes
                .navigate(info["url"].as_str().unwrap_or_default());
            // The page stands still until its window runs, and a window that asks for something here
            // gets no answer before it is closed.
            let all = json!({ "patterns": [{ "urlPattern": "*" }] });
            self.devtools.send(Some(session), "Fetch.enable", &all);
            let run = "Runtime.runIfWaitingForDebugger";
            self.devtools.send(Some(session), run, &json!({}));
            self.close(target);
            return;
        }
        if is_worker {
            self.workers += 1;
            if self.workers > self.options.bounds.workers {
                self.close(target);
                return;
            }
        }
        let is_named = session.len().max(target.len()) <= LONGEST_NAME;
        if self.sessions.len() >= MOST_SESSIONS || !is_named {
            self.close(target);
            return;
        }
        self.sessions.insert(session.to_owned());
        let send = |method: &str, params: Value| self.devtools.send(Some(session), method, &params);
        send("Target.setAutoAttach", attach_to_all());
        if let Some(pattern) = self.pattern(is_page) {
            send(
                "Fetch.enable",
                json!({ "patterns": [{ "urlPattern": pattern }] }),
            );
        }
        if is_page {
            target.clone_into(&mut self.frame);
            // The steps of the page let it run.
            self.progress
                .send_modify(|progress| progress.session = Some(session.to_owned()));
            return;
        }
        send("Page.enable", json!({}));
        send("Runtime.runIfWaitingForDebugger", json!({}));
    }

    /// Forgets the session of a target that is gone. Nothing follows about a page that is.
    fn detach(&mut self, params: &Value) -> Result<(), RenderError> {
        let gone = params["sessionId"].as_str().unwrap_or_default();
        self.sessions.remove(gone);
        if self.progress.borrow().session.as_deref() == Some(gone) {
            return Err(RenderError::Crashed);
        }
        Ok(())
    }

    fn close(&self, target: &str) {
        self.devtools
            .send(None, "Target.closeTarget", &json!({ "targetId": target }));
    }

    /// Which requests a target asks here.
    fn pattern(&self, is_page: bool) -> Option<&str> {
        if self.options.nets.answers_requests() {
            Some("*")
        } else {
            is_page.then_some(&self.input.url)
        }
    }

    /// Does with a request what its plan says.
    fn ask(&mut self, request: PausedRequest) {
        let rules = RequestRules {
            frame: &self.frame,
            has_page: self.has_page,
            wants_looks: self.options.screenshot.is_some(),
        };
        match request.plan(rules) {
            RequestPlan::GivePage => {
                self.has_page = true;
                let RenderInput {
                    status,
                    headers,
                    body,
                    ..
                } = self.input;
                self.fulfil(&request, *status, headers, body);
            }
            RequestPlan::Stay => {
                if request.is_unsafe() {
                    self.notes.unsent += 1;
                    self.note(&request, RequestFate::NotSent);
                } else {
                    self.notes.navigate(&request.url);
                }
                // An answer without a body leaves the page as it is.
                self.fulfil(&request, 204, &[], &[]);
            }
            RequestPlan::AllowMethod => {
                self.reply_whole(&request, answer::allow(&request));
            }
            RequestPlan::Fetch(part) => self.fetch(request, part),
            RequestPlan::RefuseMethod => {
                self.notes.unsent += 1;
                self.refuse(&request, RequestFate::NotSent);
            }
            RequestPlan::Refuse => self.refuse(&request, RequestFate::NotSent),
            RequestPlan::Continue => {
                let id = json!({ "requestId": request.id });
                self.reply(&request, "Fetch.continueRequest", &id);
            }
        }
    }

    fn fetch(&mut self, request: PausedRequest, part: PartRequest) {
        let bounds = &self.options.bounds;
        let is_too_long = part.url.len() > LONGEST_URL;
        if is_too_long || self.fetched >= bounds.parts || self.bytes >= bounds.part_bytes {
            self.notes.over_limit += 1;
            self.refuse(&request, RequestFate::Refused);
            return;
        }
        self.fetched += 1;
        let parts = Arc::clone(&self.parts);
        let fetch = async move {
            let answer = parts.fetch(part).await;
            (request, answer)
        };
        self.in_flight.push(Box::pin(fetch));
        self.count_in_flight();
    }

    /// Gives the browser an answer that it waits for.
    pub(super) fn give(&mut self, request: &PausedRequest, answer: PartAnswer) {
        self.count_in_flight();
        let fate = self.notes.count(&answer);
        let PartAnswer::Response {
            status,
            mut headers,
            body,
        } = answer
        else {
            self.refuse(request, fate);
            return;
        };
        self.bytes = self.bytes.saturating_add(body.len() as u64);
        let is_too_much = self.bytes > self.options.bounds.part_bytes;
        if is_too_much {
            self.notes.over_limit += 1;
        }
        if is_too_much || answer::is_stream(&headers) || !(200..600).contains(&status) {
            self.refuse(request, fate);
            return;
        }
        self.note(request, fate);
        answer::share(request, &mut headers);
        self.fulfil(request, status, &headers, &body);
    }

    fn count_in_flight(&self) {
        let count = self.in_flight.len();
        self.progress
            .send_modify(|progress| progress.in_flight = count);
    }

    fn refuse(&mut self, request: &PausedRequest, fate: RequestFate) {
        self.note(request, fate);
        let failure = answer::fail(&request.id);
        self.reply(request, "Fetch.failRequest", &failure);
    }

    fn note(&mut self, request: &PausedRequest, fate: RequestFate) {
        self.notes.request(RequestedUrl {
            url: request.url.clone(),
            method: request.method.clone(),
            kind: request.kind,
            fate,
        });
    }

    fn fulfil(
        &self,
        request: &PausedRequest,
        status: u16,
        headers: &[(String, Vec<u8>)],
        body: &[u8],
    ) {
        let answer = FulfilParams::new(&request.id, status, headers, body);
        self.reply_whole(request, answer);
    }

    fn reply_whole(&self, request: &PausedRequest, answer: FulfilParams<'_>) {
        let FulfilParams { params, body } = answer;
        let session = request.session.as_deref();
        self.devtools
            .send_with_body(session, "Fetch.fulfillRequest", &params, body);
    }

    fn reply(&self, request: &PausedRequest, method: &str, params: &Value) {
        self.devtools
            .send(request.session.as_deref(), method, params);
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use bytes::Bytes;
    use futures_util::future::ready;

    use super::*;

    struct NoParts;

    impl PartFetcher for NoParts {
        fn fetch(&self, _: PartRequest) -> BoxFuture<'_, PartAnswer> {
            Box::pin(ready(PartAnswer::Failed("nobody answers".to_owned())))
        }
    }

    fn event(session: Option<&str>, method: &str, params: Value) -> BrowserEvent {
        BrowserEvent {
            session: session.map(str::to_owned),
            method: method.to_owned(),
            params,
        }
    }

    fn attached(session: &str, target: &str, kind: &str) -> BrowserEvent {
        let info = json!({ "targetId": target, "type": kind, "browserContextId": "context" });
        let params = json!({ "sessionId": session, "targetInfo": info });
        event(None, "Target.attachedToTarget", params)
    }

    /// What comes of a page with a worker when its browser tells this.
    fn told(last: &BrowserEvent) -> Result<(), RenderError> {
        let (devtools, _) = DevTools::connect(io::sink(), io::empty()).unwrap();
        let options = BrowserOptions::default();
        let input = RenderInput {
            url: "http://a.test/".to_owned(),
            status: 200,
            headers: Vec::new(),
            body: Bytes::new(),
        };
        let (progress, _seen) = watch::channel(PageProgress::default());
        let about = ("context", progress, Arc::new(NoParts) as Arc<_>);
        let mut events = PageEvents::new(&devtools, &options, &input, about);
        events.take(&attached("page", "frame", "page")).unwrap();
        events.take(&attached("work", "worker", "worker")).unwrap();
        events.take(last)
    }

    #[test]
    fn a_page_that_is_gone_ends_its_rendering() {
        let gone = |session: &str| {
            let params = json!({ "sessionId": session });
            event(None, "Target.detachedFromTarget", params)
        };
        let reason = json!({ "reason": "Render process gone." });
        let detached = |session: &str| event(Some(session), "Inspector.detached", reason.clone());
        let crashed = |session: &str| event(Some(session), "Inspector.targetCrashed", json!({}));
        for of in [&gone as &dyn Fn(&str) -> BrowserEvent, &detached, &crashed] {
            let page = of("page");
            assert_eq!(told(&page), Err(RenderError::Crashed), "{page:?}");
            let worker = of("work");
            assert_eq!(told(&worker), Ok(()), "{worker:?}");
        }
    }
}
