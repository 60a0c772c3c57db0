//! How many descriptors this process may open, and what that leaves for requests.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors kept back for logs, the job folder, the runtime and the resolver.
const KEPT_BACK: u64 = 48;

/// Raises the soft limit as far as it is needed and allowed, and says how many requests can
/// be in flight with what there is.
pub(super) fn room_for(wanted: usize) -> usize {
    // Idle connections and resolving take descriptors too.
    let needed = (wanted as u64).saturating_mul(2) + KEPT_BACK;
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
    let available = limits
        .current
        .map_or(u64::MAX, |current| current.saturating_sub(KEPT_BACK));
    usize::try_from(available)
        .unwrap_or(usize::MAX)
        .clamp(1, wanted)
}
