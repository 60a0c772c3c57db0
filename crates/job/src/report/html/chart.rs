//! Plots of the crawl over time, as inline SVG.
//!
//! Owns scales, ticks and paths. The drawing is stretched to the width of its place, and the
//! labels are text beside it, so that they stay readable on a phone. It refuses to know what
//! is plotted: it sees values over time.

use std::fmt::{self, Write as _};

use super::super::{Series, figures};

/// The drawing's own coordinates, before it is stretched.
const SIDE: f64 = 1000.0;

/// A curve over time.
pub(super) struct Chart<'a> {
    pub(super) class: &'a str,
    pub(super) title: &'a str,
    pub(super) about: &'a str,
    /// Values by point; nothing happened where there is none.
    pub(super) values: Vec<Option<f64>>,
    /// Seconds that the values cover.
    pub(super) seconds: f64,
    pub(super) label: fn(f64) -> String,
}

/// Both plots, if the crawl lasted long enough to have a course.
pub(super) fn charts(series: &Series, seconds: f64, out: &mut String) -> fmt::Result {
    let step = series.resolution as f64 / 1000.0;
    let mut points = series.points.as_slice();
    // The last point is rarely a whole one; less than half of one says nothing about a rate.
    if let [whole @ .., _] = points
        && seconds - whole.len() as f64 * step < step / 2.0
    {
        points = whole;
    }
    if points.len() < 2 {
        return Ok(());
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
    out.push_str("<div class=pair>");
    let charts = [
        Chart {
            class: "rate",
            title: "Rate over time",
            about: "URLs settled per second",
            values: rate.collect(),
            seconds: covered,
            label: figures::rate_tick,
        },
        Chart {
            class: "wait",
            title: "Latency over time",
            about: "mean time to the first byte of an answer",
            values: points
                .iter()
                .map(super::super::SeriesPoint::latency)
                .collect(),
            seconds: covered,
            label: figures::millis_tick,
        },
    ];
    charts.iter().try_for_each(|chart| chart.draw(out))?;
    out.push_str("</div>");
    Ok(())
}

impl Chart<'_> {
    fn draw(&self, out: &mut String) -> fmt::Result {
        let (class, title, about) = (self.class, self.title, self.about);
        let most = self.values.iter().flatten().copied().fold(0.0, f64::max);
        let (step, top) = scale(most);
        write!(out, "<section><h2>{title}</h2><p>{about}</p>")?;
        write!(out, "<figure class={class}><div class=plot>")?;
        write!(
            out,
            "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=none role=img "
        )?;
        let peak = (self.label)(most);
        write!(out, "aria-label=\"{title}: {about}, at most {peak}\">")?;
        let ticks = (top / step).round() as u32;
        for tick in 0..=ticks {
            let y = SIDE * (1.0 - f64::from(tick) / f64::from(ticks));
            write!(out, "<path class=grid d=\"M0 {y:.0}H1000\"/>")?;
        }
        self.curve(top, out)?;
        out.push_str("</svg>");
        for tick in 0..=ticks {
            let share = 100.0 * f64::from(tick) / f64::from(ticks);
            let label = (self.label)(f64::from(tick) * step);
            write!(
                out,
                "<span class=y style=\"bottom:{share:.1}%\">{label}</span>"
            )?;
        }
        self.times(out)?;
        out.push_str("</div></figure></section>");
        Ok(())
    }

    /// One path for the line and one for the area under it, broken where nothing happened.
    fn curve(&self, top: f64, out: &mut String) -> fmt::Result {
        let (mut line, mut area) = (String::new(), String::new());
        let mut began: Option<f64> = None;
        let mut before = 0.0;
        for (at, value) in self.values.iter().enumerate() {
            let x = SIDE * at as f64 / (self.values.len() - 1) as f64;
            if let Some(value) = value {
                let y = SIDE * (1.0 - value / top);
                let command = if began.is_some() { 'L' } else { 'M' };
                write!(line, "{command}{x:.1} {y:.1}")?;
                if began.is_none() {
                    write!(area, "M{x:.1} 1000")?;
                }
                write!(area, "L{x:.1} {y:.1}")?;
                began.get_or_insert(x);
                before = x;
            } else if began.take().is_some() {
                write!(area, "L{before:.1} 1000Z")?;
            }
        }
        if began.is_some() {
            write!(area, "L{before:.1} 1000Z")?;
        }
        write!(
            out,
            "<path class=area d=\"{area}\"/><path class=curve d=\"{line}\"/>"
        )
    }

    fn times(&self, out: &mut String) -> fmt::Result {
        let step = time_step(self.seconds);
        let ticks = (self.seconds / step + 0.001).floor() as u32;
        for tick in 0..=ticks {
            let moment = f64::from(tick) * step;
            let share = 100.0 * moment / self.seconds;
            let label = figures::moment(moment, step);
            write!(
                out,
                "<span class=x style=\"left:{share:.1}%\">{label}</span>"
            )?;
        }
        Ok(())
    }
}

/// A step of time that people count in, at most five of them.
fn time_step(seconds: f64) -> f64 {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    if !(50.0..=50.0 * DAY).contains(&seconds) {
        return scale(seconds).0;
    }
    let seconds_and_minutes = [
        15.0,
        30.0,
        MINUTE,
        2.0 * MINUTE,
        5.0 * MINUTE,
        10.0 * MINUTE,
    ];
    let hours = [
        0.25 * HOUR,
        0.5 * HOUR,
        HOUR,
        2.0 * HOUR,
        3.0 * HOUR,
        6.0 * HOUR,
        12.0 * HOUR,
    ];
    let days = [DAY, 2.0 * DAY, 5.0 * DAY, 10.0 * DAY];
    let mut steps = seconds_and_minutes.into_iter().chain(hours).chain(days);
    steps
        .find(|step| seconds / step <= 5.0)
        .unwrap_or(10.0 * DAY)
}

/// A round step and a multiple of it at or above the greatest value, three to five steps up.
fn scale(most: f64) -> (f64, f64) {
    let most = if most.is_finite() && most > 0.0 {
        most
    } else {
        1.0
    };
    let rough = most / 4.0;
    let power = 10.0_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter();
    let step = round
        .map(|factor| factor * power)
        .find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    (step, step * (most / step).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_what_people_count_in() {
        for (seconds, expected) in [
            (12.3, 5.0),
            (60.0, 15.0),
            (245.0, 60.0),
            (5_000.0, 1_800.0),
            (86_400.0, 21_600.0),
            (4e9, 1e9),
        ] {
            let step = time_step(seconds);
            assert!((step - expected).abs() < 1e-6, "{seconds}: {step}");
        }
    }

    #[test]
    fn scales_are_round_and_hold_the_value() {
        for (most, expected) in [
            (0.0, (0.25, 1.0)),
            (1.0, (0.25, 1.0)),
            (7.3, (2.0, 8.0)),
            (824.0, (250.0, 1000.0)),
            (10_138.0, (5000.0, 15_000.0)),
            (f64::NAN, (0.25, 1.0)),
        ] {
            let (step, top) = scale(most);
            assert!(
                (step - expected.0).abs() < 1e-9 && (top - expected.1).abs() < 1e-9,
                "{most}"
            );
        }
    }
}
