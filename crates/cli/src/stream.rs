//! Records on stdout while the crawl runs (`--stream`).
//!
//! Owns the lines and what happens when nobody reads them any more: the crawl stops. It refuses to
//! know what a record says. Invariant: a line is the record of `urls.jsonl`, printed once it is durable;
//! a slow reader slows the crawl down, because the lines are written on the thread of its engine.

use std::io::{self, Write, stdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clewline::{Control, Event};

use crate::resolve::CommandOptions;

/// The way of records to stdout; without a wish for them it does nothing.
#[derive(Clone, Default)]
pub(crate) struct RecordStream(Option<Arc<Mutex<StreamState>>>);

#[derive(Default)]
struct StreamState {
    /// Stops the crawl.
    control: Option<Control>,
    /// What became of the first line that could not be written.
    failed: Option<io::Error>,
}

impl RecordStream {
    pub(crate) fn for_options(options: CommandOptions) -> Self {
        Self(options.stream.is_some().then(Arc::default))
    }

    /// Prints a record that is settled.
    pub(crate) fn take(&self, event: &Event<'_>) {
        let (Some(state), Event::Settled(record)) = (&self.0, event) else {
            return;
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_some() {
            return;
        }
        let line = serde_json::to_vec(record).map_err(io::Error::from);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            let mut out = stdout().lock();
            out.write_all(&line)?;
            out.flush()
        });
        if let Err(error) = written {
            state.failed = Some(error);
            state.stop();
        }
    }

    /// Learns how to stop the crawl.
    pub(crate) fn steer(&self, control: Control) {
        if let Some(state) = &self.0 {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.control = Some(control);
            if state.failed.is_some() {
                state.stop();
            }
        }
    }

    /// Whether somebody closed the pipe, who has read enough; any other trouble is an error.
    pub(crate) fn was_closed(&self) -> io::Result<bool> {
        let Some(state) = &self.0 else {
            return Ok(false);
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.failed.take() {
            None => Ok(false),
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
            Some(error) => Err(error),
        }
    }
}

impl StreamState {
    fn stop(&self) {
        if let Some(control) = &self.control {
            control.stop(Duration::ZERO);
        }
    }
}
