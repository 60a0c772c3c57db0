//! How long the server's own thread had to wait for a processor.
//!
//! Owns the reading of the kernel's account of it. On a busy machine a request is seen late
//! because the server was not let run, and that must not be held against the crawler. Where there
//! is no such account the lag is taken for none.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

/// Processor time, time spent waiting for a processor, and time slices of the calling thread.
const ACCOUNT: &str = "/proc/thread-self/schedstat";

/// The account of the thread that opened it.
pub(super) struct Lag {
    account: Option<File>,
    waited: u64,
}

impl Lag {
    /// Opens the account of this thread.
    pub(super) fn for_this_thread() -> Self {
        let mut lag = Self {
            account: File::open(ACCOUNT).ok(),
            waited: 0,
        };
        lag.since_last();
        lag
    }

    /// How long the thread waited for a processor since the last call.
    pub(super) fn since_last(&mut self) -> Duration {
        let mut text = [0; 64];
        let Some(account) = &self.account else {
            return Duration::ZERO;
        };
        let length = account.read_at(&mut text, 0).unwrap_or(0);
        let words = std::str::from_utf8(&text[..length]).unwrap_or_default();
        let waited = words.split(' ').nth(1).and_then(|word| word.parse().ok());
        let waited = waited.unwrap_or(self.waited);
        let lag = waited.saturating_sub(self.waited);
        self.waited = waited;
        Duration::from_nanos(lag)
    }
}
