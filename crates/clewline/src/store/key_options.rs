//! What the known keys may take of a crawl's memory.
//!
//! Owns the share of each of their parts, and the points at which tests end the process. It
//! refuses to know how keys are kept.

use std::sync::Arc;

use clewline_keyset::{KeyStep, KeysOptions};
use clewline_platform::free_bytes;

use super::database::{Weight, write_buffer};
use crate::failpoint::{Point, pass, small_tables};
use crate::memory::MemoryPlan;

/// What a durable key that lies in no run takes in memory, on its way into a run included.
const KEY_ROOM: u64 = 40;
/// Keys that gather however little memory there is: each run is one more to look into. A test
/// that wants many runs has them of fewer.
const FEWEST: usize = 1 << 16;
const FEWEST_IF_SMALL: usize = 16;

/// So many runs of about the same length become one; fewer where a test wants many merges.
const TOGETHER: usize = 4;
const TOGETHER_IF_SMALL: usize = 2;

/// The options that follow from the memory of a crawl.
pub(super) fn from_plan(plan: MemoryPlan) -> KeysOptions {
    let is_small = small_tables().is_some();
    let keys = (write_buffer(plan, Weight::Large) / KEY_ROOM) as usize;
    KeysOptions {
        hot: plan.hot_keys(),
        indexes: plan.key_runs(),
        blocks: plan.key_blocks(),
        gather: if is_small {
            FEWEST_IF_SMALL
        } else {
            keys.max(FEWEST)
        },
        together: if is_small {
            TOGETHER_IF_SMALL
        } else {
            TOGETHER
        },
        waits_for_merges: is_small,
        free_bytes,
        observer: Arc::new(pass_step),
    }
}

fn pass_step(step: KeyStep) {
    match step {
        KeyStep::RunWritten => pass(Point::RunWritten),
        KeyStep::Merging => pass(Point::RunsMerging),
        KeyStep::Replaced => pass(Point::RunsReplaced),
        _ => {}
    }
}
