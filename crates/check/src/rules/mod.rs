//! The rules: what is wrong, given the facts.
//!
//! Owns the list of rules and the order in which they are asked. A rule is a pure function; it
//! refuses to read files and to know settings. Invariants: an error by default is something that
//! proves itself; the same table and the same answers give the same findings in the same order.

mod bag;
mod judge;
mod link_ends;
mod page;
mod registry;
mod site;
#[cfg(test)]
mod tests;

pub use bag::{MOST_FINDINGS, MOST_LISTED};
pub use judge::{JudgeOptions, judge};
pub use link_ends::{OwnVerdict, is_made_by_scripts, own_verdict};
pub use registry::{UnknownRule, all, find, matching};
