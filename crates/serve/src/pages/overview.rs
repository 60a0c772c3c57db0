//! The overview of a crawl: a sentence, figures about the site, its course, the last URLs.
//!
//! Owns its HTML and the order of its parts. Refuses to know how a crawl is asked. Invariant: what
//! changes while it runs lies in the element `live`, which the script takes over as a whole.

use clewline_job::escape;
use clewline_job::look::{TimeChart, Tone};
use clewline_job::report::figures;

use super::controls::JobControls;
use super::element::{empty, link, opening, push, url};
use super::{JobFrame, JobSection, PageRight};

/// Figures that are shown.
const MOST_FIGURES: usize = 4;

/// A figure with its name.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What it counts: `Pages`, `Dead links`.
    pub name: String,
    /// Its value, as it is shown.
    pub value: String,
    /// A line below it.
    pub more: String,
    /// Whether it is good news.
    pub tone: Tone,
}

/// URLs that wait for the same.
#[derive(Debug, Clone)]
pub struct WaitShare {
    /// What they wait for: `the delay that robots.txt asks for`.
    pub cause: String,
    /// The cause as the filter of the hosts says it.
    pub word: String,
    /// How many URLs.
    pub urls: u64,
    /// On how many hosts.
    pub hosts: u64,
    /// The host with the most of them; empty for none.
    pub host: String,
}

/// A URL that ended a moment ago.
#[derive(Debug, Clone)]
pub struct RecentUrl {
    /// The URL.
    pub url: String,
    /// What became of it: `200`, `404`, `refused by robots.txt`.
    pub outcome: String,
    /// Whether that is good news.
    pub tone: Tone,
    /// When: `12:03:04`.
    pub time: String,
}

/// The overview.
#[derive(Debug, Clone)]
pub struct OverviewPage<'a> {
    /// The frame of the job.
    pub frame: JobFrame,
    /// What there is to say, as one sentence with its end: `312 pages fetched, 1,204 URLs wait.`
    pub sentence: String,
    /// Why it is in its state, and how long it will take; may be empty.
    pub reason: String,
    /// At most four figures about the site.
    pub figures: Vec<Figure>,
    /// What URLs wait for, the most frequent first.
    pub waits: Vec<WaitShare>,
    /// Rate, latency, and waiting as a stacked area.
    pub charts: Vec<TimeChart<'a>>,
    /// The last URLs, the newest first.
    pub recent: Vec<RecentUrl>,
    /// Outages, 429, disk and what else happened, the newest first.
    pub notes: Vec<String>,
    /// What can be done with it.
    pub controls: JobControls,
    /// Figures about the crawler, with their names.
    pub crawler: Vec<(String, String)>,
}

impl OverviewPage<'_> {
    /// The document.
    pub fn html(&self) -> String {
        let mut main = String::from("<div id=live>");
        main.push_str(&opening(&self.sentence, &self.reason));
        cards(&self.figures, &mut main);
        notes(&self.notes, &mut main);
        main.push_str("</div>");
        if self.frame.right == PageRight::Operate {
            main.push_str(&self.controls.html(&self.frame.base));
        }
        main.push_str("<div id=live-charts>");
        self.waits(&mut main);
        let charts: String = self.charts.iter().map(TimeChart::html).collect();
        if !charts.is_empty() {
            push(&mut main, format_args!("<div class=charts>{charts}</div>"));
        }
        self.recent(&mut main);
        self.crawler(&mut main);
        main.push_str("</div>");
        self.more(&mut main);
        self.frame
            .document(Some(JobSection::Overview), &self.frame.state, &main)
    }

    fn waits(&self, out: &mut String) {
        let whole: u64 = self.waits.iter().map(|wait| wait.urls).sum();
        if whole == 0 {
            return;
        }
        out.push_str("<section><h2>What it waits for</h2><ul class=waits>");
        let hosts = format!("{}/hosts", self.frame.base);
        for wait in &self.waits {
            let share = 100.0 * wait.urls as f64 / whole as f64;
            let on = match (wait.host.is_empty(), wait.hosts) {
                (true, _) | (_, 0) => String::new(),
                (false, 1) => format!("on {}", wait.host),
                (false, count) => {
                    format!(
                        "on {}, most on {}",
                        figures::plural(count, "host"),
                        wait.host
                    )
                }
            };
            push(
                out,
                format_args!(
                    "<li><a href=\"{}\">{}</a> <span class=soft>{}</span>\
                     <span class=n>{}</span><svg class=track aria-hidden=true>\
                     <rect width=\"{share:.2}%\" height=8 rx=4 /></svg></li>",
                    escape::html(&link(&hosts, "is", &wait.word)),
                    escape::html(&wait.cause),
                    escape::html(&on),
                    figures::plural(wait.urls, "URL"),
                ),
            );
        }
        out.push_str("</ul></section>");
    }

    fn recent(&self, out: &mut String) {
        out.push_str("<section class=list><h2>Last URLs</h2>");
        if self.recent.is_empty() {
            out.push_str(&empty("Nothing was fetched yet.", ""));
        } else {
            let why = format!("{}/why", self.frame.base);
            out.push_str("<table class=recent><tbody>");
            for one in &self.recent {
                push(
                    out,
                    format_args!(
                        "<tr><td class=soft>{}<td><span class={}>{}</span><td>{}",
                        escape::html(&one.time),
                        one.tone.class(),
                        escape::html(&one.outcome),
                        url(&one.url, Some(&link(&why, "url", &one.url)))
                    ),
                );
            }
            out.push_str("</table>");
        }
        out.push_str("</section>");
    }

    fn crawler(&self, out: &mut String) {
        if self.crawler.is_empty() {
            return;
        }
        out.push_str("<section><details><summary>The crawler</summary><dl class=facts>");
        for (name, value) in &self.crawler {
            push(
                out,
                format_args!(
                    "<dt>{}</dt><dd>{}</dd>",
                    escape::html(name),
                    escape::html(value)
                ),
            );
        }
        out.push_str("</dl></details></section>");
    }

    /// The way to what has no place in the frame.
    fn more(&self, out: &mut String) {
        push(
            out,
            format_args!(
                "<p><a class=button href=\"{}/changes\">What changed since an earlier crawl</a></p>",
                escape::html(&self.frame.base)
            ),
        );
    }
}

/// The first figures, side by side.
pub(super) fn cards(figures: &[Figure], out: &mut String) {
    if figures.is_empty() {
        return;
    }
    out.push_str("<dl class=cards>");
    for figure in figures.iter().take(MOST_FIGURES) {
        push(
            out,
            format_args!(
                "<div><dt>{}</dt><dd class={}>{}</dd><dd class=soft>{}</dd></div>",
                escape::html(&figure.name),
                figure.tone.class(),
                escape::html(&figure.value),
                escape::html(&figure.more)
            ),
        );
    }
    out.push_str("</dl>");
}

/// What else there is to say, line by line.
pub(super) fn notes(notes: &[String], out: &mut String) {
    if notes.is_empty() {
        return;
    }
    out.push_str("<ul class=notes>");
    for note in notes {
        push(out, format_args!("<li>{}</li>", escape::html(note)));
    }
    out.push_str("</ul>");
}
