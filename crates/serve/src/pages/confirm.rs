//! Pages that ask before something is done: leave out a pattern, delete a job.
//!
//! Owns their HTML. Refuses to know how it is done. Invariant: what would be done is named with its
//! figures, and deleting asks for the name.

use clewline_job::escape;
use clewline_job::look::Icon;
use clewline_job::report::figures;

use super::JobFrame;
use super::element::{button, opening, push, url};

/// How many queued URLs a pattern takes, before anybody says yes.
#[derive(Debug, Clone)]
pub struct ExcludePage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// The pattern.
    pub pattern: String,
    /// Queued URLs that it takes.
    pub takes: u64,
    /// Not all queued URLs were looked at, so there may be more.
    pub at_least: bool,
    /// URLs that wait in all.
    pub queued: u64,
    /// Some of those that it takes.
    pub samples: Vec<String>,
}

impl ExcludePage {
    /// The document.
    pub fn html(&self) -> String {
        let more = if self.at_least { "at least " } else { "" };
        let takes = figures::plural(self.takes, "queued URL");
        let of = format!("{} wait in all.", figures::plural(self.queued, "URL"));
        let mut main = opening(&format!("This leaves out {more}{takes}."), &of);
        let pattern = escape::html(&self.pattern);
        push(
            &mut main,
            format_args!("<section><h2>URLs with <code><bdi>{pattern}</bdi></code></h2>"),
        );
        if !self.samples.is_empty() {
            main.push_str("<ul class=plain>");
            for sample in &self.samples {
                push(&mut main, format_args!("<li>{}", url(sample, None)));
            }
            main.push_str("</ul>");
        }
        let base = escape::html(&self.frame.base);
        push(
            &mut main,
            format_args!(
                "<form class=buttons method=post action=\"{base}/exclude\">\
                 <input type=hidden name=pattern value=\"{pattern}\">{}\
                 <a class=button href=\"{base}/\">Leave it as it is</a></form></section>",
                button(Icon::Exclude, "Leave them out", "class=strong")
            ),
        );
        self.frame.document(None, "Leave out", &main)
    }
}

/// Whether a job is really to be deleted.
#[derive(Debug, Clone)]
pub struct DeletePage {
    /// The frame of the job.
    pub frame: JobFrame,
    /// The name that must be typed.
    pub folder: String,
    /// What is lost: `312 pages, 48 MB`.
    pub lost: String,
    /// What was wrong with the last try; empty at first.
    pub problem: String,
}

impl DeletePage {
    /// The document.
    pub fn html(&self) -> String {
        let mut main = opening("Delete this crawl for good?", &self.lost);
        main.push_str("<section>");
        if !self.problem.is_empty() {
            push(
                &mut main,
                format_args!(
                    "<p class=bad role=alert>{}</p>",
                    escape::html(&self.problem)
                ),
            );
        }
        let base = escape::html(&self.frame.base);
        push(
            &mut main,
            format_args!(
                "<form class=confirm method=post action=\"{base}/delete\"><label>Type <code><bdi>{}</bdi></code> \
                 to delete it <input name=name required autocomplete=off autocapitalize=off \
                 spellcheck=false></label><p class=buttons>{}\
                 <a class=button href=\"{base}/\">Keep it</a></p></form></section>",
                escape::html(&self.folder),
                button(Icon::Delete, "Delete", "class=danger")
            ),
        );
        self.frame.document(None, "Delete", &main)
    }
}
