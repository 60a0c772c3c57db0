//! Two indexes side by side: what is new, changed, unchanged and gone.
//!
//! Owns the merge of two sorted files, key by key. Invariant: what is held is the captures of
//! one key and a bounded number of URLs for each list, whatever the size of the crawls.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::iter::Peekable;
use std::path::Path;

use clewline_warc::cdxj::{Capture, LONGEST_LINE};

use crate::report::Update;

/// URLs that share a key and are told apart; more than a few are an attack.
const MOST_SPELLINGS: usize = 1_000;

/// What a crawl saw last at a URL.
#[derive(Debug, Default, Clone)]
struct Seen {
    status: u16,
    digest: String,
}

impl Seen {
    fn is_there(&self) -> bool {
        (200..400).contains(&self.status)
    }

    fn is_gone(&self) -> bool {
        matches!(self.status, 404 | 410)
    }
}

/// Whether all that could be found was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// It was.
    Whole,
    /// The crawl was stopped: what is missing may be there.
    Part,
}

/// Compares the index of an archive with that of an earlier one.
pub fn compare(before: &Path, now: &Path, extent: Extent) -> io::Result<Update> {
    let mut before = Keys::open(before)?.peekable();
    let mut after = Keys::open(now)?.peekable();
    let mut update = Update::default();
    loop {
        let (old, new) = next_pair(&mut before, &mut after)?;
        if old.is_empty() && new.is_empty() {
            return Ok(update);
        }
        for (url, seen) in &old {
            judge(url, Some(seen), new.get(url), extent, &mut update);
        }
        for (url, seen) in new.iter().filter(|(url, _)| !old.contains_key(*url)) {
            judge(url, None, Some(seen), extent, &mut update);
        }
    }
}

fn judge(
    url: &str,
    before: Option<&Seen>,
    now: Option<&Seen>,
    extent: Extent,
    update: &mut Update,
) {
    let before = before.filter(|seen| seen.is_there());
    let list = match (before, now) {
        (Some(_), Some(now)) if now.status == 304 => &mut update.unchanged,
        (Some(before), Some(now)) if now.is_there() && now.digest == before.digest => {
            &mut update.unchanged
        }
        (Some(_), Some(now)) if now.is_there() => &mut update.changed,
        (Some(_), Some(now)) if now.is_gone() => &mut update.gone,
        (Some(_), None) if extent == Extent::Whole => &mut update.gone,
        (None, Some(now)) if now.is_there() => &mut update.new,
        _ => return,
    };
    list.add(url);
}

type Group = BTreeMap<String, Seen>;
type Next = io::Result<(String, Group)>;

/// The groups of the least key, of both or of one.
fn next_pair(
    before: &mut Peekable<Keys>,
    after: &mut Peekable<Keys>,
) -> io::Result<(Group, Group)> {
    let key = |keys: &mut Peekable<Keys>| match keys.peek() {
        Some(Ok((key, _))) => Some(key.clone()),
        _ => None,
    };
    let (old, new) = (key(before), key(after));
    let takes_old = new.is_none() || old.is_some() && old <= new;
    let takes_new = old.is_none() || new.is_some() && new <= old;
    let take = |keys: &mut Peekable<Keys>| match keys.next() {
        None => Ok(Group::new()),
        Some(next) => next.map(|(_, group)| group),
    };
    let old = if takes_old {
        take(before)?
    } else {
        Group::new()
    };
    let new = if takes_new {
        take(after)?
    } else {
        Group::new()
    };
    Ok((old, new))
}

/// An index key by key; robots.txt is no page and left out.
struct Keys {
    lines: BufReader<File>,
    /// The first line of the next key.
    ahead: Option<(String, Capture)>,
}

impl Keys {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            lines: BufReader::new(File::open(path)?),
            ahead: None,
        })
    }

    fn line(&mut self) -> io::Result<Option<(String, Capture)>> {
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut self.lines).take(LONGEST_LINE);
            if limited.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            let line = String::from_utf8_lossy(&line);
            let key = line.split(' ').next().unwrap_or_default().to_owned();
            if let Some(capture) = Capture::parse(&line)
                && !is_robots(&capture.url)
            {
                return Ok(Some((key, capture)));
            }
        }
    }

    fn group(&mut self) -> io::Result<Option<(String, Group)>> {
        let first = match self.ahead.take() {
            Some(first) => Some(first),
            None => self.line()?,
        };
        let Some((key, capture)) = first else {
            return Ok(None);
        };
        let mut group = Group::new();
        add(capture, &mut group);
        while let Some((next, capture)) = self.line()? {
            if next != key {
                self.ahead = Some((next, capture));
                break;
            }
            add(capture, &mut group);
        }
        Ok(Some((key, group)))
    }
}

impl Iterator for Keys {
    type Item = Next;

    fn next(&mut self) -> Option<Next> {
        self.group().transpose()
    }
}

/// Captures come in the order of time: the last one counts.
fn add(capture: Capture, group: &mut Group) {
    if group.len() < MOST_SPELLINGS || group.contains_key(&capture.url) {
        let seen = Seen {
            status: capture.status.parse().unwrap_or(0),
            digest: capture.digest,
        };
        group.insert(capture.url, seen);
    }
}

fn is_robots(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_once('/')
        .is_some_and(|(_, path)| path == "robots.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(rows: &[(&str, u16, &str)]) -> String {
        let mut lines: Vec<String> = rows
            .iter()
            .enumerate()
            .map(|(number, (path, status, digest))| {
                Capture {
                    timestamp: format!("202601010000{number:02}"),
                    url: format!("http://a.test/{path}"),
                    mime: "text/html".into(),
                    status: status.to_string(),
                    digest: (*digest).into(),
                    codings: String::new(),
                    length: 1,
                    offset: 1,
                    filename: "x.warc.gz".into(),
                    refers_to_url: String::new(),
                    refers_to_date: String::new(),
                }
                .line()
            })
            .collect();
        lines.sort();
        lines.join("\n") + "\n"
    }

    #[test]
    fn each_url_is_in_one_list() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str, rows: &[(&str, u16, &str)]| {
            let archive = place.path().join(name).join("archive");
            std::fs::create_dir_all(&archive).unwrap();
            std::fs::write(archive.join("index.cdxj"), index(rows)).unwrap();
            place.path().join(name)
        };
        let old = folder(
            "old",
            &[
                ("robots.txt", 200, "r"),
                ("same", 200, "1"),
                ("asked", 200, "1"),
                ("other", 200, "1"),
                ("away", 200, "1"),
                ("lost", 200, "1"),
                ("was-broken", 500, "1"),
                ("breaks", 200, "1"),
                ("twice", 404, "0"),
                ("twice", 200, "1"),
                // The same key, another URL.
                ("A", 200, "1"),
            ],
        );
        let new_job = folder(
            "new",
            &[
                ("robots.txt", 200, "s"),
                ("same", 200, "1"),
                ("asked", 304, "1"),
                ("other", 200, "2"),
                ("away", 410, "9"),
                ("was-broken", 200, "1"),
                ("breaks", 503, "1"),
                ("twice", 200, "1"),
                ("a", 200, "1"),
            ],
        );
        let index = |job: &Path| job.join("archive").join("index.cdxj");
        let compared = |extent| {
            let update = compare(&index(&old), &index(&new_job), extent).unwrap();
            let told = |list: &crate::report::Listed| {
                assert_eq!(list.count, list.urls.len() as u64);
                let names = list.urls.iter().map(|url| url.rsplit('/').next().unwrap());
                names.collect::<Vec<_>>().join(" ")
            };
            [
                &update.new,
                &update.changed,
                &update.unchanged,
                &update.gone,
            ]
            .map(told)
        };
        let (new, changed, unchanged) = ("a was-broken", "other", "asked same twice");
        assert_eq!(
            compared(Extent::Whole),
            [new, changed, unchanged, "A away lost"]
        );
        assert_eq!(compared(Extent::Part), [new, changed, unchanged, "away"]);
    }
}
