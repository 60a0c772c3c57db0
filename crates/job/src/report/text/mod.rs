//! The report for a terminal.
//!
//! Owns its layout: one block per question with its name in the margin, and the summary last,
//! where it stands on the screen when the crawl has ended. It refuses to know whether there is a
//! terminal: colour and width are arguments. Invariant: nothing foreign reaches the output
//! unescaped.

mod block;

use std::fmt;

use clewline_core::frontier::Trap;
use clewline_core::url::CrawlUrl;

use block::{About, BlockWriter, TextRow};

use super::{Broken, Ink, Report, Update, figures};
use crate::escape::visible;

/// How the text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether ANSI colours are wanted.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for TextStyle {
    fn default() -> Self {
        Self {
            colour: false,
            width: 80,
        }
    }
}

/// Rows of statuses, types and hosts.
const MOST_ROWS: usize = 10;

/// Broken targets that are named, and referrers for each.
const MOST_BROKEN: usize = 10;
const MOST_REFERRERS: usize = 3;

/// Roots and hosts that are named in a line.
const MOST_NAMES: usize = 3;

/// Writes the report for a terminal.
pub fn text(report: &Report, out: &mut dyn fmt::Write, style: TextStyle) -> fmt::Result {
    let mut page = BlockWriter::new(out, style);
    page.outcomes(report)?;
    page.update(report)?;
    page.statuses(report)?;
    page.types(report)?;
    page.failures(report)?;
    page.skipped(report)?;
    page.traps(report)?;
    page.guesses(report)?;
    page.rendering(report)?;
    page.slowest(report)?;
    page.run(report)?;
    page.notes(report)?;
    page.broken(report)?;
    page.end()?;
    page.summary(report)
}

impl BlockWriter<'_> {
    fn summary(&mut self, report: &Report) -> fmt::Result {
        let tally = &report.tally;
        let pages = figures::plural(tally.pages, "page");
        let seconds = figures::seconds(report.facts.seconds);
        let rate = figures::rate(report.pages_per_second());
        self.ink(
            Ink::Strong,
            &format!("{pages} in {seconds}, {rate} pages/s, "),
        )?;
        let ink = if tally.broken == 0 {
            Ink::Good
        } else {
            Ink::Bad
        };
        self.ink(ink, &format!("{} broken", figures::count(tally.broken)))?;
        self.end()?;
        let roots = report.facts.roots.iter().map(CrawlUrl::as_str);
        let mut line = names(roots);
        line = format!("{line} · {}", visible(&report.facts.stopped_by.to_string()));
        if let Some(folder) = &report.facts.folder {
            line = format!("{line} · {}", visible(&folder.to_string_lossy()));
        }
        self.ink(Ink::Faint, line.trim_start_matches(" · "))?;
        self.end()
    }

    fn outcomes(&mut self, report: &Report) -> fmt::Result {
        let done = report.tally.done;
        let outcomes = report.tally.outcomes.rows();
        let rows = outcomes.into_iter().filter(|(_, count)| *count > 0);
        let rows = rows.map(|(name, count)| TextRow {
            name: name.to_owned(),
            ink: match name {
                "failed" => Ink::Bad,
                "skipped" => Ink::Warn,
                _ => Ink::Plain,
            },
            count,
            about: About::Share(done),
        });
        self.block("outcomes", &rows.collect::<Vec<_>>())
    }

    fn update(&mut self, report: &Report) -> fmt::Result {
        let rows = report.update.iter().flat_map(Update::rows);
        let rows = rows.map(|(name, list, about)| TextRow {
            name: name.to_owned(),
            ink: Ink::Plain,
            count: list.count,
            about: About::Words(about),
        });
        self.block("update", &rows.collect::<Vec<_>>())
    }

    fn statuses(&mut self, report: &Report) -> fmt::Result {
        let whole = report.tally.statuses.values().sum();
        let mut rows: Vec<_> = report.tally.statuses.iter().collect();
        rows.sort_by_key(|(status, count)| (std::cmp::Reverse(**count), **status));
        let rows = rows.into_iter().map(|(status, count)| TextRow {
            name: status.to_string(),
            ink: if *status >= 400 { Ink::Bad } else { Ink::Plain },
            count: *count,
            about: About::Share(whole),
        });
        self.block("status", &folded(rows.collect(), 0, whole))
    }

    fn types(&mut self, report: &Report) -> fmt::Result {
        let tally = &report.tally;
        let whole = tally.types.values().sum::<u64>() + tally.other_types;
        let mut rows: Vec<_> = tally.types.iter().collect();
        rows.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let rows = rows.into_iter().map(|(name, count)| TextRow {
            name: visible(name).into_owned(),
            ink: Ink::Plain,
            count: *count,
            about: About::Share(whole),
        });
        self.block("types", &folded(rows.collect(), tally.other_types, whole))
    }

    fn failures(&mut self, report: &Report) -> fmt::Result {
        let rows = report.tally.failures.iter().map(|(class, count)| TextRow {
            name: class.name().to_owned(),
            ink: Ink::Bad,
            count: *count,
            about: About::Words(class.about()),
        });
        self.block("failures", &most(rows.collect()))
    }

    fn skipped(&mut self, report: &Report) -> fmt::Result {
        let blocks = [
            ("skipped", &report.tally.skipped),
            ("not queued", &report.tally.refused),
        ];
        for (title, reasons) in blocks {
            let rows = reasons.iter().map(|(reason, count)| TextRow {
                name: reason.name().to_owned(),
                ink: Ink::Warn,
                count: *count,
                about: About::Words(reason.about()),
            });
            self.block(title, &most(rows.collect()))?;
        }
        Ok(())
    }

    fn traps(&mut self, report: &Report) -> fmt::Result {
        let words: Vec<String> = report.facts.traps.iter().map(given_up).collect();
        let rows = report
            .facts
            .traps
            .iter()
            .zip(&words)
            .map(|(trap, words)| TextRow {
                name: visible(&trap.template).into_owned(),
                ink: Ink::Warn,
                count: trap.withheld.into(),
                about: About::Words(words),
            });
        let mut rows = most(rows.collect());
        rows.truncate(MOST_ROWS);
        self.block("withheld", &rows)
    }

    fn guesses(&mut self, report: &Report) -> fmt::Result {
        let guesses = report.tally.guesses;
        if guesses.tried == 0 {
            return Ok(());
        }
        self.open("scripts")?;
        self.line(Ink::Faint, &figures::guesses(guesses))
    }

    fn rendering(&mut self, report: &Report) -> fmt::Result {
        let Some(words) = figures::rendering(&report.tally) else {
            return Ok(());
        };
        self.open("JavaScript")?;
        let ink = if report.tally.rendered.done == 0 {
            Ink::Warn
        } else {
            Ink::Faint
        };
        self.line(ink, &words)
    }

    fn broken(&mut self, report: &Report) -> fmt::Result {
        if report.tally.broken == 0 {
            return Ok(());
        }
        self.open("broken")?;
        let shown = &report.broken[..report.broken.len().min(MOST_BROKEN)];
        let width = shown.iter().map(|broken| broken.what().len()).max();
        for broken in shown {
            self.one_broken(broken, width.unwrap_or(0))?;
        }
        let left = report.tally.broken.saturating_sub(shown.len() as u64);
        if left > 0 {
            self.line(Ink::Faint, &format!("and {} more", figures::count(left)))?;
        }
        Ok(())
    }

    fn one_broken(&mut self, broken: &Broken, width: usize) -> fmt::Result {
        self.margin()?;
        self.ink(Ink::Bad, &format!("{:<width$}", broken.what()))?;
        writeln!(self.out, "  {}", visible(broken.url.as_str()))?;
        let shown = broken.referrers.len().min(MOST_REFERRERS);
        for (page, kind) in &broken.referrers[..shown] {
            let page = visible(page.as_str());
            self.line(
                Ink::Faint,
                &format!("{:width$}  from {page} ({})", "", kind.name()),
            )?;
        }
        let left = broken.referrer_count.saturating_sub(shown as u64);
        if left > 0 {
            let more = format!("{:width$}  and {} more", "", figures::plural(left, "page"));
            self.line(Ink::Faint, &more)?;
        }
        Ok(())
    }

    fn slowest(&mut self, report: &Report) -> fmt::Result {
        if report.tally.hosts.len() < 2 || report.slowest_hosts.is_empty() {
            return Ok(());
        }
        self.open("slowest")?;
        for slow in report.slowest_hosts.iter().take(MOST_ROWS / 2) {
            let line = format!(
                "{:<28} {:>10} mean, {} at most, {}",
                visible(&slow.host),
                figures::millis(slow.mean),
                figures::millis(slow.most),
                figures::plural(slow.requests, "request"),
            );
            self.line(Ink::Plain, &line)?;
        }
        Ok(())
    }

    fn run(&mut self, report: &Report) -> fmt::Result {
        let (tally, facts) = (&report.tally, &report.facts);
        self.open("traffic")?;
        let traffic = format!(
            "{} over the network, {} decoded, {}/s",
            figures::bytes(tally.wire_bytes),
            figures::bytes(tally.body_bytes),
            figures::bytes((tally.wire_bytes as f64 / facts.seconds.max(0.001)) as u64),
        );
        self.line(Ink::Plain, &traffic)?;
        self.title = "in flight";
        let in_flight = format!(
            "{} at most, {} allowed",
            figures::count(facts.peak_in_flight.into()),
            figures::count(facts.concurrency.into()),
        );
        self.line(Ink::Plain, &in_flight)?;
        self.title = "URLs";
        let done = figures::count(tally.done);
        let todo = figures::count(facts.todo - facts.withheld.min(facts.todo));
        let mut urls = format!("{done} done, {todo} to do");
        if facts.withheld > 0 {
            let withheld = figures::count(facts.withheld);
            urls = format!("{urls}, {withheld} withheld (--no-trap-detection fetches them)");
        }
        self.line(Ink::Plain, &urls)
    }

    fn notes(&mut self, report: &Report) -> fmt::Result {
        let joined = report.facts.joined_hosts.iter().map(String::as_str);
        let joined = names(joined);
        self.title = "note";
        if !joined.is_empty() {
            let line = format!("{joined} joined the roots by redirect");
            self.line(Ink::Warn, &line)?;
        }
        for note in &report.facts.notes {
            self.line(Ink::Warn, &visible(note))?;
        }
        Ok(())
    }
}

/// Why the URLs of a template are withheld.
fn given_up(trap: &Trap) -> String {
    let alike = figures::plural(trap.alike.into(), "page");
    format!(
        "given up as a trap on {}, {alike} alike",
        visible(&trap.site)
    )
}

/// The largest first, all of them: the reasons are a closed list.
fn most(mut rows: Vec<TextRow<'_>>) -> Vec<TextRow<'_>> {
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

/// The first rows, and one for all the others.
fn folded(mut rows: Vec<TextRow<'_>>, mut other: u64, whole: u64) -> Vec<TextRow<'_>> {
    if rows.len() > MOST_ROWS {
        let rest = rows.drain(MOST_ROWS..);
        other += rest.map(|row| row.count).sum::<u64>();
    }
    if other > 0 {
        rows.push(TextRow {
            name: "other".to_owned(),
            ink: Ink::Plain,
            count: other,
            about: About::Share(whole),
        });
    }
    rows
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<_> = all.collect();
    let shown: Vec<_> = all
        .iter()
        .take(MOST_NAMES)
        .map(|name| visible(name))
        .collect();
    let mut line = shown.join(", ");
    if all.len() > MOST_NAMES {
        line = format!(
            "{line} and {} more",
            figures::count((all.len() - MOST_NAMES) as u64)
        );
    }
    line
}
