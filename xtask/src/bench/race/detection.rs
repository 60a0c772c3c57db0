//! The promise about the cost of trap detection, judged by the rows of a race.
//!
//! Owns the arithmetic alone: both figures come from runs in turn of one race on one site, so that
//! the machine and its mood are the same for both.

use super::checks::Check;
use super::contestant::{IN_MEMORY, WITHOUT_DETECTION};
use super::round::Row;

/// The site whose race is judged: it has no traps, so that detection brings nothing.
const SITE: &str = "docs";
/// So many times the crawl without it.
const TIMES: f64 = 1.05;

/// Judges what was raced; what was not raced is not judged.
pub(super) fn check(rows: &[Row]) -> Option<Check> {
    let cost = |name: &str| {
        let row = rows.iter().find(|row| row.site == SITE && row.name == name);
        row?.per_page().map(|spread| spread.median)
    };
    let (with, without) = (cost(IN_MEMORY)?, cost(WITHOUT_DETECTION)?);
    let times = with / without;
    Some(Check {
        name: "trap detection costs next to nothing",
        seen: format!("{with:.1} against {without:.1} µs/page: {times:.3} ×"),
        wanted: format!("at most {TIMES} ×"),
        kept: (times <= TIMES).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::race::checks::Kept;
    use crate::bench::race::contestant::Party;
    use crate::bench::result::table::tests::row;

    #[test]
    fn the_promise_is_judged_by_the_rows() {
        let without = row(WITHOUT_DETECTION, Party::Clewline, 0.100);
        for (seconds, kept) in [(0.104, Kept::Yes), (0.106, Kept::No)] {
            let rows = [row(IN_MEMORY, Party::Clewline, seconds), without.clone()];
            assert_eq!(check(&rows).map(|check| check.kept), Some(kept));
        }
        assert!(check(&[without]).is_none());
    }
}
