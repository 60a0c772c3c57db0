//! What is wrong with a site.
//!
//! Owns the facts of pages, the verdicts on links, the rules, and the findings with their forms. It
//! reads job folders and archives through `clewline-job` and fetches nothing: whoever calls asks
//! foreign hosts and hands in what they answered. Robots, scope and the identity of URLs are those of
//! the core. Invariants: the same archive and the same answers make the same bytes; a link is called
//! broken only where an answer proves it; memory grows by some dozens of bytes for each URL.
//!
//! The way of a check: [`facts`] reads every page once and keeps a row of facts for it, [`site`] joins
//! the rows in a table that rules ask, [`rules`] are functions over both, and what they say are
//! [`CheckFinding`]s. `settings` decide which of them count, and `forms` write them.
#![warn(missing_docs)]

mod alone;
pub mod baseline;
pub mod facts;
pub mod finding;
pub mod forms;
#[doc(hidden)]
pub mod fuzzing;
pub mod ignores;
pub mod kept;
pub mod probe;
pub mod report;
pub mod rule;
pub mod rules;
pub mod settings;
pub mod site;
pub mod verdict;

pub use alone::check_alone;
pub use finding::{CheckFinding, FindingPlace};
pub use kept::KeptFindings;
pub use probe::{ProbeRow, ProbeTable};
pub use report::{CheckOutcome, CheckReport};
pub use rule::{CheckRule, Severity};
pub use settings::CheckSettings;
pub use verdict::CheckVerdict;
