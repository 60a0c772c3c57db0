//! Why a URL was fetched, or was not: its trail, and the pages that link to it.
//!
//! Owns the HTML. Refuses to know how a trail is found.

use clewline_job::escape;
use clewline_job::look::Tone;
use clewline_job::report::figures;

use super::element::{empty, link, opening, push, url};
use super::{JobFrame, JobSection};

/// A step of the trail, in order of time.
#[derive(Debug, Clone)]
pub struct TrailStep {
    /// What happened: `Let in`, `Refused`, `Fetched`.
    pub what: String,
    /// The rule or the reason, and when.
    pub why: String,
    /// Whether it is good news.
    pub tone: Tone,
    /// The URL of a redirect; none for the URL itself.
    pub url: Option<String>,
}

/// A page that links to the URL.
#[derive(Debug, Clone)]
pub struct TrailLink {
    /// The page.
    pub url: String,
    /// How it names the URL: `a link`, `an image`, `its sitemap`.
    pub kind: String,
}

/// A fact of the record or of a header.
#[derive(Debug, Clone)]
pub struct TrailFact {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The trail of one URL.
#[derive(Debug, Clone)]
pub struct TrailPage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// The URL.
    pub url: String,
    /// What became of it, as one sentence with its end: `Refused: robots.txt forbids it.`
    pub sentence: String,
    /// The steps.
    pub steps: Vec<TrailStep>,
    /// The first pages that link to it.
    pub links: Vec<TrailLink>,
    /// How many links to it there are.
    pub link_count: u64,
    /// Where its latest capture is replayed, if there is one.
    pub capture: Option<String>,
    /// Status, type, size, times, digest.
    pub facts: Vec<TrailFact>,
    /// The fields of its answer.
    pub headers: Vec<TrailFact>,
}

impl TrailPage {
    /// The document.
    pub fn html(&self) -> String {
        let mut main = opening(&self.sentence, "");
        push(
            &mut main,
            format_args!("<p class=subject>{}", url(&self.url, None)),
        );
        main.push_str("<p class=buttons>");
        if let Some(capture) = &self.capture {
            push(
                &mut main,
                format_args!(
                    "<a class=\"button strong\" href=\"{}\">Show the capture</a> ",
                    escape::html(capture)
                ),
            );
        }
        if self.url.starts_with("http://") || self.url.starts_with("https://") {
            push(
                &mut main,
                format_args!(
                    "<a class=button href=\"{}\" rel=\"noreferrer noopener\" target=_blank>\
                     Open the live page</a>",
                    escape::html(&self.url)
                ),
            );
        }
        main.push_str("</p>");
        self.trail(&mut main);
        self.referrers(&mut main);
        for (title, facts) in [("Record", &self.facts), ("Headers", &self.headers)] {
            if !facts.is_empty() {
                listed(title, facts, &mut main);
            }
        }
        self.frame.document(Some(JobSection::Pages), "Why", &main)
    }

    fn trail(&self, out: &mut String) {
        out.push_str("<section><h2>Trail</h2><ol class=trail>");
        for step in &self.steps {
            push(
                out,
                format_args!(
                    "<li><b class={}>{}</b> <span class=soft>{}</span>",
                    step.tone.class(),
                    escape::html(&step.what),
                    escape::html(&step.why)
                ),
            );
            if let Some(other) = &step.url {
                let why = link(&format!("{}/why", self.frame.base), "url", other);
                out.push_str(&url(other, Some(&why)));
            }
        }
        out.push_str("</ol></section>");
    }

    fn referrers(&self, out: &mut String) {
        push(
            out,
            format_args!(
                "<section><h2>Linked from {}</h2>",
                figures::plural(self.link_count, "place")
            ),
        );
        if self.links.is_empty() {
            out.push_str(&empty("No page of this crawl links to it.", ""));
        } else {
            out.push_str("<ul class=plain>");
            for one in &self.links {
                let why = link(&format!("{}/why", self.frame.base), "url", &one.url);
                push(
                    out,
                    format_args!(
                        "<li>{} <span class=soft>{}</span>",
                        url(&one.url, Some(&why)),
                        escape::html(&one.kind)
                    ),
                );
            }
            out.push_str("</ul>");
            let more = self.link_count.saturating_sub(self.links.len() as u64);
            if more > 0 {
                let more = figures::count(more);
                push(out, format_args!("<p class=soft>and {more} more</p>"));
            }
        }
        out.push_str("</section>");
    }
}

fn listed(title: &str, facts: &[TrailFact], out: &mut String) {
    push(
        out,
        format_args!("<section><details open><summary>{title}</summary><dl class=facts>"),
    );
    for fact in facts {
        push(
            out,
            format_args!(
                "<dt>{}</dt><dd>{}</dd>",
                escape::html(&fact.name),
                escape::html(&fact.value)
            ),
        );
    }
    out.push_str("</dl></details></section>");
}
