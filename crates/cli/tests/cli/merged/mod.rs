//! What the workers of a fleet left, merged, and asked as any other crawl.

mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use clewline::StoredJob;
use clewline_core::fleet::{ShardId, Tenure};
use clewline_core::key::Key;
use clewline_job::config::Compression;
use clewline_job::log::{LinksReader, records, urls};
use clewline_job::merge::{MergeError, MergePlan, MergeSummary, MergeSurvey, MissingPages};
use clewline_job::record::Record;
use clewline_warc::RecordKind;
use clewline_warc::read::WarcReader;

use crate::place::Place;
use crate::replay::Serving;
use worker::{Archiving, HOSTS, Worker, config, crawl, found, shard_of, web};

const GZIP: Archiving = Archiving::In(Compression::Fast);
const ZSTD: Archiving = Archiving::In(Compression::Zstd);

/// Two workers that each crawled everything, and a place for what is merged.
struct Fleet {
    place: Place,
    one: Worker,
    two: Worker,
}

impl Fleet {
    fn new(archiving: Archiving) -> Self {
        let (place, web) = (Place::new(), web());
        let config = config(&web, archiving);
        let one = crawl(&place.path("m1"), 0x00ab, &config, None);
        let two = crawl(
            &place.path("m2"),
            0x7fff_0000_0000_0001,
            &config,
            Some(&one),
        );
        assert_eq!(one.seed, two.seed);
        Self { place, one, two }
    }

    fn plan(&self, tenures: Vec<Tenure>) -> MergePlan {
        MergePlan {
            folders: vec![self.place.path("m1"), self.place.path("m2")],
            tenures: Some(tenures),
            early: None,
            output: self.place.path("out.crawl"),
            missing: MissingPages::Refused,
        }
    }

    fn merge(&self, tenures: Vec<Tenure>) -> Result<MergeSummary, MergeError> {
        StoredJob::merge(&self.plan(tenures))
    }

    /// The first worker held the shards of the first half of the hosts, the second all others.
    fn halves(&self) -> Vec<Tenure> {
        let first = self.one.shards(0..HOSTS / 2);
        let all = self.one.shards(0..HOSTS);
        let rest: BTreeSet<ShardId> = all.difference(&first).copied().collect();
        assert!(!first.is_empty() && !rest.is_empty());
        [self.one.whole(&first), self.two.whole(&rest)].concat()
    }

    fn out(&self) -> PathBuf {
        self.place.path("out.crawl")
    }

    fn merged(&self) -> Vec<Record> {
        records(&self.out().join(urls::FILE))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }
}

/// The WARC files of a job folder.
fn warcs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("archive")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().contains(".warc"));
    files.sort();
    files
}

/// The URLs of the records of a kind.
fn targets(folder: &Path, wanted: RecordKind) -> Vec<String> {
    let mut found = Vec::new();
    for file in warcs(folder) {
        let mut reader = WarcReader::new(File::open(file).unwrap());
        while let Some(header) = reader.next_record() {
            let header = header.unwrap();
            if header.kind() == wanted {
                found.push(header.target().unwrap_or_default().to_owned());
            }
            assert!(reader.end().unwrap().is_alone);
        }
    }
    found
}

/// The pages that `links/` speaks of.
fn linking(folder: &Path) -> BTreeSet<Key> {
    let links = LinksReader::open(folder).unwrap();
    links.map(|link| link.unwrap().0).collect()
}

/// Every file but the state, by its name.
fn bytes_of(folder: &Path, below: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().into_string().unwrap());
        if name == "state" {
            continue;
        }
        if entry.path().is_dir() {
            all.extend(bytes_of(folder, &format!("{name}/")));
        } else {
            all.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    all
}

/// All logs speak of the same pages: those of the merged `urls.jsonl`.
fn check_logs_agree(fleet: &Fleet) {
    let merged = fleet.merged();
    let lines: Vec<String> = merged.iter().map(|it| it.url.to_string()).collect();
    assert_eq!(targets(&fleet.out(), RecordKind::Metadata), lines);
    let with_links = merged.iter().filter(|it| it.links > 0).map(|it| it.key);
    assert_eq!(linking(&fleet.out()), with_links.collect());
}

#[test]
fn two_workers_make_the_crawl_of_one() {
    for archiving in [GZIP, ZSTD, Archiving::Not] {
        let fleet = Fleet::new(archiving);
        let summary = fleet.merge(fleet.halves()).unwrap();
        let single: Vec<&Record> = fleet.two.records.iter().map(|(_, record)| record).collect();
        let merged = fleet.merged();
        assert_eq!(
            found(&merged),
            found(single.iter().copied()),
            "{archiving:?}"
        );
        assert_eq!(summary.records, single.len() as u64);
        assert_eq!(summary.dropped, single.len() as u64);
        assert_eq!(summary.missing, []);
        // Both brought something.
        let theirs: BTreeSet<&str> = merged.iter().map(|it| it.fetched_at.as_str()).collect();
        for worker in [&fleet.one, &fleet.two] {
            let mut times = worker.records.iter().map(|(_, it)| it.fetched_at.as_str());
            assert!(times.any(|time| theirs.contains(time)));
        }
        if archiving == Archiving::Not {
            assert!(!fleet.out().join("archive").exists());
            check_state(&fleet, &merged);
            continue;
        }
        check_logs_agree(&fleet);
        check_same_bytes_again(&fleet);
        check_views(&fleet, &merged);
        check_replay(&fleet);
        check_state(&fleet, &merged);
    }
}

/// The command finds nothing unusual about the folder.
fn check_views(fleet: &Fleet, merged: &[Record]) {
    let ran = fleet.place.run(&["warc", "verify", "out.crawl"]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.talk);
    let ran = fleet
        .place
        .run(&["search", "out.crawl", "host:h2.test page"]);
    assert!(
        ran.out.contains("http://h2.test"),
        "{} {}",
        ran.out,
        ran.talk
    );
    let ran = fleet
        .place
        .run(&["export", "--to", "jsonl", "-o", "pages.jsonl", "out.crawl"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let exported = fs::read_to_string(fleet.place.path("pages.jsonl")).unwrap();
    assert_eq!(exported.lines().count(), merged.len());
    assert_eq!(exported.matches("<title>").count(), 0);
    let texts = exported.matches("page /p/9 of host").count();
    assert!(texts >= HOSTS, "{texts}");
    let ran = fleet
        .place
        .run(&["export", "--to", "parquet", "-o", "tables", "out.crawl"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    // The archive knows the lines and the index as well as the folder does.
    fs::create_dir(fleet.place.path("again")).unwrap();
    let out = fleet.out();
    let files = warcs(&out);
    let mut line = vec!["warc", "rebuild", "-o", "again"];
    line.extend(files.iter().map(|file| file.to_str().unwrap()));
    let ran = fleet.place.run(&line);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    for (name, made) in [
        ("urls.jsonl", "urls.jsonl"),
        ("links/00000.links", "links/00000.links"),
        ("archive/index.cdxj", "index.cdxj"),
    ] {
        let rebuilt = fs::read(fleet.place.path("again").join(made)).unwrap();
        assert!(fs::read(out.join(name)).unwrap() == rebuilt, "{name}");
    }
}

fn check_replay(fleet: &Fleet) {
    let serving = Serving::new(&fleet.place, &["out.crawl"]);
    let wanted = fleet.merged().into_iter().map(|it| it.url.to_string());
    for url in wanted.filter(|url| url.ends_with("/p/9") || url.ends_with("/same/3")) {
        // The first answer names the moment of the capture.
        let (head, _) = serving.ask(&format!("/web/{url}"));
        let moved = head
            .lines()
            .find_map(|line| line.strip_prefix("Location: "));
        let (head, body) = serving.ask(moved.unwrap());
        let body = String::from_utf8_lossy(&body).into_owned();
        let title = if url.ends_with('9') {
            "page /p/9"
        } else {
            "<title>same"
        };
        assert!(head.starts_with("HTTP/1.0 200"), "{url}: {head}");
        assert!(body.contains(title), "{url}: {body}");
    }
}

fn check_state(fleet: &Fleet, merged: &[Record]) {
    let out = fleet.out();
    let out = out.to_str().unwrap();
    let ran = fleet.place.run(&["status", out]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.out.contains("finished"), "{}", ran.out);
    let page = merged
        .iter()
        .find(|it| it.url.as_str().ends_with("/p/9"))
        .unwrap();
    let ran = fleet.place.run(&["why", out, page.url.as_str()]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let ran = fleet
        .place
        .run(&["why", out, &page.url.as_str().replace("/p/9", "/p/7")]);
    assert!(ran.out.contains("robots.txt"), "{} {}", ran.out, ran.talk);
    let report = fs::read_to_string(fleet.out().join("report.html")).unwrap();
    assert!(report.contains("merged from what 2 workers left"));
    let ran = fleet.place.run(&["resume", out]);
    assert!(ran.talk.contains("finished"), "{}", ran.talk);
}

fn check_same_bytes_again(fleet: &Fleet) {
    let first = bytes_of(&fleet.out(), "");
    fs::rename(fleet.out(), fleet.place.path("first.crawl")).unwrap();
    let mut plan = fleet.plan(fleet.halves());
    plan.folders.reverse();
    StoredJob::merge(&plan).unwrap();
    let second = bytes_of(&fleet.out(), "");
    assert!(
        first.keys().eq(second.keys()),
        "{:?} {:?}",
        first.keys(),
        second.keys()
    );
    for (name, bytes) in &first {
        assert!(*bytes == second[name], "{name}");
    }
}

#[test]
fn a_refused_batch_is_left_out_of_every_log_and_its_keys_are_named() {
    let fleet = Fleet::new(GZIP);
    let one = &fleet.one;
    let last = one.last_batch();
    let refused = last / 2;
    // The worker lost all shards, its batch was refused, and it claimed them again.
    let mut tenures = Vec::new();
    for shard in one.shards(0..HOSTS) {
        tenures.push(one.tenure(shard, 1, (1, refused - 1)));
        tenures.push(one.tenure(shard, 3, (refused + 1, last)));
    }
    let summary = fleet.merge(tenures.clone()).unwrap();
    let is_refused = |batch: u64| batch == refused;
    let kept = one.records.iter().filter(|(batch, _)| !is_refused(*batch));
    let merged = fleet.merged();
    assert_eq!(found(&merged), found(kept.map(|(_, record)| record)));
    let missed: BTreeSet<Key> = one
        .records
        .iter()
        .filter(|(batch, _)| is_refused(*batch))
        .map(|(_, record)| record.key)
        .collect();
    assert!(!missed.is_empty());
    assert_eq!(
        summary.dropped,
        (missed.len() + fleet.two.records.len()) as u64
    );
    check_logs_agree(&fleet);
    let responses = targets(&fleet.out(), RecordKind::Request);
    for (_, record) in one.records.iter().filter(|(batch, _)| is_refused(*batch)) {
        assert!(
            !responses.contains(&record.url.to_string()),
            "{}",
            record.url
        );
    }
    // The fleet settled all of them, in some order and some of them twice.
    let settled = one.records.iter().rev().chain(&one.records[..9]);
    let mut survey = MergeSurvey::new(&fleet.plan(tenures)).unwrap();
    assert_eq!((survey.missing(), survey.cut()), (&[][..], &[][..]));
    let keys = settled.map(|(_, record)| record.key);
    survey.settled(keys).unwrap();
    let named: BTreeSet<Key> = survey.lost().unwrap().keys.into_iter().collect();
    assert_eq!(named, missed);
}

#[test]
fn what_the_last_whole_line_does_not_speak_of_never_counts() {
    let fleet = Fleet::new(GZIP);
    let one = &fleet.one;
    let last = one.last_batch() - 1;
    let path = one.path.join("batches.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 4]).unwrap();
    // Bytes of a batch that was never whole.
    for file in [one.path.join(urls::FILE), warcs(&one.path).pop().unwrap()] {
        use std::io::Write as _;
        let mut file = File::options().append(true).open(file).unwrap();
        file.write_all(b"{\"v\":1,\"url\":\"http://h0").unwrap();
    }
    let shards = one.shards(0..HOSTS);
    let tenures = shards.iter().map(|shard| one.tenure(*shard, 1, (1, last)));
    let tenures: Vec<Tenure> = tenures.collect();
    fleet.merge(tenures).unwrap();
    let kept = one.records.iter().filter(|(batch, _)| *batch <= last);
    assert_eq!(
        found(&fleet.merged()),
        found(kept.map(|(_, record)| record))
    );
    check_logs_agree(&fleet);
    // A tenure that counts more is named with what is not there.
    fs::remove_dir_all(fleet.out()).unwrap();
    let tenures = shards
        .iter()
        .map(|shard| one.tenure(*shard, 1, (1, last + 1)));
    let missed = one
        .records
        .iter()
        .filter(|(batch, it)| *batch > last && worker::is_page(it));
    let missed = missed.count() as u64;
    match fleet.merge(tenures.collect()) {
        Err(MergeError::Missing(missing)) => {
            assert_eq!((missing[0].worker, missing[0].pages), (one.id, missed));
        }
        other => assert_eq!((missed, other.is_ok()), (0, true)),
    }
}

#[test]
fn a_missing_folder_is_named_with_its_pages() {
    let fleet = Fleet::new(GZIP);
    let tenures = fleet.halves();
    for worker in [&fleet.one, &fleet.two] {
        worker.tell(Some(tenures.clone()));
    }
    let mut plan = fleet.plan(Vec::new());
    plan.tenures = None;
    plan.folders = vec![fleet.one.path.clone()];
    let of_two = tenures.iter().filter(|it| it.worker == fleet.two.id);
    let pages: u64 = of_two.clone().map(|it| it.pages).sum();
    let error = StoredJob::merge(&plan).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&format!("7fff000000000001 ({pages} pages)")),
        "{text}"
    );
    assert!(
        text.contains("--requeue-missing") && text.contains("--allow-missing"),
        "{text}"
    );
    assert!(!fleet.out().exists());
    let MergeError::Missing(missing) = error else {
        panic!("{error}");
    };
    assert_eq!(missing[0].tenures, of_two.copied().collect::<Vec<_>>());

    plan.missing = MissingPages::Allowed;
    let summary = StoredJob::merge(&plan).unwrap();
    assert_eq!((summary.missing, summary.workers), (missing, 1));
    let first = fleet.one.shards(0..HOSTS / 2);
    let kept = fleet
        .one
        .records
        .iter()
        .filter(|(_, it)| first.contains(&shard_of(it)));
    assert_eq!(
        found(&fleet.merged()),
        found(kept.map(|(_, record)| record))
    );
    let report = fs::read_to_string(fleet.out().join("report.html")).unwrap();
    assert!(report.contains(&format!("{pages} pages of 1 worker are missing")));
    assert!(matches!(
        StoredJob::merge(&plan),
        Err(MergeError::Exists(_))
    ));
}

#[test]
fn a_capture_that_others_refer_to_stays() {
    for archiving in [GZIP, ZSTD] {
        let fleet = Fleet::new(archiving);
        // Each host is counted where others were met first, one way or the other.
        let summary = fleet.merge(fleet.halves()).unwrap();
        assert!(
            summary.originals > 0,
            "{archiving:?}: nothing referred to what is left out"
        );
        let ran = fleet.place.run(&["warc", "verify", "out.crawl"]);
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.talk);
        let out = fleet.out();
        let answers: BTreeSet<String> = targets(&out, RecordKind::Response).into_iter().collect();
        let mut revisits = 0;
        for file in warcs(&out) {
            let mut reader = WarcReader::new(File::open(file).unwrap());
            while let Some(header) = reader.next_record() {
                let header = header.unwrap();
                if header.kind() == RecordKind::Revisit {
                    let original = header.uri("WARC-Refers-To-Target-URI").unwrap();
                    assert!(answers.contains(original), "{original}");
                    revisits += 1;
                }
            }
        }
        assert!(revisits > 0);
        let same = fleet
            .merged()
            .into_iter()
            .filter(|it| it.url.as_str().contains("/same/"));
        for record in same.map(|it| it.url.to_string()) {
            let ran = fleet.place.run(&["warc", "get", "out.crawl", &record]);
            assert!(
                ran.out.contains("<title>same"),
                "{record}: {} {}",
                ran.out,
                ran.talk
            );
        }
    }
}

#[test]
fn what_counts_twice_and_what_was_never_counted_are_defects() {
    let fleet = Fleet::new(Archiving::Not);
    let all = fleet.one.shards(0..HOSTS);
    let twice = [fleet.one.whole(&all), fleet.two.whole(&all)].concat();
    let error = fleet.merge(twice).unwrap_err();
    let MergeError::CountedTwice { one, other, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(
        (one.as_str(), other.as_str()),
        ("00000000000000ab", "7fff000000000001")
    );
    let mut fewer = fleet.halves();
    fewer[0].pages -= 1;
    let error = fleet.merge(fewer).unwrap_err();
    assert!(matches!(error, MergeError::Surplus { .. }), "{error}");
    assert!(!fleet.out().exists());
    // Nothing is left beside it.
    let names = fleet.place.names("");
    assert_eq!(names, ["m1", "m2"]);
    let mut plan = fleet.plan(fleet.halves());
    plan.tenures = None;
    assert!(matches!(
        StoredJob::merge(&plan),
        Err(MergeError::NoTenures)
    ));
    plan.folders = vec![fleet.place.path("nothing")];
    assert!(matches!(
        StoredJob::merge(&plan),
        Err(MergeError::NoWorkers(_))
    ));
}

#[test]
fn a_log_that_lost_its_end_is_named() {
    let fleet = Fleet::new(GZIP);
    let broken = [
        fleet.one.path.join(urls::FILE),
        warcs(&fleet.one.path).pop().unwrap(),
    ];
    for path in broken {
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
        match fleet.merge(fleet.halves()) {
            Err(MergeError::Damaged { path: named, .. }) => assert_eq!(named, path),
            other => panic!("{other:?}"),
        }
        fs::write(&path, bytes).unwrap();
    }
    // A whole file is no damage to be met when reading.
    let last = warcs(&fleet.one.path).pop().unwrap();
    fs::rename(&last, fleet.place.path("aside")).unwrap();
    let error = fleet.merge(fleet.halves()).unwrap_err();
    assert!(error.to_string().contains("is gone"), "{error}");
    fs::rename(fleet.place.path("aside"), &last).unwrap();
    fleet.merge(fleet.halves()).unwrap();
}
