//! The syntax of a robots.txt file, with the leniency of Google's parser.
//!
//! Owns lines, fields and groups; refuses to know how patterns match. Invariant: every byte is
//! looked at a bounded number of times, and only what applies to this crawler is kept.

use std::time::Duration;

use super::rules::{Draft, Kind, RuleSet};
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

pub(super) fn parse(body: &[u8], agents: &[&str]) -> Robots {
    let mut reader = Reader::new(agents);
    let mut rest = skip_byte_order_mark(readable(body));
    let mut number = 0;
    while !rest.is_empty() {
        let (line, behind) = split_line(rest);
        number += 1;
        reader.line(number, line);
        rest = behind;
    }
    reader.finish()
}

/// The part of the file that is read. A line cut in two would say something else, often more
/// than was meant, so the last line of a part is left out.
fn readable(body: &[u8]) -> &[u8] {
    let Some(part) = body.get(..MAX_BYTES).filter(|part| part.len() < body.len()) else {
        return body;
    };
    let end = part.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    &part[..end.unwrap_or(0)]
}

/// Skips a byte order mark, even one that is cut short.
fn skip_byte_order_mark(body: &[u8]) -> &[u8] {
    let marks = body
        .iter()
        .zip(BYTE_ORDER_MARK)
        .take_while(|(byte, mark)| byte == mark);
    &body[marks.count()..]
}

fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(end) = text.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        return (text, &[]);
    };
    let behind = if text[end..].starts_with(b"\r\n") {
        end + 2
    } else {
        end + 1
    };
    (&text[..end], &text[behind..])
}

/// What a group asks for.
#[derive(Default)]
struct Group<'a> {
    rules: Vec<Draft<'a>>,
    crawl_delay: Option<Duration>,
}

struct Reader<'a, 'n> {
    agents: &'n [&'n str],
    /// The groups that name this crawler, and the first name they use.
    named: Group<'a>,
    name: Option<&'n str>,
    /// The groups for every crawler.
    any: Option<Group<'a>>,
    sitemaps: Vec<String>,
    /// Whom the group that is being read addresses.
    to_named: bool,
    to_any: bool,
    /// A rule has been read, so that the next `User-agent` begins a new group.
    rule_seen: bool,
}

impl<'a, 'n> Reader<'a, 'n> {
    fn new(agents: &'n [&'n str]) -> Self {
        Self {
            agents,
            named: Group::default(),
            name: None,
            any: None,
            sitemaps: Vec::new(),
            to_named: false,
            to_any: false,
            rule_seen: false,
        }
    }

    fn line(&mut self, number: u32, line: &'a [u8]) {
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
            self.any.get_or_insert_default();
            return;
        }
        let token = product_token(value);
        let is_named = |agent: &&&str| token.eq_ignore_ascii_case(agent.as_bytes());
        if let Some(agent) = self
            .agents
            .iter()
            .find(is_named)
            .filter(|_| !token.is_empty())
        {
            self.to_named = true;
            self.name.get_or_insert(agent);
        }
    }

    /// The group that takes what is read now, if it concerns this crawler.
    fn group(&mut self) -> Option<&mut Group<'a>> {
        match (self.to_named, self.to_any) {
            (true, _) => Some(&mut self.named),
            // Once the crawler was named, what is said to all is of no more use.
            (false, true) if self.name.is_none() => self.any.as_mut(),
            _ => None,
        }
    }

    fn rule(&mut self, line: u32, kind: Kind, text: &'a [u8], value: &'a [u8]) {
        self.rule_seen = true;
        let Some(group) = self.group() else {
            return;
        };
        let written = pattern::normalise(value);
        let Some(weight) = u16::try_from(written.len())
            .ok()
            .filter(|&weight| weight > 0)
        else {
            return;
        };
        let text = String::from_utf8_lossy(text);
        let folder = folder_of_index(&written).filter(|_| kind == Kind::Allow);
        if let Some(folder) = folder.map(str::to_owned) {
            group.rules.push(Draft {
                line,
                kind,
                weight: folder.len() as u16 + 1,
                tail: pattern::Tail::Anchored,
                pattern: pattern::compile(folder.into()).0,
                text: text.clone(),
            });
        }
        let (pattern, tail) = pattern::compile(written);
        group.rules.push(Draft {
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
            group: self.name.or(any_name).map(Box::from),
            rules: RuleSet::build(group.rules),
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
