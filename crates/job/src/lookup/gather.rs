//! Reads the logs for the lookup.
//!
//! Owns what a line of `urls.jsonl` or a block of `links/` says of which key. Invariant: a stretch
//! ends between two lines and between two blocks, and memory is bounded by its number of facts.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use clewline_core::key::{Key, Keyer};
use clewline_core::url::CrawlUrl;
use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3;

use super::part::{Fact, LogPlaces, Stretch, What};
use super::search::{key_of, may_redirect};
use crate::log::lines::Lines;
use crate::log::{LinksReader, links, urls};

/// So many bytes before the end of a stretch tell whether a log is still the same.
const ENDING: u64 = 256;

/// The part of a record that says where it leads.
#[derive(Deserialize)]
struct Leads<'a> {
    #[serde(borrow)]
    redirect_to: Cow<'a, str>,
}

/// Reads on from a place, up to another or until there are so many facts; says how far it came.
pub(super) fn gather(
    folder: &Path,
    keyer: &Keyer,
    stretch: Stretch,
    most: usize,
    facts: &mut Vec<Fact>,
) -> io::Result<LogPlaces> {
    let mut reached = stretch.from;
    // Records are few beside links, and have their share of the room first.
    if let Some(lines) = stretch.lines(folder)? {
        reached.urls = gather_lines(lines, reached.urls, keyer, most / 4, facts)?;
    }
    if let Some(links) = stretch.links(folder)? {
        reached.links = gather_links(links, most, facts)?;
    }
    Ok(reached)
}

fn gather_lines(
    mut lines: Lines,
    mut at: u64,
    keyer: &Keyer,
    most: usize,
    facts: &mut Vec<Fact>,
) -> io::Result<u64> {
    while facts.len() < most
        && let Some(line) = lines.next_line()?
    {
        let own = key_of(line).and_then(|key| std::str::from_utf8(key).ok()?.parse::<Key>().ok());
        if let Some(key) = own {
            facts.push(Fact {
                key: key.number(),
                what: What::Record,
                at,
                kind: 0,
            });
        }
        if may_redirect(line) {
            let leads: Leads<'_> = serde_json::from_slice(line)?;
            let target = CrawlUrl::parse(&leads.redirect_to).ok();
            let target = target.map(|url| keyer.key(&url));
            if let Some(target) = target.filter(|target| Some(*target) != own) {
                facts.push(Fact {
                    key: target.number(),
                    what: What::Redirect,
                    at,
                    kind: 0,
                });
            }
        }
        at += line.len() as u64;
    }
    Ok(at)
}

fn gather_links(mut reader: LinksReader, most: usize, facts: &mut Vec<Fact>) -> io::Result<u64> {
    while facts.len() < most {
        let at = reader.place();
        let read = reader.each_of_block(|_, target, kind| {
            facts.push(Fact {
                key: target.number(),
                what: What::Link,
                at,
                kind: kind as u8,
            });
        });
        match read {
            Ok(true) => {}
            Ok(false) => break,
            // The tail of a crash, or of a write that goes on now.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    Ok(reader.place())
}

/// Check sum of the last bytes of both logs before a place.
pub(super) fn ending(folder: &Path, places: LogPlaces) -> io::Result<u64> {
    let mut sum = Xxh3::new();
    for (log, end) in [(urls::FILE, places.urls), (links::FILE, places.links)] {
        if end == 0 {
            continue;
        }
        let mut file = File::open(folder.join(log))?;
        let mut bytes = vec![0; end.min(ENDING) as usize];
        file.seek(SeekFrom::Start(end - bytes.len() as u64))?;
        file.read_exact(&mut bytes)?;
        sum.update(&bytes);
    }
    Ok(sum.digest())
}
