//! The merged job of a fleet, with its state.
//!
//! Owns the joining of two things that know nothing of each other: the merge of logs and archives in
//! `clewline-job`, and the state, which only the library can make. It decides nothing.

use clewline_job::merge::{MergeError, MergePlan, MergeSummary};

use crate::job::make_of_records;
use crate::stored::StoredJob;

impl StoredJob {
    /// Makes one finished job folder of what the workers of a fleet left. Afterwards it can be
    /// asked, searched, exported and replayed as any other.
    pub fn merge(plan: &MergePlan) -> Result<MergeSummary, MergeError> {
        clewline_job::merge::merge(plan, &mut |draft| {
            make_of_records(draft).map_err(Into::into)
        })
    }
}
