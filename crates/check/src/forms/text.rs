//! Findings for a terminal.
//!
//! Owns the layout: errors, then warnings, ten entries for each rule, notices as one count, and at
//! the end the verdict, the report and the next command. Invariants: nothing foreign reaches the
//! output unescaped, and the last three lines are always those three.

use std::io::{self, Write};

use clewline_job::escape::visible;
use clewline_job::report::figures::{count, plural};
use clewline_job::report::{Ink, TextStyle};

use super::FormContext;
use super::groups::{IssueEntry, RuleGroup, Wanted, by_rule};
use super::words::{MOST_SHOWN, place, sentence, shortened};
use crate::report::{CheckOutcome, CheckReport, JudgedFinding};
use crate::rule::Severity;

/// Entries of a rule.
const MOST_ENTRIES: usize = 10;
/// Pages of an entry.
const MOST_PAGES: usize = 3;
/// Entries of the baseline that are gone, and remarks.
const MOST_REMARKS: usize = 10;

pub(super) fn write(
    report: &CheckReport,
    context: &FormContext,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = TextPage {
        out,
        style: context.style,
    };
    let groups = by_rule(report, Wanted::New);
    for group in groups
        .iter()
        .filter(|group| group.severity != Severity::Notice)
    {
        page.group(group)?;
    }
    page.notices(&groups)?;
    page.remarks(report)?;
    page.verdict(report)?;
    page.pointers(report, context)
}

struct TextPage<'a> {
    out: &'a mut dyn Write,
    style: TextStyle,
}

impl TextPage<'_> {
    fn ink(&mut self, ink: Ink, text: &str) -> io::Result<()> {
        if self.style.colour {
            write!(self.out, "{}", ink.paint(text))
        } else {
            self.out.write_all(text.as_bytes())
        }
    }

    fn group(&mut self, group: &RuleGroup<'_>) -> io::Result<()> {
        let ink = if group.severity == Severity::Error {
            Ink::Bad
        } else {
            Ink::Warn
        };
        let (severity, id) = (group.severity.name(), group.rule.id);
        let found = count(group.count.new);
        self.ink(ink, &format!("{severity:<8}"))?;
        self.ink(Ink::Strong, id)?;
        let used = 8 + id.len() + 2 + found.len() + 2;
        let room = self.style.width.saturating_sub(used);
        let summary = group.rule.summary;
        if summary.chars().count() <= room {
            let gap = room - summary.chars().count();
            writeln!(self.out, "  {summary}{:gap$}  {found}", "")?;
        } else {
            writeln!(self.out, "  {found}")?;
            self.wrapped(8, summary)?;
        }
        for entry in group.entries.iter().take(MOST_ENTRIES) {
            self.entry(entry)?;
        }
        let left = group.entries.len().saturating_sub(MOST_ENTRIES);
        if left > 0 {
            self.ink(Ink::Faint, &format!("  and {} more", count(left as u64)))?;
            writeln!(self.out)?;
        }
        writeln!(self.out)
    }

    fn entry(&mut self, entry: &IssueEntry<'_>) -> io::Result<()> {
        let finding = &entry.first().finding;
        let about = if entry.is_of_page() {
            place(entry.first())
        } else {
            entry.about().to_owned()
        };
        let about = foreign(&about);
        let evidence = visible(&finding.evidence).into_owned();
        let length = 2 + about.chars().count() + 2 + evidence.chars().count();
        write!(self.out, "  {about}")?;
        if length <= self.style.width {
            writeln!(self.out, "  {evidence}")?;
        } else {
            writeln!(self.out)?;
            self.wrapped(4, &evidence)?;
        }
        if let Some(mend) = &finding.mend {
            writeln!(self.out, "    write {}", foreign(mend))?;
        }
        if entry.is_of_page() {
            self.more_pages(entry.count.new - 1)
        } else {
            self.pages(entry)
        }
    }

    fn pages(&mut self, entry: &IssueEntry<'_>) -> io::Result<()> {
        let mut named = 0;
        for one in entry.findings.iter().take(MOST_PAGES) {
            named += 1;
            self.page(one)?;
        }
        self.more_pages(entry.count.new.saturating_sub(named))
    }

    fn page(&mut self, one: &JudgedFinding) -> io::Result<()> {
        let place = foreign(&place(one));
        self.ink(Ink::Faint, "    on ")?;
        write!(self.out, "{place}")?;
        let text = one.finding.place.as_ref();
        let text = text.map(|place| place.text.as_str()).unwrap_or_default();
        if text.is_empty() {
            return writeln!(self.out);
        }
        let room = self
            .style
            .width
            .saturating_sub(7 + place.chars().count() + 4);
        let words = visible(text);
        if room >= 12 {
            let words = shortened(&words, room).into_owned();
            self.ink(Ink::Faint, &format!("  \"{words}\""))?;
        }
        writeln!(self.out)
    }

    fn more_pages(&mut self, left: u64) -> io::Result<()> {
        if left == 0 {
            return Ok(());
        }
        let line = format!("    and on {}", plural(left, "other page"));
        self.ink(Ink::Faint, &line)?;
        writeln!(self.out)
    }

    fn notices(&mut self, groups: &[RuleGroup<'_>]) -> io::Result<()> {
        let notices = groups
            .iter()
            .filter(|group| group.severity == Severity::Notice);
        let (mut found, mut rules) = (0, 0);
        for group in notices {
            found += group.count.new;
            rules += 1;
        }
        if found == 0 {
            return Ok(());
        }
        let line = format!("{} of {}", plural(found, "notice"), plural(rules, "rule"));
        self.ink(Ink::Faint, &line)?;
        writeln!(self.out, "\n")
    }

    fn remarks(&mut self, report: &CheckReport) -> io::Result<()> {
        let gone = report.gone.iter().flatten();
        let gone = gone.map(|entry| format!("no longer found: {}", entry.line()));
        let mut lines: Vec<String> = Vec::new();
        for list in [gone.collect::<Vec<_>>(), report.facts.remarks.clone()] {
            let left = list.len().saturating_sub(MOST_REMARKS);
            lines.extend(list.into_iter().take(MOST_REMARKS));
            if left > 0 {
                lines.push(format!("and {} more", count(left as u64)));
            }
        }
        for line in &lines {
            self.wrapped(0, &foreign(line))?;
        }
        if !lines.is_empty() {
            writeln!(self.out)?;
        }
        for reason in report.unfinished() {
            self.ink(Ink::Warn, "not finished: ")?;
            writeln!(self.out, "{}", visible(&reason))?;
        }
        Ok(())
    }

    /// The first of the last three lines. It is one line however long it becomes.
    fn verdict(&mut self, report: &CheckReport) -> io::Result<()> {
        let ink = match report.outcome() {
            CheckOutcome::Passed => Ink::Good,
            CheckOutcome::Failed => Ink::Bad,
            CheckOutcome::Unfinished => Ink::Warn,
        };
        self.ink(ink, &sentence(report))?;
        let known: u64 = report
            .findings
            .iter()
            .filter(|one| one.known)
            .map(|one| one.finding.count)
            .sum();
        let more = [
            (known, "known"),
            (report.ignored, "ignored"),
            (report.facts.unchecked(), "unchecked"),
        ];
        for (number, word) in more.into_iter().filter(|(number, _)| *number > 0) {
            write!(self.out, " · {} {word}", count(number))?;
        }
        writeln!(self.out)
    }

    fn pointers(&mut self, report: &CheckReport, context: &FormContext) -> io::Result<()> {
        let pointers = &context.pointers;
        match &pointers.report {
            Some(path) => writeln!(self.out, "report: {}", visible(&path.to_string_lossy()))?,
            None => writeln!(
                self.out,
                "report: none; --report html=report.html writes one"
            )?,
        }
        let next = pointers.next.clone().unwrap_or_else(|| next(report));
        writeln!(self.out, "next: {}", visible(&next))
    }

    /// Words in as many lines as they need; a word is never cut.
    fn wrapped(&mut self, indent: usize, text: &str) -> io::Result<()> {
        let room = self.style.width.saturating_sub(indent).max(20);
        let mut line = String::new();
        for word in text.split(' ') {
            let length = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && length > room {
                writeln!(self.out, "{:indent$}{line}", "")?;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        writeln!(self.out, "{:indent$}{line}", "")
    }
}

/// What to do next where nobody knows better.
fn next(report: &CheckReport) -> String {
    match report.findings.iter().find(|one| !one.known) {
        Some(one) => format!("clewline check --explain {}", one.finding.rule.id),
        None => "clewline check --list-rules".to_owned(),
    }
}

/// Foreign text in a line of its own.
fn foreign(text: &str) -> String {
    visible(&shortened(text, MOST_SHOWN)).into_owned()
}
