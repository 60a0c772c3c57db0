//! How many descriptors this process may have.
//!
//! Owns the limit of the system. It refuses to know who gets which.

use std::io;

/// What a process without a limit of its own may have: handles of Windows are bounded by memory, and
/// so many are never needed.
#[cfg(not(unix))]
const UNLIMITED: usize = 16_384;

/// Raises the soft limit to what is needed, or as far as it goes, and says where it is.
pub fn raise(needed: u64) -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let mut limits = getrlimit(Resource::Nofile);
        if limits.current.is_some_and(|current| current < needed) {
            let current = limits.maximum.map_or(needed, |most| most.min(needed));
            let raised = Rlimit {
                current: Some(current),
                maximum: limits.maximum,
            };
            if setrlimit(Resource::Nofile, raised).is_ok() {
                limits = raised;
            }
        }
        let current = limits.current.unwrap_or(u64::MAX);
        usize::try_from(current).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    {
        let _ = needed;
        UNLIMITED
    }
}

/// Whether an error is the lack of a descriptor, here or on the whole machine.
pub fn ran_out(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let lacking = Errno::from_io_error(error);
        matches!(lacking, Some(Errno::MFILE | Errno::NFILE))
    }
    #[cfg(not(unix))]
    {
        /// `ERROR_TOO_MANY_OPEN_FILES` and `WSAEMFILE` of Windows.
        const TOO_MANY: [i32; 2] = [4, 10_024];
        let code = error.raw_os_error();
        code.is_some_and(|code| TOO_MANY.contains(&code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_high_enough_stays() {
        assert_eq!(raise(1), raise(1));
        assert!(raise(1) >= 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_lack_of_descriptors_is_told_from_other_errors() {
        use rustix::io::Errno;
        let lacks = |errno: Errno| ran_out(&io::Error::from(errno));
        assert!(lacks(Errno::MFILE) && lacks(Errno::NFILE));
        assert!(!lacks(Errno::NOMEM));
    }
}
