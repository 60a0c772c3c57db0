//! The crawls of a check at work: progress, Ctrl-C, and what came of them.
//!
//! Owns the one stop of a check, which may run several crawls after each other: the site, the links
//! that lead away, and those of them that are asked again. It refuses to know what they are for.
//! Invariant: once somebody stopped the check, no further crawl of it begins.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use clewline::{Control, Crawl, CrawlError, Event, Page, Summary};
use clewline_job::config::Config;

use super::local_files;
use crate::event_printer::EventPrinter;
use crate::progress::{LatestSnapshot, ProgressDisplay, Voice};
use crate::resolve::{CommandOptions, Talk};
use crate::stop::Stop;

/// What a crawl of a check came to.
pub(crate) enum CrawlEnd {
    /// It ran, to its end or until it was stopped.
    Ran(Box<Summary>),
    /// Somebody stopped the check before it began.
    NotBegun,
}

/// Watches the crawls of a check.
pub(crate) struct CheckWatch {
    board: LatestSnapshot,
    progress: ProgressDisplay,
    options: CommandOptions,
    steering: Arc<Mutex<Steering>>,
}

/// How the crawl of the moment is reached.
#[derive(Default)]
struct Steering {
    control: Option<Control>,
    is_stopped: bool,
}

impl CheckWatch {
    /// Catches Ctrl-C from now on, and begins to draw.
    pub(crate) fn begin(options: CommandOptions) -> anyhow::Result<Self> {
        let stop = Stop::prepare()?;
        let board = LatestSnapshot::default();
        let progress = ProgressDisplay::start(&board, options);
        let steering: Arc<Mutex<Steering>> = Arc::default();
        let (stopped, voice) = (Arc::clone(&steering), progress.voice());
        stop.listen(move || {
            voice.say("stopping: what was found so far is told; once more to stop at once");
            let mut steering = stopped.lock().unwrap_or_else(PoisonError::into_inner);
            steering.is_stopped = true;
            if let Some(control) = steering.control.take() {
                control.stop(Crawl::GRACE);
            }
        })?;
        Ok(Self {
            board,
            progress,
            options,
            steering,
        })
    }

    /// Whether somebody stopped the check.
    pub(crate) fn is_stopped(&self) -> bool {
        self.steering().is_stopped
    }

    /// A way to say something above the progress.
    pub(crate) fn voice(&self) -> Voice {
        self.progress.voice()
    }

    /// Whether anything but errors is to be said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.options.talk == Talk::Quiet
    }

    /// Takes the progress away; what follows is on a clean screen.
    pub(crate) fn finish(self) {
        self.progress.finish();
    }

    /// Runs a crawl that keeps its pages in its folder.
    pub(crate) fn run(&self, config: Config) -> Result<CrawlEnd, CrawlError> {
        let crawl = self.observed(config, |_| {});
        let Some(running) = self.unless_stopped(|| crawl.run())? else {
            return Ok(CrawlEnd::NotBegun);
        };
        self.steer(running.control());
        let ended = running.wait();
        self.let_go();
        ended.map(|summary| CrawlEnd::Ran(Box::new(summary)))
    }

    /// Runs a crawl whose records and pages are taken as they come.
    pub(crate) fn run_with_pages(
        &self,
        config: Config,
        observe: impl FnMut(&Event<'_>) + Send + 'static,
        mut take: impl FnMut(Page),
    ) -> anyhow::Result<CrawlEnd> {
        let crawl = self.observed(config, observe);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .context("cannot take pages")?;
        let Some(mut pages) = self.unless_stopped(|| crawl.start())? else {
            return Ok(CrawlEnd::NotBegun);
        };
        if let Some(control) = pages.control() {
            self.steer(control);
        }
        let ended = runtime.block_on(async {
            while let Some(page) = pages.next().await {
                take(page);
            }
            pages.finish().await
        });
        self.let_go();
        Ok(CrawlEnd::Ran(Box::new(ended?)))
    }

    fn observed(&self, config: Config, mut also: impl FnMut(&Event<'_>) + Send + 'static) -> Crawl {
        let (board, voice) = (self.board.clone(), self.progress.voice());
        let mut printer = EventPrinter::new(board, voice, self.options.talk, &config);
        let tells_notes = !config.scope.foreign_roots && !local_files::are_served(&config);
        Crawl::from_config(config).observe(move |event| {
            also(&event);
            // What thousands of foreign hosts do to their links is no news for the owner of this site.
            if tells_notes || !matches!(event, Event::Note(_)) {
                printer.tell(&event);
            }
        })
    }

    fn unless_stopped<T>(
        &self,
        begin: impl FnOnce() -> Result<T, CrawlError>,
    ) -> Result<Option<T>, CrawlError> {
        if self.is_stopped() {
            return Ok(None);
        }
        begin().map(Some)
    }

    fn steer(&self, control: Control) {
        let mut steering = self.steering();
        if steering.is_stopped {
            control.stop(Crawl::GRACE);
        }
        steering.control = Some(control);
    }

    fn let_go(&self) {
        self.steering().control = None;
    }

    fn steering(&self) -> std::sync::MutexGuard<'_, Steering> {
        self.steering.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
