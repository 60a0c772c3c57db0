//! The race as a picture: one bar per contestant, for light and dark pages.

use std::fmt::Write as _;

use super::super::race::contestant::Party;
use super::super::race::round::Row;
use crate::passage::grouped;

const WIDTH: f64 = 720.0;
/// Room for names at the left and for figures at the right.
const LEFT: f64 = 240.0;
const RIGHT: f64 = 100.0;
const TOP: f64 = 54.0;
const STEP: f64 = 28.0;
const BAR: f64 = 18.0;

const STYLE: &str = "text{font:14px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}\
.quiet{fill:#59636e}.clewline{fill:#0969da}.limit{fill:#afb8c1}.rival{fill:#818b98}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.quiet{fill:#9198a1}.clewline{fill:#4493f8}\
.limit{fill:#656c76}.rival{fill:#9198a1}}";

/// Pages per second on a site, the fastest first.
pub(crate) fn svg(rows: &[Row], site: &str) -> String {
    let mut bars: Vec<(&Row, f64)> = rows
        .iter()
        .filter(|row| row.site == site)
        .filter_map(|row| Some((row, row.pages_per_second()?.median)))
        .collect();
    bars.sort_by(|left, right| right.1.total_cmp(&left.1));
    let most = bars.first().map_or(1.0, |bar| bar.1);
    let height = TOP + STEP * bars.len() as f64 + 12.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Pages per second on one core\">\n<style>{STYLE}</style>\n\
         <text class=\"title\" x=\"0\" y=\"18\">Pages per second on one core</text>\n\
         <text class=\"quiet\" x=\"0\" y=\"38\">{}</text>\n",
        escaped(&subtitle(&bars)),
    );
    for (number, (row, value)) in bars.iter().enumerate() {
        let top = TOP + STEP * number as f64;
        let length = (WIDTH - LEFT - RIGHT) * value / most;
        let class = match row.party {
            Party::Limit => "limit",
            Party::Clewline => "clewline",
            Party::Rival => "rival",
        };
        let base = top + BAR - 4.0;
        writeln!(
            text,
            "<text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{top}\" width=\"{length:.1}\" \
             height=\"{BAR}\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{base}\">{}</text>",
            LEFT - 10.0,
            escaped(&row.name),
            LEFT + length + 8.0,
            grouped(*value),
        )
        .expect("writing to a string does not fail");
    }
    text + "</svg>\n"
}

fn subtitle(bars: &[(&Row, f64)]) -> String {
    let requests = bars.iter().find(|(row, _)| row.party == Party::Clewline);
    let requests = requests.and_then(|(row, _)| row.requests());
    let in_flight = bars.first().map_or(0, |(row, _)| row.in_flight);
    format!(
        "openjdk-17-doc behind nginx, {} requests, {in_flight} in flight; the bare client only \
         fetches",
        grouped(requests.map_or(0.0, |requests| requests.median)),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::row;
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let check = |value: f64, expected: &str| assert_eq!(grouped(value), expected);
        check(0.0, "0");
        check(999.4, "999");
        check(12_345.6, "12,346");
        check(1_234_567.0, "1,234,567");
    }

    #[test]
    fn every_contestant_of_the_site_has_a_bar() {
        let rows = [
            row("bare <client>", Party::Limit, 0.02),
            row("b", Party::Rival, 0.5),
        ];
        let picture = svg(&rows, "docs");
        assert_eq!(picture.matches("<rect").count(), 2);
        assert!(picture.contains("bare &lt;client>"));
        assert_eq!(svg(&rows, "micro").matches("<rect").count(), 0);
    }
}
