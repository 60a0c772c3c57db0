//! Promises about the cost of the archive, judged by the rows of a race.
//!
//! Owns the arithmetic alone: every figure comes from runs of one race on one site, so that the
//! machine and its mood are the same for all of them.

use super::super::rivals::WGET_WARC;
use super::checks::Check;
use super::contestant::{Coding, PACKING};
use super::round::Row;

/// The site whose race is judged.
const SITE: &str = "docs";
/// An archive may cost so many times one SHA-1 and gzip -1 of the same bytes.
const TIMES_PACKING: f64 = 1.6;
/// And so much of what wget takes for the whole crawl.
const OF_WGET: f64 = 0.5;

/// Judges what was raced; what was not raced is not judged.
pub(super) fn checks(rows: &[Row]) -> Vec<Check> {
    let cost = |name: &str| {
        let row = rows.iter().find(|row| row.site == SITE && row.name == name);
        row.and_then(Row::per_page).map(|spread| spread.median)
    };
    let (gzip, zstd) = (cost(Coding::Gzip.name()), cost(Coding::Zstd.name()));
    let without = cost("clewline");
    let packing = cost(PACKING).zip(cost("bare client"));
    let packing = packing.map(|(packing, bare)| packing - bare);
    let mut checks = Vec::new();
    if let (Some(gzip), Some(without), Some(packing)) = (gzip, without, packing) {
        let times = (gzip - without) / packing;
        checks.push(Check {
            name: "the archive costs little more than its bytes must",
            seen: format!(
                "{:.1} µs/page above the crawl without, {times:.2} × the {packing:.1} µs of \
                 SHA-1 and gzip -1",
                gzip - without
            ),
            wanted: format!("at most {TIMES_PACKING} ×"),
            kept: (times <= TIMES_PACKING).into(),
        });
    }
    if let (Some(gzip), Some(zstd)) = (gzip, zstd) {
        checks.push(Check {
            name: "an archive in zstd is cheaper than in gzip",
            seen: format!("{zstd:.1} against {gzip:.1} µs/page"),
            wanted: "less".to_owned(),
            kept: (zstd < gzip).into(),
        });
    }
    if let (Some(gzip), Some(wget)) = (gzip, cost(WGET_WARC)) {
        checks.push(Check {
            name: "an archive takes less than wget's",
            seen: format!("{:.2} of wget's {wget:.1} µs/page", gzip / wget),
            wanted: format!("less than {OF_WGET}"),
            kept: (gzip < wget * OF_WGET).into(),
        });
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::race::checks::Kept;
    use crate::bench::race::contestant::Party;
    use crate::bench::result::table::tests::row;

    #[test]
    fn promises_are_judged_by_the_rows() {
        let judged = |gzip: f64| {
            let rows = [
                row("bare client", Party::Limit, 0.02),
                row(PACKING, Party::Limit, 0.12),
                row("clewline", Party::Clewline, 0.05),
                row(Coding::Gzip.name(), Party::Clewline, gzip),
                row(Coding::Zstd.name(), Party::Clewline, 0.15),
                row(WGET_WARC, Party::Rival, 0.5),
            ];
            let checks = checks(&rows);
            checks.iter().map(|check| check.kept == Kept::Yes).collect()
        };
        let expected: [(f64, Vec<bool>); 4] = [
            (0.14, vec![true, false, true]),
            (0.2, vec![true, true, true]),
            (0.22, vec![false, true, true]),
            (0.26, vec![false, true, false]),
        ];
        for (gzip, kept) in expected {
            let found: Vec<bool> = judged(gzip);
            assert_eq!(found, kept, "{gzip}");
        }
        assert!(checks(&[]).is_empty());
    }
}
