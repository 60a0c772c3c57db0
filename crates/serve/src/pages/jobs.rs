//! The list of jobs.
//!
//! Owns its HTML. Refuses to know how jobs are found.

use clewline_job::escape;
use clewline_job::look::{Icon, Tone, badge};
use clewline_job::report::figures;

use super::element::{empty, opening, push};
use super::{PageRight, outside};

/// A job of the list.
#[derive(Debug, Clone, Default)]
pub struct JobRow {
    /// What its links begin with.
    pub base: String,
    /// What it is called.
    pub name: String,
    /// Whether its state is good news.
    pub tone: Tone,
    /// Its state in a word.
    pub state: String,
    /// Why it is in that state; empty where the word says it all.
    pub reason: String,
    /// Pages fetched.
    pub pages: u64,
    /// URLs that wait.
    pub queued: u64,
    /// Pages per second, if it runs.
    pub rate: Option<f64>,
    /// When it ran last, as people read it.
    pub last_run: String,
    /// Findings, if it was checked.
    pub issues: Option<u64>,
}

/// The list of jobs.
#[derive(Debug, Clone)]
pub struct JobsPage {
    /// The folder that is served.
    pub folder: String,
    /// The jobs, those that run first.
    pub rows: Vec<JobRow>,
    /// Jobs that are left out.
    pub more: u64,
    /// What the reader may do.
    pub right: PageRight,
}

impl JobsPage {
    /// The document.
    pub fn html(&self) -> String {
        let running = self.rows.iter().filter(|row| row.rate.is_some()).count() as u64;
        let all = self.rows.len() as u64 + self.more;
        let sentence = match (all, running) {
            (0, _) => "There is no crawl here yet.".to_owned(),
            (_, 0) => format!("{} here, none runs.", figures::plural(all, "crawl")),
            (_, 1) => format!("{} here, one runs.", figures::plural(all, "crawl")),
            (_, running) => format!("{} here, {running} run.", figures::plural(all, "crawl")),
        };
        let mut main = opening(&sentence, &self.folder);
        if self.right == PageRight::Operate {
            push(
                &mut main,
                format_args!(
                    "<p><a class=\"button strong\" href=\"/start\">{} Start a crawl</a></p>",
                    Icon::Plus.svg()
                ),
            );
        }
        if self.rows.is_empty() {
            let command = "clewline example.com";
            let how = empty("Crawl a site, and it appears here:", command);
            push(&mut main, format_args!("<section>{how}</section>"));
        } else {
            main.push_str(&self.table());
        }
        outside("Crawls", &main)
    }

    fn table(&self) -> String {
        let mut out = String::from(
            "<section class=list><div class=rows tabindex=0 role=region aria-label=Crawls>\
             <table><thead><tr><th scope=col>Crawl\
             <th scope=col>State<th class=n scope=col>Pages<th class=n scope=col>Waiting\
             <th class=n scope=col>Pages/s<th class=n scope=col>Issues<th scope=col>Last run\
             </thead><tbody>",
        );
        for row in &self.rows {
            let rate = row.rate.map(|rate| format!("{rate:.1}"));
            let issues = row.issues.map(figures::count);
            push(
                &mut out,
                format_args!(
                    "<tr><th scope=row><a href=\"{}/\"><bdi>{}</bdi></a><td>{} <span class=soft>{}</span>\
                     <td class=n data-name=Pages>{}<td class=n data-name=Waiting>{}\
                     <td class=n data-name=Pages/s>{}<td class=n data-name=Issues>{}\
                     <td data-name=\"Last run\">{}",
                    escape::html(&row.base),
                    escape::html(&row.name),
                    badge(row.tone, &row.state),
                    escape::html(&row.reason),
                    figures::count(row.pages),
                    figures::count(row.queued),
                    rate.as_deref().unwrap_or("–"),
                    issues.as_deref().unwrap_or("–"),
                    escape::html(&row.last_run),
                ),
            );
        }
        out.push_str("</table></div>");
        if self.more > 0 {
            let more = figures::count(self.more);
            push(
                &mut out,
                format_args!("<p class=soft>and {more} more in this folder</p>"),
            );
        }
        out.push_str("</section>");
        out
    }
}
