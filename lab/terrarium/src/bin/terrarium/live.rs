//! The live line of `terrarium serve`, and its end.
//!
//! Owns the beat and the signals. Refuses to know what is served.

use std::io;
use std::time::{Duration, Instant};

use crate::flags::ServeArguments;

/// How often the live line changes.
const BEAT: Duration = Duration::from_secs(1);

/// Shows the live line until the time is over or somebody says stop.
pub(crate) fn watch(
    arguments: &ServeArguments,
    mut line: impl FnMut() -> String,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut stop = Box::pin(stopped());
        let mut beat = tokio::time::interval(BEAT);
        let until = arguments.time.map(|time| Instant::now() + time);
        loop {
            tokio::select! {
                ended = &mut stop => return ended,
                _ = beat.tick() => {}
            }
            if !arguments.quiet {
                eprint!("\r{}", line());
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(());
            }
        }
    })?;
    if !arguments.quiet {
        eprintln!();
    }
    Ok(())
}

async fn stopped() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
