//! Runs against a plain set, with merges, restarts and damage.

use std::collections::BTreeSet;

use super::*;

const TOGETHER: usize = 4;

fn options(indexes: u64) -> KeysOptions {
    KeysOptions {
        hot: 0,
        indexes,
        blocks: indexes / 2,
        gather: usize::MAX,
        together: TOGETHER,
        waits_for_merges: false,
        free_bytes: |_| None,
        observer: Arc::new(|_| ()),
    }
}

/// Opens runs with room for all of them.
fn open(folder: &Path, row: Option<&[u8]>) -> Result<Runs, KeysError> {
    Runs::open(folder, row.unwrap_or_default(), &options(2 << 20))
}

/// Keys by number; many share a host.
fn key(number: u64) -> Key {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let host = u128::from((number % 50).wrapping_mul(0xd6e8_feb8_6659_fd93));
    Key::from_bytes((host << 64 | u128::from(mixed)).to_be_bytes())
}

fn keys(numbers: impl Iterator<Item = u64>) -> KeySet<Key> {
    numbers.map(key).collect()
}

fn known(runs: &Runs, numbers: impl Iterator<Item = u64>) -> usize {
    let asked: BTreeSet<Key> = numbers.map(key).collect();
    let asked: Vec<Key> = asked.into_iter().collect();
    let mut kept = KeptBlocks::new();
    // The first two times blocks are read, the third time they are kept.
    let answers = [(); 3].map(|()| {
        let mut known = 0;
        let count = |_, is_known| known += usize::from(is_known);
        runs.look_up(&asked, &mut kept, count).unwrap();
        known
    });
    assert_eq!(answers, [answers[0]; 3]);
    answers[0]
}

/// What a commit would do; answers the row that it keeps.
fn commit(runs: &Runs) -> Option<Vec<u8>> {
    let list = runs.to_commit()?;
    runs.committed(&list);
    Some(list.to_bytes())
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn keys_are_known_through_merges_and_restarts() {
    let place = tempfile::tempdir().unwrap();
    let mut runs = open(place.path(), None).unwrap();
    let (mut made, mut row) = (0, None);
    // The last key of a block, the first of the next, and runs that hold the same keys.
    for round in 0..21 {
        let length = [1, 254, 255, 256, 700][round % 5];
        runs.add(&keys(made..made + length)).unwrap();
        made += length;
        runs.add(&keys(made - 1..made)).unwrap();
        row = commit(&runs).or(row);
        if round % 4 == 0 {
            drop(runs);
            runs = open(place.path(), row.as_deref()).unwrap();
        }
        assert_eq!(known(&runs, 0..made), made as usize, "{round}");
        assert_eq!(known(&runs, made..made + 5_000), 0, "{round}");
    }
    runs.rest();
    runs.add(&keys(made..=made)).unwrap();
    runs.rest();
    assert!(runs.folder.read().runs.len() < 3 * 6, "runs are merged");
    row = commit(&runs).or(row);
    assert!(runs.folder.read().replaced.is_empty());
    assert_eq!(files(place.path()), runs.folder.read().runs.len());
    let merged: u64 = runs
        .folder
        .read()
        .runs
        .iter()
        .map(|run| run.listing.keys)
        .sum();
    assert!(merged <= made + 21, "what was there twice is there once");
    drop(runs);
    let runs = open(place.path(), row.as_deref()).unwrap();
    assert_eq!(known(&runs, 0..=made), made as usize + 1);
}

#[test]
fn what_no_commit_named_is_removed_and_what_one_named_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let runs = open(place.path(), None).unwrap();
    for round in 0..TOGETHER as u64 - 1 {
        runs.add(&keys(round * 10..round * 10 + 10)).unwrap();
    }
    let row = commit(&runs).unwrap();
    assert!(runs.to_commit().is_none(), "nothing changed since");
    runs.add(&keys(100..110)).unwrap();
    runs.rest();
    let list = runs.to_commit().unwrap();
    assert_eq!(list.0.len(), 1, "all became one");
    assert_eq!(
        files(place.path()),
        TOGETHER + 1,
        "and nothing is removed yet"
    );
    drop(runs);
    // As after a kill: the last commit named the parts.
    let runs = open(place.path(), Some(&row)).unwrap();
    assert_eq!(files(place.path()), TOGETHER - 1);
    assert_eq!(known(&runs, 0..30), 30);
    assert_eq!(known(&runs, 100..110), 0, "rows hold those still");
}

#[test]
fn filters_keep_to_their_room() {
    let place = tempfile::tempdir().unwrap();
    let options = options(8 * 1024);
    let runs = Runs::open(place.path(), &[], &options).unwrap();
    for round in 0..30_u64 {
        runs.add(&keys(round * 3_000..(round + 1) * 3_000)).unwrap();
        runs.rest();
        commit(&runs);
    }
    let state = runs.folder.read();
    let (filters, indexes) = state.runs.iter().fold((0, 0), |(filters, indexes), run| {
        let index = run.index_memory();
        (filters + run.memory() - index, indexes + index)
    });
    let lines = state.runs.len() as u64 * crate::filter::LINE;
    drop(state);
    assert!(
        filters <= options.indexes + lines,
        "{filters} and {indexes}"
    );
    assert_eq!(known(&runs, 0..90_000), 90_000);
}

#[test]
fn no_changed_byte_is_taken_for_a_key() {
    let place = tempfile::tempdir().unwrap();
    let runs = open(place.path(), None).unwrap();
    runs.add(&keys(0..600)).unwrap();
    let row = commit(&runs).unwrap();
    drop(runs);
    let path = run::path(place.path(), 1);
    let sound = fs::read(&path).unwrap();
    let asked: Vec<Key> = keys(0..600)
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let is_refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let answers = open(place.path(), Some(&row)).and_then(|runs| {
            let mut kept = KeptBlocks::new();
            runs.look_up(&asked, &mut kept, |_, is_known| assert!(is_known))
        });
        let Err(error) = answers else { return false };
        assert!(
            format!("{error:?}").contains(&*path.to_string_lossy()),
            "{error:?} names the file"
        );
        matches!(error, KeysError::Damaged { .. })
    };
    assert!(!is_refused(&sound));
    for at in (0..sound.len()).step_by(7) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(is_refused(&damaged), "byte {at}");
        assert!(is_refused(&sound[..at]), "cut at {at}");
    }
    let mut earlier = sound;
    let foot = earlier.len() - run::FOOT;
    earlier[foot..foot + 8].copy_from_slice(b"keyrun 1");
    fs::write(&path, earlier).unwrap();
    let earlier = open(place.path(), Some(&row));
    assert!(matches!(earlier, Err(KeysError::Earlier(_))));
    fs::remove_file(&path).unwrap();
    let missing = open(place.path(), Some(&row));
    assert!(matches!(missing, Err(KeysError::Damaged { .. })));
    let torn = open(place.path(), Some(&row[1..]));
    assert!(matches!(torn, Err(KeysError::Damaged { .. })));
}

#[test]
fn damage_that_a_merge_finds_is_told() {
    let place = tempfile::tempdir().unwrap();
    let runs = open(place.path(), None).unwrap();
    runs.add(&keys(0..10)).unwrap();
    let path = run::path(place.path(), 1);
    let mut bytes = fs::read(&path).unwrap();
    bytes[5] ^= 1;
    fs::write(&path, bytes).unwrap();
    for round in 1..TOGETHER as u64 {
        runs.add(&keys(round * 10..round * 10 + 10)).unwrap();
    }
    runs.rest();
    let next = runs.add(&keys(100..110));
    assert!(matches!(next, Err(KeysError::Damaged { .. })));
    assert_eq!(
        files(place.path()),
        TOGETHER,
        "nothing is left of the merge"
    );
}
