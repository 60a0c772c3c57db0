//! A comparison as text.
//!
//! Owns its lines. Long lists are folded: whoever wants all of them takes JSON lines.

use std::borrow::Cow;
use std::io::{self, Write};

use clewline_job::escape::visible;
use clewline_job::report::Ink;
use clewline_job::report::figures::{count, plural};

use super::DiffHead;
use super::words::{heading, lines, notes, payload, title, verdict, whereto};
use crate::compare::Difference;
use crate::edit::NoisePlace;
use crate::entry::{DiffEdit, DiffEntry, DiffKind};

/// Entries of a kind that are shown.
const MOST_SHOWN: usize = 30;
/// Edits of an entry that are shown.
const MOST_EDITS: usize = 8;
/// URLs of an entry that are shown.
const MOST_URLS: usize = 3;
/// Characters of a run that are shown.
const LONGEST_RUN: usize = 200;

/// Writes with or without colours.
struct Page<'a> {
    out: &'a mut dyn Write,
    in_colour: bool,
}

impl Page<'_> {
    fn line(&mut self, indent: usize, ink: Ink, text: &str) -> io::Result<()> {
        let text = visible(text);
        let painted = if self.in_colour {
            ink.paint(&text)
        } else {
            Cow::Borrowed(&*text)
        };
        writeln!(self.out, "{:indent$}{painted}", "")
    }
}

pub(super) fn write(
    difference: &Difference,
    head: &DiffHead<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let in_colour = head.in_colour;
    let mut page = Page { out, in_colour };
    for kind in DiffKind::ALL {
        let entries: Vec<_> = difference
            .entries
            .iter()
            .filter(|it| it.kind == kind)
            .collect();
        if entries.is_empty() {
            continue;
        }
        page.line(0, Ink::Strong, heading(kind))?;
        for entry in entries.iter().take(MOST_SHOWN) {
            show(entry, &mut page)?;
        }
        if let Some(more @ 1..) = entries.len().checked_sub(MOST_SHOWN) {
            let more = count(more as u64);
            let text = format!("… and {more} more; --format jsonl has all of them");
            page.line(2, Ink::Faint, &text)?;
        }
        page.line(0, Ink::Plain, "")?;
    }
    if head.shows_noise {
        noise(&difference.noise, &mut page)?;
    }
    page.line(0, Ink::Strong, &verdict(difference))?;
    for note in notes(difference) {
        page.line(0, Ink::Plain, &format!("{note}."))?;
    }
    if !head.shows_noise && !difference.noise.is_empty() {
        let places = plural(difference.noise.len() as u64, "place");
        page.line(
            0,
            Ink::Faint,
            &format!("Noise was masked in {places}; --show-noise prints it."),
        )?;
    }
    page.line(0, Ink::Faint, &payload(difference))
}

fn show(entry: &DiffEntry, page: &mut Page<'_>) -> io::Result<()> {
    match entry.kind {
        DiffKind::Gone | DiffKind::New => {
            let whereto = whereto(entry).map_or(String::new(), |text| format!("   {text}"));
            let url = entry.urls.first().map_or("", String::as_str);
            return page.line(2, Ink::Plain, &format!("{url}{whereto}"));
        }
        DiffKind::Moved => {
            let (from, to) = (entry.from.as_deref(), entry.to.as_deref());
            let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
            let reason = whereto(entry).unwrap_or_default();
            page.line(2, Ink::Plain, &format!("{from} → {to}   ({reason})"))?;
        }
        _ => {
            page.line(2, Ink::Warn, &title(entry))?;
            urls(entry, page)?;
        }
    }
    for edit in entry.edits.iter().take(MOST_EDITS) {
        show_edit(edit, page)?;
    }
    if let Some(more @ 1..) = entry.edits.len().checked_sub(MOST_EDITS) {
        let text = format!("… and {}", plural(more as u64, "more edit"));
        page.line(4, Ink::Faint, &text)?;
    }
    Ok(())
}

fn urls(entry: &DiffEntry, page: &mut Page<'_>) -> io::Result<()> {
    for url in entry.urls.iter().take(MOST_URLS) {
        page.line(4, Ink::Plain, url)?;
    }
    let shown = entry.urls.len().min(MOST_URLS) as u64;
    if entry.pages > shown {
        page.line(
            4,
            Ink::Faint,
            &format!("… and {} more", count(entry.pages - shown)),
        )?;
    }
    Ok(())
}

fn show_edit(edit: &DiffEdit, page: &mut Page<'_>) -> io::Result<()> {
    let (removed, added) = lines(edit);
    let names: Vec<&str> = edit.layers.iter().map(|layer| layer.name()).collect();
    page.line(
        4,
        Ink::Faint,
        &format!("{} ({})", edit.place, names.join(", ")),
    )?;
    for (sign, ink, lines) in [("-", Ink::Bad, removed), ("+", Ink::Good, added)] {
        for line in lines {
            page.line(4, ink, &format!("{sign} {}", one_line(line)))?;
        }
    }
    Ok(())
}

/// A run on one line.
pub(super) fn one_line(run: &str) -> String {
    let line = run.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_RUN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn noise(places: &[NoisePlace], page: &mut Page<'_>) -> io::Result<()> {
    page.line(0, Ink::Strong, "Noise that is masked")?;
    for place in places {
        page.line(
            2,
            Ink::Plain,
            &format!("{}: {}", plural(place.pages, "page"), place.place),
        )?;
        page.line(4, Ink::Plain, &place.sample)?;
        page.line(4, Ink::Bad, &format!("- {}", one_line(&place.removed)))?;
        page.line(4, Ink::Good, &format!("+ {}", one_line(&place.added)))?;
    }
    if places.is_empty() {
        page.line(2, Ink::Plain, "none")?;
    }
    page.line(0, Ink::Plain, "")
}
