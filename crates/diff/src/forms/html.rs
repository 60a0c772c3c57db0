//! A comparison as one HTML page, then and now side by side.
//!
//! Owns its structure; the style is a file beside it. The page loads nothing and has no script: its
//! policy forbids every source but its own style. Invariants: every foreign text passes
//! `escape::html`; what is shown is bounded, whatever the crawls hold.

use std::io::{self, Write};

use clewline_job::escape::html;
use clewline_job::look::{FRAME_STYLE, PageFrame, TOKENS, policy_source};
use clewline_job::report::figures::{count, plural};

use super::DiffHead;
use super::words::{heading, lines, notes, payload, title, verdict};
use crate::compare::Difference;
use crate::entry::{DiffEdit, DiffEntry, DiffKind};
use crate::moves::MoveCertainty;

/// The style of what [`changes_html`] makes, and of the page.
pub const CHANGES_STYLE: &str = include_str!("style.css");

/// Entries of a kind that are shown.
const MOST_SHOWN: usize = 2_000;
/// Edits of an entry that are shown.
const MOST_EDITS: usize = 50;

pub(super) fn write(
    difference: &Difference,
    head: &DiffHead<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = format!("{} → {}", head.names[0], head.names[1]);
    let frame = PageFrame {
        name: &name,
        state: None,
        home: None,
        places: &[],
    };
    let style = format!("{TOKENS}{FRAME_STYLE}{CHANGES_STYLE}");
    write!(
        out,
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; \
         style-src '{}'; base-uri 'none'; form-action 'none'\">\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=referrer content=no-referrer>\
         <title>{}</title><style>{style}</style></head><body>\n{}<main id=main>\
         <section class=open><h1>{}</h1></section>",
        policy_source(&style),
        html(&name),
        frame.html(),
        html(&verdict(difference))
    )?;
    list(difference, head.shows_noise, out)?;
    writeln!(
        out,
        "</main><footer>{} This page loads nothing.</footer></body></html>",
        html(&payload(difference))
    )
}

/// The changes for a page that somebody else frames, with [`CHANGES_STYLE`].
pub fn changes_html(difference: &Difference) -> String {
    let mut out = Vec::new();
    list(difference, false, &mut out).expect("writing to memory does not fail");
    String::from_utf8(out).expect("what is escaped is text")
}

/// What stands below the verdict.
fn list(difference: &Difference, shows_noise: bool, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<div class=changes>")?;
    figures(difference, out)?;
    let notes = notes(difference);
    if !notes.is_empty() {
        write!(out, "<ul class=notes>")?;
        for note in notes {
            write!(out, "<li>{}.</li>", html(&note))?;
        }
        write!(out, "</ul>")?;
    }
    navigation(difference, out)?;
    for kind in DiffKind::ALL {
        section(kind, difference, out)?;
    }
    if shows_noise {
        noise(difference, out)?;
    }
    write!(out, "</div>")
}

fn figures(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let counts = &difference.counts;
    write!(out, "<dl class=cards>")?;
    for (name, number) in [
        ("pages changed", counts.changed),
        ("gone", counts.gone),
        ("new", counts.new),
        ("moved", counts.moved),
    ] {
        write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", count(number))?;
    }
    write!(out, "</dl>")
}

fn of_kind(kind: DiffKind, difference: &Difference) -> impl Iterator<Item = &DiffEntry> {
    difference
        .entries
        .iter()
        .filter(move |entry| entry.kind == kind)
}

fn navigation(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<nav class=kinds aria-label=Kinds>")?;
    for kind in DiffKind::ALL {
        let number = of_kind(kind, difference).count();
        if number > 0 {
            let (id, name) = (kind.name(), heading(kind));
            write!(
                out,
                "<a href=\"#{id}\">{name} ({})</a>",
                count(number as u64)
            )?;
        }
    }
    write!(out, "</nav>")
}

fn section(kind: DiffKind, difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let mut entries = of_kind(kind, difference).peekable();
    if entries.peek().is_none() {
        return Ok(());
    }
    let is_list = matches!(kind, DiffKind::Gone | DiffKind::New);
    write!(
        out,
        "<section class=open><h2 id={}>{}</h2>",
        kind.name(),
        heading(kind)
    )?;
    if is_list {
        write!(out, "<ul class=list>")?;
    }
    for entry in entries.by_ref().take(MOST_SHOWN) {
        if is_list {
            item(entry, out)?;
        } else {
            article(entry, out)?;
        }
    }
    if is_list {
        write!(out, "</ul>")?;
    }
    let more = entries.count() as u64;
    if more > 0 {
        let more = count(more);
        write!(
            out,
            "<p class=soft>… and {more} more; --format jsonl has all of them.</p>"
        )?;
    }
    writeln!(out, "</section>")
}

fn item(entry: &DiffEntry, out: &mut dyn Write) -> io::Result<()> {
    let url = entry.urls.first().map_or("", String::as_str);
    write!(out, "<li><span class=url>{}</span>", html(url))?;
    certainty(entry, out)?;
    writeln!(out, "</li>")
}

fn certainty(entry: &DiffEntry, out: &mut dyn Write) -> io::Result<()> {
    let (Some(certainty), Some(reason)) = (entry.certainty, entry.reason) else {
        return Ok(());
    };
    let class = certainty.name();
    write!(out, " <span class=\"badge {class}\">{class}</span>")?;
    if let (MoveCertainty::Likely, Some(to)) = (certainty, &entry.to) {
        write!(out, " <span class=url>{}</span>", html(to))?;
    }
    write!(out, " <small>{}</small>", html(reason.about()))
}

fn article(entry: &DiffEntry, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<article><h3>{}</h3>", html(&title(entry)))?;
    certainty(entry, out)?;
    if entry.kind != DiffKind::Moved {
        urls(entry, out)?;
    }
    for edit in entry.edits.iter().take(MOST_EDITS) {
        show_edit(edit, out)?;
    }
    if let Some(more @ 1..) = entry.edits.len().checked_sub(MOST_EDITS) {
        write!(
            out,
            "<p class=soft>… and {}</p>",
            plural(more as u64, "more edit")
        )?;
    }
    writeln!(out, "</article>")
}

fn urls(entry: &DiffEntry, out: &mut dyn Write) -> io::Result<()> {
    if let [only] = &entry.urls[..]
        && entry.pages == 1
    {
        return write!(out, "<span class=url>{}</span>", html(only));
    }
    write!(out, "<details><summary>Pages</summary><ul>")?;
    for url in &entry.urls {
        write!(out, "<li class=url>{}</li>", html(url))?;
    }
    let more = entry.pages.saturating_sub(entry.urls.len() as u64);
    if more > 0 {
        write!(out, "<li>… and {} more</li>", count(more))?;
    }
    write!(out, "</ul></details>")
}

fn show_edit(edit: &DiffEdit, out: &mut dyn Write) -> io::Result<()> {
    let (removed, added) = lines(edit);
    let names: Vec<&str> = edit.layers.iter().map(|layer| layer.name()).collect();
    let place = html(&edit.place);
    write!(
        out,
        "<p class=place>{place} · {}</p><div class=sides>",
        names.join(", ")
    )?;
    side(("then", "Then"), &removed, out)?;
    side(("now", "Now"), &added, out)?;
    write!(out, "</div>")
}

fn side((class, name): (&str, &str), lines: &[&str], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<div class={class}><b>{name}</b>")?;
    for line in lines {
        // The lines of a run are blocks of the page.
        let line = line
            .split('\n')
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let line: Vec<_> = line.map(html).collect();
        write!(out, "<p class=run>{}</p>", line.join("\n"))?;
    }
    if lines.is_empty() {
        write!(out, "<p class=soft>nothing</p>")?;
    }
    write!(out, "</div>")
}

fn noise(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<section class=open><h2 id=noise>Noise that is masked</h2>"
    )?;
    for place in &difference.noise {
        let pages = plural(place.pages, "page");
        write!(
            out,
            "<article><h3>{pages}: {}</h3><span class=url>{}</span><div class=sides>",
            html(&place.place),
            html(&place.sample)
        )?;
        side(("then", "Then"), &[&place.removed], out)?;
        side(("now", "Now"), &[&place.added], out)?;
        writeln!(out, "</div></article>")?;
    }
    if difference.noise.is_empty() {
        write!(out, "<p>None.</p>")?;
    }
    writeln!(out, "</section>")
}
