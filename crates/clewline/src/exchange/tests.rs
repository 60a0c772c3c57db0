//! What waits is counted, in memory and on disk, until nobody holds it.

use std::sync::Arc;

use clewline_core::url::CrawlUrl;

use super::{BytesLocation, Recording, Secrets, Spool, Truncation};
use crate::headers::Headers;

fn spool(folder: &std::path::Path, budget: u64) -> Arc<Spool> {
    Arc::new(Spool::new(folder.into(), budget, Secrets::Replaced))
}

fn record(spool: &Arc<Spool>, size: usize) -> super::Exchange {
    let recording = Recording::new(Arc::clone(spool));
    let mut recorder = recording.begin(&CrawlUrl::parse("http://a.test/").unwrap(), None);
    recorder.head(b"HTTP/1.1 200 OK\r\n\r\n", 200, &Headers::default());
    for piece in vec![b'x'; size].chunks(10_000) {
        recorder.body(piece, piece);
    }
    recorder.whole();
    drop(recorder);
    recording.take().unwrap()
}

#[test]
fn what_waits_is_counted_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(folder.path(), 100_000);
    let first = record(&spool, 60_000);
    assert_eq!(spool.held(), first.response.len());
    assert!(spool.has_room() && spool.is_filling());
    let second = record(&spool, 60_000);
    assert!(!spool.has_room());
    drop((first, second));
    assert_eq!(spool.held(), 0);
    assert!(spool.has_room() && !spool.is_filling());
}

#[test]
fn the_limit_of_memory_falls_when_memory_is_short() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(folder.path(), 210_000);
    let first = record(&spool, 200_000);
    let second = record(&spool, 100_000);
    assert!(matches!(first.response.place(), BytesLocation::Memory(_)));
    assert!(matches!(second.response.place(), BytesLocation::File(_)));
    assert_eq!(spool.held(), first.response.len());
}

#[test]
fn many_files_that_wait_stop_the_crawl() {
    let folder = tempfile::tempdir().unwrap();
    let spool = spool(folder.path(), 1 << 30);
    let mut waiting = Vec::new();
    while spool.has_room() {
        waiting.push(record(&spool, 300_000));
    }
    assert_eq!((waiting.len(), spool.held()), (64, 0));
    waiting.pop();
    assert!(spool.has_room());
}

#[test]
fn a_disk_that_takes_nothing_costs_the_end_alone() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let exchange = record(&spool(&gone, 1 << 30), 300_000);
    assert_eq!(exchange.truncation, Some(Truncation::Unspecified));
    let length = exchange.response.len();
    assert!((250_000..=262_144).contains(&length), "{length}");
    assert_eq!(exchange.payload_length + exchange.head_length, length);
}
