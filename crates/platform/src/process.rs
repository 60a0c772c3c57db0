//! This process and others: their time, their memory, whether they run.
//!
//! Owns the questions to `/proc` and the clocks of threads. Invariant: what is not known is none, or
//! the answer that does no harm.

use std::path::Path;
use std::time::Duration;

/// Processor time of this thread. Where threads have no such clock it is the time since the first
/// question, so that a limit is kept on an idle machine and too strict on a busy one.
pub fn thread_time() -> Duration {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }
    #[cfg(not(unix))]
    {
        use std::sync::LazyLock;
        use std::time::Instant;
        static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
        FIRST.elapsed()
    }
}

/// How long the machine has slept since it was started: what the monotonic clock leaves out. Zero
/// where that is not known.
pub fn slept() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use rustix::time::{ClockId, clock_gettime};
        let awake = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        let since_boot = Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
        since_boot.saturating_sub(awake)
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

/// Resident memory of this process, where the system tells.
pub fn resident_bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let facts = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = facts.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Processor time of all threads of this process so far, where the system tells.
pub fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()
    }
    #[cfg(not(unix))]
    None
}

/// Descriptors that this process has open, where the system tells.
pub fn open_descriptors() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

/// Whether a process may run; where that is not known, it may.
pub fn may_run(process: u32) -> bool {
    let all = Path::new("/proc");
    !all.join("self").exists() || all.join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_takes_time() {
        let began = thread_time();
        let mut sum = 0_u64;
        while thread_time() == began {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(thread_time() > began);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs_and_has_memory() {
        assert!(may_run(std::process::id()));
        // No process has so large a number.
        assert!(!may_run(4_194_999));
        assert!(resident_bytes().is_some_and(|bytes| bytes > 100_000));
        assert!(open_descriptors().is_some_and(|count| count > 2));
        assert!(processor_time().is_some_and(|time| time > Duration::ZERO));
    }
}
