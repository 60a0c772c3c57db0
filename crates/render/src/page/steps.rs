//! The steps of a page: load, let its timers pass, scroll and click, read.
//!
//! Owns when a page is ready and what is read of it. It refuses to know what the page asks for. Invariant:
//! when a quarter of the time is left, the page is read as it is.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::PageProgress;
use super::notes::LONGEST_URL;
use crate::devtools::{DevTools, attach_to_all};
use crate::options::{Behavior, BrowserOptions, RenderBounds, ScreenshotArea};
use crate::rendering::{RenderError, RenderInput};

const READ_SCRIPT: &str = include_str!("scripts/read.js");
const HOOK_SCRIPT: &str = include_str!("scripts/hooks.js");
/// What both of them begin with, in the place of this word.
const PROTOTYPES: (&str, &str) = ("PROTOTYPES", include_str!("scripts/prototypes.js"));

/// How much of a page's own time passes after its load, in milliseconds: timers, animations, polling.
const TIME_AFTER_LOAD: u64 = 8000;
/// … and after each click and each scroll.
const TIME_AFTER_STEP: u64 = 1000;
/// … and between two looks at whether it still grows.
const TIME_BETWEEN_LOOKS: u64 = 500;

/// Tasks of a page that run before its time moves on nevertheless.
const MOST_TASKS: u32 = 10_000;

const MOST_LOOKS: usize = 20;
const MOST_SCROLLS: usize = 50;
const MOST_CLICKS: usize = 200;

/// The longest that a script of ours may run in a page, in milliseconds.
const LONGEST_SCRIPT: u64 = 5000;

/// The longest that a frame may take to be drawn.
const LONGEST_DRAWING: Duration = Duration::from_secs(2);

/// How often a script of ours is tried that was stopped together with the page's.
const MOST_STOPS: usize = 3;

/// Bytes of a title; the rest of it is cut.
pub(super) const LONGEST_TITLE: usize = 64 * 1024;

/// The tallest picture, in pixels.
const TALLEST_PICTURE: u64 = 16_384;
const WIDTH: u64 = 1280;
const HEIGHT: u64 = 1024;
const PICTURE_QUALITY: u32 = 70;
/// A thumbnail has 320 by 256 pixels.
const THUMBNAIL_SCALE: f64 = 0.25;
const THUMBNAIL_QUALITY: u32 = 60;
/// Bytes of a thumbnail; a larger one is none.
const LARGEST_THUMBNAIL: usize = 64 * 1024;

/// What was read of a page.
#[derive(Debug, Default)]
pub(super) struct PageReading {
    pub(super) html: String,
    pub(super) title: Option<String>,
    pub(super) passing_links: Vec<String>,
    pub(super) screenshot: Option<Vec<u8>>,
    pub(super) thumbnail: Option<Vec<u8>>,
    pub(super) is_truncated: bool,
    pub(super) is_unready: bool,
}

impl PageReading {
    /// Takes what our script says, within the bounds: the process of a page may say what it likes.
    pub(super) fn from_answer(mut read: Value, bounds: &RenderBounds) -> Result<Self, RenderError> {
        let Value::String(mut html) = read["html"].take() else {
            return Err(RenderError::Protocol("the page can't be read".into()));
        };
        let is_too_large = html.len() > bounds.dom;
        html.truncate(html.floor_char_boundary(bounds.dom));
        let title = read["title"].as_str();
        let title = title.map(|title| &title[..title.floor_char_boundary(LONGEST_TITLE)]);
        let passing = read["passing"].as_array().into_iter().flatten();
        let passing = passing.filter_map(Value::as_str);
        let passing = passing.filter(|link| link.len() <= LONGEST_URL);
        Ok(Self {
            html,
            title: title.map(str::to_owned),
            passing_links: passing.take(bounds.noted).map(str::to_owned).collect(),
            is_truncated: is_too_large || read["truncated"].as_bool() == Some(true),
            ..Self::default()
        })
    }
}

/// Why a page is read before it is ready.
enum Hurry {
    /// A quarter of the time is left.
    Late,
    Failed(RenderError),
}

impl From<RenderError> for Hurry {
    fn from(error: RenderError) -> Self {
        Self::Failed(error)
    }
}

/// Leads a page from nothing to its DOM.
pub(super) struct PageSteps<'a> {
    devtools: &'a DevTools,
    options: &'a BrowserOptions,
    input: &'a RenderInput,
    context: &'a str,
    progress: watch::Receiver<PageProgress>,
    /// When the page is read, ready or not.
    late: Instant,
    /// A name that no page guesses.
    secret: String,
}

/// The page in its browser.
#[derive(Clone, Copy)]
struct OpenPage<'a> {
    session: &'a str,
    frame: &'a str,
}

impl<'a> PageSteps<'a> {
    pub(super) fn new(
        devtools: &'a DevTools,
        options: &'a BrowserOptions,
        input: &'a RenderInput,
        (context, progress, start): (&'a str, watch::Receiver<PageProgress>, Instant),
    ) -> Self {
        let number = RandomState::new().build_hasher().finish();
        Self {
            devtools,
            options,
            input,
            context,
            progress,
            late: start + options.bounds.wall / 4 * 3,
            secret: format!("_{number:016x}"),
        }
    }

    /// All steps.
    pub(super) async fn run(mut self) -> Result<PageReading, RenderError> {
        let about = json!({
            "url": "about:blank", "browserContextId": self.context, "width": WIDTH, "height": HEIGHT,
        });
        let target = self
            .devtools
            .command(None, "Target.createTarget", about)
            .await?;
        let frame = target["targetId"].as_str().unwrap_or_default();
        let seen = self
            .progress
            .wait_for(|progress| progress.session.is_some());
        let session = seen
            .await
            .map_err(|_| RenderError::Crashed)?
            .session
            .clone();
        let session = session.unwrap_or_default();
        let page = OpenPage {
            session: &session,
            frame,
        };
        self.prepare(page).await?;
        let mut world = None;
        let is_unready = match self.make_ready(page, &mut world).await {
            Ok(()) => false,
            Err(Hurry::Late) => true,
            Err(Hurry::Failed(error)) => return Err(error),
        };
        if is_unready {
            self.send(page, "Runtime.terminateExecution", &json!({}));
        }
        let world = match world {
            Some(world) => world,
            None => self.world(page).await?,
        };
        let mut read = self.read(page, world).await?;
        read.is_unready = is_unready;
        if let Some(area) = self.options.screenshot {
            read.screenshot = self.picture(page, world, area).await?;
            read.thumbnail = self.thumbnail(page).await?;
        }
        Ok(read)
    }

    fn send(&self, page: OpenPage<'_>, method: &str, params: &Value) {
        self.devtools.send(Some(page.session), method, params);
    }

    async fn command(
        &self,
        page: OpenPage<'_>,
        method: &str,
        params: Value,
    ) -> Result<Value, RenderError> {
        self.devtools
            .command(Some(page.session), method, params)
            .await
    }

    /// Everything that must stand before the page's first byte.
    async fn prepare(&self, page: OpenPage<'_>) -> Result<(), RenderError> {
        self.send(page, "Target.setAutoAttach", &attach_to_all());
        self.send(page, "Page.enable", &json!({}));
        if let Some(agent) = &self.options.user_agent {
            let agent = json!({ "userAgent": agent });
            self.send(page, "Emulation.setUserAgentOverride", &agent);
        }
        let clicks = self.options.behaviors.contains(&Behavior::Autoclick);
        let hooks = with_prototypes(HOOK_SCRIPT)
            .replace("CLICKS", if clicks { "true" } else { "false" })
            .replace("NAME", &format!("'{}'", self.secret));
        let hooks = json!({ "source": hooks, "runImmediately": false });
        self.command(page, "Page.addScriptToEvaluateOnNewDocument", hooks)
            .await?;
        self.command(page, "Runtime.runIfWaitingForDebugger", json!({}))
            .await?;
        Ok(())
    }

    /// Waits until the page stands still, and does with it what the user wants.
    async fn make_ready(&self, page: OpenPage<'_>, world: &mut Option<i64>) -> Result<(), Hurry> {
        let url = json!({ "url": self.input.url });
        let visit = self.before_late(self.command(page, "Page.navigate", url));
        let visit = visit.await??;
        if let Some(problem) = visit["errorText"].as_str() {
            return Err(RenderError::Protocol(problem.to_owned()).into());
        }
        self.wait(|progress| progress.is_loaded).await?;
        self.pass_time(page, TIME_AFTER_LOAD).await?;
        let world = *world.insert(self.world(page).await?);
        self.settle(page, world).await?;
        for selector in &self.options.clicks {
            let selector = Value::from(selector.as_str());
            let click = format!("clewline.click({selector})");
            self.evaluate(page, Some(world), &click).await?;
            self.pass_time(page, TIME_AFTER_STEP).await?;
        }
        for behavior in &self.options.behaviors {
            match behavior {
                Behavior::Autoscroll => self.scroll(page, world).await?,
                Behavior::Autoclick => self.click(page, world).await?,
            }
        }
        Ok(())
    }

    /// Waits for two looks in a row at which nothing moved.
    async fn settle(&self, page: OpenPage<'_>, world: i64) -> Result<(), Hurry> {
        let mut last = None;
        for _ in 0..MOST_LOOKS {
            self.wait(|progress| progress.in_flight == 0).await?;
            let size = self.evaluate(page, Some(world), "clewline.size()").await?;
            let size = size.as_u64();
            if size.is_some() && size == last && self.progress.borrow().in_flight == 0 {
                return Ok(());
            }
            last = size;
            self.pass_time(page, TIME_BETWEEN_LOOKS).await?;
        }
        Err(Hurry::Late)
    }

    async fn scroll(&self, page: OpenPage<'_>, world: i64) -> Result<(), Hurry> {
        let mut last = Value::Null;
        let mut same = 0;
        for _ in 0..MOST_SCROLLS {
            // What was in view must be seen to leave it.
            self.draw(page, world).await?;
            let height = self
                .evaluate(page, Some(world), "clewline.scroll()")
                .await?;
            same = if height == last { same + 1 } else { 0 };
            if same == 2 {
                break;
            }
            last = height;
            self.draw(page, world).await?;
            self.pass_time(page, TIME_AFTER_STEP).await?;
            self.wait(|progress| progress.in_flight == 0).await?;
        }
        self.evaluate(page, Some(world), "clewline.note(), clewline.top()")
            .await?;
        Ok(())
    }

    /// Has a picture drawn: only then a page hears that it was scrolled and what is in view.
    async fn draw(&self, page: OpenPage<'_>, world: i64) -> Result<(), Hurry> {
        let script =
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";
        let about = json!({ "expression": script, "contextId": world, "awaitPromise": true });
        let drawn = self.command(page, "Runtime.evaluate", about);
        // A page that draws nothing is not waited for.
        match timeout(LONGEST_DRAWING, drawn).await {
            Ok(Err(error)) => Err(error.into()),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }

    async fn click(&self, page: OpenPage<'_>, world: i64) -> Result<(), Hurry> {
        let step = format!("window['{}'].step()", self.secret);
        for _ in 0..MOST_CLICKS {
            self.evaluate(page, Some(world), "clewline.note()").await?;
            let has_more = self.evaluate(page, None, &step).await?;
            if has_more != Value::Bool(true) {
                break;
            }
            self.pass_time(page, TIME_AFTER_STEP).await?;
            self.wait(|progress| progress.in_flight == 0).await?;
        }
        Ok(())
    }

    /// Lets the page's own clock run, as fast as its work allows; it stands while requests wait.
    async fn pass_time(&self, page: OpenPage<'_>, budget: u64) -> Result<(), Hurry> {
        let before = self.progress.borrow().budgets;
        let policy = json!({
            "policy": "pauseIfNetworkFetchesPending",
            "budget": budget,
            "maxVirtualTimeTaskStarvationCount": MOST_TASKS,
        });
        let policy = self.command(page, "Emulation.setVirtualTimePolicy", policy);
        self.before_late(policy).await??;
        self.wait(move |progress| progress.budgets > before).await
    }

    async fn wait(&self, is_there: impl FnMut(&PageProgress) -> bool) -> Result<(), Hurry> {
        let mut progress = self.progress.clone();
        let there = self.before_late(progress.wait_for(is_there)).await?;
        match there {
            Ok(_) => Ok(()),
            Err(_) => Err(RenderError::Crashed.into()),
        }
    }

    async fn before_late<T>(&self, future: impl Future<Output = T>) -> Result<T, Hurry> {
        timeout_at(self.late, future).await.map_err(|_| Hurry::Late)
    }

    /// A world of its own for our scripts.
    async fn world(&self, page: OpenPage<'_>) -> Result<i64, RenderError> {
        let about = json!({ "frameId": page.frame, "worldName": self.secret });
        let world = self
            .command(page, "Page.createIsolatedWorld", about)
            .await?;
        let world = world["executionContextId"].as_i64().unwrap_or_default();
        self.evaluate(page, Some(world), &with_prototypes(READ_SCRIPT))
            .await?;
        Ok(world)
    }

    /// Runs a script in our world, or in the page's.
    async fn evaluate(
        &self,
        page: OpenPage<'_>,
        world: Option<i64>,
        script: &str,
    ) -> Result<Value, RenderError> {
        let mut about = json!({
            "expression": script, "returnByValue": true, "timeout": LONGEST_SCRIPT, "userGesture": true,
        });
        if let Some(world) = world {
            about["contextId"] = world.into();
        }
        let mut stops = 0;
        loop {
            let answer = self.command(page, "Runtime.evaluate", about.clone()).await;
            match answer {
                // The order to stop may reach a script that runs later than the one that was meant.
                Err(RenderError::Protocol(problem))
                    if problem.contains("terminated") && stops < MOST_STOPS =>
                {
                    stops += 1;
                }
                // A page may throw where it is clicked.
                Ok(mut answer) => return Ok(answer["result"]["value"].take()),
                Err(error) => return Err(error),
            }
        }
    }

    async fn read(&self, page: OpenPage<'_>, world: i64) -> Result<PageReading, RenderError> {
        let limit = self.options.bounds.dom;
        let from = self.input.url.split('#').next().unwrap_or_default();
        let script = format!("clewline.read({limit}, {})", Value::from(from));
        let read = self.evaluate(page, Some(world), &script).await?;
        PageReading::from_answer(read, &self.options.bounds)
    }

    async fn picture(
        &self,
        page: OpenPage<'_>,
        world: i64,
        area: ScreenshotArea,
    ) -> Result<Option<Vec<u8>>, RenderError> {
        let about = match area {
            ScreenshotArea::Viewport => json!({ "format": "png" }),
            ScreenshotArea::Full => {
                let height = self
                    .evaluate(page, Some(world), "clewline.height()")
                    .await?;
                let height = height.as_u64().unwrap_or(HEIGHT).clamp(1, TALLEST_PICTURE);
                json!({
                    "format": "jpeg", "quality": PICTURE_QUALITY, "captureBeyondViewport": true,
                    "clip": { "x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1 },
                })
            }
        };
        self.captured(page, about).await
    }

    /// The same as a window shows, made small by the browser, so that nobody else decodes pictures.
    async fn thumbnail(&self, page: OpenPage<'_>) -> Result<Option<Vec<u8>>, RenderError> {
        let about = json!({
            "format": "jpeg", "quality": THUMBNAIL_QUALITY,
            "clip": { "x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": THUMBNAIL_SCALE },
        });
        let picture = self.captured(page, about).await?;
        Ok(picture.filter(|bytes| bytes.len() <= LARGEST_THUMBNAIL))
    }

    async fn captured(
        &self,
        page: OpenPage<'_>,
        about: Value,
    ) -> Result<Option<Vec<u8>>, RenderError> {
        let picture = self.command(page, "Page.captureScreenshot", about).await?;
        let picture = picture["data"].as_str().unwrap_or_default();
        Ok(STANDARD
            .decode(picture)
            .ok()
            .filter(|bytes| !bytes.is_empty()))
    }
}

/// A script of ours with what both need of the page's prototypes.
fn with_prototypes(script: &str) -> String {
    let (place, prototypes) = PROTOTYPES;
    script.replacen(place, prototypes, 1)
}
