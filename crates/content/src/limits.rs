//! How much a page may cost, and what is said when it costs more.
//!
//! Owns the bounds and the clock of a reading. It refuses to know what is read. Invariant: the
//! clock counts the thread's own processor time, so that a busy machine refuses no page.

use std::time::Duration;

use clewline_platform::process::thread_time;
use serde::Serialize;

/// Steps between two looks at the clock; a step is a token or a node, so well under a
/// millisecond passes.
const STEPS_PER_LOOK: u32 = 1024;

/// What a page may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentLimits {
    /// The longest page, in bytes of UTF-8.
    pub most_bytes: usize,
    /// The deepest nesting of elements.
    pub deepest: usize,
    /// The most elements and texts.
    pub most_nodes: usize,
    /// The longest that a thread may work on one page.
    pub cpu_time: Duration,
}

impl Default for ContentLimits {
    fn default() -> Self {
        Self {
            most_bytes: 16 << 20,
            deepest: 512,
            most_nodes: 1_000_000,
            cpu_time: Duration::from_secs(2),
        }
    }
}

/// Why a page was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Refusal {
    /// It has more bytes than the limit.
    #[error("the page is longer than the {most} bytes that may be read")]
    TooLong {
        /// The limit.
        most: usize,
    },
    /// Its elements are nested deeper than the limit.
    #[error("its elements are nested more than {deepest} deep")]
    TooDeep {
        /// The limit.
        deepest: usize,
    },
    /// It has more elements and texts than the limit.
    #[error("it has more than {most} elements and texts")]
    TooManyNodes {
        /// The limit.
        most: usize,
    },
    /// It took longer than the limit.
    #[error("reading it took more than {} ms of processor time", most.as_millis())]
    TooSlow {
        /// The limit.
        most: Duration,
    },
    /// The reader broke; a bug.
    #[error("the reader broke on it, which is a bug; please report the page")]
    Broken,
}

/// The clock of one reading.
#[derive(Debug)]
pub(crate) struct Deadline {
    most: Duration,
    began: Duration,
    steps: u32,
}

impl Deadline {
    pub(crate) fn start(limits: &ContentLimits) -> Self {
        Self {
            most: limits.cpu_time,
            began: thread_time(),
            steps: 0,
        }
    }

    /// Counts a step, and sometimes looks at the clock.
    pub(crate) fn step(&mut self) -> Result<(), Refusal> {
        self.steps += 1;
        if self.steps < STEPS_PER_LOOK {
            return Ok(());
        }
        self.look()
    }

    /// Looks at the clock.
    pub(crate) fn look(&mut self) -> Result<(), Refusal> {
        self.steps = 0;
        if thread_time().saturating_sub(self.began) > self.most {
            return Err(Refusal::TooSlow { most: self.most });
        }
        Ok(())
    }
}
