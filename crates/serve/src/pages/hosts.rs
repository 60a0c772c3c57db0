//! The hosts of a crawl: how long their queues are, what they wait for, and how fast they may be
//! asked.
//!
//! Owns their HTML. Refuses to know how hosts are found, sorted and filtered.

use clewline_job::escape;
use clewline_job::look::Tone;
use clewline_job::report::figures;

use super::element::{empty, link, opening, push};
use super::list::{ListColumn, ListView};
use super::{JobFrame, JobSection};

/// A host.
#[derive(Debug, Clone, Default)]
pub struct HostRow {
    /// Its name.
    pub host: String,
    /// Whether its state is good news.
    pub tone: Tone,
    /// What the next of its URLs waits for, and for how long: `its robots.txt asks for 10 s`.
    pub cause: String,
    /// URLs that wait or are in flight.
    pub queued: u64,
    /// There may be more of them.
    pub at_least: bool,
    /// Requests in flight.
    pub in_flight: u32,
    /// Pages fetched.
    pub pages: u64,
    /// URLs that failed or answered with an error; none where they are not counted by host.
    pub errors: Option<u64>,
    /// Seconds between two requests.
    pub interval: f64,
    /// Who asks for that interval: `robots.txt`, `--rate`.
    pub whose: String,
    /// Seconds that its queue takes at the least.
    pub left: f64,
}

/// The hosts. Columns sort by `host`, `queued`, `flight`, `pages`, `errors`, `interval`, `left`.
#[derive(Debug, Clone)]
pub struct HostsPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// How the list is asked for; `is` narrows it to a cause.
    pub list: ListView,
    /// The hosts of this piece.
    pub rows: Vec<HostRow>,
}

const COLUMNS: [ListColumn; 8] = [
    ListColumn::text("Host", "host"),
    ListColumn::text("Waiting for", ""),
    ListColumn::number("Waiting", "queued"),
    ListColumn::number("In flight", "flight"),
    ListColumn::number("Pages", "pages"),
    ListColumn::number("Errors", "errors"),
    ListColumn::number("One request in", "interval"),
    ListColumn::number("At least", "left"),
];

impl HostsPage {
    /// The document.
    pub fn html(&self) -> String {
        let sentence = match (self.list.total, self.rows.first()) {
            (_, None) => "No host matches.".to_owned(),
            (Some(total), _) => format!("{}.", figures::plural(total, "host")),
            (None, _) => "Hosts.".to_owned(),
        };
        let mut main = opening(&sentence, "");
        main.push_str("<section class=list>");
        main.push_str(&self.list.tools("host", self.rows.len()));
        if self.rows.is_empty() {
            main.push_str(&empty("Nothing waits on a host that matches.", ""));
        } else {
            push(
                &mut main,
                format_args!(
                    "<div class=rows tabindex=0 role=region aria-label=Hosts>\
                     <table>{}<tbody>",
                    self.list.heads(&COLUMNS)
                ),
            );
            for row in &self.rows {
                self.row(row, &mut main);
            }
            main.push_str("</table></div>");
        }
        main.push_str(&self.list.pager());
        main.push_str("</section>");
        self.frame.document(Some(JobSection::Hosts), "Hosts", &main)
    }

    fn row(&self, row: &HostRow, out: &mut String) {
        let pages = link(&format!("{}/pages", self.frame.base), "q", &row.host);
        let more = if row.at_least { "≥ " } else { "" };
        let errors = row.errors.map(figures::count);
        push(
            out,
            format_args!(
                "<tr><th scope=row><a class=url href=\"{}\"><bdi>{}</bdi></a>\
                 <td class={}>{}<td class=n data-name=Waiting>{more}{}\
                 <td class=n data-name=\"In flight\">{}<td class=n data-name=Pages>{}\
                 <td class=n data-name=Errors>{}<td class=n data-name=\"One request in\">{} \
                 <span class=soft>{}</span><td class=n data-name=\"At least\">{}",
                escape::html(&pages),
                escape::html(&row.host),
                row.tone.class(),
                escape::html(&row.cause),
                figures::count(row.queued),
                row.in_flight,
                figures::count(row.pages),
                errors.as_deref().unwrap_or("–"),
                figures::seconds(row.interval),
                escape::html(&row.whose),
                figures::seconds(row.left),
            ),
        );
    }
}
