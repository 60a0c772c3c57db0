//! The syntax of a robots.txt file, with the leniency of Google's parser.
//!
//! Owns lines, fields and groups; refuses to know how patterns match. Invariant: every byte is
//! looked at a bounded number of times, only what applies to this crawler is kept, and however the
//! file is cut into pieces, it says the same.

use std::time::Duration;

use super::rules::{Builder, Kind, RuleDraft};
use super::{MAX_BYTES, MAX_LINE_BYTES, MAX_SITEMAP_BYTES, MAX_SITEMAPS, Robots, pattern};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The names by which a field is known; a name may go on, as in `disallowed`.
const FIELDS: &[(&str, Field)] = &[
    ("user-agent", Field::UserAgent),
    ("useragent", Field::UserAgent),
    ("user agent", Field::UserAgent),
    ("allow", Field::Rule(Kind::Allow)),
    ("disallow", Field::Rule(Kind::Disallow)),
    ("dissallow", Field::Rule(Kind::Disallow)),
    ("dissalow", Field::Rule(Kind::Disallow)),
    ("disalow", Field::Rule(Kind::Disallow)),
    ("diasllow", Field::Rule(Kind::Disallow)),
    ("disallaw", Field::Rule(Kind::Disallow)),
    ("crawl-delay", Field::CrawlDelay),
    ("crawldelay", Field::CrawlDelay),
    ("crawl delay", Field::CrawlDelay),
    ("sitemap", Field::Sitemap),
    ("site-map", Field::Sitemap),
];

#[derive(Clone, Copy)]
enum Field {
    UserAgent,
    Rule(Kind),
    CrawlDelay,
    Sitemap,
}

/// Reads a robots.txt as it arrives.
///
/// ```
/// use clewline_core::robots::{Robots, RobotsReader};
///
/// let mut reader = RobotsReader::new(&["clewline"]);
/// reader.feed(b"User-agent: *\nDisall");
/// reader.feed(b"ow: /private\n");
/// let whole = Robots::parse(b"User-agent: *\nDisallow: /private\n", &["clewline"]);
/// assert_eq!(reader.finish(), whole);
/// ```
#[derive(Debug)]
pub struct RobotsReader {
    /// Bytes that were taken so far.
    taken: usize,
    /// How much of a byte order mark the file began with, as long as it may go on.
    mark: Option<usize>,
    /// The beginning of a line whose end has not come yet, up to [`MAX_LINE_BYTES`].
    line: Vec<u8>,
    /// A line has begun that has not ended.
    has_line: bool,
    /// The last byte was a carriage return: a line feed after it ends no other line.
    is_after_return: bool,
    number: u32,
    groups: Groups,
}

impl RobotsReader {
    /// A reader for a crawler that answers to any of these product tokens.
    pub fn new(agents: &[&str]) -> Self {
        Self {
            taken: 0,
            mark: Some(0),
            line: Vec::new(),
            has_line: false,
            is_after_return: false,
            number: 0,
            groups: Groups::new(agents),
        }
    }

    /// The next piece of the file; what lies beyond [`MAX_BYTES`] is not read.
    pub fn feed(&mut self, piece: &[u8]) {
        let room = MAX_BYTES + 1 - self.taken;
        let is_cut = piece.len() >= room;
        let mut rest = &piece[..piece.len().min(room)];
        self.taken += rest.len();
        if is_cut {
            // The one byte too many only says that the file goes on.
            rest = &rest[..rest.len().saturating_sub(1)];
        }
        rest = self.skip_byte_order_mark(rest);
        while !rest.is_empty() {
            if std::mem::take(&mut self.is_after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            self.take(&rest[..end.unwrap_or(rest.len())]);
            let Some(end) = end else {
                return;
            };
            self.is_after_return = rest[end] == b'\r';
            self.end_line();
            rest = &rest[end + 1..];
        }
    }

    /// About how many bytes are held.
    pub fn held(&self) -> usize {
        self.line.capacity() + self.groups.held()
    }

    /// The file has ended.
    pub fn finish(mut self) -> Robots {
        if self.has_line && self.taken <= MAX_BYTES {
            self.end_line();
        }
        self.groups.finish()
    }

    /// The file was cut off. A line cut in two would say something else, often more than was
    /// meant, so the last line is left out.
    pub fn finish_cut(self) -> Robots {
        self.groups.finish()
    }

    /// Skips a byte order mark, even one that is cut short.
    fn skip_byte_order_mark<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let Some(seen) = self.mark else {
            return piece;
        };
        let marks = piece.iter().zip(&BYTE_ORDER_MARK[seen..]);
        let count = marks.take_while(|(byte, mark)| byte == mark).count();
        let is_over = count < piece.len() || seen + count == BYTE_ORDER_MARK.len();
        self.mark = (!is_over).then_some(seen + count);
        &piece[count..]
    }

    fn take(&mut self, part: &[u8]) {
        self.has_line |= !part.is_empty();
        let room = MAX_LINE_BYTES - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn end_line(&mut self) {
        self.number += 1;
        self.groups.line(self.number, &self.line);
        self.line.clear();
        self.has_line = false;
    }
}

/// What a group asks for.
#[derive(Debug, Default)]
struct Group {
    rules: Builder,
    crawl_delay: Option<Duration>,
}

/// The groups that may concern this crawler.
#[derive(Debug)]
struct Groups {
    agents: Vec<Box<str>>,
    /// The groups that name this crawler, and the first name they use.
    named: Group,
    name: Option<Box<str>>,
    /// The groups for every crawler.
    any: Option<Group>,
    sitemaps: Vec<String>,
    /// Whom the group that is being read addresses.
    to_named: bool,
    to_any: bool,
    /// A rule has been read, so that the next `User-agent` begins a new group.
    rule_seen: bool,
}

impl Groups {
    fn new(agents: &[&str]) -> Self {
        Self {
            agents: agents.iter().copied().map(Box::from).collect(),
            named: Group::default(),
            name: None,
            any: None,
            sitemaps: Vec::new(),
            to_named: false,
            to_any: false,
            rule_seen: false,
        }
    }

    fn held(&self) -> usize {
        let any = self.any.as_ref().map_or(0, |any| any.rules.held());
        let sitemaps: usize = self.sitemaps.iter().map(String::capacity).sum();
        any + self.named.rules.held() + sitemaps
    }

    fn line(&mut self, number: u32, line: &[u8]) {
        let text = without_comment(&line[..line.len().min(MAX_LINE_BYTES)]).trim_ascii();
        let Some((field, value)) = split_field(text) else {
            return;
        };
        match field {
            Field::UserAgent => self.user_agent(value),
            Field::Rule(kind) => self.rule(number, kind, text, value),
            // RFC 9309 section 2.2.4: records of other kinds must not end a group. So a delay is
            // that of the crawlers named so far, and the rules below it still address them.
            Field::CrawlDelay => self.crawl_delay(value),
            Field::Sitemap => self.sitemap(value),
        }
    }

    fn user_agent(&mut self, value: &[u8]) {
        if self.rule_seen {
            (self.to_named, self.to_any, self.rule_seen) = (false, false, false);
        }
        if let [b'*'] | [b'*', b' ' | b'\t', ..] = value {
            self.to_any = true;
            if self.name.is_none() {
                self.any.get_or_insert_default();
            }
            return;
        }
        let token = product_token(value);
        let named = self
            .agents
            .iter()
            .find(|agent| token.eq_ignore_ascii_case(agent.as_bytes()));
        if let Some(agent) = named.filter(|_| !token.is_empty()) {
            self.to_named = true;
            self.name.get_or_insert_with(|| agent.clone());
            // Once the crawler was named, what is said to all is of no more use.
            self.any = None;
        }
    }

    /// The group that takes what is read now, if it concerns this crawler.
    fn group(&mut self) -> Option<&mut Group> {
        match (self.to_named, self.to_any) {
            (true, _) => Some(&mut self.named),
            (false, true) => self.any.as_mut(),
            (false, false) => None,
        }
    }

    fn rule(&mut self, line: u32, kind: Kind, text: &[u8], value: &[u8]) {
        self.rule_seen = true;
        let Some(group) = self.group() else {
            return;
        };
        let written = pattern::written(value);
        let Some(weight) = u16::try_from(written.len())
            .ok()
            .filter(|&weight| weight > 0)
        else {
            return;
        };
        let text = String::from_utf8_lossy(text);
        let folder = folder_of_index(&written).filter(|_| kind == Kind::Allow);
        if let Some(folder) = folder.map(str::to_owned) {
            group.rules.push(RuleDraft {
                line,
                kind,
                weight: folder.len() as u16 + 1,
                tail: pattern::Tail::Anchored,
                pattern: pattern::compile(folder.into()).0,
                text: text.clone(),
            });
        }
        let (pattern, tail) = pattern::compile(written);
        group.rules.push(RuleDraft {
            line,
            kind,
            weight,
            tail,
            pattern,
            text,
        });
    }

    fn crawl_delay(&mut self, value: &[u8]) {
        let delay = parse_delay(value);
        if let Some(group) = self.group() {
            group.crawl_delay = group.crawl_delay.max(delay);
        }
    }

    fn sitemap(&mut self, value: &[u8]) {
        if self.sitemaps.len() < MAX_SITEMAPS && (1..=MAX_SITEMAP_BYTES).contains(&value.len()) {
            self.sitemaps
                .push(String::from_utf8_lossy(value).into_owned());
        }
    }

    fn finish(self) -> Robots {
        let any_name = self.any.is_some().then_some("*");
        let group = match self.name {
            Some(_) => self.named,
            None => self.any.unwrap_or_default(),
        };
        Robots {
            group: self.name.or(any_name.map(Box::from)),
            rules: group.rules.finish(),
            otherwise: Kind::Allow,
            crawl_delay: group.crawl_delay,
            sitemaps: self.sitemaps,
        }
    }
}

fn without_comment(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == b'#').next().unwrap_or(line)
}

/// Splits at the colon, or, where it was forgotten, at the blanks between exactly two words.
fn split_field(text: &[u8]) -> Option<(Field, &[u8])> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let colon = text.iter().position(|&byte| byte == b':');
    let end = colon.or_else(|| text.iter().position(is_blank))?;
    let (name, value) = (text[..end].trim_ascii(), text[end + 1..].trim_ascii());
    if colon.is_none() && value.iter().any(is_blank) {
        return None;
    }
    let is_called = |called: &str| {
        name.get(..called.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(called.as_bytes()))
    };
    let (_, field) = FIELDS.iter().find(|(called, _)| is_called(called))?;
    Some((*field, value))
}

/// The product token at the start of a user agent (RFC 9309 section 2.2.1): `foobot/1.0` means
/// `foobot`.
fn product_token(value: &[u8]) -> &[u8] {
    let in_token = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    let end = value.iter().position(|byte| !in_token(byte));
    &value[..end.unwrap_or(value.len())]
}

/// To allow `/folder/index.html` is to allow `/folder/` itself, as Google has it.
fn folder_of_index(pattern: &str) -> Option<&str> {
    let slash = pattern.rfind('/')?;
    pattern[slash..]
        .starts_with("/index.htm")
        .then(|| &pattern[..=slash])
}

/// A number of seconds, perhaps with a fraction; words after it are ignored, and anything but
/// plain digits is nonsense.
fn parse_delay(value: &[u8]) -> Option<Duration> {
    let number = value.split(u8::is_ascii_whitespace).next()?;
    if !number
        .iter()
        .all(|byte| byte.is_ascii_digit() || *byte == b'.')
    {
        return None;
    }
    let seconds: f64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds.min(f64::from(u32::MAX))).ok()
}
