//! Captures: those of a site as a list, those of one URL as a calendar by month.
//!
//! Owns their HTML. Refuses to know archives and how they are searched.

use clewline_job::escape;
use clewline_job::look::Icon;
use clewline_job::report::figures;

use super::element::{empty, link, opening, push, url};
use super::{JobFrame, JobSection};

/// A URL with captures.
#[derive(Debug, Clone)]
pub struct CapturedUrl {
    /// The URL.
    pub url: String,
    /// When it was captured last, as people read it.
    pub time: String,
    /// The status of that capture.
    pub status: String,
    /// Its media type.
    pub media_type: String,
    /// Where it is replayed.
    pub link: String,
    /// Where its picture is, if it was taken.
    pub thumbnail: Option<String>,
}

/// The captures whose URLs begin with a prefix.
#[derive(Debug, Clone)]
pub struct CapturesPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// What URLs begin with.
    pub prefix: String,
    /// The URLs of this piece.
    pub rows: Vec<CapturedUrl>,
    /// The cursor of the next piece (parameter `from`).
    pub next: Option<String>,
    /// Files of the archive.
    pub files: u64,
}

impl CapturesPage {
    /// The document.
    pub fn html(&self) -> String {
        let path = format!("{}/captures", self.frame.base);
        let sentence = match (self.rows.is_empty(), self.prefix.is_empty()) {
            (true, true) => "Nothing is archived yet.",
            (true, false) => "No capture begins like this.",
            (false, _) => "Every page as it was.",
        };
        let files = figures::plural(self.files, "file");
        let mut main = opening(sentence, &format!("An archive of {files}."));
        push(
            &mut main,
            format_args!(
                "<section class=list><form class=tools action=\"{}\" role=search>\
                 <label class=wide>URLs that begin with <input name=url type=search value=\"{}\" \
                 placeholder=\"https://example.com/docs/\" autocomplete=off spellcheck=false>\
                 </label><button>{} Find</button></form>",
                escape::html(&path),
                escape::html(&self.prefix),
                Icon::Search.svg()
            ),
        );
        if self.rows.is_empty() {
            main.push_str(&empty(
                "A crawl with an archive keeps every answer:",
                "clewline example.com",
            ));
        } else {
            self.pictures(&mut main);
            self.table(&path, &mut main);
        }
        if let Some(next) = &self.next {
            let query = url::form_urlencoded::Serializer::new(String::new())
                .append_pair("url", &self.prefix)
                .append_pair("from", next)
                .finish();
            push(
                &mut main,
                format_args!(
                    "<nav class=pager aria-label=Rows><a class=button rel=next \
                     href=\"{}?{}\">Next captures {}</a></nav>",
                    escape::html(&path),
                    escape::html(&query),
                    Icon::Next.svg()
                ),
            );
        }
        main.push_str("</section>");
        self.frame
            .document(Some(JobSection::Captures), "Captures", &main)
    }

    fn pictures(&self, out: &mut String) {
        let mut pictured = self
            .rows
            .iter()
            .filter(|row| row.thumbnail.is_some())
            .peekable();
        if pictured.peek().is_none() {
            return;
        }
        out.push_str("<ul class=thumbnails>");
        for row in pictured {
            let picture = row.thumbnail.as_deref().unwrap_or_default();
            push(
                out,
                format_args!(
                    "<li><a href=\"{}\"><img src=\"{}\" alt=\"\" width=240 height=150 loading=lazy>\
                     <bdi>{}</bdi></a>",
                    escape::html(&row.link),
                    escape::html(picture),
                    escape::html(&row.url)
                ),
            );
        }
        out.push_str("</ul>");
    }

    fn table(&self, path: &str, out: &mut String) {
        out.push_str(
            "<div class=rows tabindex=0 role=region aria-label=Captures>\
             <table class=fixed><thead><tr><th scope=col>URL\
             <th scope=col>Captured<th scope=col>Status<th scope=col>Type<th scope=col>\
             <span class=quiet>All captures</span></thead><tbody>",
        );
        for row in &self.rows {
            push(
                out,
                format_args!(
                    "<tr><th scope=row>{}<td>{}<td data-name=Status>{}<td data-name=Type>{}\
                     <td><a href=\"{}\">all captures</a>",
                    url(&row.url, Some(&row.link)),
                    escape::html(&row.time),
                    escape::html(&row.status),
                    escape::html(&row.media_type),
                    escape::html(&link(&format!("{path}/of"), "url", &row.url)),
                ),
            );
        }
        out.push_str("</table></div>");
    }
}

/// A capture of a day.
#[derive(Debug, Clone)]
pub struct DayCapture {
    /// When: `12:03:04`.
    pub time: String,
    /// Its status.
    pub status: String,
    /// Where it is replayed.
    pub link: String,
    /// Its payload differs from the capture before it.
    pub is_changed: bool,
}

/// A day with captures.
#[derive(Debug, Clone)]
pub struct CaptureDay {
    /// The day of the month, from 1 on.
    pub day: u32,
    /// Its captures, in order of time.
    pub captures: Vec<DayCapture>,
    /// Captures that are left out.
    pub more: u64,
}

/// The captures of one URL in one month.
#[derive(Debug, Clone)]
pub struct MonthPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// The URL.
    pub url: String,
    /// The year and the month, from 1 on.
    pub month: (u32, u32),
    /// The days with captures, in order.
    pub days: Vec<CaptureDay>,
    /// The nearest month before with captures: `2026-09`.
    pub previous: Option<String>,
    /// The nearest month after with captures.
    pub next: Option<String>,
    /// Captures of the URL in all.
    pub total: u64,
}

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

impl MonthPage {
    /// The document.
    pub fn html(&self) -> String {
        let sentence = match self.total {
            0 => "It was never captured.".to_owned(),
            1 => "It was captured once.".to_owned(),
            total => format!("It was captured {} times.", figures::count(total)),
        };
        let mut main = opening(&sentence, "");
        push(
            &mut main,
            format_args!("<p class=subject>{}</p>", url(&self.url, None)),
        );
        main.push_str("<section class=list>");
        self.heading(&mut main);
        main.push_str("<table class=calendar><thead><tr>");
        for name in [
            "Monday",
            "Tuesday",
            "Wednesday",
            "Thursday",
            "Friday",
            "Saturday",
            "Sunday",
        ] {
            let short = &name[..2];
            push(
                &mut main,
                format_args!("<th scope=col><abbr title={name}>{short}</abbr>"),
            );
        }
        main.push_str("</thead><tbody>");
        self.weeks(&mut main);
        main.push_str("</table></section>");
        self.frame
            .document(Some(JobSection::Captures), "Captures", &main)
    }

    fn heading(&self, out: &mut String) {
        let (year, month) = self.month;
        let name = MONTHS[(month.clamp(1, 12) - 1) as usize];
        let arrow = |to: Option<&String>, icon: Icon, word: &str| match to {
            Some(to) => {
                let path = format!("{}/captures/of", self.frame.base);
                let target = format!("{}&month={to}", link(&path, "url", &self.url));
                let target = escape::html(&target).into_owned();
                format!(
                    "<a class=button href=\"{target}\">{} {word}</a>",
                    icon.svg()
                )
            }
            None => format!("<span class=\"button off\">{} {word}</span>", icon.svg()),
        };
        push(
            out,
            format_args!(
                "<div class=month>{}<h2>{name} {year}</h2>{}</div>",
                arrow(self.previous.as_ref(), Icon::Previous, "Previous"),
                arrow(self.next.as_ref(), Icon::Next, "Next"),
            ),
        );
    }

    fn weeks(&self, out: &mut String) {
        let (year, month) = self.month;
        let mut days = self.days.iter().peekable();
        let before = weekday(year, month);
        out.push_str("<tr>");
        for _ in 0..before {
            out.push_str("<td class=off>");
        }
        let length = days_of(year, month);
        for day in 1..=length {
            if day > 1 && (before + day - 1).is_multiple_of(7) {
                out.push_str("<tr>");
            }
            match days.next_if(|one| one.day == day) {
                Some(held) => held.cell(out),
                None => push(out, format_args!("<td><span class=soft>{day}</span>")),
            }
        }
        for _ in (before + length) % 7..7 {
            if !(before + length).is_multiple_of(7) {
                out.push_str("<td class=off>");
            }
        }
    }
}

impl CaptureDay {
    fn cell(&self, out: &mut String) {
        push(out, format_args!("<td class=has><b>{}</b>", self.day));
        for capture in &self.captures {
            let class = if capture.is_changed {
                " class=changed"
            } else {
                ""
            };
            let word = if capture.is_changed {
                " <span class=quiet>changed</span>"
            } else {
                ""
            };
            push(
                out,
                format_args!(
                    "<a href=\"{}\"{class}>{} <span class=soft>{}</span>{word}</a>",
                    escape::html(&capture.link),
                    escape::html(&capture.time),
                    escape::html(&capture.status)
                ),
            );
        }
        if self.more > 0 {
            let more = figures::count(self.more);
            push(out, format_args!("<span class=soft>and {more} more</span>"));
        }
    }
}

/// Days of a month of the Gregorian calendar.
const fn days_of(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

/// Days from Monday to the first of a month, by Sakamoto's method.
const fn weekday(year: u32, month: u32) -> u32 {
    const SHIFTS: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let month = if month < 1 || month > 12 { 1 } else { month };
    let year = if month < 3 {
        year.saturating_sub(1)
    } else {
        year
    };
    let sunday = year + year / 4 - year / 100 + year / 400 + SHIFTS[(month - 1) as usize] + 1;
    (sunday + 6) % 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_on_their_weekday_and_have_their_days() {
        for (year, month, begins, length) in [
            (2026, 11, 6, 30),
            (2026, 2, 6, 28),
            (2024, 2, 3, 29),
            (2000, 2, 1, 29),
            (1900, 2, 3, 28),
            (2026, 12, 1, 31),
        ] {
            assert_eq!(weekday(year, month), begins, "{year}-{month}");
            assert_eq!(days_of(year, month), length, "{year}-{month}");
        }
    }
}
