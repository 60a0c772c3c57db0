//! A robots.txt on its way from the server.
//!
//! Owns the way from an answer to its rules. Refuses to know what a status means, apart from that
//! of a part. Invariant: the file is never held whole.

use clewline_core::outcome::FailureClass;
use clewline_core::robots::{self, Robots, RobotsReader};

use crate::fetch::{BodyTally, FetchFailure, Response};
use crate::partial::is_partial;

/// A robots.txt is read this far.
pub(crate) const LONGEST: u64 = robots::MAX_BYTES as u64;

const PART: &str = "the server sent a part of robots.txt that was not asked for";

/// Reads the rules of a robots.txt as it arrives.
pub(crate) struct RulesReader(RobotsReader);

impl RulesReader {
    /// A reader for the body of this answer. A part of a file that nobody asked for says nothing
    /// certain: it may begin in the middle of a group.
    pub(crate) fn new(response: &Response, token: &str) -> Result<Self, FetchFailure> {
        if is_partial(response.status, &response.headers) {
            return Err(FetchFailure {
                class: FailureClass::Incomplete,
                message: PART.to_owned(),
                timings: response.timings,
                wire: response.body.tally().wire,
                local: false,
                withheld: None,
                cut_short: false,
            });
        }
        Ok(Self(RobotsReader::new(&[token])))
    }

    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        self.0.feed(chunk);
    }

    /// About how many bytes are held.
    pub(crate) fn held(&self) -> usize {
        self.0.held()
    }

    /// The rules of a body that came to this end.
    pub(crate) fn finish(self, end: BodyTally) -> Robots {
        if end.truncated {
            self.0.finish_cut()
        } else {
            self.0.finish()
        }
    }
}
