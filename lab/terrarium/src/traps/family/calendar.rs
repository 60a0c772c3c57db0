//! A calendar of events without events: months and days, forwards and backwards without end.

use super::{Content, Link, Spot, without_parameters};

/// The month in which all calendars are opened.
const TODAY: (i64, i64) = (2026, 11);
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const YEAR: &str = "tx_cal%5Byear%5D";
const MONTH: &str = "tx_cal%5Bmonth%5D";
const DAY: &str = "tx_cal%5Bday%5D";

/// A month, or a day of it.
#[derive(Clone, Copy)]
struct Date {
    year: i64,
    month: i64,
    day: Option<i64>,
}

impl Date {
    fn month(year: i64, month: i64) -> Self {
        let day = None;
        Self { year, month, day }
    }

    /// So many months later.
    fn after(self, months: i64) -> Self {
        let count = self.year * 12 + self.month - 1 + months;
        Self::month(count.div_euclid(12), count.rem_euclid(12) + 1)
    }

    fn days(self) -> i64 {
        match self.month {
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    fn text(self) -> String {
        let name = MONTHS[(self.month - 1).rem_euclid(12) as usize];
        match self.day {
            Some(day) => format!("{day} {name} {}", self.year),
            None => format!("{name} {}", self.year),
        }
    }

    fn address(self, style: usize) -> String {
        let Self { year, month, day } = self;
        match (style, day) {
            (0, None) => format!("/calendar/month/{year}-{month:02}"),
            (0, Some(day)) => format!("/calendar/day/{year}-{month:02}-{day:02}"),
            (1, None) => format!("/events/{year}/{month:02}/"),
            (1, Some(day)) => format!("/events/{year}/{month:02}/{day:02}/"),
            (_, None) => format!("/events.php?{YEAR}={year}&{MONTH}={month}"),
            (_, Some(day)) => format!("/events.php?{YEAR}={year}&{MONTH}={month}&{DAY}={day}"),
        }
    }

    fn read(target: &str, style: usize) -> Option<Self> {
        let parts: Vec<&str> = match style {
            0 => target
                .strip_prefix("/calendar/")?
                .split_once('/')?
                .1
                .split('-')
                .collect(),
            1 => target
                .strip_prefix("/events/")?
                .trim_end_matches('/')
                .split('/')
                .collect(),
            _ => {
                let (_, values) = without_parameters(target, &[YEAR, MONTH, DAY]);
                values.into_iter().map(|(_, value)| value).collect()
            }
        };
        let numbers: Vec<i64> = parts
            .iter()
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        let date = match numbers[..] {
            [year, month] => Self::month(year, month),
            [year, month, day] => Self {
                day: Some(day),
                ..Self::month(year, month)
            },
            _ => return None,
        };
        (1..=12).contains(&date.month).then_some(date)
    }
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let style = spot.site.style();
    let today = Date::month(TODAY.0, TODAY.1);
    let months = (0..spot.site.density.of(1, 6)).map(|back| today.after(-back));
    months
        .map(|date| (date.address(style), date.text()))
        .collect()
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let style = spot.site.style();
    let date = Date::read(spot.target, style)?;
    let mut dates = vec![
        date.after(1),
        date.after(-1),
        date.after(12),
        date.after(-12),
    ];
    dates.extend((1..=date.days()).map(|day| Date {
        day: Some(day),
        ..date
    }));
    let links = dates
        .iter()
        .map(|date| (date.address(style), date.text()))
        .collect();
    let text = date.text();
    let content = Content {
        title: format!("Events in {text} – {}", spot.site.real.name()),
        head: String::new(),
        main: format!("<h1>{text}</h1>\n<p>There are no events in {text}.</p>\n"),
    };
    Some((content, links))
}
