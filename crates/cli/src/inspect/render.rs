//! An inspection as people read it.
//!
//! Owns the words and the columns: a name in the margin for each section, one thing per line,
//! and what may be long at the end of its line. Pure: an inspection in, text out. Everything
//! foreign passes [`shown`].

use std::fmt::{self, Display, Write as _};

use clewline_job::inspection::{
    Conclusion, Hop, Inspection, JudgedLink, LinkVerdict, PageFacts, Phases, RobotsFile,
    RobotsState, RobotsVerdict,
};
use clewline_job::report::{Ink, figures};

use super::words::{
    charset_words, hint, hop_words, link_counts, phase, remark_words, robots_words, verdict_words,
};
use crate::message::shown;

/// Links that are listed unless all are asked for.
const MOST_LINKS: usize = 50;
/// Columns of the margin that holds a section's name.
const MARGIN: usize = 10;
/// Longer names of header fields do not push the others' values away.
const LONGEST_NAME: usize = 27;

/// The same for the paths that robots.txt judges.
const LONGEST_PATH: usize = 40;
/// Columns of the times: resolve, connect, tls, first byte, body, total.
const TIMES: [usize; 6] = [8, 10, 10, 12, 10, 10];

/// How an explanation is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RenderStyle {
    pub(super) in_colour: bool,
    pub(super) detail: Detail,
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// The header of the last answer, and the first links.
    Short,
    /// Everything.
    Whole,
}

/// Explains an inspection.
pub(super) fn text(seen: &Inspection, style: RenderStyle) -> String {
    let mut sheet = Sheet {
        text: String::new(),
        style,
        title: "",
    };
    sheet.summary(seen);
    sheet.hops(&seen.hops);
    sheet.headers(&seen.hops);
    sheet.robots(&seen.robots);
    if let Some(page) = &seen.page {
        sheet.page(page);
        sheet.links(page, &seen.links);
    }
    sheet.timings(seen);
    sheet.text
}

const fn ink_of_status(status: u16) -> Ink {
    match status {
        200..=299 => Ink::Good,
        300..=399 => Ink::Warn,
        _ => Ink::Bad,
    }
}

/// The paper, and the name of the section that its next line begins.
struct Sheet {
    text: String,
    style: RenderStyle,
    title: &'static str,
}

impl Sheet {
    fn ink(&self, ink: Ink, text: impl Display) -> String {
        let text = text.to_string();
        if self.style.in_colour {
            ink.paint(&text).into_owned()
        } else {
            text
        }
    }

    /// A gap, and a name for what follows.
    fn section(&mut self, title: &'static str) {
        self.text.push('\n');
        self.title = title;
    }

    fn line(&mut self, line: impl Display) {
        let title = std::mem::take(&mut self.title);
        let margin = self.ink(Ink::Strong, format_args!("{title:<MARGIN$}"));
        self.raw(format_args!("{margin}{line}"));
    }

    fn raw(&mut self, line: impl Display) {
        let line = line.to_string();
        // Padding in front of nothing is no use to anybody.
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    /// A name and its value.
    fn row(&mut self, name: &str, value: impl Display) {
        let name = self.ink(Ink::Faint, format_args!("{name:<11}"));
        self.line(format_args!("{name}{value}"));
    }

    fn summary(&mut self, seen: &Inspection) {
        let url = self.ink(Ink::Strong, &seen.url);
        self.raw(url);
        let ending = self.ending(seen);
        self.raw(ending);
        if let Conclusion::Skipped { reason, .. } = seen.conclusion
            && let Some(hint) = hint(reason)
        {
            let hint = self.ink(Ink::Faint, hint);
            self.raw(hint);
        }
        for remark in &seen.remarks {
            let remark = self.ink(Ink::Faint, remark_words(remark));
            self.raw(remark);
        }
    }

    fn ending(&self, seen: &Inspection) -> String {
        let words = match (&seen.conclusion, &seen.page) {
            (Conclusion::Fetched, Some(page)) => {
                let status = self.ink(ink_of_status(page.status), page.status);
                let kind = page.content_type.as_deref().unwrap_or("no type");
                let size = figures::bytes(page.body_bytes);
                let links = figures::plural(seen.links.len() as u64, "link");
                let time = figures::millis(seen.total);
                return format!("{status} · {} · {size} · {links} · {time}", shown(kind));
            }
            (Conclusion::Fetched, None) => "fetched".to_owned(),
            (Conclusion::Redirected { to, why }, _) => format!("not followed to {to}: {why}"),
            (Conclusion::Skipped { why, .. }, _) => format!("not fetched: {why}"),
            (Conclusion::Failed { failure, why }, _) => {
                format!("failed ({}): {why}", failure.name())
            }
        };
        self.ink(Ink::Bad, shown(&words))
    }

    fn hops(&mut self, hops: &[Hop]) {
        self.section("Hops");
        let address = |hop: &Hop| match hop.address {
            Some(address) => address.to_string(),
            None if hop.proxied => "proxy".to_owned(),
            None => String::new(),
        };
        let width = hops.iter().map(|hop| address(hop).chars().count()).max();
        let width = width.unwrap_or_default();
        for (number, hop) in hops.iter().enumerate() {
            let status = self.status(hop);
            let time = match hop.phases.total {
                None if hop.failure.is_none() => "not asked".to_owned(),
                total => phase(total),
            };
            let address = address(hop);
            let number = number + 1;
            self.line(format_args!(
                "{number:>2}  {status}  {time:>9}  {address:<width$}  {}",
                hop.url
            ));
            let indent = " ".repeat(2 + 2 + 3 + 2 + 9 + 2 + width + 2);
            for more in hop_words(hop) {
                let more = self.ink(Ink::Faint, shown(&more));
                self.line(format_args!("{indent}{more}"));
            }
        }
    }

    fn status(&self, hop: &Hop) -> String {
        match (hop.status, &hop.failure) {
            (Some(status), None) => self.ink(ink_of_status(status), status),
            (_, Some(_)) => self.ink(Ink::Bad, "ERR"),
            (None, None) => self.ink(Ink::Faint, "  –"),
        }
    }

    /// The header of the last answer; all of them if everything is told.
    fn headers(&mut self, hops: &[Hop]) {
        let answered: Vec<&Hop> = hops.iter().filter(|hop| hop.status.is_some()).collect();
        let first = match self.style.detail {
            Detail::Short => answered.len().saturating_sub(1),
            Detail::Whole => 0,
        };
        for hop in &answered[first..] {
            self.section("Headers");
            if answered.len() - first > 1 {
                let url = self.ink(Ink::Faint, &hop.url);
                self.line(url);
            }
            let length = |(name, _): &(String, String)| name.chars().count();
            let widest = hop.headers.iter().map(length).max().unwrap_or_default();
            let width = widest.min(LONGEST_NAME) + 2;
            for (name, value) in &hop.headers {
                let name = self.ink(Ink::Faint, format_args!("{:<width$}", shown(name)));
                self.line(format_args!("{name}{}", shown(value)));
            }
        }
    }

    fn robots(&mut self, files: &[RobotsFile]) {
        if files.is_empty() {
            return;
        }
        self.section("Robots");
        for file in files {
            self.line(format_args!(
                "{}/robots.txt {}",
                file.origin,
                robots_words(file)
            ));
            let length = |verdict: &RobotsVerdict| verdict.url.path_and_query().len();
            let widest = file.verdicts.iter().map(length).max().unwrap_or_default();
            for verdict in &file.verdicts {
                self.verdict(file, verdict, widest.min(LONGEST_PATH));
            }
            for sitemap in &file.sitemaps {
                self.row("sitemap", shown(sitemap));
            }
        }
    }

    fn verdict(&mut self, file: &RobotsFile, verdict: &RobotsVerdict, width: usize) {
        let (ink, word) = match (verdict.allowed, file.ignored) {
            (true, _) => (Ink::Good, "allowed"),
            (false, true) => (Ink::Warn, "ignored"),
            (false, false) => (Ink::Bad, "disallowed"),
        };
        let word = self.ink(ink, format_args!("{word:<11}"));
        let rule = match (verdict.line, &verdict.text) {
            (Some(line), Some(text)) => format!("line {line}: {text}"),
            _ if file.state == RobotsState::Found => "no rule matches".to_owned(),
            _ => String::new(),
        };
        let rule = self.ink(Ink::Faint, shown(&rule));
        let path = verdict.url.path_and_query();
        self.line(format_args!("{word}{path:<width$}  {rule}"));
    }

    fn page(&mut self, page: &PageFacts) {
        self.section("Page");
        let status = self.ink(ink_of_status(page.status), page.status);
        self.row("status", status);
        if let Some(kind) = &page.content_type {
            self.row("type", shown(kind));
        }
        if let Some(charset) = page.charset {
            let by = page.charset_by.map_or("", charset_words);
            self.row("charset", format_args!("{charset}{by}"));
        }
        if let Some(title) = &page.title {
            self.row("title", shown(title));
        }
        if let Some(canonical) = &page.canonical {
            let own = if *canonical == page.url {
                ", itself"
            } else {
                ""
            };
            self.row("canonical", format_args!("{canonical}{own}"));
        }
        if page.noindex || page.nofollow {
            let words = [(page.noindex, "noindex"), (page.nofollow, "nofollow")];
            let words: Vec<_> = words.iter().filter(|it| it.0).map(|it| it.1).collect();
            let words = self.ink(Ink::Warn, words.join(", "));
            self.row("robots", words);
        }
        let cut = if page.truncated { ", cut short" } else { "" };
        let (wire, body) = (
            figures::bytes(page.wire_bytes),
            figures::bytes(page.body_bytes),
        );
        self.row("size", format_args!("{body}{cut}, {wire} on the wire"));
        if let Some(digest) = &page.digest {
            self.row("digest", digest);
        }
        if let Some(problem) = &page.problem {
            let problem = self.ink(Ink::Warn, shown(problem));
            self.row("problem", problem);
        }
    }

    fn links(&mut self, page: &PageFacts, links: &[JudgedLink]) {
        if links.is_empty() && page.other_references == 0 {
            return;
        }
        self.section("Links");
        self.line(link_counts(links));
        for (count, what) in [
            (page.dropped_links, "more than one page may have"),
            (page.other_references, "not http or not a URL"),
        ] {
            if count > 0 {
                self.line(format_args!("{} {what}", figures::count(count)));
            }
        }
        let most = match self.style.detail {
            Detail::Short => MOST_LINKS,
            Detail::Whole => usize::MAX,
        };
        let listed = &links[..links.len().min(most)];
        let kinds = listed.iter().map(|link| link.kind.name().len()).max();
        let verdicts = listed.iter().map(|link| verdict_words(link).len()).max();
        let (kinds, verdicts) = (kinds.unwrap_or_default(), verdicts.unwrap_or_default());
        for link in listed {
            let ink = match link.verdict {
                LinkVerdict::Follow => Ink::Good,
                LinkVerdict::Known => Ink::Faint,
                LinkVerdict::Skip => Ink::Warn,
            };
            let verdict = self.ink(ink, format_args!("{:<verdicts$}", verdict_words(link)));
            let kind = link.kind.name();
            self.line(format_args!("{verdict}  {kind:<kinds$}  {}", link.url));
        }
        if links.len() > listed.len() {
            let more = figures::count((links.len() - listed.len()) as u64);
            let more = self.ink(Ink::Faint, format_args!("… and {more} more; -v lists all"));
            self.line(more);
        }
    }

    fn timings(&mut self, seen: &Inspection) {
        let robots = seen.robots.iter().flat_map(|file| &file.hops);
        let mut requests: Vec<&Hop> = seen.hops.iter().chain(robots).collect();
        requests.retain(|hop| hop.phases.total.is_some());
        if requests.is_empty() {
            return;
        }
        requests.sort_by(|left, right| left.started.total_cmp(&right.started));
        self.section("Timings");
        let names = ["resolve", "connect", "tls", "first byte", "body", "total"];
        let names = self.ink(Ink::Faint, Columns(names.map(str::to_owned)));
        self.line(names);
        for hop in requests {
            let columns = Columns(columns(&hop.phases));
            self.line(format_args!("{columns}  {}", hop.url));
        }
    }
}

/// Six figures, right-aligned.
struct Columns([String; 6]);

impl Display for Columns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (column, width) in self.0.iter().zip(TIMES) {
            write!(formatter, "{column:>width$}")?;
        }
        Ok(())
    }
}

fn columns(phases: &Phases) -> [String; 6] {
    [
        phases.resolve,
        phases.connect,
        phases.tls,
        phases.first_byte,
        phases.body,
        phases.total,
    ]
    .map(phase)
}
