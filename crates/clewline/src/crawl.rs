//! The door of the library: build a crawl, start it, take its pages.
//!
//! Owns the way from a configuration to a running engine and back to a report.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use clewline_core::cookies::CookieJar;
use clewline_core::fleet::FleetPlace;
use clewline_core::frontier::{Frontier, MemoryStore, Rules, Store};
use clewline_core::url::{CrawlUrl, UrlError, redacted};
use clewline_job::inspection::Inspection;
use tokio::sync::mpsc as pages_channel;
use tokio::sync::oneshot;

use crate::clock::unix_millis;
use crate::config::{Config, Reach, Root, Speed};
use crate::control::Control;
use crate::control::server::Server;
use crate::descriptors;
use crate::engine::{
    CrawlOutcome, EarlierRuns, Engine, EngineError, Event, HandedPage, Message, Observer,
    PAGES_AHEAD, Parts,
};
use crate::exchange::Spool;
use crate::extract::{Extractor, PageExtractor};
use crate::failpoint::{Point, pass};
use crate::fetch::{Fetcher, HttpFetcher};
use crate::folder::{FolderError, FolderState, JobFolder, new_seed};
use crate::inspect::inspect;
use crate::job;
use crate::log::{Log, Offset};
use crate::previous::{self, Extent, PreviousCrawl};
use crate::render::{self, RenderPage};
use crate::report::{Report, StoppedBy, html, pictures};
use crate::running::{Pages, Running, Summary};
use crate::stored::StoredJob;

mod error;
mod fleet_setup;

pub use error::CrawlError;

/// A crawl about to start; the page of the crate has an example.
#[must_use = "a crawl does nothing until it is started"]
pub struct Crawl {
    config: Config,
    bad_root: Option<(String, UrlError)>,
    fetcher: Option<Arc<dyn Fetcher>>,
    extractor: Option<Arc<dyn Extractor>>,
    logs: Vec<Box<dyn Log>>,
    fleet: Option<FleetPlace>,
    holds_links: bool,
    render: Option<RenderPage>,
    observer: Observer,
    /// What counts as known from the start, where the state is in memory.
    pub(crate) known: Box<dyn Iterator<Item = CrawlUrl> + Send>,
}

impl Crawl {
    /// How long requests in flight may take to finish once the command or `clewline ctl` stops a
    /// crawl.
    pub const GRACE: Duration = Duration::from_secs(10);

    /// A crawl that begins at a URL, with every default. A URL that makes no sense is
    /// reported by [`Crawl::start`].
    pub fn new(root: &str) -> Self {
        Self::from_config(Config::default()).root(root)
    }

    /// A crawl by a whole configuration.
    pub fn from_config(config: Config) -> Self {
        Self {
            config,
            bad_root: None,
            fetcher: None,
            extractor: None,
            logs: Vec::new(),
            fleet: None,
            holds_links: false,
            render: None,
            observer: Box::new(|_| {}),
            known: Box::new(std::iter::empty()),
        }
    }

    /// One more URL to begin with.
    pub fn root(mut self, root: &str) -> Self {
        match Root::parse(root) {
            Ok(root) => self.config.roots.push(root),
            Err(error) => self.bad_root = Some((redacted(root).into_owned(), error)),
        }
        self
    }

    /// How far it goes; the default is the hosts of the roots.
    pub const fn scope(mut self, reach: Reach) -> Self {
        self.config.scope.reach = reach;
        self
    }

    /// Fetches only URLs that match this pattern, or another one that is included. Patterns are
    /// those of `--include`; one that makes no sense is reported by [`Crawl::start`].
    pub fn include(mut self, pattern: &str) -> Self {
        self.config.scope.include.push(pattern.to_owned());
        self
    }

    /// Fetches no URL that matches this pattern.
    pub fn exclude(mut self, pattern: &str) -> Self {
        self.config.scope.exclude.push(pattern.to_owned());
        self
    }

    /// Links away from a root, at the most.
    pub const fn depth(mut self, depth: u32) -> Self {
        self.config.limits.depth = Some(depth);
        self
    }

    /// Pages fetched, at the most.
    pub const fn max_pages(mut self, pages: u64) -> Self {
        self.config.limits.pages = Some(pages);
        self
    }

    /// Renders pages by something else than the browser of this machine. For the project's tests.
    #[doc(hidden)]
    pub fn rendered_by(mut self, render: RenderPage) -> Self {
        self.render = Some(render);
        self
    }

    /// How hosts are treated.
    pub const fn speed(mut self, speed: Speed) -> Self {
        self.config.politeness.speed = Some(speed);
        self
    }

    /// Keeps the results in a job folder.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.config.output.folder = Some(folder.into());
        self
    }

    /// Changes any other setting.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Another way to servers than HTTP.
    pub fn fetcher(mut self, fetcher: impl Fetcher) -> Self {
        self.fetcher = Some(Arc::new(fetcher));
        self
    }

    /// Another way to find links.
    pub fn extractor(mut self, extractor: impl Extractor) -> Self {
        self.extractor = Some(Arc::new(extractor));
        self
    }

    /// One more log of settled URLs.
    pub fn log(mut self, log: impl Log + 'static) -> Self {
        self.logs.push(Box::new(log));
        self
    }

    /// Makes it a part of a crawl on many machines. Its folder is that of the machine; what this
    /// process leaves is in a folder below it, for a merge.
    pub fn fleet(mut self, place: FleetPlace) -> Self {
        self.fleet = Some(place);
        self
    }

    /// Follows the links of a page only when its reader is done with it, that is, when the next page
    /// is asked for. Until then [`Pages::skip_links`] can forbid it and [`Control::add`] finds the
    /// crawl at work, even on the last page. A page with an error status, and one that is as an earlier
    /// crawl saw it, is not held, and neither are pages of a fleet.
    pub const fn hold_links(mut self) -> Self {
        self.holds_links = true;
        self
    }

    /// Hears of events while the crawl runs, on the crawl's own thread: be quick.
    pub fn observe(mut self, observer: impl FnMut(Event<'_>) + Send + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Starts the crawl and hands out its pages. A slow reader slows the crawl down.
    pub fn start(self) -> Result<Pages, CrawlError> {
        let (sender, receiver) = pages_channel::channel(PAGES_AHEAD);
        let handle = self.launch(Some(sender))?;
        Ok(Pages {
            receiver,
            turn: None,
            handle: Some(handle),
        })
    }

    /// Starts the crawl without handing out pages: what it finds goes to the logs.
    pub fn run(self) -> Result<Running, CrawlError> {
        self.launch(None)
    }

    /// Fetches the first root, politely and with its redirects, and explains what happened. What
    /// robots.txt disallows is not fetched; links are judged, not followed. Only the configuration
    /// counts: a custom fetcher, extractor or log takes no part.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), clewline::CrawlError> {
    /// let seen = clewline::Crawl::new("example.com").inspect().await?;
    /// println!("{} requests, {} links", seen.hops.len(), seen.links.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn inspect(self) -> Result<Inspection, CrawlError> {
        match self.bad_root {
            Some((text, error)) => Err(CrawlError::Root(text, error)),
            None => inspect(&self.config).await,
        }
    }

    fn launch(
        self,
        pages: Option<pages_channel::Sender<HandedPage>>,
    ) -> Result<Running, CrawlError> {
        if let Some((text, error)) = self.bad_root {
            return Err(CrawlError::Root(text, error));
        }
        let problems = self.config.validate();
        if !problems.is_empty() {
            return Err(CrawlError::Config(problems));
        }
        let mut crawl = self;
        if let Some(place) = crawl.fleet.take() {
            return fleet_setup::begin(crawl, place, pages);
        }
        let setup = Setup::new(crawl, pages)?;
        match &setup.folder {
            Some(_) if !setup.config.output.in_memory => setup.on_disk(),
            _ => setup.in_memory(),
        }
    }
}

/// The parts of a crawl that are the same for every kind of store. Its configuration is sound.
struct Setup {
    config: Config,
    folder: Option<JobFolder>,
    rules: Rules,
    /// Those of a file; a crawl that is taken up has its own.
    cookies: Result<CookieJar, CrawlError>,
    spool: Option<Arc<Spool>>,
    past: Option<PreviousCrawl>,
    fetcher: Arc<dyn Fetcher>,
    extractor: Arc<dyn Extractor>,
    logs: Vec<Box<dyn Log>>,
    known: Box<dyn Iterator<Item = CrawlUrl> + Send>,
    observer: Observer,
    pages: Option<pages_channel::Sender<HandedPage>>,
    holds_links: bool,
    render: Option<RenderPage>,
}

impl Setup {
    fn new(
        crawl: Crawl,
        pages: Option<pages_channel::Sender<HandedPage>>,
    ) -> Result<Self, CrawlError> {
        Self::seeded(crawl, pages, None)
    }

    /// The same; the keys of a new folder have this seed, if there is one.
    fn seeded(
        crawl: Crawl,
        pages: Option<pages_channel::Sender<HandedPage>>,
        seed: Option<u64>,
    ) -> Result<Self, CrawlError> {
        let config = crawl.config;
        descriptors::share_out(config.limits.concurrency as usize);
        let fetcher = match crawl.fetcher {
            Some(fetcher) => fetcher,
            None => Arc::new(HttpFetcher::new(&config.fetch)?),
        };
        let extractor = crawl.extractor.unwrap_or_else(|| {
            let token = config.fetch.robots_token();
            Arc::new(PageExtractor::new(&config.extract, &token))
        });
        let cookies = match load_cookies(&config) {
            Err(error) if !goes_on(&config) => return Err(error),
            loaded => loaded,
        };
        // Before the folder is touched, too: without a browser there is nothing to begin.
        let render = match crawl.render {
            Some(render) => Some(render),
            None => render::launch(&config).map_err(|error| CrawlError::Browser(error.into()))?,
        };
        // Before the folder is touched: what is replaced could not be asked any more.
        let past = earlier_crawls(&config)?;
        let folder = match (&config.output.folder, seed) {
            (Some(path), Some(seed)) => Some(JobFolder::create_seeded(path, &config, seed)?),
            (Some(path), None) => Some(JobFolder::open(path, &config)?),
            (None, _) => None,
        };
        let seed = folder.as_ref().map_or_else(new_seed, JobFolder::seed);
        let mut rules = config.rules(seed)?;
        rules.epoch = unix_millis();
        let spool = folder.as_ref();
        let spool = spool.and_then(|folder| job::spool(folder, &config));
        Ok(Self {
            config,
            folder,
            rules,
            cookies,
            spool,
            past,
            fetcher,
            extractor,
            logs: crawl.logs,
            known: crawl.known,
            holds_links: crawl.holds_links,
            render,
            observer: crawl.observer,
            pages,
        })
    }

    /// Begins a crawl whose state is in its folder, or takes it up there.
    fn on_disk(mut self) -> Result<Running, CrawlError> {
        let Some(folder) = &self.folder else {
            return self.in_memory();
        };
        let mut job = job::open(folder, &self.config, self.rules.clone())?;
        job.logs.append(&mut self.logs);
        self.logs = job.logs;
        if let Some(kept) = job.cookies {
            self.cookies = Ok(kept);
        }
        let (parts, folder) = self.parts(job.frontier)?;
        let parts = Parts {
            earlier: job.earlier,
            leases: Some(job.leases),
            witness: Some(job.witness),
            ..parts
        };
        begin(parts, folder)
    }

    /// Begins a crawl whose state is lost with the process.
    fn in_memory(mut self) -> Result<Running, CrawlError> {
        if let Some(folder) = &self.folder {
            let mut logs = job::open_logs(folder, &self.config, Offset(0))?;
            self.logs.append(&mut logs);
        }
        let known = std::mem::replace(&mut self.known, Box::new(std::iter::empty()));
        let frontier = frontier_in_memory(self.rules.clone(), known);
        let (parts, folder) = self.parts(frontier)?;
        begin(parts, folder)
    }

    /// Puts everything together around a frontier.
    fn parts<S>(self, frontier: Frontier<S>) -> Result<(Parts<S>, Option<JobFolder>), CrawlError> {
        let (outbox, inbox) = channel();
        self.parts_with(frontier, outbox, inbox)
    }

    /// The same, where somebody has a way to the engine already.
    fn parts_with<S>(
        self,
        frontier: Frontier<S>,
        outbox: Sender<Message>,
        inbox: Receiver<Message>,
    ) -> Result<(Parts<S>, Option<JobFolder>), CrawlError> {
        let parts = Parts {
            config: self.config,
            fetcher: self.fetcher,
            extractor: self.extractor,
            logs: self.logs,
            spool: self.spool,
            past: self.past,
            cookies: self.cookies?,
            frontier,
            member: None,
            lease: None,
            earlier: EarlierRuns::default(),
            leases: None,
            folder: None,
            witness: None,
            observer: self.observer,
            pages: self.pages,
            holds_links: self.holds_links,
            render: self.render,
            inbox,
            outbox,
        };
        Ok((parts, self.folder))
    }
}

fn frontier_in_memory(
    rules: Rules,
    known: impl Iterator<Item = CrawlUrl>,
) -> Frontier<MemoryStore> {
    let mut store = MemoryStore::default();
    for url in known {
        let Ok(()) = store.add(rules.keyer.key(&url));
    }
    // Without a store on disk there is nowhere to put a lane aside.
    let rules = Rules {
        active_lanes: usize::MAX,
        ..rules
    };
    Frontier::new(rules, store)
}

/// Starts the engine on its thread.
fn begin<S: Store + Send + 'static>(
    mut parts: Parts<S>,
    folder: Option<JobFolder>,
) -> Result<Running, CrawlError> {
    let control = Control::new(parts.outbox.clone());
    let folder = folder.map(Arc::new);
    let server = folder
        .as_ref()
        .map(|folder| Server::start(folder.path(), control.clone()));
    if let Some(Err(error)) = &server {
        let deaf = format!("`clewline status` and `ctl` cannot reach this crawl: {error}");
        (parts.observer)(Event::Told(&deaf));
    }
    parts.folder.clone_from(&folder);
    let engine = Engine::new(parts)?;
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("clewline-engine".into())
        .spawn(move || {
            let ended = conclude(engine.run(), folder.as_deref());
            // The folder is free when the caller hears of the end.
            drop(server);
            drop(folder);
            done.send(ended).ok();
        })
        .map_err(EngineError::Start)?;
    Ok(Running {
        control,
        result,
        thread: Some(thread),
    })
}

/// The crawl that this one brings up to date. All crawls that it builds on must be there, and
/// elsewhere.
fn earlier_crawls(config: &Config) -> Result<Option<PreviousCrawl>, CrawlError> {
    let archive = &config.output.archive;
    let open = |folder: &PathBuf, setting| {
        let past = PreviousCrawl::open(folder, setting)?;
        past.lies_apart_from(config.output.folder.as_deref(), setting)?;
        Ok(past)
    };
    let refused = |problem| CrawlError::Config(vec![problem]);
    for folder in archive.dedup_from.iter().filter(|_| archive.write) {
        open(folder, "dedup-from").map_err(refused)?;
    }
    let folder = archive.update_from.as_ref();
    let past = folder.map(|folder| open(folder, "update-from"));
    past.transpose().map_err(refused)
}

/// Whether a crawl takes up an unfinished one, which has its cookies in its state.
fn goes_on(config: &Config) -> bool {
    let folder = config.output.folder.as_deref();
    let job = folder.and_then(|path| StoredJob::read(path).ok());
    job.is_some_and(|job| job.has_work_for(config) && !config.output.overwrite)
}

pub(crate) fn load_cookies(config: &Config) -> Result<CookieJar, CrawlError> {
    let mut jar = CookieJar::default();
    if let Some(path) = &config.fetch.cookie_file {
        let loaded = fs::read_to_string(path)
            .map_err(Box::from)
            .and_then(|text| jar.load_netscape(&text).map_err(Box::from));
        loaded.map_err(|source| CrawlError::Cookies {
            path: path.clone(),
            source,
        })?;
    }
    Ok(jar)
}

/// Makes the report and closes the folder.
fn conclude(outcome: CrawlOutcome, folder: Option<&JobFolder>) -> Result<Summary, CrawlError> {
    let CrawlOutcome {
        config,
        tally,
        facts,
        failed_roots,
        error,
        closing,
    } = outcome;
    let why = facts.stopped_by.to_string();
    let standing = if !failed_roots.is_empty() {
        FolderState::Unreached
    } else if facts.stopped_by == StoppedBy::Finished && facts.withheld > 0 {
        FolderState::Withholding
    } else if facts.stopped_by == StoppedBy::Finished {
        FolderState::Finished
    } else {
        FolderState::Open
    };
    // Logs that could not be written are not read again.
    let readable = folder.filter(|_| error.is_none());
    let path = readable.map(JobFolder::path);
    let at = |source| FolderError::from_reading(path.unwrap_or(Path::new(".")), source);
    let extent = if facts.stopped_by == StoppedBy::Finished {
        Extent::Whole
    } else {
        Extent::Part
    };
    let mut report = Report::build(path, tally, facts).map_err(at)?;
    if let (Some(path), Some(past)) = (path, earlier_crawls(&config)?) {
        report.update = Some(previous::compare(&past, path, extent).map_err(at)?);
    }
    if let Some(path) = path.filter(|_| config.render.screenshot.is_some()) {
        report.pictures = pictures(path);
    }
    drop(closing);
    let is_empty = standing == FolderState::Unreached && report.tally.statuses.is_empty();
    if let Some(folder) = readable {
        folder.write("report.html", html(&report).as_bytes())?;
        pass(Point::BeforeFinish);
        folder.close(&config, standing, &why)?;
        pass(Point::AfterFinish);
    }
    Ok(Summary {
        report,
        failed_roots,
        empty_folder: readable.filter(|_| is_empty).and_then(JobFolder::as_empty),
        error,
    })
}
