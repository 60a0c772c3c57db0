//! The URLs of a crawl, each with the way to its trail.
//!
//! Owns their HTML. Refuses to know how URLs are found, sorted and filtered.

use clewline_job::escape;
use clewline_job::look::Tone;
use clewline_job::report::figures;

use super::element::{empty, link, opening, push, url};
use super::list::{ListColumn, ListView};
use super::{JobFrame, JobSection};

/// A URL with what became of it.
#[derive(Debug, Clone, Default)]
pub struct ListedPage {
    /// The URL.
    pub url: String,
    /// Its title; empty where it has none.
    pub title: String,
    /// What became of it: `200`, `404`, `refused by robots.txt`.
    pub outcome: String,
    /// Whether that is good news.
    pub tone: Tone,
    /// Links away from a root.
    pub depth: u32,
    /// Its size in bytes, if it has a body.
    pub bytes: Option<u64>,
    /// Milliseconds to the first byte, if they were measured.
    pub millis: Option<f64>,
    /// When it was fetched, as people read it.
    pub time: String,
}

/// The URLs. Columns sort by `url`, `depth`, `bytes`, `millis`, `time`.
#[derive(Debug, Clone)]
pub struct PagesPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// How the list is asked for; `is` narrows it to an outcome.
    pub list: ListView,
    /// The rows are on their way: they are being sorted.
    pub is_sorting: bool,
    /// The URLs of this piece.
    pub rows: Vec<ListedPage>,
}

const COLUMNS: [ListColumn; 6] = [
    ListColumn::text("URL", "url"),
    ListColumn::text("Outcome", ""),
    ListColumn::number("Depth", "depth"),
    ListColumn::number("Size", "bytes"),
    ListColumn::number("First byte", "millis"),
    ListColumn::text("Fetched", "time"),
];

impl PagesPage {
    /// The document.
    pub fn html(&self) -> String {
        let sentence = match (self.list.total, self.rows.first()) {
            (_, None) if self.is_sorting => "The URLs are being sorted.".to_owned(),
            (_, None) => "No page matches.".to_owned(),
            (Some(total), _) => format!("{}.", figures::plural(total, "URL")),
            (None, _) => "Pages.".to_owned(),
        };
        let mut main = opening(&sentence, "");
        main.push_str("<section class=list>");
        main.push_str(&self.list.tools("URL", self.rows.len()));
        if self.is_sorting {
            main.push_str(&empty("They appear here.", ""));
        } else if self.rows.is_empty() {
            main.push_str(&empty("Nothing was fetched that matches.", ""));
        } else {
            self.table(&mut main);
        }
        main.push_str(&self.list.pager());
        main.push_str("</section>");
        self.frame.document(Some(JobSection::Pages), "Pages", &main)
    }

    fn table(&self, out: &mut String) {
        push(
            out,
            format_args!(
                "<div class=rows tabindex=0 role=region aria-label=Pages>\
                 <table class=fixed>{}<tbody>",
                self.list.heads(&COLUMNS)
            ),
        );
        let why = format!("{}/why", self.frame.base);
        for row in &self.rows {
            let bytes = row.bytes.map(figures::bytes);
            let millis = row.millis.map(figures::millis);
            push(
                out,
                format_args!(
                    "<tr><th scope=row>{}<bdi class=title>{}</bdi>\
                     <td class={}>{}<td class=n data-name=Depth>{}<td class=n data-name=Size>{}\
                     <td class=n data-name=\"First byte\">{}<td data-name=Fetched>{}",
                    url(&row.url, Some(&link(&why, "url", &row.url))),
                    escape::html(&row.title),
                    row.tone.class(),
                    escape::html(&row.outcome),
                    row.depth,
                    bytes.as_deref().unwrap_or("–"),
                    millis.as_deref().unwrap_or("–"),
                    escape::html(&row.time),
                ),
            );
        }
        out.push_str("</table></div>");
    }
}
