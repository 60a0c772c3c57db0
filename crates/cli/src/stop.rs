//! Ctrl-C and SIGTERM.
//!
//! Owns the two steps of stopping: the first signal asks the crawl to finish what is in
//! flight, the second ends the process at once. It has a thread and a small runtime of its own,
//! so it answers however busy the crawl is. Invariant: from [`Stop::prepare`] on no signal kills
//! the process in the middle of a write.

use std::io;
use std::thread;

use anyhow::Context as _;
use tokio::runtime::Runtime;

use crate::exit::ExitStatus;

/// Signals that are caught from now on, and answered once somebody listens.
pub(crate) struct Stop {
    runtime: Runtime,
    signals: Signals,
}

impl Stop {
    /// Catches the signals, before there is anything that they could interrupt.
    pub(crate) fn prepare() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot listen for signals")?;
        let inside = runtime.enter();
        let signals = Signals::new().context("cannot listen for signals")?;
        drop(inside);
        Ok(Self { runtime, signals })
    }

    /// Listens until the process ends; `on_first` is called at the first signal.
    pub(crate) fn listen(self, on_first: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
        let Self { runtime, signals } = self;
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(obey(signals, on_first)))
            .context("cannot listen for signals")?;
        Ok(())
    }
}

async fn obey(mut signals: Signals, on_first: impl FnOnce()) {
    signals.next().await;
    on_first();
    signals.next().await;
    std::process::exit(i32::from(ExitStatus::Interrupted.code()));
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // A file that reaches the limit of its size (ulimit -f) is an error of the write that
        // can be told, not a reason to die without a word. Once caught, it stays caught.
        let file_size = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        drop(signal(file_size)?);
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
