//! Ctrl-C and SIGTERM.
//!
//! Owns the two steps of stopping: the first signal asks the crawl to finish what is in
//! flight, the second ends the process at once. It has a thread and a small runtime of its own,
//! so it answers however busy the crawl is.

use std::io;
use std::thread;

use anyhow::Context as _;

use crate::exit::ExitStatus;
use crate::progress;

/// Listens from now on until the process ends; `on_first` is called at the first signal.
pub(crate) fn listen(on_first: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot listen for signals")?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(obey(on_first)))
        .context("cannot listen for signals")?;
    Ok(())
}

async fn obey(on_first: impl FnOnce()) {
    let Ok(mut signals) = Signals::new() else {
        return;
    };
    signals.next().await;
    on_first();
    signals.next().await;
    progress::restore_terminal();
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
