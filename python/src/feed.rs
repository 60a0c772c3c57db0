//! The pages of a crawl, for whoever asks next.
//!
//! Owns the crawl, its end and the one page that was taken for somebody who then went away. It refuses
//! to know Python: waiting here happens without the interpreter. Invariants: a page is given to one who
//! asks, in the order in which the crawl brings them; dropping the feed stops the crawl.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use clewline::{Control, ControlError, Crawl, Page, Pages, Summary};
use clewline_cli::keywords::Explanation;
use clewline_job::config::Config;
use clewline_job::report::json;
use futures_util::Stream as _;

/// What came of asking for a page.
pub(crate) enum NextPage {
    /// A page, and which one it is.
    Page(Box<Page>, u64),
    /// There are no more.
    End,
    /// The crawl did not end well; told once.
    Trouble(Explanation),
    /// There is none yet.
    NotYet,
}

/// A crawl at work.
pub(crate) struct Feed {
    control: Control,
    state: Mutex<FeedState>,
}

struct FeedState {
    pages: Option<Pages>,
    /// Taken for somebody who went away.
    kept: Option<(Box<Page>, u64)>,
    taken: u64,
    trouble: Option<Explanation>,
    report: Option<String>,
}

impl Feed {
    /// Starts a crawl whose reader decides about links.
    pub(crate) fn start(config: Config) -> Result<Self, Explanation> {
        let crawl = Crawl::from_config(config).hold_links();
        let pages = crawl.start().map_err(Explanation::from_crawl)?;
        let control = pages.control().expect("a crawl that began has a control");
        Ok(Self {
            control,
            state: Mutex::new(FeedState {
                pages: Some(pages),
                kept: None,
                taken: 0,
                trouble: None,
                report: None,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next page, if it comes within this time.
    pub(crate) fn next(&self, patience: Duration) -> NextPage {
        self.state().next(patience)
    }

    /// The next page, if it is there and nobody else waits for one.
    pub(crate) fn next_at_once(&self) -> NextPage {
        match self.state.try_lock() {
            Ok(mut state) => state.next(Duration::ZERO),
            Err(_) => NextPage::NotYet,
        }
    }

    /// Takes back what somebody asked for who then went away.
    pub(crate) fn put_back(&self, asked: NextPage) {
        let mut state = self.state();
        match asked {
            NextPage::Page(page, number) => state.kept = Some((page, number)),
            NextPage::Trouble(told) => state.trouble = Some(told),
            NextPage::End | NextPage::NotYet => {}
        }
    }

    /// Does not follow the links of this page; whether that was still possible.
    pub(crate) fn skip_links(&self, number: u64) -> bool {
        let mut state = self.state();
        let is_last = state.taken == number;
        is_last && state.pages.as_mut().is_some_and(Pages::skip_links)
    }

    /// One more root; whether it was new.
    pub(crate) fn add(&self, url: &str) -> Result<bool, ControlError> {
        self.control.add(url)
    }

    /// Ends the crawl soon, without waiting for that.
    pub(crate) fn stop(&self) {
        self.control.stop(Duration::ZERO);
    }

    /// Ends the crawl and waits until its folder is free.
    pub(crate) fn close(&self) {
        self.stop();
        let mut state = self.state();
        state.kept = None;
        if let Some(pages) = state.pages.take() {
            state.conclude(pages);
            // Whoever closes a crawl early did not want all of it.
            state.trouble = None;
        }
    }

    /// The report as JSON, once the crawl has ended.
    pub(crate) fn report(&self) -> Option<String> {
        self.state().report.clone()
    }
}

impl FeedState {
    fn next(&mut self, patience: Duration) -> NextPage {
        if let Some((page, number)) = self.kept.take() {
            return NextPage::Page(page, number);
        }
        if let Some(pages) = &mut self.pages {
            match wait_for(patience, |context| Pin::new(&mut *pages).poll_next(context)) {
                Poll::Pending => return NextPage::NotYet,
                Poll::Ready(Some(page)) => {
                    self.taken += 1;
                    return NextPage::Page(Box::new(page), self.taken);
                }
                Poll::Ready(None) => {
                    if let Some(pages) = self.pages.take() {
                        self.conclude(pages);
                    }
                }
            }
        }
        self.trouble.take().map_or(NextPage::End, NextPage::Trouble)
    }

    fn conclude(&mut self, pages: Pages) {
        let mut end = Box::pin(pages.finish());
        let ended = loop {
            let polled = wait_for(LONG, |context| end.as_mut().poll(context));
            if let Poll::Ready(ended) = polled {
                break ended;
            }
        };
        match ended {
            Ok(summary) => self.note(&summary),
            Err(error) => self.trouble = Some(Explanation::from_crawl(error)),
        }
    }

    fn note(&mut self, summary: &Summary) {
        self.trouble = Explanation::from_summary(summary);
        self.report = json(&summary.report).ok();
    }
}

/// The end of a crawl is waited for again and again; each wait is this long.
const LONG: Duration = Duration::from_hours(1);

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls until there is an answer, for this time at the most.
fn wait_for<T>(patience: Duration, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let until = Instant::now() + patience;
    loop {
        let polled = poll(&mut context);
        let left = until.saturating_duration_since(Instant::now());
        if polled.is_ready() || left.is_zero() {
            return polled;
        }
        thread::park_timeout(left);
    }
}
