//! Patterns that come while a crawl runs.
//!
//! Owns how many queued URLs a pattern would leave out, and what happens when it does. Invariant: a
//! look through the queue is bounded, since the crawl waits meanwhile.

use clewline_core::frontier::Store;
use clewline_core::link::LinkKind;
use clewline_core::scope::{PatternError, Reach, Scope};
use clewline_job::exclusion::{ExclusionPreview, MOST_LOOKED_AT, MOST_NAMED};

use super::{Engine, EngineError, Event, state};
use crate::config::ConfigProblem;
use crate::control::ControlError;

fn refused(error: &PatternError) -> ControlError {
    let (setting, problem) = ("exclude", error.to_string());
    ControlError::Refused(vec![ConfigProblem { setting, problem }])
}

impl<S: Store> Engine<S> {
    pub(super) fn preview(
        &mut self,
        pattern: &str,
    ) -> Result<Result<ExclusionPreview, ControlError>, EngineError> {
        let only = match Scope::new(Reach::Any, false, &[], &[pattern.to_owned()]) {
            Ok(only) => only,
            Err(error) => return Ok(Err(refused(&error))),
        };
        let mut preview = ExclusionPreview::default();
        let store = self.frontier.store();
        let seen_all = store.look_through(MOST_LOOKED_AT, &mut |url| {
            preview.looked_at += 1;
            if only.leaves_out(url, LinkKind::Anchor) {
                preview.takes += 1;
                if preview.samples.len() < MOST_NAMED {
                    preview.samples.push(url.clone());
                }
            }
        });
        preview.at_least = !seen_all.map_err(state)?;
        Ok(Ok(preview))
    }

    pub(super) fn exclude(&mut self, pattern: &str) -> Result<(), ControlError> {
        if self.member.is_some() {
            let (setting, problem) = ("exclude", "a fleet takes its patterns at the start".into());
            return Err(ControlError::Refused(vec![ConfigProblem {
                setting,
                problem,
            }]));
        }
        self.frontier
            .exclude(pattern)
            .map_err(|error| refused(&error))?;
        self.config.scope.exclude.push(pattern.to_owned());
        (self.observer)(Event::Told(&format!(
            "URLs that match {pattern} are left out from now on"
        )));
        self.keep_config()
    }
}
