//! What the benchmark measures apart and users never call.
//!
//! Owns thin doors to inner parts, one for each hot path that the public API does not reach by
//! itself. Nothing here is promised: it may change with any version.

use std::path::Path;

use clewline_core::frontier::{Frontier, FrontierState, Rules};
use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;

use crate::crawl::Crawl;
use crate::engine::{FRONTIER_NOTE, LookReader};
use crate::fetch::http1::{HeadLimits, HeadReader, HeadStep};
use crate::memory::MemoryPlan;

pub use crate::store::{DiskStore, DiskUse, SealedBatch, StoreError};

/// Reads the head of a whole answer: its status and how many bytes it took.
pub fn response_head(bytes: &[u8]) -> Option<(u16, usize)> {
    let mut reader = HeadReader::new(&HeadLimits::default());
    match reader.read(bytes) {
        Ok(HeadStep::Complete(head)) => Some((head.status, head.raw_len)),
        _ => None,
    }
}

/// Looks at the text of a page that arrives in pieces; answers its hash.
pub fn look_at<'a>(url: &CrawlUrl, pieces: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut reader = LookReader::new(url);
    pieces.for_each(|piece| reader.feed(piece));
    reader.finish().text
}

/// How many links and questions about robots.txt a row of a fleet's mail holds; nothing if it
/// cannot be read.
pub fn links_in_mail(row: &[u8]) -> Option<usize> {
    let mail = crate::fleet::read_mail(row, &Keyer::new(0, &[])).ok()?;
    Some(mail.len())
}

/// The frontier over the state in a folder, where the last durable batch left it; `memory` is
/// what `--memory` says.
pub fn frontier_on_disk(
    folder: &Path,
    mut rules: Rules,
    memory: u64,
) -> Result<Frontier<DiskStore>, StoreError> {
    let plan = MemoryPlan::new(memory);
    rules.active_lanes = plan.active_lanes();
    let store = DiskStore::open(folder, rules.keyer.clone(), plan)?;
    let note = store.note(FRONTIER_NOTE)?;
    let mut frontier = Frontier::new(rules, store);
    if let Some(note) = note {
        let damaged = |_| StoreError::damaged("the state of the frontier");
        let state: FrontierState = serde_json::from_slice(&note).map_err(damaged)?;
        frontier.restore(state);
    }
    Ok(frontier)
}

/// What is sealed with a batch so that [`frontier_on_disk`] finds its place again.
pub fn frontier_notes(state: &FrontierState) -> Vec<(&'static str, Vec<u8>)> {
    let json = serde_json::to_vec(state).expect("a state is plain data");
    vec![(FRONTIER_NOTE, json)]
}

/// A crawl to which these URLs are known from the start: it fetches none of them, and no link to
/// them is new. Only a crawl with its state in memory takes notice.
pub fn knowing(mut crawl: Crawl, urls: impl Iterator<Item = CrawlUrl> + Send + 'static) -> Crawl {
    crawl.known = Box::new(urls);
    crawl
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_head_ends_where_its_body_begins() {
        let head = b"HTTP/1.1 204 No Content\r\nA: b\r\n\r\n";
        let mut answer = head.to_vec();
        answer.extend_from_slice(b"rest");
        assert_eq!(super::response_head(&answer), Some((204, head.len())));
        assert_eq!(super::response_head(b"HTTP/1.1 200 OK\r\n"), None);
    }
}
