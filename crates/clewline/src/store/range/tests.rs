//! Ranges that move between two stores, with a crash before and after the commit.

use std::collections::{BTreeSet, VecDeque};

use clewline_core::fleet::Shards;
use clewline_core::frontier::{Class, LaneRow, Origin, QueueEntry, Sealed, Span, Store};
use clewline_core::robots::Robots;
use clewline_core::url::Scheme;
use tempfile::TempDir;

use super::super::tests::{entry, host, reopened};
use super::*;

const ORIGIN: Origin = Origin {
    scheme: Scheme::Http,
    port: 80,
};
/// Pages of each host.
const PAGES: u32 = 600;

/// The hosts that move, and those that stay; each has some of both.
fn range() -> RangeInclusive<HostId> {
    let shards = Shards::new(1);
    shards.hosts(shards.of(host(0)))
}

fn hosts() -> (Vec<u8>, Vec<u8>) {
    let (moving, staying): (Vec<u8>, Vec<u8>) =
        (0..8).partition(|number| range().contains(&host(*number)));
    assert!(!moving.is_empty() && !staying.is_empty());
    (moving, staying)
}

fn commit(store: &mut DiskStore) {
    store.seal(Vec::new()).unwrap().commit(&[]).unwrap();
    store.committed();
}

fn push(store: &mut DiskStore, entry: QueueEntry) {
    store.add(entry.key).unwrap();
    store.push(entry).unwrap();
}

fn lane(number: u8) -> LaneRow {
    LaneRow {
        pages: u64::from(number) + 1,
        ..LaneRow::default()
    }
}

/// Takes everything of a host that waits.
fn take(store: &mut DiskStore, number: u8) -> Vec<QueueEntry> {
    let span = Span {
        class: Class::Normal,
        deepest: u32::MAX,
    };
    let mut taken = VecDeque::new();
    store
        .take(host(number), span, usize::MAX, &mut taken)
        .unwrap();
    taken.into()
}

fn urls(entries: &[QueueEntry]) -> Vec<String> {
    entries.iter().map(|entry| entry.url.to_string()).collect()
}

/// A store with pages of all hosts in two batches, of which every third is settled.
fn filled() -> (TempDir, DiskStore) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = reopened(folder.path());
    for half in [0..PAGES / 2, PAGES / 2..PAGES] {
        for number in 0..8 {
            for page in half.clone() {
                push(&mut store, entry(number, page, page % 2));
            }
            store.save_lane(host(number), lane(number)).unwrap();
            let robots = Robots::parse(b"Disallow: /x", &["clewline"]);
            store.save_robots(host(number), ORIGIN, &robots, 7).unwrap();
        }
        commit(&mut store);
    }
    for number in 0..8 {
        for one in take(&mut store, number).iter().step_by(3) {
            store.settle(one).unwrap();
        }
    }
    commit(&mut store);
    drop(store);
    let store = reopened(folder.path());
    (folder, store)
}

/// Moves a range as its owner would: it is exported, and imported elsewhere.
fn import(from: &DiskStore, to: &mut DiskStore) {
    let mut rows = Vec::new();
    from.export_rows(&range(), |row| rows.push(Ok(row)))
        .unwrap();
    let keys = from.export_keys(&range()).unwrap();
    to.import_range(&range(), (keys, 1000), rows.into_iter())
        .unwrap();
}

/// Whether a store has all of a host as `filled` left it, or nothing.
fn has_all(store: &mut DiskStore, original: &mut DiskStore, number: u8) -> bool {
    let expected = urls(&take(original, number));
    let found = urls(&take(store, number));
    let known = (0..PAGES).filter(|page| store.contains(entry(number, *page, 0).key).unwrap());
    let known = known.count() as u32;
    let row = store.load_lane(host(number)).unwrap();
    let robots = store.load_robots(host(number), ORIGIN).unwrap();
    let is_there = known == PAGES;
    assert!(
        is_there || known == 0,
        "{known} of {PAGES} keys of {number}"
    );
    assert_eq!(row, is_there.then(|| lane(number)));
    assert_eq!(robots.is_some(), is_there);
    let expected = if is_there { expected } else { Vec::new() };
    assert_eq!(found, expected, "{number}");
    is_there
}

#[test]
fn a_range_is_as_it_was_when_it_was_imported_and_committed() {
    let (moving, staying) = hosts();
    let (_kept, from) = filled();
    let folder = tempfile::tempdir().unwrap();
    let mut to = reopened(folder.path());
    push(&mut to, entry(staying[0], PAGES + 1, 0));
    import(&from, &mut to);
    commit(&mut to);
    for reopens in [false, true] {
        if reopens {
            drop(to);
            to = reopened(folder.path());
        }
        let (_kept, mut original) = filled();
        for number in &moving {
            assert!(has_all(&mut to, &mut original, *number));
        }
        for number in &staying[1..] {
            assert!(!has_all(&mut to, &mut original, *number));
        }
        assert_eq!(take(&mut to, staying[0]).len(), 1);
    }
}

#[test]
fn what_was_imported_and_not_committed_is_not_there_after_a_crash() {
    let (_kept, from) = filled();
    let folder = tempfile::tempdir().unwrap();
    let mut to = reopened(folder.path());
    commit(&mut to);
    import(&from, &mut to);
    let sealed = to.seal(Vec::new()).unwrap();
    drop((sealed, to));
    let mut to = reopened(folder.path());
    let (_kept, mut original) = filled();
    for number in 0..8 {
        assert!(!has_all(&mut to, &mut original, number));
    }
    import(&from, &mut to);
    commit(&mut to);
    let (_kept, mut original) = filled();
    assert!(has_all(&mut to, &mut original, hosts().0[0]));
}

#[test]
fn a_range_is_forgotten_with_a_commit_and_not_before() {
    let (moving, staying) = hosts();
    let (folder, mut store) = filled();
    store.forget_range(&range()).unwrap();
    drop(store);
    let mut store = reopened(folder.path());
    let (_kept, mut original) = filled();
    assert!(has_all(&mut store, &mut original, moving[0]), "a crash");
    // What is open of it goes as well, and what is open of others stays.
    push(&mut store, entry(moving[0], PAGES + 1, 0));
    push(&mut store, entry(staying[0], PAGES + 1, 0));
    store.forget_range(&range()).unwrap();
    commit(&mut store);
    assert!(!store.contains(entry(moving[0], PAGES + 1, 0).key).unwrap());
    for reopens in [false, true] {
        if reopens {
            drop(store);
            store = reopened(folder.path());
        }
        let (_kept, mut original) = filled();
        for number in &moving {
            assert!(!has_all(&mut store, &mut original, *number));
        }
        for number in &staying[1..] {
            assert!(has_all(&mut store, &mut original, *number));
        }
        let first = urls(&take(&mut store, staying[0]));
        assert!(first.contains(&entry(staying[0], PAGES + 1, 0).url.to_string()));
    }
    let mut rows = 0;
    store.export_rows(&range(), |_| rows += 1).unwrap();
    assert_eq!(rows, 0);
    assert_eq!(store.export_keys(&range()).unwrap().count(), 0);
}

#[test]
fn a_range_comes_back_to_a_store_that_forgot_it() {
    let (moving, _) = hosts();
    let (_kept, from) = filled();
    let (_folder, mut store) = filled();
    store.forget_range(&range()).unwrap();
    commit(&mut store);
    // Its queues were looked at while they were empty.
    assert!(take(&mut store, moving[0]).is_empty());
    import(&from, &mut store);
    commit(&mut store);
    let (_kept, mut original) = filled();
    for number in &moving {
        assert!(has_all(&mut store, &mut original, *number));
    }
}

#[test]
fn rows_that_are_written_later_take_no_place_of_imported_ones() {
    let number = hosts().0[0];
    let (_kept, from) = filled();
    let folder = tempfile::tempdir().unwrap();
    let mut to = reopened(folder.path());
    import(&from, &mut to);
    // Batches up to and beyond the numbers of those that were written elsewhere.
    for page in 0..6 {
        push(&mut to, entry(number, PAGES + page, page % 2));
        commit(&mut to);
    }
    let (_kept, mut original) = filled();
    let mut expected: BTreeSet<String> = urls(&take(&mut original, number)).into_iter().collect();
    expected.extend((0..6).map(|page| entry(number, PAGES + page, 0).url.to_string()));
    let found = take(&mut to, number);
    assert_eq!(found.len(), expected.len(), "each once");
    assert_eq!(urls(&found).into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn a_batch_under_way_and_rows_of_other_ranges_are_refused() {
    let (_, staying) = hosts();
    let (_kept, mut store) = filled();
    let foreign = MovedRow::Lane(host(staying[0]), b"{}".to_vec());
    let none = || (std::iter::empty(), 0);
    let error = store.import_range(&range(), none(), std::iter::once(Ok(foreign)));
    assert!(
        matches!(error, Err(StoreError::Damaged { .. })),
        "{error:?}"
    );
    let key = entry(staying[0], 0, 0).key;
    let keys = (std::iter::once(Ok(key)), 1);
    let error = store.import_range(&range(), keys, std::iter::empty());
    assert!(
        matches!(error, Err(StoreError::Damaged { .. })),
        "{error:?}"
    );

    push(&mut store, entry(staying[0], PAGES + 1, 0));
    assert!(store.export_rows(&range(), |_| {}).is_err(), "it is open");
    let mut sealed = store.seal(Vec::new()).unwrap();
    assert!(store.export_keys(&range()).is_err(), "it is sealed");
    assert!(store.forget_range(&range()).is_err());
    assert!(
        store
            .import_range(&range(), none(), std::iter::empty())
            .is_err()
    );
    sealed.commit(&[]).unwrap();
    store.committed();
    assert!(store.export_keys(&range()).is_ok());
}
