//! The server's own pages, and the banner.
//!
//! Owns their HTML. Invariant: whatever comes from an archive or a request is escaped, and our
//! HTML is ASCII, so that it fits into a page of any encoding.

use std::fmt::Write as _;
use std::sync::LazyLock;

use clewline_archive::ArchivedCapture;
use clewline_job::look::{FRAME_STYLE, MARK, PageFrame, TOKENS, tokens_below};
use clewline_warc::cdxj::Capture;

use super::answer::{AnswerBody, ServerAnswer};
use super::replay::{CaptureView, path_of, safe};

/// Where our style sheet is found; no capture's path begins so.
pub(super) const STYLE_PATH: &str = "/-/style.css";
/// Our style sheet: the bar's tokens hold below the bar alone, since the page is foreign.
pub(super) fn style() -> &'static str {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let (bar, own) = (tokens_below("clewline-banner"), include_str!("style.css"));
        format!("{bar}{own}")
    });
    &STYLE
}

/// Where the style sheet of our own pages is.
pub(super) const PAGE_STYLE_PATH: &str = "/-/page.css";
/// The style sheet of our own pages.
pub(super) fn page_style() -> &'static str {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let own = include_str!("page.css");
        format!("{TOKENS}{FRAME_STYLE}{own}")
    });
    &STYLE
}

const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'self'";

/// What an answer with one of our pages looks like.
fn own(status: u16, title: &str, content: &str) -> ServerAnswer {
    let title = escaped(title);
    let frame = PageFrame {
        name: "Archive",
        state: None,
        home: Some("/"),
        places: &[],
    };
    let frame = frame.html();
    let html = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
        <meta name=viewport content=\"width=device-width, initial-scale=1\">\
        <title>{title}</title>\
        <link rel=stylesheet href=\"{PAGE_STYLE_PATH}\"></head><body>\n{frame}\
        <main id=main><section class=open><h1>{title}</h1></section>\n\
        <section>{content}</section></main></body></html>\n"
    );
    ServerAnswer::new(status, AnswerBody::Bytes(html.into_bytes()))
        .with("Content-Type", "text/html; charset=utf-8")
        .with("Content-Security-Policy", POLICY)
}

/// Says no.
pub(super) fn refusal(status: u16, why: &str) -> ServerAnswer {
    own(status, "Not answered", &format!("<p>{}.", escaped(why)))
}

/// There is no capture.
pub(super) fn missing(url: &str) -> ServerAnswer {
    let content = format!(
        "<p>There is no capture of <code>{}</code> in this archive. Nothing was fetched.\n{}",
        escaped(&safe(url)),
        search("")
    );
    own(404, "Not in the archive", &content)
}

/// A capture is there and cannot be read.
pub(super) fn broken(url: &str, why: &dyn std::fmt::Display) -> ServerAnswer {
    let content = format!(
        "<p>The capture of <code>{}</code> cannot be shown: {}.",
        escaped(&safe(url)),
        escaped(&why.to_string())
    );
    own(502, "The capture cannot be read", &content)
}

/// A piece of the list of all captures.
pub(super) struct CaptureListing<'a> {
    /// What URLs begin with.
    pub(super) prefix: &'a str,
    pub(super) rows: &'a [(String, ArchivedCapture)],
    /// Where the next piece begins.
    pub(super) next: Option<String>,
    pub(super) files: usize,
    /// Where a guest's first page is, and its name.
    pub(super) guest: Option<(&'static str, &'static str)>,
}

pub(super) fn listing(listing: &CaptureListing<'_>) -> ServerAnswer {
    let mut content = String::new();
    if let Some((path, name)) = listing.guest {
        let (path, name) = (escaped(path), escaped(name));
        writeln!(content, "<p><a href=\"{path}\">{name}</a>").expect("a string takes all text");
    }
    content.push_str(&search(listing.prefix));
    if listing.rows.is_empty() {
        content.push_str("<p>No capture begins so.");
    } else {
        let rows = listing.rows.iter().map(|(_, held)| &held.capture);
        content.push_str(&table(rows));
    }
    if let Some(next) = &listing.next {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("url", listing.prefix)
            .append_pair("from", next)
            .finish();
        write!(content, "<p><a href=\"/?{}\">More</a>", escaped(&query))
            .expect("a string takes all text");
    }
    let files = match listing.files {
        1 => "one file".to_owned(),
        count => format!("{count} files"),
    };
    write!(content, "\n<p>An archive of {files}.").expect("a string takes all text");
    own(200, "Archive", &content)
}

/// The captures of one URL, by month.
pub(super) fn calendar(url: &str, captures: &[ArchivedCapture]) -> ServerAnswer {
    if captures.is_empty() {
        return missing(url);
    }
    let mut content = format!("<p><code>{}</code>", escaped(&safe(url)));
    let month = |held: &ArchivedCapture| held.capture.timestamp.get(..6).map(ToOwned::to_owned);
    for group in captures.chunk_by(|a, b| month(a) == month(b)) {
        let title = month(&group[0]).unwrap_or_default();
        let (year, month) = title.split_at(title.len().min(4));
        write!(content, "\n<h2>{}-{}</h2>", escaped(year), escaped(month))
            .expect("a string takes all text");
        content.push_str(&table(group.iter().map(|held| &held.capture)));
    }
    content.push_str(&search(""));
    own(200, "Captures", &content)
}

fn search(prefix: &str) -> String {
    format!(
        "<form action=/ role=search><input name=url value=\"{}\" \
        aria-label=\"URLs that begin with\" placeholder=\"URLs that begin with\u{2026}\">\
        <button>Search</button></form>\n",
        escaped(prefix)
    )
    .replace('\u{2026}', "...")
}

fn table<'a>(captures: impl Iterator<Item = &'a Capture>) -> String {
    let mut html = "<table><tr><th>Time<th>URL<th>Status<th>Type\n".to_owned();
    for capture in captures {
        let path = path_of(&capture.timestamp, &capture.url);
        writeln!(
            html,
            "<tr><td class=time>{}<td class=url><a href=\"{}\">{}</a>\
            <td class=status>{}<td>{}",
            time(&capture.timestamp),
            escaped(&path),
            escaped(&safe(&capture.url)),
            escaped(&capture.status),
            escaped(&capture.mime)
        )
        .expect("a string takes all text");
    }
    html.push_str("</table>\n");
    html
}

/// What stands over a page: its time and URL, and the way to its other captures; if there are two
/// views of this one, the way from the one that is shown to the other one.
pub(super) fn banner(
    capture: &Capture,
    all: &[ArchivedCapture],
    view: Option<CaptureView>,
) -> String {
    let is_before = |held: &&ArchivedCapture| held.capture.timestamp < capture.timestamp;
    let is_after = |held: &&ArchivedCapture| held.capture.timestamp > capture.timestamp;
    let link = |held: &ArchivedCapture, text: &str| {
        let path = path_of(&held.capture.timestamp, &held.capture.url);
        format!("<a href=\"{}\">{text}</a>", escaped(&path))
    };
    let before = all
        .iter()
        .rfind(is_before)
        .map(|held| link(held, "&#8249; <span class=word>earlier</span>"));
    let after = all
        .iter()
        .find(is_after)
        .map(|held| link(held, "<span class=word>later</span> &#8250;"));
    let other = view.map(|view| {
        let (view, text) = match view {
            CaptureView::Rendered => (CaptureView::Shown, "as sent"),
            _ => (CaptureView::Rendered, "rendered"),
        };
        let path = view.path_of(&capture.timestamp, &capture.url);
        format!("<a href=\"{}\">{text}</a>", escaped(&path))
    });
    let count = match all.len() {
        1 => "1 capture".to_owned(),
        count => format!("{count} captures"),
    };
    format!(
        "<link rel=stylesheet href=\"{STYLE_PATH}\"><clewline-banner role=region aria-label=Archive>\
        <a href=\"/\">{MARK}<span class=word>archive</span></a>{}<span>{}</span>{}\
        <span class=url>{}</span>{}<a href=\"{}\">{count}</a></clewline-banner>",
        before.unwrap_or_default(),
        time(&capture.timestamp),
        after.unwrap_or_default(),
        escaped(&safe(&capture.url)),
        other.unwrap_or_default(),
        escaped(&path_of("*", &capture.url)),
    )
}

/// `2026-11-15 12:00:00 UTC`
fn time(timestamp: &str) -> String {
    let part = |from: usize, to: usize| escaped(timestamp.get(from..to).unwrap_or("00"));
    format!(
        "{}-{}-{} {}:{}:{} UTC",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    )
}

/// Text within HTML or within quotes. What is not ASCII is written by its number, and what only
/// steers the direction of text, or nothing visible, by its escape.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            ' '..='~' => html.push(character),
            _ if character.is_alphanumeric() => {
                write!(html, "&#{};", u32::from(character)).expect("a string takes all text");
            }
            _ => html.extend(character.escape_unicode()),
        }
    }
    html
}
