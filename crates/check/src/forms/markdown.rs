//! Findings in Markdown, for the comment of a pull request and for the summary of a step.
//!
//! Owns the layout and its limit. It begins with a comment by which a workflow finds its own comment
//! again. Invariants: foreign text is never markup, mentions nobody and refers to no issue, and the
//! page is never longer than its limit; what is left out is counted.

use std::borrow::Cow;
use std::fmt::Write as _;

use clewline_job::escape;
use clewline_job::report::figures::{count, plural};

use super::groups::{IssueEntry, RuleGroup, Wanted, by_rule};
use super::words::{MOST_SHOWN, place, sentence, shortened};
use crate::report::{CheckOutcome, CheckPointers, CheckReport, JudgedFinding};
use crate::rule::Severity;

/// The longest comment on GitHub is 65,536 characters.
pub(super) const MOST_BYTES: usize = 64 * 1024;
/// What the end of a page may take.
const MOST_END: usize = 2_048;
/// Pages of an entry.
const MOST_PAGES: usize = 10;
/// Reasons and remarks.
const MOST_REMARKS: usize = 10;
/// By this a workflow finds the comment that it wrote before.
const MARK: &str = "<!-- clewline check -->";

/// The page, no longer than some bytes.
pub(super) fn page(report: &CheckReport, pointers: &CheckPointers, most: usize) -> String {
    let mut page = MarkdownPage {
        text: String::new(),
        room: most.saturating_sub(MOST_END),
        left: 0,
    };
    page.head(report);
    for group in by_rule(report, Wanted::New) {
        page.group(&group);
    }
    page.end(report, pointers)
}

struct MarkdownPage {
    text: String,
    /// Bytes that all but the end may take.
    room: usize,
    /// Entries that had no room.
    left: u64,
}

impl MarkdownPage {
    /// Adds a part, if there is room for all of it.
    fn push(&mut self, part: &str) -> bool {
        let fits = self.left == 0 && self.text.len() + part.len() <= self.room;
        if fits {
            self.text.push_str(part);
        }
        fits
    }

    fn head(&mut self, report: &CheckReport) {
        let sign = match report.outcome() {
            CheckOutcome::Passed => "✅",
            CheckOutcome::Failed => "❌",
            CheckOutcome::Unfinished => "⚠️",
        };
        let mut head = format!("{MARK}\n### {sign} {}\n\n", words(&sentence(report)));
        for reason in report.unfinished().iter().take(MOST_REMARKS) {
            let _ = writeln!(head, "Not finished: {}\n", words(reason));
        }
        head.push_str("| | new | known |\n|---|--:|--:|\n");
        for severity in [Severity::Error, Severity::Warning, Severity::Notice] {
            let found = report.count(severity);
            let name = severity.name();
            let (new, known) = (count(found.new), count(found.known));
            let _ = writeln!(head, "| {} {name}s | {new} | {known} |", shape(severity));
        }
        self.push(&head);
    }

    fn group(&mut self, group: &RuleGroup<'_>) {
        let title = format!(
            "\n#### {} `{}`: {} ({})\n\n",
            shape(group.severity),
            group.rule.id,
            words(group.rule.summary),
            count(group.count.new)
        );
        if group.severity == Severity::Notice {
            // A notice is no reason to read on; its rule is named.
            if !self.push(&title) {
                self.left += group.entries.len() as u64;
            }
            return;
        }
        let mut title = Some(title);
        for entry in &group.entries {
            let mut part = title.take().unwrap_or_default();
            part.push_str(&written(entry));
            if !self.push(&part) {
                self.left += 1;
            }
        }
    }

    fn end(mut self, report: &CheckReport, pointers: &CheckPointers) -> String {
        let mut end = String::from("\n");
        if self.left > 0 {
            let _ = writeln!(
                end,
                "There was no room for {}.\n",
                plural(self.left, "more entry").replace("entrys", "entries")
            );
        }
        let gone = report.gone.as_ref().map_or(0, Vec::len) as u64;
        if gone > 0 {
            let _ = writeln!(
                end,
                "{} of the baseline no longer occur; update it with `--update-baseline`.\n",
                plural(gone, "finding")
            );
        }
        let facts = &report.facts;
        let _ = write!(
            end,
            "{} and {} checked, {} not asked, {} ignored.",
            plural(facts.pages, "page"),
            plural(facts.links(), "link"),
            count(facts.unchecked()),
            plural(report.ignored, "finding"),
        );
        if let Some(path) = &pointers.report {
            let path = shortened(&path.to_string_lossy(), MOST_SHOWN).into_owned();
            let _ = write!(end, " Report: {}", code(&path));
        }
        end.push('\n');
        if end.len() <= MOST_END {
            self.text.push_str(&end);
        }
        self.text
    }
}

/// An entry, with the pages on which it stands.
fn written(entry: &IssueEntry<'_>) -> String {
    let finding = &entry.first().finding;
    let mut out = if entry.is_of_page() {
        format!("- {} {}", on_page(entry.first()), words(&finding.evidence))
    } else {
        let about = shortened(entry.about(), MOST_SHOWN);
        format!("- {} {}", code(&about), words(&finding.evidence))
    };
    if let Some(mend) = &finding.mend {
        let _ = write!(out, "; write {}", code(&shortened(mend, MOST_SHOWN)));
    }
    out.push('\n');
    let mut named = 1;
    if !entry.is_of_page() {
        named = 0;
        for one in entry.findings.iter().take(MOST_PAGES) {
            named += 1;
            let _ = write!(out, "  - {}", on_page(one));
            let text = one.finding.place.as_ref().map(|place| &*place.text);
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                let _ = write!(out, " {}", words(&shortened(text, MOST_SHOWN)));
            }
            out.push('\n');
        }
    }
    let left = entry.count.new.saturating_sub(named);
    if left > 0 {
        let _ = writeln!(out, "  - and on {}", plural(left, "other page"));
    }
    out
}

/// Where a finding stands: a file as it is, a page as a link.
fn on_page(one: &JudgedFinding) -> String {
    let place = place(one);
    let shown = shortened(&place, MOST_SHOWN);
    match &one.file {
        Some(_) => code(&shown),
        None => format!(
            "[{}](<{}>)",
            words(&shown),
            target(one.finding.page.as_str())
        ),
    }
}

/// A URL as the target of a link. It is canonical, so little is left that could end it.
fn target(url: &str) -> Cow<'_, str> {
    if url.len() > MOST_SHOWN * 4 {
        return Cow::Borrowed("");
    }
    let is_plain = |c: char| !matches!(c, '<' | '>' | '\\' | '"' | '&') && !escape::is_steering(c);
    if url.chars().all(is_plain) {
        return Cow::Borrowed(url);
    }
    Cow::Owned(escape::html(url).replace('\\', "%5C"))
}

/// Text between two rows of grave accents that are longer than any in it (`CommonMark` 0.31, 6.1).
fn code(text: &str) -> String {
    let text = escape::visible(text).replace('|', "\u{2223}");
    let mut longest = 0;
    let mut row = 0;
    for character in text.chars() {
        row = if character == '`' { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    let fence = "`".repeat(longest + 1);
    let is_padded = text.starts_with('`') || text.ends_with('`') || text.is_empty();
    let pad = if is_padded { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Text as text: markup is written out, and nobody is mentioned.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for character in escape::visible(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '|' | '~' | '!' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    // What follows these would become a link by itself.
    out.replace("://", ":&#47;/").replace("www.", "www&#46;")
}

const fn shape(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "■",
        Severity::Warning => "▲",
        Severity::Notice => "●",
    }
}
