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
/// The cheapest archive may cost so many times one SHA-1 and gzip -1 of the same bytes.
const TIMES_PACKING: f64 = 1.6;
/// The usual one takes so much of what wget takes for the whole crawl.
const OF_WGET: f64 = 0.5;
/// One in zstd has so many of the bytes of the usual one.
const OF_GZIP: f64 = 0.65;

/// Judges what was raced; what was not raced is not judged.
pub(super) fn checks(rows: &[Row]) -> Vec<Check> {
    let find = |name: &str| rows.iter().find(|row| row.site == SITE && row.name == name);
    let cost = |name: &str| find(name)?.per_page().map(|spread| spread.median);
    let size = |coding: Coding| {
        let spread = find(coding.name())?.archive_per_page();
        spread.map(|spread| spread.median)
    };
    let [fast, gzip, zstd] = Coding::RACED.map(|coding| cost(coding.name()));
    let without = cost("clewline");
    let packing = cost(PACKING).zip(cost("bare client"));
    let packing = packing.map(|(packing, bare)| packing - bare);
    let mut checks = Vec::new();
    if let (Some(fast), Some(without), Some(packing)) = (fast, without, packing) {
        let times = (fast - without) / packing;
        checks.push(Check {
            name: "the fastest archive costs little more than its bytes must",
            seen: format!(
                "{:.1} µs/page above the crawl without, {times:.2} × the {packing:.1} µs of \
                 SHA-1 and gzip -1",
                fast - without
            ),
            wanted: format!("at most {TIMES_PACKING} ×"),
            kept: (times <= TIMES_PACKING).into(),
        });
    }
    if let (Some(gzip), Some(zstd)) = (gzip, zstd) {
        checks.push(Check {
            name: "an archive in zstd is cheaper than the usual one",
            seen: format!("{zstd:.1} against {gzip:.1} µs/page"),
            wanted: "less".to_owned(),
            kept: (zstd < gzip).into(),
        });
    }
    if let (Some(gzip), Some(zstd)) = (size(Coding::Balanced), size(Coding::Zstd)) {
        checks.push(Check {
            name: "an archive in zstd is much smaller than the usual one",
            seen: format!("{zstd:.0} against {gzip:.0} bytes/page: {:.2}", zstd / gzip),
            wanted: format!("at most {OF_GZIP}"),
            kept: (zstd <= gzip * OF_GZIP).into(),
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
        let judged = |gzip: f64, zstd_bytes: u64| {
            let mut zstd = row(Coding::Zstd.name(), Party::Clewline, 0.15);
            zstd.samples[0].left.archive = zstd_bytes;
            let rows = [
                row("bare client", Party::Limit, 0.02),
                row(PACKING, Party::Limit, 0.12),
                row("clewline", Party::Clewline, 0.05),
                row(Coding::Fast.name(), Party::Clewline, gzip),
                row(Coding::Balanced.name(), Party::Clewline, gzip),
                zstd,
                row(WGET_WARC, Party::Rival, 0.5),
            ];
            let checks = checks(&rows);
            checks.iter().map(|check| check.kept == Kept::Yes).collect()
        };
        // The row of gzip has 5,000 bytes.
        let expected: [(f64, u64, Vec<bool>); 4] = [
            (0.14, 3250, vec![true, false, true, true]),
            (0.2, 3251, vec![true, true, false, true]),
            (0.22, 100, vec![false, true, true, true]),
            (0.26, 100, vec![false, true, true, false]),
        ];
        for (gzip, zstd_bytes, kept) in expected {
            let found: Vec<bool> = judged(gzip, zstd_bytes);
            assert_eq!(found, kept, "{gzip} {zstd_bytes}");
        }
        assert!(checks(&[]).is_empty());
    }
}
