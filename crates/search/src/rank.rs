//! Ranks: what the links of a crawl say about its pages.
//!
//! Owns `PageRank` over the link log (the sum itself is the core's), how much of it counts in a
//! score, and the file that keeps it beside the index, so that ranks change without documents
//! being written again. Links that people follow count; images and styles don't. Memory is
//! bounded by [`MOST_PAGES`] and [`MOST_LINKS`]; what lies beyond is ranked like a page without
//! links.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use clewline_core::key::Key;
use clewline_core::rank::page_rank;
use clewline_job::log::LinksReader;
use clewline_job::log::links;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::SearchError;

/// Pages that are ranked: 40 bytes each while ranks are made.
const MOST_PAGES: usize = 4_000_000;
/// Links that are followed: 8 bytes each.
const MOST_LINKS: usize = 32_000_000;
/// More rounds than this change no order.
const ROUNDS: usize = 20;
/// What a page's rank adds to its score, for each time it is e-fold the average.
const SHARE: f32 = 0.1;
/// The file's name in the folder of the index.
const FILE: &str = "ranks";
/// The first bytes of the file; the last of them is the version.
const HEADER: [u8; 8] = *b"CLEWRNK\x01";
/// Bytes of a row: key, rank, links to the page.
const ROW: usize = 16;

/// The ranks of a crawl's pages.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ranks {
    /// Length of the link log that they were made from.
    made_from: u64,
    /// Sorted by key.
    rows: Vec<Row>,
}

/// Whether a link log still grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It will not.
    Over,
    /// It may.
    GoesOn,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    key: u64,
    /// In multiples of the average.
    rank: f32,
    inlinks: u32,
}

/// A key of the link log in 64 bits. Its halves are hashes of host and URL, seeded for the job.
pub(crate) fn folded(key: &Key) -> u64 {
    let (host, page) = key.as_bytes().split_at(8);
    let number = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("a half has 8 bytes"));
    number(host).rotate_left(32) ^ number(page)
}

impl Ranks {
    /// Ranks the pages of a job folder.
    pub(crate) fn from_job(job: &Path) -> Result<Self, SearchError> {
        let made_from = log_length(job);
        if made_from == 0 {
            return Ok(Self::default());
        }
        let graph = Graph::read(job).map_err(|source| SearchError::Io {
            path: job.join(links::FILE),
            source,
        })?;
        let ranks = graph.ranks();
        let mut rows: Vec<Row> = graph
            .keys
            .iter()
            .map(|(&key, &page)| Row {
                key,
                rank: ranks[page as usize],
                inlinks: graph.inlinks[page as usize],
            })
            .collect();
        rows.sort_unstable_by_key(|row| row.key);
        Ok(Self { made_from, rows })
    }

    /// Whether the link log grew since: at all, or so much that the order may change. Making
    /// ranks reads the whole log, which a crawl that runs would ask for again and again.
    pub(crate) fn is_behind(&self, job: &Path, growth: Growth) -> bool {
        let length = log_length(job);
        match growth {
            Growth::Over => length != self.made_from,
            Growth::GoesOn => {
                length < self.made_from || length - self.made_from > self.made_from / 8
            }
        }
    }

    /// What a page's score is multiplied with: from 1 on, growing slowly with its rank.
    pub(crate) fn weight(&self, key: u64) -> f32 {
        1.0 + SHARE * (1.0 + self.row(key).map_or(0.0, |row| row.rank)).ln()
    }

    /// How many pages link to one.
    pub(crate) fn inlinks(&self, key: u64) -> u32 {
        self.row(key).map_or(0, |row| row.inlinks)
    }

    fn row(&self, key: u64) -> Option<&Row> {
        let at = self.rows.binary_search_by_key(&key, |row| row.key).ok()?;
        self.rows.get(at)
    }

    /// Reads the ranks beside an index; none if they are missing or damaged, since they are
    /// made again.
    pub(crate) fn load(folder: &Path) -> Self {
        fs::read(folder.join(FILE))
            .ok()
            .and_then(|bytes| decode(&bytes))
            .unwrap_or_default()
    }

    /// Writes the ranks beside an index, all or nothing.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(24 + self.rows.len() * ROW);
        bytes.extend_from_slice(&HEADER);
        bytes.extend_from_slice(&self.made_from.to_le_bytes());
        for row in &self.rows {
            bytes.extend_from_slice(&row.key.to_le_bytes());
            bytes.extend_from_slice(&row.rank.to_le_bytes());
            bytes.extend_from_slice(&row.inlinks.to_le_bytes());
        }
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        // Several processes may do so at once.
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(&bytes)?;
        new.persist(folder.join(FILE))?;
        Ok(())
    }
}

fn decode(bytes: &[u8]) -> Option<Ranks> {
    let (rest, sum) = bytes.split_last_chunk::<8>()?;
    if xxh3_64(rest) != u64::from_le_bytes(*sum) {
        return None;
    }
    let (made_from, rows) = rest.strip_prefix(&HEADER)?.split_first_chunk::<8>()?;
    let row = |bytes: &[u8]| {
        let (key, bytes) = bytes.split_first_chunk::<8>()?;
        let (rank, bytes) = bytes.split_first_chunk::<4>()?;
        Some(Row {
            key: u64::from_le_bytes(*key),
            rank: f32::from_le_bytes(*rank),
            inlinks: u32::from_le_bytes(bytes.try_into().ok()?),
        })
    };
    // Every search reads them, so the room is taken at once.
    let mut decoded = Vec::with_capacity(rows.len() / ROW);
    for bytes in rows.chunks(ROW) {
        decoded.push(row(bytes)?);
    }
    Some(Ranks {
        made_from: u64::from_le_bytes(*made_from),
        rows: decoded,
    })
}

fn log_length(job: &Path) -> u64 {
    fs::metadata(job.join(links::FILE)).map_or(0, |found| found.len())
}

/// Who links to whom.
#[derive(Debug, Default)]
struct Graph {
    keys: HashMap<u64, u32>,
    /// Source and target, sources together.
    links: Vec<(u32, u32)>,
    inlinks: Vec<u32>,
}

impl Graph {
    /// Pages are all that link or are linked to. A torn end of the log is left out.
    fn read(job: &Path) -> io::Result<Self> {
        let mut graph = Self::default();
        let mut of_page: HashSet<u32> = HashSet::new();
        let mut page = None;
        for link in LinksReader::open(job)? {
            let (source, target, kind) = match link {
                Ok(link) => link,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            };
            if !kind.is_followed() || source == target {
                continue;
            }
            if page != Some(source) {
                page = Some(source);
                of_page.clear();
            }
            let ends = (graph.page(folded(&source)), graph.page(folded(&target)));
            if let (Some(source), Some(target)) = ends
                && graph.links.len() < MOST_LINKS
                && of_page.insert(target)
            {
                graph.links.push((source, target));
                graph.inlinks[target as usize] += 1;
            }
        }
        Ok(graph)
    }

    fn page(&mut self, key: u64) -> Option<u32> {
        let next = self.keys.len();
        if let Some(&page) = self.keys.get(&key) {
            return Some(page);
        }
        let page = u32::try_from(next).ok().filter(|_| next < MOST_PAGES)?;
        self.keys.insert(key, page);
        self.inlinks.push(0);
        Some(page)
    }

    /// Rank in multiples of the average.
    fn ranks(&self) -> Vec<f32> {
        let ranks = page_rank(self.keys.len(), &self.links, ROUNDS);
        ranks.into_iter().map(|rank| rank as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(links: &[(u64, u64)]) -> Graph {
        let mut graph = Graph::default();
        for &(source, target) in links {
            let source = graph.page(source).unwrap();
            let target = graph.page(target).unwrap();
            graph.links.push((source, target));
            graph.inlinks[target as usize] += 1;
        }
        graph
    }

    #[test]
    fn rank_follows_links_and_is_not_lost() {
        let graph = graph(&[(1, 9), (2, 9), (3, 9), (9, 1), (3, 2)]);
        let ranks = graph.ranks();
        let rank = |key: u64| ranks[graph.keys[&key] as usize];
        assert!(rank(9) > rank(1) && rank(1) > rank(2) && rank(2) > rank(3));
        let sum: f32 = ranks.iter().sum();
        assert!((sum - 4.0).abs() < 0.01, "{sum}");
    }

    #[test]
    fn ranks_are_read_back_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let row = |key, rank, inlinks| Row { key, rank, inlinks };
        let ranks = Ranks {
            made_from: 7,
            rows: vec![row(1, 0.5, 0), row(u64::MAX, 20.0, 7)],
        };
        ranks.save(place.path()).unwrap();
        assert_eq!(Ranks::load(place.path()), ranks);
        assert!(ranks.weight(u64::MAX) > ranks.weight(1));
        assert_eq!(ranks.inlinks(u64::MAX), 7);
        let file = place.path().join(FILE);
        let mut bytes = fs::read(&file).unwrap();
        bytes[20] ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert_eq!(Ranks::load(place.path()), Ranks::default());
        fs::write(&file, &bytes[..3]).unwrap();
        assert_eq!(Ranks::load(place.path()), Ranks::default());
    }
}
