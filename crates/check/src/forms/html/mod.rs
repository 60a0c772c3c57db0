//! The report of a site as one page: `report.html`.
//!
//! Owns its structure: a sentence, at most four figures, the issues, the pages, redirects, slow and
//! heavy pages, what was skipped, and the crawler's figures last. The style and the script are files
//! beside it. The page loads nothing: its policy forbids every source but the style and the script,
//! by their digests, so that not even a mistake in escaping could run what a crawled page wrote.
//! Without the script the findings can be read. Invariant: every foreign text passes `escape`, and
//! every list is bounded and says what it leaves out.

mod data;
mod issues;
mod site;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::io::{self, Write};

use clewline_core::url::CrawlUrl;
use clewline_job::escape;
use clewline_job::look::{
    FRAME_STYLE, FramePlace, PageFrame, THEME_SCRIPT, TOKENS, Tone, policy_source,
};
use clewline_job::report::figures::{self, count, plural};

use super::words::{sentence, shortened};
use crate::report::{CheckOutcome, CheckReport};
use crate::rule::Severity;

/// The style sheet of the list of issues and of the table of pages, below the frame's.
pub const LIST_STYLE: &str = include_str!("report.css");
/// The script that filters the list and draws the table.
pub const LIST_SCRIPT: &str = include_str!("report.js");

/// The longest URL that is a link; a longer one is only shown.
const LONGEST_LINK: usize = 2_048;
/// The longest text of a URL or a title.
const LONGEST_TEXT: usize = 160;
/// Remarks, reasons and figures.
const MOST_REMARKS: usize = 50;

/// A page of the site, as a row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct SitePage {
    /// Its URL.
    pub url: CrawlUrl,
    /// The status of its answer; `None` where there was none.
    pub status: Option<u16>,
    /// Its title; empty where it has none.
    pub title: String,
    /// Links away from a root.
    pub depth: u32,
    /// Its size in bytes, as it was sent.
    pub bytes: u64,
    /// Milliseconds to the first byte of the answer, if that was measured.
    pub millis: Option<f64>,
    /// Links of the site that lead to it.
    pub links_in: u64,
    /// Links that it holds.
    pub links_out: u64,
}

/// A redirect of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteRedirect {
    /// The URL that redirects.
    pub from: CrawlUrl,
    /// Where the last redirect ends.
    pub to: String,
    /// The status of the first answer.
    pub status: u16,
    /// Links of the site that lead to it.
    pub links_in: u64,
}

/// What the page shows beside the findings.
pub struct SiteView<'a> {
    /// The pages, in any order; each is asked for once.
    pub pages: Box<dyn Iterator<Item = io::Result<SitePage>> + 'a>,
    /// The redirects, those with the most links first.
    pub redirects: Vec<SiteRedirect>,
    /// Figures about the crawl, with their names.
    pub crawl: Vec<(String, String)>,
}

impl Default for SiteView<'_> {
    fn default() -> Self {
        Self {
            pages: Box::new(std::iter::empty()),
            redirects: Vec::new(),
            crawl: Vec::new(),
        }
    }
}

/// Writes the page.
pub fn write(report: &CheckReport, site: SiteView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::with_capacity(16 * 1024);
    head(report, &mut text);
    frame(report, &mut text);
    overview(report, &mut text);
    out.write_all(text.as_bytes())?;
    issues::write(report, out)?;
    site::write(report, site, out)?;
    let version = escape::html(&report.facts.version);
    let script = script();
    writeln!(
        out,
        "</main><footer>Made by Clewline {version}. This page loads nothing.</footer>\
         <script>{script}</script></body></html>"
    )
}

/// The issues as a list for a page that somebody else frames, with [`LIST_STYLE`] and
/// [`LIST_SCRIPT`].
pub fn list(report: &CheckReport) -> String {
    let mut out = Vec::new();
    issues::write(report, &mut out).expect("writing to memory does not fail");
    String::from_utf8(out).expect("what is escaped is text")
}

/// The style of the page: the tokens first.
fn style() -> String {
    format!("{TOKENS}{FRAME_STYLE}{LIST_STYLE}")
}

/// The script of the page.
fn script() -> String {
    format!("{THEME_SCRIPT}{LIST_SCRIPT}")
}

fn head(report: &CheckReport, out: &mut String) {
    let style = style();
    push(
        out,
        format_args!(
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
             <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; \
             style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'\">\
             <meta name=viewport content=\"width=device-width, initial-scale=1\">\
             <meta name=referrer content=no-referrer>\
             <title>{} – site report</title><style>{style}</style></head><body>",
            policy_source(&style),
            policy_source(&script()),
            escape::html(&shortened(&report.facts.subject, LONGEST_TEXT)),
        ),
    );
}

fn frame(report: &CheckReport, out: &mut String) {
    let state = match report.outcome() {
        CheckOutcome::Passed => (Tone::Good, "passed"),
        CheckOutcome::Failed => (Tone::Bad, "failed"),
        CheckOutcome::Unfinished => (Tone::Warn, "not finished"),
    };
    let found: u64 = report.findings.iter().map(|one| one.finding.count).sum();
    let place = |name, link, number| FramePlace {
        name,
        link,
        number,
        is_current: false,
    };
    let places = [
        place("Overview", "#main", String::new()),
        place("Issues", "#issues", count(found)),
        place("Pages", "#pages", count(report.facts.pages)),
        place("Redirects", "#redirects", String::new()),
    ];
    let frame = PageFrame {
        name: &report.facts.subject,
        state: Some(state),
        home: None,
        places: &places,
    };
    out.push_str(&frame.html());
    out.push_str("<main id=main>");
}

fn overview(report: &CheckReport, out: &mut String) {
    let facts = &report.facts;
    push(
        out,
        format_args!(
            "<section id=overview class=open><h1>{}.</h1>",
            escape::html(&sentence(report))
        ),
    );
    if !facts.captured_at.is_empty() {
        let when = figures::instant(&facts.captured_at);
        push(
            out,
            format_args!("<p class=soft>As it was on {}</p>", escape::html(&when)),
        );
    }
    cards(report, out);
    listed("unfinished", "Not finished: ", &report.unfinished(), out);
    let gone = report.gone.as_ref().map_or(0, Vec::len) as u64;
    let mut remarks = Vec::new();
    if gone > 0 {
        let known = plural(gone, "finding");
        remarks.push(format!("No longer found: {known} of the baseline"));
    }
    remarks.extend(facts.remarks.iter().cloned());
    listed("remarks", "", &remarks, out);
    out.push_str("</section>");
}

/// Remarks as a list, if there are any.
fn listed(class: &str, lead: &str, remarks: &[String], out: &mut String) {
    if remarks.is_empty() {
        return;
    }
    push(out, format_args!("<ul class=\"notes {class}\">"));
    for remark in remarks.iter().take(MOST_REMARKS) {
        push(out, format_args!("<li>{lead}{}</li>", escape::html(remark)));
    }
    out.push_str("</ul>");
}

/// At most four figures, all about the site.
fn cards(report: &CheckReport, out: &mut String) {
    let facts = &report.facts;
    let dead = report.dead();
    let [errors, warnings, notices] =
        [Severity::Error, Severity::Warning, Severity::Notice].map(|one| report.count(one));
    let state = |number: u64| if number == 0 { "good" } else { "bad" };
    let cards = [
        (
            state(dead.targets),
            "Dead links",
            count(dead.targets),
            format!("on {}", plural(dead.pages, "page")),
        ),
        (
            state(errors.all()),
            "Errors",
            count(errors.all()),
            format!(
                "{}, {}",
                plural(warnings.all(), "warning"),
                plural(notices.all(), "notice")
            ),
        ),
        (
            "",
            "Pages",
            count(facts.pages),
            format!(
                "{}, {}",
                plural(facts.urls, "URL"),
                plural(facts.hosts, "host")
            ),
        ),
        (
            "",
            "Links",
            count(facts.links()),
            format!(
                "{} to other sites, {} not asked",
                count(facts.external),
                count(facts.unchecked())
            ),
        ),
    ];
    out.push_str("<dl class=cards>");
    for (class, name, value, more) in cards {
        push(
            out,
            format_args!(
                "<div><dt>{name}</dt><dd class=\"{class}\">{value}</dd><dd class=soft>{more}</dd></div>"
            ),
        );
    }
    out.push_str("</dl>");
}

/// A URL of the site: the host dimmed, the path strong.
fn page_link(url: &CrawlUrl, out: &mut String) {
    let origin = escape::html(url.origin()).into_owned();
    let path = shortened(url.path_and_query(), LONGEST_TEXT).into_owned();
    let path = escape::html(&path);
    let whole = escape::html(url.as_str());
    if url.as_str().len() > LONGEST_LINK {
        return push(
            out,
            format_args!("<span class=url><i>{origin}</i>{path}</span>"),
        );
    }
    push(
        out,
        format_args!(
            "<a class=url href=\"{whole}\" title=\"{whole}\" rel=\"noopener noreferrer\" \
             target=_blank><i>{origin}</i>{path}</a>"
        ),
    );
}

/// What a page refers to, which may be no URL at all.
fn target_link(text: &str, out: &mut String) {
    match CrawlUrl::parse(text) {
        Ok(url) if url.as_str() == text => page_link(&url, out),
        _ => {
            let shown = shortened(text, LONGEST_TEXT);
            push(
                out,
                format_args!("<code><bdi>{}</bdi></code>", escape::html(&shown)),
            );
        }
    }
}

fn push(out: &mut String, parts: std::fmt::Arguments<'_>) {
    out.write_fmt(parts)
        .expect("writing to a string does not fail");
}
