//! The store against a model, with a crash at any moment.

use std::collections::{BTreeMap, BTreeSet};

use clewline_core::frontier::{Attempts, Span, Store, Ticket, Waiting};
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

const PLAN: MemoryPlan = MemoryPlan::new(16 * 1024 * 1024);

/// Every queue of a host, at any depth.
const ALL: Span = Span {
    class: Class::Withheld,
    deepest: u32::MAX,
};

fn keyer() -> Keyer {
    Keyer::new(5, &[])
}

pub(super) fn entry(host: u8, page: u32, depth: u32) -> QueueEntry {
    let url = CrawlUrl::parse(&format!("http://h{host}.test/{page}")).unwrap();
    plain_entry(&keyer(), url, depth)
}

/// A link that nothing is special about.
pub(crate) fn plain_entry(keyer: &Keyer, url: CrawlUrl, depth: u32) -> QueueEntry {
    QueueEntry {
        key: keyer.key(&url),
        url,
        kind: LinkKind::Anchor,
        depth,
        found_on: None,
        lastmod: None,
        tries: 0,
        wire: 0,
        hops_left: 10,
        class: Class::Normal,
        unvouched: false,
        repeat: false,
        nesting: 0,
        root: false,
        guessed_scheme: false,
        guessed_sitemap: false,
        was_cut: false,
        chain: None,
        earlier: Vec::new(),
        attempts: Attempts::default(),
        ticket: Ticket::default(),
    }
}

pub(super) fn host(number: u8) -> HostId {
    entry(number, 0, 0).key.host()
}

/// What can happen to a store.
#[derive(Debug, Clone, Copy)]
enum Step {
    Push {
        host: u8,
        depth: u32,
    },
    Take {
        host: u8,
        most: usize,
    },
    SettleOne {
        which: usize,
    },
    /// Into the next queue of its host.
    MoveOne {
        which: usize,
    },
    LookAhead,
    Seal,
    Commit,
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..4u8, 0..3u32).prop_map(|(host, depth)| Step::Push { host, depth }),
        4 => (0..4u8, 1..6usize).prop_map(|(host, most)| Step::Take { host, most }),
        6 => any::<usize>().prop_map(|which| Step::SettleOne { which }),
        4 => any::<usize>().prop_map(|which| Step::MoveOne { which }),
        2 => Just(Step::LookAhead),
        3 => Just(Step::Seal),
        3 => Just(Step::Commit),
        1 => Just(Step::Crash),
    ];
    proptest::collection::vec(step, 1..120)
}

/// What is true of the URLs, by what is durable.
#[derive(Debug, Clone, Default)]
struct Truth {
    known: BTreeSet<String>,
    settled: BTreeSet<String>,
}

/// The store in a folder, with runs of keys that are made every now and then.
pub(super) fn reopened(folder: &Path) -> DiskStore {
    let options = KeysOptions {
        gather: 7,
        ..key_options::from_plan(PLAN)
    };
    DiskStore::open_parts(folder, keyer(), PLAN, &options).unwrap()
}

struct Model {
    folder: tempfile::TempDir,
    open: Option<DiskStore>,
    next_page: u32,
    taken: BTreeMap<String, QueueEntry>,
    now: Truth,
    sealed: VecDeque<(SealedBatch, Truth)>,
    durable: Truth,
}

impl Model {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            open: Some(reopened(folder.path())),
            folder,
            next_page: 0,
            taken: BTreeMap::new(),
            now: Truth::default(),
            sealed: VecDeque::new(),
            durable: Truth::default(),
        }
    }

    fn store(&mut self) -> &mut DiskStore {
        self.open.as_mut().unwrap()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Push { host, depth } => {
                self.next_page += 1;
                let entry = entry(host, self.next_page, depth);
                assert!(!self.store().contains(entry.key).unwrap());
                self.now.known.insert(entry.url.to_string());
                self.store().add(entry.key).unwrap();
                self.store().push(entry).unwrap();
            }
            Step::Take { host: number, most } => {
                let mut window = VecDeque::new();
                for class in Class::ALL {
                    let (span, room) = (Span { class, ..ALL }, most - window.len());
                    let taken = self.store().take(host(number), span, room, &mut window);
                    taken.unwrap();
                }
                assert!(window.len() <= most, "more was taken than asked for");
                for entry in window {
                    let url = entry.url.to_string();
                    assert!(self.now.known.contains(&url), "{url} was invented");
                    assert!(!self.now.settled.contains(&url), "{url} was settled before");
                    assert!(self.taken.insert(url, entry).is_none(), "taken twice");
                }
            }
            Step::SettleOne { which } => {
                let count = self.taken.len();
                if let Some(url) = self.taken.keys().nth(which % count.max(1)).cloned() {
                    let entry = self.taken.remove(&url).unwrap();
                    self.store().settle(&entry).unwrap();
                    self.now.settled.insert(url);
                }
            }
            Step::MoveOne { which } => {
                let count = self.taken.len();
                if let Some(url) = self.taken.keys().nth(which % count.max(1)).cloned() {
                    let mut entry = self.taken.remove(&url).unwrap();
                    self.store().settle(&entry).unwrap();
                    entry.class = Class::ALL[(entry.class as usize + 1).min(3)];
                    self.store().push(entry).unwrap();
                }
            }
            Step::LookAhead => {
                let known = self
                    .now
                    .known
                    .iter()
                    .map(|url| CrawlUrl::parse(url).unwrap());
                let mut keys: Vec<Key> = known.map(|url| keyer().key(&url)).collect();
                let count = keys.len();
                keys.extend((0..4).map(|host| entry(host, self.next_page + 1, 0).key));
                self.store().look_ahead(keys.iter().copied()).unwrap();
                for (at, key) in keys.into_iter().enumerate() {
                    assert_eq!(self.store().contains(key).unwrap(), at < count);
                }
            }
            Step::Seal => {
                let sealed = self.store().seal(Vec::new()).unwrap();
                self.sealed.push_back((sealed, self.now.clone()));
            }
            Step::Commit => {
                if let Some((mut batch, truth)) = self.sealed.pop_front() {
                    batch
                        .commit(&[("urls", truth.settled.len() as u64)])
                        .unwrap();
                    self.store().committed();
                    self.durable = truth;
                }
            }
            Step::Crash => self.crash(),
        }
    }

    /// Everything that is not durable is gone; everything else is found again.
    fn crash(&mut self) {
        self.sealed.clear();
        self.taken.clear();
        self.open = None;
        self.open = Some(reopened(self.folder.path()));
        self.now = self.durable.clone();
        let offset = self.store().offset("urls").unwrap();
        assert_eq!(offset.unwrap_or(0), self.durable.settled.len() as u64);
    }

    /// What waits is what is known and not settled, each once.
    fn check_rest(&mut self) {
        let mut active: BTreeSet<HostId> = BTreeSet::new();
        for number in 0..4 {
            let take = Step::Take {
                host: number,
                most: 3,
            };
            self.step(take);
            active.insert(host(number));
            while self.store().waiting(host(number), ALL).unwrap() == Waiting::Ready {
                self.step(take);
            }
        }
        assert_eq!(
            self.store()
                .next_host(ALL, &|host| active.contains(&host))
                .unwrap(),
            None
        );
        let open: BTreeSet<String> = self.taken.keys().cloned().collect();
        let expected: BTreeSet<String> = self
            .now
            .known
            .difference(&self.now.settled)
            .cloned()
            .collect();
        assert_eq!(open, expected);
        for url in self.now.known.clone() {
            let key = keyer().key(&CrawlUrl::parse(&url).unwrap());
            assert!(
                self.store().contains(key).unwrap(),
                "{url} is not known any more"
            );
        }
    }
}

#[test]
fn nothing_durable_is_lost_and_nothing_comes_twice() {
    let config = ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..Default::default()
    };
    TestRunner::new(config)
        .run(&steps(), |steps| {
            let mut model = Model::new();
            for step in steps {
                model.step(step);
            }
            model.check_rest();
            model.crash();
            model.check_rest();
            Ok(())
        })
        .unwrap();
}

#[test]
fn keys_go_into_runs_and_are_known_all_the_way() {
    let mut model = Model::new();
    let push = Step::Push { host: 1, depth: 0 };
    for round in 0..12 {
        for step in [push, push, push, Step::LookAhead, push, Step::Seal] {
            model.step(step);
        }
        model.step(Step::LookAhead);
        if round == 6 {
            // The run is made, and the commit that forgets the rows never comes.
            let (mut batch, _) = model.sealed.pop_back().unwrap();
            let row = batch.keys.prepare().unwrap();
            assert!(row.is_some(), "it is time for a run");
            drop(batch);
            model.crash();
        }
        model.step(Step::Commit);
        model.step(Step::LookAhead);
    }
    let store = model.open.as_ref().unwrap();
    let disk = store.disk_use().unwrap();
    assert!(disk.keys > 0, "most keys are in runs");
    let mut rows = 0;
    let count = |_: &[u8], _: &[u8]| {
        rows += 1;
        true
    };
    store.database.scan(Space::Meta, count).unwrap();
    assert!(rows < 10, "their rows are gone");
    model.crash();
    model.check_rest();
}

#[test]
fn a_row_is_taken_in_parts() {
    let mut model = Model::new();
    let take = |most| Step::Take { host: 0, most };
    let settle = Step::SettleOne { which: 0 };
    for _ in 0..10 {
        model.step(Step::Push { host: 0, depth: 0 });
    }
    model.step(take(3));
    for step in [settle, Step::Seal, Step::Commit, take(4), settle, settle] {
        model.step(step);
    }
    assert_eq!(model.taken.len(), 4, "the first part came from memory");
    assert_eq!(model.store().rows.len(), 1, "both parts are of one row");
    for step in [Step::Seal, Step::Commit, take(9)] {
        model.step(step);
    }
    assert_eq!(model.taken.len(), 7, "the second and third came from disk");
    model.crash();
    model.check_rest();
    assert_eq!(model.taken.len(), 7, "what was settled stays so");
    for step in [settle; 7] {
        model.step(step);
    }
    model.step(Step::Seal);
    assert!(model.store().rows.is_empty(), "a finished row is let go");
}

#[test]
fn hosts_that_wait_are_found_without_being_active() {
    let mut model = Model::new();
    for number in 0..4 {
        model.step(Step::Push {
            host: number,
            depth: u32::from(number),
        });
    }
    let all = |_: HostId| false;
    assert!(
        model
            .store()
            .next_host(Span::normal(0), &all)
            .unwrap()
            .is_some(),
        "in the open batch"
    );
    model.step(Step::Seal);
    model.step(Step::Commit);
    assert!(
        model.store().queues.is_empty(),
        "nothing of inactive hosts stays in memory"
    );
    let mut found = BTreeSet::new();
    for _ in 0..4 {
        let seen = found.clone();
        let next = model
            .store()
            .next_host(ALL, &move |host| seen.contains(&host))
            .unwrap();
        found.extend(next);
    }
    assert_eq!(found, (0..4).map(host).collect());
    assert_eq!(
        model
            .store()
            .next_host(Span::normal(1), &|_| false)
            .unwrap()
            .into_iter()
            .count(),
        1
    );
}

#[test]
fn lanes_robots_and_notes_come_back() {
    let mut model = Model::new();
    let row = LaneRow {
        pages: 7,
        not_before: 99,
        ..LaneRow::default()
    };
    model.store().save_lane(host(1), row.clone()).unwrap();
    let origin = Origin {
        scheme: Scheme::Https,
        port: 8443,
    };
    let robots = Robots::parse(b"User-agent: *\nDisallow: /x", &["clewline"]);
    model
        .store()
        .save_robots(host(1), origin, &robots, 42)
        .unwrap();
    assert_eq!(
        model.store().load_lane(host(1)).unwrap(),
        Some(row.clone()),
        "open"
    );
    let notes = vec![("cookies", b"jar".to_vec())];
    let mut sealed = model.store().seal(notes).unwrap();
    assert_eq!(
        model.store().load_robots(host(1), origin).unwrap(),
        Some((robots.clone(), 42))
    );
    sealed.commit(&[]).unwrap();
    drop(sealed);
    model.store().committed();
    model.crash();
    assert_eq!(model.store().load_lane(host(1)).unwrap(), Some(row));
    assert_eq!(
        model.store().load_robots(host(1), origin).unwrap(),
        Some((robots, 42))
    );
    assert_eq!(
        model.store().note("cookies").unwrap().as_deref(),
        Some(&b"jar"[..])
    );
    assert_eq!(model.store().load_lane(host(2)).unwrap(), None);
}

#[test]
fn a_store_that_cannot_be_made_says_so_before_a_log_is_written() {
    let folder = tempfile::tempdir().unwrap();
    // The storage engine wants a file of this name for itself.
    std::fs::create_dir(folder.path().join("lock")).unwrap();
    let mut store = DiskStore::open(folder.path(), keyer(), PLAN).unwrap();
    let one = entry(1, 1, 0);
    assert!(!store.contains(one.key).unwrap(), "nothing is known yet");
    assert_eq!(store.load_lane(host(1)).unwrap(), None);
    assert_eq!(
        store.waiting(host(1), Span::normal(0)).unwrap(),
        Waiting::Nothing
    );
    store.add(one.key).unwrap();
    store.push(one).unwrap();
    let refused = store.seal(Vec::new()).map(|_| ());
    assert!(
        matches!(refused, Err(StoreError::Open { .. })),
        "{refused:?}"
    );
    assert!(store.contains(entry(2, 1, 0).key).is_ok(), "keys are apart");
    assert!(store.load_lane(host(2)).is_err(), "it does not go on");
}

#[test]
fn what_is_withheld_stays_out_of_the_way_and_comes_back() {
    let mut model = Model::new();
    for (page, class) in [
        (1, Class::Normal),
        (2, Class::Suspect),
        (3, Class::Withheld),
    ] {
        let moved = QueueEntry {
            class,
            unvouched: class != Class::Normal,
            ..entry(1, page, 9 - page)
        };
        model.store().push(moved).unwrap();
    }
    for round in 0..2 {
        let mut found = Vec::new();
        for class in [Class::Normal, Class::Suspect, Class::Withheld] {
            let span = Span { class, deepest: 8 };
            let mut window = VecDeque::new();
            let waiting = model.store().waiting(host(1), span).unwrap();
            assert_eq!(waiting, Waiting::Ready, "{class:?} and what is before it");
            model.store().take(host(1), span, 10, &mut window).unwrap();
            found.extend(
                window
                    .into_iter()
                    .map(|it| (it.class, it.depth, it.unvouched)),
            );
        }
        assert_eq!(
            found,
            [
                (Class::Normal, 8, false),
                (Class::Suspect, 7, true),
                (Class::Withheld, 6, true)
            ]
        );
        if round == 0 {
            model.step(Step::Seal);
            model.step(Step::Commit);
            model.crash();
        }
    }
    let only_withheld = QueueEntry {
        class: Class::Withheld,
        ..entry(2, 1, 0)
    };
    model.store().push(only_withheld).unwrap();
    model.step(Step::Seal);
    model.step(Step::Commit);
    let other = |id: HostId| id != host(2);
    let span = |class| Span { class, ..ALL };
    let next = model.store().next_host(span(Class::Repeat), &other);
    assert_eq!(next.unwrap(), None);
    let next = model.store().next_host(ALL, &other);
    assert_eq!(next.unwrap(), Some(host(2)));
    let waiting = model.store().waiting(host(2), span(Class::Repeat));
    assert_eq!(waiting.unwrap(), Waiting::Nothing);
}
