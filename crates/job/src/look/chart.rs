//! Plots over time, as inline SVG beside labels that stay readable on a phone.
//!
//! Owns scales, ticks, paths and where labels stand. It refuses to know what is plotted: it sees
//! series over time. Invariants: every axis begins at zero, at most five series and the rest are
//! drawn, a table below holds the same values, and no attribute holds a style, so that a policy
//! can forbid those.

use std::fmt::Write as _;

use crate::escape;
use crate::report::figures;

/// The drawing's own coordinates, before it is stretched.
const SIDE: f64 = 1000.0;
/// Series that are drawn by name.
const MOST_SERIES: usize = 5;
/// Points of a series; more of them are joined.
const MOST_POINTS: usize = 240;
/// Rows of the table below.
const MOST_TABLE_ROWS: usize = 60;
/// The least distance of two labels at the line, in shares of the height.
const LABEL_DISTANCE: f64 = 0.085;

/// One line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartSeries {
    /// What it is called; the only series of a chart may go without a name.
    pub name: String,
    /// Its values, in even steps of time; nothing happened where there is none.
    pub values: Vec<Option<f64>>,
}

/// How the series of a chart stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartForm {
    /// Each begins at zero.
    Lines,
    /// Each stands on the one before it.
    Stacked,
}

/// Values over time.
#[derive(Debug, Clone)]
pub struct TimeChart<'a> {
    /// Its heading.
    pub title: &'a str,
    /// What is measured, as a line below the heading.
    pub about: &'a str,
    /// The series, the most important first; what is beyond five is summed up as "other".
    pub series: Vec<ChartSeries>,
    /// How they stand to each other.
    pub form: ChartForm,
    /// Seconds that the values cover.
    pub seconds: f64,
    /// How a value is written.
    pub label: fn(f64) -> String,
}

/// A series as it is drawn: the bottom and the top of each point.
struct Band {
    name: String,
    class: usize,
    points: Vec<Option<(f64, f64)>>,
    values: Vec<Option<f64>>,
}

impl TimeChart<'_> {
    /// The chart as a section of a page; nothing if there is no course to be drawn.
    pub fn html(&self) -> String {
        let bands = self.bands();
        let points = bands.first().map_or(0, |band| band.points.len());
        if points < 2 {
            return String::new();
        }
        let tops = bands.iter().flat_map(|band| band.points.iter().flatten());
        let most = tops.map(|(_, top)| *top).fold(0.0, f64::max);
        let (step, top) = scale(most);
        let ticks = (top / step).round() as u32;
        let (title, about) = (escape::html(self.title), escape::html(self.about));
        let peak = (self.label)(most);
        let form = match self.form {
            ChartForm::Lines => "lines",
            ChartForm::Stacked => "stacked",
        };
        let mut out = format!(
            "<section><h2>{title}</h2><p class=soft>{about}</p>\
             <figure class=chart tabindex=0 aria-label=\"{title}: {about}, at most {peak}\">"
        );
        out.push_str("<div class=axis aria-hidden=true>");
        for tick in (0..=ticks).rev() {
            let label = (self.label)(f64::from(tick) * step);
            push(&mut out, format_args!("<span>{label}</span>"));
        }
        push(
            &mut out,
            format_args!(
                "</div><svg class={form} viewBox=\"0 0 1000 1000\" preserveAspectRatio=none aria-hidden=true>"
            ),
        );
        for tick in 0..=ticks {
            let y = SIDE * (1.0 - f64::from(tick) / f64::from(ticks));
            push(
                &mut out,
                format_args!("<path class=grid d=\"M0 {y:.0}H1000\"/>"),
            );
        }
        for band in bands.iter().rev() {
            band.draw(top, &mut out);
        }
        out.push_str("<path class=cursor /></svg>");
        ends(&bands, top, &mut out);
        self.times(&mut out);
        out.push_str("<output></output></figure>");
        self.table(&bands, &mut out);
        out.push_str("</section>");
        out
    }

    fn bands(&self) -> Vec<Band> {
        let mut series: Vec<ChartSeries> = self.series.clone();
        if series.len() > MOST_SERIES + 1 {
            let rest = series.split_off(MOST_SERIES);
            series.push(sum(&rest));
        }
        let length = series.iter().map(|one| one.values.len()).max().unwrap_or(0);
        let known = |at: usize| {
            let mut values = series.iter().filter_map(|one| *one.values.get(at)?);
            values.next().map(|_| 0.0)
        };
        // Where no series has a value, nothing happened, and the stack is broken.
        let happened = joined(&(0..length).map(known).collect::<Vec<_>>());
        let mut below = vec![0.0; happened.len()];
        let bands = series.into_iter().enumerate().map(|(at, one)| {
            let mut values = one.values;
            values.resize(length, None);
            let values = joined(&values);
            let places = values.iter().zip(&happened).zip(&mut below);
            let points = places.map(|((value, happened), below)| {
                let value = value.filter(|value| value.is_finite() && *value >= 0.0);
                if self.form == ChartForm::Lines {
                    return value.map(|value| (0.0, value));
                }
                let bottom = *below;
                *below += value.unwrap_or(0.0);
                happened.map(|_| (bottom, *below))
            });
            let points = points.collect();
            Band {
                name: one.name,
                class: at.min(MOST_SERIES) + 1,
                points,
                values,
            }
        });
        bands.collect()
    }

    fn times(&self, out: &mut String) {
        let step = time_step(self.seconds);
        let ticks = (self.seconds / step + 0.001).floor() as u32;
        out.push_str("<svg class=times aria-hidden=true>");
        for tick in 0..=ticks {
            let moment = f64::from(tick) * step;
            let share = 100.0 * moment / self.seconds;
            let label = figures::moment(moment, step);
            push(
                out,
                format_args!("<text x=\"{share:.1}%\" y=12>{label}</text>"),
            );
        }
        out.push_str("</svg>");
    }

    /// The same values as rows, for readers who do not see the drawing, and for the script.
    fn table(&self, bands: &[Band], out: &mut String) {
        let points = bands.first().map_or(0, |band| band.values.len());
        let every = points.div_ceil(MOST_TABLE_ROWS).max(1);
        out.push_str(
            "<details class=values><summary>Values as a table</summary>\
             <table><thead><tr><th scope=col>After",
        );
        for band in bands {
            let name = if band.name.is_empty() {
                self.title
            } else {
                &band.name
            };
            let name = escape::html(name);
            push(out, format_args!("<th class=n scope=col>{name}"));
        }
        out.push_str("</thead><tbody>");
        for at in (0..points).step_by(every) {
            let moment = self.seconds * at as f64 / points as f64;
            push(
                out,
                format_args!("<tr><th scope=row>{}", figures::seconds(moment)),
            );
            for band in bands {
                let value = band.values[at].map(self.label);
                let value = value.as_deref().unwrap_or("–");
                push(out, format_args!("<td class=n>{value}"));
            }
        }
        out.push_str("</table></details>");
    }
}

impl Band {
    /// One path for the line and one for the area under it, broken where nothing happened.
    fn draw(&self, top: f64, out: &mut String) {
        let place = |at: usize| SIDE * at as f64 / (self.points.len() - 1) as f64;
        let height = |value: f64| SIDE * (1.0 - value / top);
        let (mut line, mut area) = (String::new(), String::new());
        let numbered: Vec<_> = self.points.iter().copied().enumerate().collect();
        for run in numbered.split(|(_, point)| point.is_none()) {
            for (count, (at, point)) in run.iter().enumerate() {
                let (_, upper) = point.expect("a run has points");
                let command = if count == 0 { 'M' } else { 'L' };
                let (x, y) = (place(*at), height(upper));
                push(&mut line, format_args!("{command}{x:.1} {y:.1}"));
                push(&mut area, format_args!("{command}{x:.1} {y:.1}"));
            }
            for (at, point) in run.iter().rev() {
                let (lower, _) = point.expect("a run has points");
                push(
                    &mut area,
                    format_args!("L{:.1} {:.1}", place(*at), height(lower)),
                );
            }
            if !run.is_empty() {
                area.push('Z');
            }
        }
        let class = self.class;
        push(
            out,
            format_args!(
                "<path class=\"area s{class}\" d=\"{area}\"/>\
                 <path class=\"curve s{class}\" fill-opacity=0 d=\"{line}\"/>"
            ),
        );
    }

    /// Where its label stands: the middle of its last point, as a share of the height from above.
    fn end(&self, top: f64) -> f64 {
        let last = self.points.iter().rev().flatten().next();
        let (lower, upper) = last.copied().unwrap_or_default();
        let middle = if lower > 0.0 || self.class > 1 {
            f64::midpoint(lower, upper)
        } else {
            upper
        };
        1.0 - middle / top
    }
}

/// The names of the series, each where its line ends, and none over another.
fn ends(bands: &[Band], top: f64, out: &mut String) {
    if bands.iter().all(|band| band.name.is_empty()) {
        return;
    }
    let mut labels: Vec<(f64, &Band)> = bands.iter().map(|band| (band.end(top), band)).collect();
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut least = 0.0;
    for (place, _) in &mut labels {
        *place = place.max(least);
        least = *place + LABEL_DISTANCE;
    }
    let mut most = 1.0;
    for (place, _) in labels.iter_mut().rev() {
        *place = place.min(most);
        most = *place - LABEL_DISTANCE;
    }
    out.push_str("<svg class=ends aria-hidden=true>");
    for (place, band) in labels {
        let (share, class) = (100.0 * place, band.class);
        push(
            out,
            format_args!(
                "<line x1=0 x2=8 y1=\"{share:.1}%\" y2=\"{share:.1}%\" stroke-width=3 class=s{class} />\
                 <text x=12 y=\"{share:.1}%\">{}</text>",
                escape::html(&band.name)
            ),
        );
    }
    out.push_str("</svg>");
}

/// Several series as one.
fn sum(series: &[ChartSeries]) -> ChartSeries {
    let length = series.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let at = |index: usize| {
        let values = series.iter().filter_map(|one| *one.values.get(index)?);
        values.reduce(|one, other| one + other)
    };
    ChartSeries {
        name: "other".to_owned(),
        values: (0..length).map(at).collect(),
    }
}

/// Neighbours joined by their mean, so that no more than the bound are left.
fn joined(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let count = values.len().min(MOST_POINTS);
    let piece = |at: usize| {
        let (from, to) = (at * values.len() / count, (at + 1) * values.len() / count);
        let known: Vec<f64> = values[from..to].iter().copied().flatten().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    (0..count).map(piece).collect()
}

fn push(out: &mut String, parts: std::fmt::Arguments<'_>) {
    out.write_fmt(parts)
        .expect("writing to a string does not fail");
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

    fn chart(series: Vec<ChartSeries>, form: ChartForm) -> TimeChart<'static> {
        TimeChart {
            title: "Waiting",
            about: "URLs by cause",
            series,
            form,
            seconds: 120.0,
            label: |value| format!("{value:.0}"),
        }
    }

    fn series(name: &str, values: &[f64]) -> ChartSeries {
        ChartSeries {
            name: name.to_owned(),
            values: values.iter().copied().map(Some).collect(),
        }
    }

    #[test]
    fn stacked_series_stand_on_each_other() {
        let both = vec![series("a", &[1.0, 2.0]), series("b", &[3.0, 2.0])];
        let bands = chart(both.clone(), ChartForm::Stacked).bands();
        assert_eq!(bands[1].points, [Some((1.0, 4.0)), Some((2.0, 4.0))]);
        let mut broken = both.clone();
        for one in &mut broken {
            one.values.insert(1, None);
        }
        let bands = chart(broken, ChartForm::Stacked).bands();
        assert_eq!(bands[0].points[1], None, "nothing happened");
        let bands = chart(both, ChartForm::Lines).bands();
        assert_eq!(bands[1].points, [Some((0.0, 3.0)), Some((0.0, 2.0))]);
    }

    #[test]
    fn more_than_five_series_end_in_other() {
        let many = (0..9).map(|number| series(&number.to_string(), &[1.0, 1.0]));
        let bands = chart(many.collect(), ChartForm::Stacked).bands();
        let names: Vec<&str> = bands.iter().map(|band| band.name.as_str()).collect();
        assert_eq!(names, ["0", "1", "2", "3", "4", "other"]);
        assert_eq!(bands[5].values, [Some(4.0), Some(4.0)]);
    }

    #[test]
    fn long_series_keep_their_mean() {
        let values: Vec<Option<f64>> = (0..MOST_POINTS * 10).map(|_| Some(7.0)).collect();
        let joined = joined(&values);
        assert_eq!(joined.len(), MOST_POINTS);
        assert!(joined.iter().all(|value| *value == Some(7.0)));
    }

    #[test]
    fn labels_at_the_line_do_not_touch() {
        let close = (0..5).map(|number| series(&number.to_string(), &[0.0, 0.001]));
        let html = chart(close.collect(), ChartForm::Stacked).html();
        let mut places: Vec<f64> = html
            .split("<text x=12 y=\"")
            .skip(1)
            .map(|rest| rest.split('%').next().unwrap().parse().unwrap())
            .collect();
        places.sort_by(f64::total_cmp);
        assert_eq!(places.len(), 5);
        for pair in places.windows(2) {
            assert!(pair[1] - pair[0] >= 8.4, "{places:?}");
        }
    }

    #[test]
    fn a_chart_is_text_without_styles_and_escapes_names() {
        let html = chart(
            vec![series("<script>", &[1.0, f64::NAN, 2.0])],
            ChartForm::Lines,
        )
        .html();
        assert!(
            !html.contains("style=") && !html.contains("<script"),
            "{html}"
        );
        assert!(!html.contains("NaN L") && html.contains("Values as a table"));
        assert_eq!(
            chart(vec![series("a", &[1.0])], ChartForm::Lines).html(),
            ""
        );
    }
}
