//! The course of the crawl: its rate and its latency over time.
//!
//! Owns what is plotted and from when on. It refuses to know how a chart is drawn. Invariant: a
//! point that is not whole says nothing.

use crate::look::{ChartForm, ChartSeries, TimeChart};
use crate::report::{Series, SeriesPoint, figures};

/// Both plots, if the crawl lasted long enough to have a course.
pub(super) fn charts(series: &Series, seconds: f64, out: &mut String) {
    let step = series.resolution as f64 / 1000.0;
    let mut points = series.points.as_slice();
    // The last point is rarely a whole one; less than half of one says nothing about a rate.
    if let [whole @ .., _] = points
        && seconds - whole.len() as f64 * step < step / 2.0
    {
        points = whole;
    }
    if points.len() < 2 {
        return;
    }
    let covered = (points.len() as f64 * step).min(seconds.max(step));
    let last = points.len() - 1;
    let rate = points.iter().enumerate().map(|(at, point)| {
        let span = if at == last {
            covered - last as f64 * step
        } else {
            step
        };
        Some(point.done as f64 / span.max(step / 2.0))
    });
    let chart = |title, about, values, label| TimeChart {
        title,
        about,
        series: vec![ChartSeries {
            name: String::new(),
            values,
        }],
        form: ChartForm::Lines,
        seconds: covered,
        label,
    };
    let rate = chart(
        "Rate over time",
        "URLs settled per second",
        rate.collect(),
        figures::rate_tick,
    );
    let latency = chart(
        "Latency over time",
        "mean time to the first byte of an answer",
        points.iter().map(SeriesPoint::latency).collect(),
        figures::millis_tick,
    );
    out.push_str("<div class=pair>");
    out.push_str(&rate.html());
    out.push_str(&latency.html());
    out.push_str("</div>");
}
