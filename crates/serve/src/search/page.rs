//! The search page: its frame, and what stands in it where there are no results.
//!
//! Owns its HTML, with `found` for the results. Everything that is shown passes through one
//! escape, and the whole page is made here: the script asks for this page again and takes over
//! the element `found`.

mod found;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

use clewline_job::escape::html;
use clewline_job::report::figures;
use clewline_search::LONGEST;
use clewline_warc::Moment;

use super::policy::{policy, script, style};
use super::question::Question;
use super::{PATH, Reply};
use crate::pages::search_frame;
use crate::server::{GuestResponse, path_of};

/// Seconds after which a browser looks again for an index that is being made.
const LOOK_AGAIN: u32 = 2;

/// The answer to a request for the page.
pub(crate) fn shown(reply: &Reply) -> GuestResponse {
    let (question, content) = match reply {
        Reply::Found(question, results) => (question, found::content(question, results)),
        Reply::Making(question, pages) => (question, making(*pages)),
        Reply::Refused(question, error) => (question, message(&error.to_string())),
        Reply::Broken(question, why) => (question, message(why)),
    };
    let again = match reply {
        Reply::Making(..) => format!("<meta http-equiv=refresh content={LOOK_AGAIN}>"),
        _ => String::new(),
    };
    let page = framed(question, &again, &content);
    GuestResponse {
        status: reply.status(),
        content_type: "text/html; charset=utf-8",
        policy: policy().to_owned(),
        body: page.into_bytes(),
    }
}

fn framed(question: &Question, head: &str, content: &str) -> String {
    let text = html(&question.text);
    let base = html(&question.base);
    let title = if question.is_blank() {
        "Search".into()
    } else {
        format!("{text} \u{2013} search")
    };
    // Keys move among results, unless there is something to be written first.
    let focus = if question.is_blank() {
        " autofocus"
    } else {
        ""
    };
    let mut kept = String::new();
    for (name, value) in question.kept() {
        let value = html(value);
        let _ = write!(kept, "<input type=hidden name={name} value=\"{value}\">");
    }
    let frame = search_frame(&question.base);
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
        <meta name=viewport content=\"width=device-width, initial-scale=1\">{head}\
        <title>{title}</title><style>{}</style></head>\n\
        <body>{}<main id=main><h1 class=quiet>Search</h1><form class=ask action=\"{base}{PATH}\" role=search>\
        <input id=q name=q type=search value=\"{text}\" maxlength={LONGEST} \
        aria-label=\"Words to look for\" placeholder=\"Search these pages\" \
        autocomplete=off autocapitalize=off spellcheck=false{focus}>{kept}\
        <button>Search</button></form>\n\
        <div id=found>\n{content}</div>\n\
        <p class=keys><kbd>/</kbd> to write, <kbd>\u{2193}</kbd> <kbd>\u{2191}</kbd> or <kbd>j</kbd> \
        <kbd>k</kbd> to move, <kbd>Enter</kbd> to open, <kbd>Esc</kbd> to clear. \
        <code>\"a phrase\"</code> <code>+must</code> <code>-not</code> <code>begin*</code> \
        <code>near~</code> <code>title:word</code> <code>url:word</code> \
        <code>after:2026-11-01</code></main>\n\
        <script>{}</script></body></html>\n",
        style(),
        frame,
        script()
    )
}

/// One sentence where results would be.
fn message(text: &str) -> String {
    format!("<p id=status role=status class=message>{}.\n", html(text))
}

fn making(pages: u64) -> String {
    let pages = figures::count(pages);
    format!(
        "<p id=status role=status class=message>The index is being made: {pages} pages so far. \
        This page looks again by itself. <code>clewline index DIR</code> makes it beforehand.\n"
    )
}

/// Where the capture of a hit is replayed.
pub(crate) fn capture_of(url: &str, fetched_at: i64) -> String {
    path_of(&moment(fetched_at).timestamp(), url)
}

fn moment(seconds: i64) -> Moment {
    Moment::since_1970(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
