//! The report as one HTML page: `report.html`.
//!
//! Owns its structure; the style and the script are files beside it. The page loads nothing:
//! its policy forbids every source but its own style and script, by their digests, so that
//! not even a mistake in escaping could run what a crawled page wrote. Without the script the
//! tables are plain. Invariant: every foreign text passes `escape::html`.

mod course;
mod tables;

use std::fmt::{self, Write as _};

use data_encoding::BASE64;

use super::{Report, StoppedBy, figures};
use crate::escape;
use crate::look::{FRAME_STYLE, FramePlace, PageFrame, THEME_SCRIPT, TOKENS, Tone, policy_source};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Roots, hosts and notes that are named.
const MOST_NAMES: usize = 20;

/// Writes the report as one HTML page.
pub fn html(report: &Report) -> String {
    let mut out = String::with_capacity(64 * 1024);
    page(report, &mut out).expect("writing to a string does not fail");
    out
}

fn page(report: &Report, out: &mut String) -> fmt::Result {
    head(report, out)?;
    out.push_str(&frame(report));
    out.push_str("<main id=main>");
    opening(report, out)?;
    cards(report, out)?;
    notes(report, out)?;
    course::charts(&report.tally.series, report.facts.seconds, out);
    tables::shares(report, out)?;
    tables::update(report, out)?;
    tables::broken(report, out)?;
    tables::reasons(report, out)?;
    tables::traps(report, out)?;
    tables::guesses(report, out)?;
    tables::rendering(report, out)?;
    pictures(report, out)?;
    tables::hosts(report, out)?;
    facts(report, out)?;
    out.push_str("</main>");
    let version = escape::html(&report.facts.version);
    write!(
        out,
        "<footer>Made by Clewline {version}. This page loads nothing.</footer>"
    )?;
    writeln!(out, "<script>{THEME_SCRIPT}{SCRIPT}</script></body></html>")
}

fn head(report: &Report, out: &mut String) -> fmt::Result {
    let root = report
        .facts
        .roots
        .first()
        .map_or("crawl", |root| root.host());
    let style = format!("{TOKENS}{FRAME_STYLE}{STYLE}");
    // Pictures stand in the page itself.
    let images = if report.pictures.is_empty() {
        ""
    } else {
        "img-src data:; "
    };
    write!(
        out,
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; \
         {images}style-src '{}'; script-src '{}'; base-uri 'none'; \
         form-action 'none'\">\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=referrer content=no-referrer>\
         <title>{} – crawl report</title><style>{style}</style></head><body>",
        policy_source(&style),
        policy_source(&format!("{THEME_SCRIPT}{SCRIPT}")),
        escape::html(root)
    )
}

/// Sections of the report that the frame leads to.
fn frame(report: &Report) -> String {
    let facts = &report.facts;
    let name = facts
        .roots
        .first()
        .map_or("Crawl report", |root| root.as_str());
    let tone = match facts.stopped_by {
        StoppedBy::Finished => Tone::Good,
        StoppedBy::Error(_) => Tone::Bad,
        _ => Tone::Warn,
    };
    let place = |name, link| FramePlace {
        name,
        link,
        number: String::new(),
        is_current: false,
    };
    let places = [
        place("Overview", "#main"),
        place("Broken", "#broken"),
        place("Hosts", "#hosts"),
        place("The run", "#run"),
    ];
    let frame = PageFrame {
        name,
        state: Some((tone, &facts.stopped_by.to_string())),
        home: None,
        places: &places,
    };
    frame.html()
}

fn opening(report: &Report, out: &mut String) -> fmt::Result {
    let facts = &report.facts;
    let pages = figures::plural(report.tally.pages, "page");
    let broken = match report.tally.broken {
        0 => "no URL is broken".to_owned(),
        1 => "1 URL is broken".to_owned(),
        number => format!("{} URLs are broken", figures::count(number)),
    };
    write!(
        out,
        "<section class=open><h1>{pages} fetched; {broken}.</h1><p class=soft>Took {}",
        figures::seconds(facts.seconds)
    )?;
    if !facts.started_at.is_empty() {
        let began = figures::instant(&facts.started_at);
        write!(out, ", from {} on", escape::html(&began))?;
    }
    if let Some(more @ 1..) = facts.roots.len().checked_sub(1) {
        write!(out, ", and {}", figures::plural(more as u64, "more root"))?;
    }
    out.push_str("</p></section>");
    Ok(())
}

/// What some of its pages look like.
fn pictures(report: &Report, out: &mut String) -> fmt::Result {
    if report.pictures.is_empty() {
        return Ok(());
    }
    out.push_str("<section id=pictures><h2>What pages look like</h2><ul class=pictures>");
    for picture in &report.pictures {
        let url = escape::html(&picture.url);
        write!(
            out,
            "<li><img src=\"data:image/jpeg;base64,{}\" alt=\"\" width=320 height=256><bdi>{url}</bdi>",
            BASE64.encode(&picture.jpeg)
        )?;
    }
    out.push_str("</ul></section>");
    Ok(())
}

/// At most four figures, all about the site.
fn cards(report: &Report, out: &mut String) -> fmt::Result {
    let (tally, facts) = (&report.tally, &report.facts);
    let hosts = figures::plural(tally.hosts.len() as u64, "host");
    let html = figures::count(tally.html.count);
    let decoded = figures::bytes(tally.body_bytes);
    let broken = if tally.broken == 0 { "good" } else { "bad" };
    let failed = figures::count(tally.outcomes.failed);
    let answered = figures::count(tally.broken.saturating_sub(tally.outcomes.failed));
    let skipped = figures::count(tally.outcomes.skipped);
    let cards = [
        (
            "plain",
            figures::count(tally.pages),
            "Pages",
            format!("{html} HTML, {hosts}"),
        ),
        (
            broken,
            figures::count(tally.broken),
            "Broken URLs",
            format!("{answered} answered with an error, {failed} not at all"),
        ),
        (
            "plain",
            figures::count(tally.done),
            "URLs done",
            format!("{skipped} skipped, {} to do", figures::count(facts.todo)),
        ),
        (
            "plain",
            figures::bytes(tally.wire_bytes),
            "Over the network",
            format!("{decoded} decoded"),
        ),
    ];
    out.push_str("<dl class=cards>");
    for (class, value, name, more) in cards {
        write!(
            out,
            "<div><dt>{name}</dt><dd class={class}>{value}</dd><dd class=soft>{more}</dd></div>"
        )?;
    }
    out.push_str("</dl>");
    Ok(())
}

fn notes(report: &Report, out: &mut String) -> fmt::Result {
    let facts = &report.facts;
    if facts.notes.is_empty() && facts.joined_hosts.is_empty() {
        return Ok(());
    }
    out.push_str("<ul class=notes>");
    for host in facts.joined_hosts.iter().take(MOST_NAMES) {
        write!(
            out,
            "<li>{} joined the roots by redirect</li>",
            escape::html(host)
        )?;
    }
    for note in facts.notes.iter().take(MOST_NAMES) {
        write!(out, "<li>{}</li>", escape::html(note))?;
    }
    out.push_str("</ul>");
    Ok(())
}

fn facts(report: &Report, out: &mut String) -> fmt::Result {
    let (facts, tally) = (&report.facts, &report.tally);
    out.push_str(
        "<section id=run><h2>The run</h2><dl class=facts><dt>Roots</dt><dd><ul class=plain>",
    );
    for root in facts.roots.iter().take(MOST_NAMES) {
        out.push_str("<li>");
        link(root.as_str(), out)?;
        out.push_str("</li>");
    }
    if facts.roots.len() > MOST_NAMES {
        let more = figures::count((facts.roots.len() - MOST_NAMES) as u64);
        write!(out, "<li>and {more} more</li>")?;
    }
    out.push_str("</ul></dd>");
    let folder = facts.folder.as_ref().map(|folder| folder.to_string_lossy());
    let rows = [
        ("Began", figures::instant(&facts.started_at).into(), None),
        (
            "Ended",
            figures::instant(&facts.finished_at).into(),
            Some(facts.stopped_by.to_string()),
        ),
        (
            "Folder",
            folder.unwrap_or("none: nothing was kept on disk".into()),
            None,
        ),
        (
            "URLs",
            format!("{} admitted", figures::count(facts.admitted)).into(),
            Some(format!(
                "{} done, {} to do",
                figures::count(tally.done),
                figures::count(facts.todo)
            )),
        ),
        (
            "Links",
            format!("{} found", figures::count(tally.links)).into(),
            None,
        ),
        ("Cut bodies", figures::count(tally.truncated).into(), None),
        (
            "Pages per second",
            figures::rate(report.pages_per_second()).into(),
            None,
        ),
        (
            "Requests in flight",
            format!("{} at most", figures::count(facts.peak_in_flight.into())).into(),
            Some(format!(
                "{} allowed",
                figures::count(facts.concurrency.into())
            )),
        ),
    ];
    for (name, value, more) in rows {
        write!(out, "<dt>{name}</dt><dd>{}", escape::html(&value))?;
        if let Some(more) = more {
            write!(out, ", {}", escape::html(&more))?;
        }
        out.push_str("</dd>");
    }
    out.push_str("</dl></section>");
    Ok(())
}

/// A link to a crawled URL, which is http or https by its type. A very long one is shown
/// without being a link, so that a hostile site cannot blow up the page.
fn link(url: &str, out: &mut String) -> fmt::Result {
    const LONGEST_LINK: usize = 2_048;
    let shown = shortened(url, 160);
    let shown = escape::html(&shown);
    if url.len() > LONGEST_LINK {
        return write!(out, "<span>{shown}</span>");
    }
    let target = escape::html(url);
    write!(
        out,
        "<a href=\"{target}\" rel=\"noopener noreferrer\" target=_blank>{shown}</a>"
    )
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
