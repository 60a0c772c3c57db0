//! Every setting of a crawl, each as one entry.
//!
//! Owns names, help texts, ranges, and which field of the configuration a setting sets. The
//! flag, the key of `clewline.toml`, its line in `--show-config`, the help and
//! docs/configuration.md follow from the entry. Ranges are those of the command; what no crawl
//! can work with, the library refuses as well.

mod fetch;
mod output;
mod render;
mod scope;

use std::ops::RangeInclusive;
use std::time::Duration;

use clewline_job::config::Speed;

use self::fetch::{NETWORK, POLITENESS, REQUESTS};
use self::output::{MESSAGES, OUTPUT};
use self::render::RENDERING;
pub(crate) use self::render::{RENDER_WORDS, SCREENSHOT_WORDS};
use self::scope::{BUDGET, ROOTS, SCOPE};
use super::{CHECK, CRAWL, HelpSection, INSPECT, RESUME};

pub(crate) const SPEEDS: &[(&str, Speed)] = &[
    ("gentle", Speed::Gentle),
    ("polite", Speed::Polite),
    ("fast", Speed::Fast),
    ("max", Speed::Max),
];

/// Sizes and counts end here: neither file systems nor the job folder can count further.
const LARGEST_NUMBER: u64 = i64::MAX as u64;
pub(crate) const BUDGETS: RangeInclusive<u64> = 1..=LARGEST_NUMBER;
/// A day is longer than any time-out or delay that is meant.
const LONGEST_PERIOD: Duration = Duration::from_hours(24);
pub(crate) const PERIODS: RangeInclusive<Duration> = Duration::ZERO..=LONGEST_PERIOD;
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);
/// From one request a day.
pub(crate) const RATES: RangeInclusive<f64> = 1.0 / 86_400.0..=1_000_000.0;
const MOST_IN_FLIGHT: u32 = 100_000;
pub(crate) const IN_FLIGHT: RangeInclusive<u32> = 1..=MOST_IN_FLIGHT;
/// What `--allow-private` without a range stands for.
pub(crate) const ALL_PRIVATE: &str = "all";

/// All settings, in the order of the help.
pub(crate) static SECTIONS: [HelpSection; 9] = [
    HelpSection::new("Roots", CRAWL, ROOTS),
    HelpSection::new("Scope", CRAWL | INSPECT | RESUME | CHECK, SCOPE),
    HelpSection::new("Budgets", CRAWL | RESUME | CHECK, BUDGET),
    HelpSection::new("Politeness", CRAWL | RESUME | CHECK, POLITENESS),
    HelpSection::new("Requests", CRAWL | INSPECT | RESUME | CHECK, REQUESTS),
    HelpSection::new("Network", CRAWL | INSPECT | RESUME | CHECK, NETWORK),
    HelpSection::new("Rendering", CRAWL | RESUME | CHECK, RENDERING),
    HelpSection::new("Output", CRAWL | RESUME, OUTPUT),
    HelpSection::new("Messages", CRAWL | INSPECT | RESUME | CHECK, MESSAGES),
];
