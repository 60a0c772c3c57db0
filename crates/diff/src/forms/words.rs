//! What forms for people say, in the same words.
//!
//! Owns the sentences. It refuses to know how they are marked up.

use clewline_job::report::figures::{count, plural};

use crate::compare::Difference;
use crate::entry::{DiffEdit, DiffEntry, DiffKind};
use crate::moves::MoveCertainty;

/// The sentence that everything begins with: `3 pages changed; 40 pages compared.`
pub fn verdict(difference: &Difference) -> String {
    let counts = &difference.counts;
    let mut parts = Vec::new();
    let mut part = |number: u64, one: &str, many: &str| {
        if number > 0 {
            let what = if number == 1 { one } else { many };
            parts.push(format!("{} {what}", count(number)));
        }
    };
    part(counts.changed, "page changed", "pages changed");
    part(counts.gone, "is gone", "are gone");
    part(counts.new, "is new", "are new");
    part(counts.moved, "moved", "moved");
    part(counts.status, "has another status", "have another status");
    part(
        counts.redirects,
        "redirect leads elsewhere",
        "redirects lead elsewhere",
    );
    part(counts.files, "other file changed", "other files changed");
    let compared = plural(counts.compared, "page");
    if parts.is_empty() {
        return format!("Nothing changed; {compared} compared.");
    }
    format!("{}; {compared} compared.", parts.join(", "))
}

/// What was not told as a change, and why: one line each.
pub(super) fn notes(difference: &Difference) -> Vec<String> {
    let counts = &difference.counts;
    let mut notes = Vec::new();
    let mut note = |number: u64, text: String| {
        if number > 0 {
            notes.push(text);
        }
    };
    let pages = |number| plural(number, "page");
    note(
        counts.noise,
        format!("{} differed by noise only", pages(counts.noise)),
    );
    let linked = format!(
        "{} changed only in links to pages that are gone or new",
        pages(counts.linked)
    );
    note(counts.linked, linked);
    let unseen = format!(
        "{} differed only in what nobody reads: scripts, comments, attributes",
        pages(counts.unseen)
    );
    note(counts.unseen, unseen);
    let unreadable = format!(
        "{} could not be read then or now, and {} compared with nothing",
        pages(counts.unreadable),
        if counts.unreadable == 1 { "is" } else { "are" }
    );
    note(counts.unreadable, unreadable);
    note(
        counts.unasked,
        format!(
            "{} asked for by one of the crawls only",
            were(counts.unasked)
        ),
    );
    note(
        u64::from(difference.is_part),
        "The new crawl did not come to its end: what is missing may be there".to_owned(),
    );
    note(
        counts.left_out,
        format!("{} counted and not listed", pages(counts.left_out)),
    );
    notes
}

fn were(number: u64) -> String {
    let verb = if number == 1 { "was" } else { "were" };
    format!("{} {verb}", plural(number, "page"))
}

/// The counts of `--update-from`.
pub(super) fn payload(difference: &Difference) -> String {
    let payload = difference.payload;
    format!(
        "By payload, as --update-from counts: {} new, {} changed, {} unchanged, {} gone.",
        count(payload.new),
        count(payload.changed),
        count(payload.unchanged),
        count(payload.gone)
    )
}

/// What stands over the entries of a kind.
pub(super) const fn heading(kind: DiffKind) -> &'static str {
    match kind {
        DiffKind::Gone => "Gone",
        DiffKind::New => "New",
        DiffKind::Moved => "Moved",
        DiffKind::Status => "Other status",
        DiffKind::Redirect => "Redirects that lead elsewhere",
        DiffKind::Changed => "Changed",
        DiffKind::File => "Other files",
    }
}

/// What an entry is about, without its URLs: `12 pages: text in footer p`.
pub(super) fn title(entry: &DiffEntry) -> String {
    let pages = plural(entry.pages, "page");
    let between = || {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{} → {}", part(&entry.from), part(&entry.to))
    };
    match entry.kind {
        DiffKind::Gone | DiffKind::New => pages,
        DiffKind::Moved | DiffKind::Status | DiffKind::Redirect => {
            format!("{pages}: {}", between())
        }
        DiffKind::File if entry.from != entry.to => {
            format!("{}: {}", plural(entry.pages, "file"), between())
        }
        DiffKind::File => {
            let media = entry.to.as_deref().filter(|media| !media.is_empty());
            format!(
                "{} of {}",
                plural(entry.pages, "file"),
                media.unwrap_or("no type")
            )
        }
        DiffKind::Changed => {
            let varies = if entry.varies {
                ", other words on each"
            } else {
                ""
            };
            format!("{pages}: {}{varies}", layers(entry))
        }
    }
}

pub(super) fn layers(entry: &DiffEntry) -> String {
    let names: Vec<&str> = entry.layers.iter().map(|layer| layer.name()).collect();
    names.join(", ")
}

/// Where a page that is gone may be, or what a move is known by.
pub(super) fn whereto(entry: &DiffEntry) -> Option<String> {
    let reason = entry.reason?.about();
    match entry.certainty? {
        MoveCertainty::Sure => Some(reason.to_owned()),
        MoveCertainty::Likely => Some(format!(
            "likely {} ({reason})",
            entry.to.as_deref().unwrap_or_default()
        )),
    }
}

/// What an edit took and brought: words, then targets of links.
pub(super) fn lines(edit: &DiffEdit) -> (Vec<&str>, Vec<&str>) {
    let of = |words| Some(words).filter(|words: &&str| !words.is_empty());
    let removed = of(edit.removed.as_str()).into_iter();
    let added = of(edit.added.as_str()).into_iter();
    (
        removed
            .chain(edit.links_removed.iter().map(String::as_str))
            .collect(),
        added
            .chain(edit.links_added.iter().map(String::as_str))
            .collect(),
    )
}
