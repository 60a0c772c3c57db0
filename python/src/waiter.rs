//! Waiting for pages on behalf of an event loop.
//!
//! Owns one thread per crawl that is read by `async for`, which waits where the loop must not. It takes the
//! interpreter only for the moment in which it hands a page over. It refuses to know what a page is.
//! Invariant: a page whose future was given up goes back to the feed and is not lost.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::crawl::{Answered, answered};
use crate::feed::{Feed, NextPage};

/// How long one look at the feed may take.
const LOOK: Duration = Duration::from_millis(200);

/// A future that waits for a page, and its event loop.
type Wish = (Py<PyAny>, Py<PyAny>);

/// The way to the thread, which is started when it is first needed.
#[derive(Default)]
pub(crate) struct Waiter(Mutex<Option<Sender<Wish>>>);

impl Waiter {
    /// Has a future answered when there is a page.
    pub(crate) fn wait(&self, feed: &Arc<Feed>, wish: Wish) -> PyResult<()> {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.is_none() {
            let (to_thread, wishes) = channel();
            let feed = Arc::clone(feed);
            thread::Builder::new()
                .name("clewline-await".to_owned())
                .spawn(move || grant(&feed, &wishes))?;
            *sender = Some(to_thread);
        }
        if let Some(sender) = &*sender {
            sender.send(wish).ok();
        }
        Ok(())
    }
}

/// Answers wishes, one after the other, until the crawl is dropped. The next wish has to wait until it
/// is known whether the one before was still wanted: what was not goes to the next.
fn grant(feed: &Arc<Feed>, wishes: &Receiver<Wish>) {
    for (event_loop, future) in wishes {
        let asked = loop {
            match feed.next(LOOK) {
                NextPage::NotYet => {}
                asked => break asked,
            }
        };
        let (taken, is_taken) = channel();
        let handover = Handover {
            feed: Arc::clone(feed),
            asked: Mutex::new(Some(asked)),
            _taken: taken,
        };
        // At the end of the interpreter nobody wants a page any more.
        let told = Python::try_attach(|py| tell(py, &event_loop, future, handover));
        if told.is_none() {
            return;
        }
        // Nothing is sent: the other end is dropped with the call.
        is_taken.recv().ok();
    }
}

/// An answer on its way to a loop. If the loop never takes it, it goes back to the feed.
struct Handover {
    feed: Arc<Feed>,
    asked: Mutex<Option<NextPage>>,
    /// Tells by its end that the way is over, and is dropped last.
    _taken: Sender<()>,
}

impl Handover {
    fn take(&self) -> Option<NextPage> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.take()
    }

    /// Sets the future's result, unless it was given up.
    fn settle(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future.call_method0("done")?.extract()? {
            return Ok(());
        }
        let Some(asked) = self.take() else {
            return Ok(());
        };
        match answered(future.py(), &self.feed, asked) {
            Answered::Page(page) => future.call_method1("set_result", (page,))?,
            Answered::Exception(error) => future.call_method1("set_exception", (error,))?,
        };
        Ok(())
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        if let Some(asked) = self.take() {
            self.feed.put_back(asked);
        }
    }
}

/// Has the loop's own thread set the result.
fn tell(py: Python<'_>, event_loop: &Py<PyAny>, future: Py<PyAny>, handover: Handover) {
    let handover = Mutex::new(Some(handover));
    let set = PyCFunction::new_closure(py, None, None, move |arguments, _| {
        let handover = handover
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        handover.map_or(Ok(()), |handover| {
            handover.settle(future.bind(arguments.py()))
        })
    });
    // A loop that was closed takes no more calls; whoever awaited there is gone.
    set.and_then(|set| event_loop.call_method1(py, "call_soon_threadsafe", (set,)))
        .ok();
}
