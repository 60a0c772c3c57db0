//! A comparison as Markdown (GitHub's).
//!
//! Owns its headings, lists and blocks. Invariant: foreign text stands in code only, in which
//! nothing is markup.

use std::io::{self, Write};

use clewline_job::escape::visible;
use clewline_job::report::figures::{count, plural};

use super::DiffHead;
use super::text::one_line;
use super::words::{heading, lines, notes, payload, title, verdict, whereto};
use crate::compare::Difference;
use crate::entry::{DiffEdit, DiffEntry, DiffKind};

/// Entries of a kind that are shown: a comment on GitHub has 65,536 characters.
const MOST_SHOWN: usize = 20;
/// Edits of an entry that are shown.
const MOST_EDITS: usize = 5;

pub(super) fn write(
    difference: &Difference,
    head: &DiffHead<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [old, new] = head.names.map(code);
    writeln!(out, "# {old} → {new}\n\n**{}**\n", verdict(difference))?;
    for note in notes(difference) {
        writeln!(out, "- {note}.")?;
    }
    writeln!(out, "- {}", payload(difference))?;
    for kind in DiffKind::ALL {
        let entries: Vec<_> = difference
            .entries
            .iter()
            .filter(|it| it.kind == kind)
            .collect();
        if entries.is_empty() {
            continue;
        }
        writeln!(out, "\n## {}\n", heading(kind))?;
        for entry in entries.iter().take(MOST_SHOWN) {
            show(entry, out)?;
        }
        if let Some(more @ 1..) = entries.len().checked_sub(MOST_SHOWN) {
            writeln!(out, "- … and {} more", count(more as u64))?;
        }
    }
    if head.shows_noise && !difference.noise.is_empty() {
        writeln!(out, "\n## Noise that is masked\n")?;
        for place in &difference.noise {
            let pages = plural(place.pages, "page");
            let (removed, added) = (
                code(&one_line(&place.removed)),
                code(&one_line(&place.added)),
            );
            let place_name = code(&place.place);
            writeln!(
                out,
                "- {pages}, {place_name}: {removed} → {added} ({})",
                code(&place.sample)
            )?;
        }
    }
    Ok(())
}

fn show(entry: &DiffEntry, out: &mut dyn Write) -> io::Result<()> {
    let urls = || {
        let urls: Vec<String> = entry.urls.iter().take(3).map(|url| code(url)).collect();
        let more = entry.pages.saturating_sub(urls.len() as u64);
        let more = if more > 0 {
            format!(", … {} more", count(more))
        } else {
            String::new()
        };
        format!("{}{more}", urls.join(", "))
    };
    match entry.kind {
        DiffKind::Gone | DiffKind::New => {
            let whereto = entry.to.as_deref().zip(entry.reason);
            let whereto =
                whereto.map(|(to, reason)| format!(", likely {} ({})", code(to), reason.about()));
            writeln!(out, "- {}{}", urls(), whereto.unwrap_or_default())?;
        }
        DiffKind::Moved => {
            let part = |text: &Option<String>| code(text.as_deref().unwrap_or_default());
            let reason = whereto(entry).unwrap_or_default();
            writeln!(
                out,
                "- {} → {} ({reason})",
                part(&entry.from),
                part(&entry.to)
            )?;
        }
        DiffKind::Changed => writeln!(out, "- {} ({})", title(entry), urls())?,
        _ => writeln!(out, "- {} ({})", code(&title(entry)), urls())?,
    }
    for edit in entry.edits.iter().take(MOST_EDITS) {
        show_edit(edit, out)?;
    }
    if let Some(more @ 1..) = entry.edits.len().checked_sub(MOST_EDITS) {
        writeln!(out, "  - … and {}", plural(more as u64, "more edit"))?;
    }
    Ok(())
}

fn show_edit(edit: &DiffEdit, out: &mut dyn Write) -> io::Result<()> {
    let (removed, added) = lines(edit);
    let side = |lines: Vec<&str>| -> String {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|line| code(&one_line(line)))
            .collect();
        if lines.is_empty() {
            "nothing".to_owned()
        } else {
            lines.join(", ")
        }
    };
    writeln!(
        out,
        "  - {}: {} → {}",
        code(&edit.place),
        side(removed),
        side(added)
    )
}

/// Foreign text as code, between as many backticks as it takes.
fn code(text: &str) -> String {
    let text = visible(text);
    let runs = text.split(|c| c != '`');
    let longest = runs.map(str::len).max().unwrap_or_default();
    if longest == 0 {
        return format!("`{text}`");
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}
