//! A crawl at work, as its caller holds it.
//!
//! Owns the handles: to wait for the end, to take pages one by one, and what is left to say. It
//! refuses to know how a crawl is started. Invariant: whoever drops the pages stops the crawl.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use clewline_core::frontier::JobId;
use clewline_core::url::CrawlUrl;
use futures_util::Stream;
use tokio::sync::{mpsc, oneshot};

use crate::control::Control;
use crate::crawl::CrawlError;
use crate::engine::{EngineError, HandedPage, LinkWord};
use crate::folder::EmptyFolder;
use crate::page::Page;
use crate::report::Report;

/// What a crawl leaves to say.
#[derive(Debug)]
pub struct Summary {
    /// What happened, counted.
    pub report: Report,
    /// The roots and why they failed, if no page could be fetched.
    pub failed_roots: Vec<(CrawlUrl, String)>,
    /// The job folder, if this run made it and nobody answered: it holds nothing worth keeping.
    pub empty_folder: Option<EmptyFolder>,
    /// What the crawl could not go on after.
    pub error: Option<EngineError>,
}

/// A crawl at work.
#[derive(Debug)]
pub struct Running {
    pub(crate) control: Control,
    pub(crate) result: oneshot::Receiver<Result<Summary, CrawlError>>,
    pub(crate) thread: Option<JoinHandle<()>>,
}

impl Running {
    /// A handle to steer it with.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Waits for the end.
    pub async fn finish(mut self) -> Result<Summary, CrawlError> {
        let summary = (&mut self.result).await;
        self.summary(summary.ok())
    }

    /// Waits for the end, outside of any asynchronous runtime.
    pub fn wait(mut self) -> Result<Summary, CrawlError> {
        let result = std::mem::replace(&mut self.result, oneshot::channel().1);
        let summary = result.blocking_recv();
        self.summary(summary.ok())
    }

    /// The engine's thread has said its last word; if it panicked, so does the caller.
    fn summary(
        &mut self,
        summary: Option<Result<Summary, CrawlError>>,
    ) -> Result<Summary, CrawlError> {
        match (summary, self.thread.take().map(JoinHandle::join)) {
            (_, Some(Err(panic))) => std::panic::resume_unwind(panic),
            (Some(summary), _) => summary,
            (None, _) => unreachable!("the engine's thread answers before it ends"),
        }
    }
}

/// The pages of a crawl, as they come: a [`Stream`]. Dropping it stops the crawl.
#[derive(Debug)]
pub struct Pages {
    pub(crate) receiver: mpsc::Receiver<HandedPage>,
    /// The page whose reader's turn it is, if links are held, and what it says of them.
    pub(crate) turn: Option<(JobId, LinkWord)>,
    pub(crate) handle: Option<Running>,
}

impl Pages {
    /// The next page; none when the crawl has ended.
    pub async fn next(&mut self) -> Option<Page> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Page>> {
        self.end_turn();
        let taken = self.receiver.poll_recv(context);
        if taken.is_ready()
            && let Some(running) = &self.handle
        {
            running.control.taken();
        }
        taken.map(|taken| {
            let (page, job) = taken?;
            self.turn = job.map(|job| (job, LinkWord::Follow));
            Some(page)
        })
    }

    /// Does not follow the links of the page that came last, in a crawl that
    /// [holds links](crate::Crawl::hold_links); whether that was still possible.
    pub fn skip_links(&mut self) -> bool {
        self.turn
            .as_mut()
            .map(|(_, word)| *word = LinkWord::Skip)
            .is_some()
    }

    fn end_turn(&mut self) {
        if let (Some((job, word)), Some(running)) = (self.turn.take(), &self.handle) {
            running.control.read(job, word);
        }
    }

    /// A handle to steer it with.
    pub fn control(&self) -> Option<Control> {
        self.handle.as_ref().map(Running::control)
    }

    /// Stops taking pages, ends the crawl if it still runs, and reports.
    pub async fn finish(mut self) -> Result<Summary, CrawlError> {
        self.end_turn();
        self.receiver.close();
        let running = self.handle.take().expect("only finishing takes the handle");
        running.control.stop(Duration::ZERO);
        running.finish().await
    }
}

impl Stream for Pages {
    type Item = Page;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Page>> {
        self.get_mut().poll(context)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.end_turn();
        if let Some(running) = &self.handle {
            running.control.stop(Duration::ZERO);
        }
    }
}
