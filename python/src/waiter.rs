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
use crate::feed::{Asked, Feed};

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

/// Answers wishes, one after the other, until the crawl is dropped.
fn grant(feed: &Arc<Feed>, wishes: &Receiver<Wish>) {
    for (event_loop, future) in wishes {
        let asked = loop {
            match feed.next(LOOK) {
                Asked::NotYet => {}
                asked => break asked,
            }
        };
        // At the end of the interpreter nobody wants a page any more.
        let told = Python::try_attach(|py| tell(py, feed, asked, (&event_loop, future)));
        if told.is_none() {
            return;
        }
    }
}

/// Sets the future's result, on the thread of its loop.
fn tell(
    py: Python<'_>,
    feed: &Arc<Feed>,
    asked: Asked,
    (event_loop, future): (&Py<PyAny>, Py<PyAny>),
) {
    let feed = Arc::clone(feed);
    let asked = Mutex::new(Some(asked));
    let set = PyCFunction::new_closure(py, None, None, move |arguments, _| {
        let py = arguments.py();
        let future = future.bind(py);
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(asked) = asked else {
            return Ok(());
        };
        if future.call_method0("done")?.extract()? {
            if let Asked::Page(page, number) = asked {
                feed.put_back(page, number);
            }
            return Ok(());
        }
        match answered(py, &feed, asked) {
            Answered::Page(page) => future.call_method1("set_result", (page,))?,
            Answered::Exception(error) => future.call_method1("set_exception", (error,))?,
        };
        PyResult::Ok(())
    });
    // A loop that was closed takes no more calls; whoever awaited there is gone.
    set.and_then(|set| event_loop.call_method1(py, "call_soon_threadsafe", (set,)))
        .ok();
}
