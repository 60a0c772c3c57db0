use clewline_core::url::CrawlUrl;

use super::*;
use crate::store::tests::plain_entry;

fn keyer() -> Keyer {
    Keyer::new(3, &[])
}

fn entry(path: &str) -> QueueEntry {
    let url = CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap();
    plain_entry(&keyer(), url, 1)
}

fn part(seq: u64, queued: &[&str], settled: &[&str]) -> LogPart {
    let delta = Delta {
        queued: queued.iter().map(|path| entry(path)).collect(),
        settled: settled.iter().map(|path| entry(path).key).collect(),
        ..Delta::default()
    };
    LogPart {
        seq,
        part: None,
        body: delta.pack(),
    }
}

fn waiting(log: &ShardLog) -> Vec<&str> {
    let queued = log.queued.iter();
    queued.map(|entry| &entry.url.path()[1..]).collect()
}

#[test]
fn what_was_settled_does_not_wait_unless_it_was_queued_again() {
    let log = [
        part(1, &["a", "b", "c"], &["a"]),
        part(2, &["d"], &["c", "d"]),
        part(3, &["c"], &[]),
    ];
    let log = ShardLog::read(&log, &keyer()).unwrap();
    assert_eq!(waiting(&log), ["b", "c"]);
    assert_eq!(log.known.len(), 4);
    assert!(log.known.is_sorted());
}

#[test]
fn a_checkpoint_stands_for_all_before_it() {
    let paths: Vec<String> = (0..PART_URLS + 10).map(|page| format!("p{page}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let before = [part(1, &paths, &["p3"]), part(2, &[], &["p5"])];
    let after = part(3, &["new"], &["p7"]);
    let whole = [before[0].clone(), before[1].clone(), after.clone()];
    let whole = ShardLog::read(&whole, &keyer()).unwrap();
    let checkpoint = ShardLog::read(&before, &keyer()).unwrap().checkpoint(2);
    let past = Delta::read(&checkpoint.past[0], &keyer()).unwrap();
    let past: Vec<&str> = past.queued.iter().map(|entry| entry.url.path()).collect();
    assert_eq!(past, ["/p3", "/p5"]);
    let mut short = checkpoint.parts;
    assert!(short.len() > 2, "it has parts");
    assert!(
        short
            .iter()
            .all(|part| part.seq == 2 && part.part.is_some())
    );
    short.push(after);
    let short = ShardLog::read(&short, &keyer()).unwrap();
    assert_eq!(waiting(&short), waiting(&whole));
    assert_eq!(short.known, whole.known);
}

#[test]
fn the_past_has_what_reached_its_end_and_nothing_else() {
    let mut renamed = part(2, &["http"], &[]);
    let mut delta = Delta::read(&renamed.body, &keyer()).unwrap();
    delta.renamed.push(entry("https").key);
    renamed.body = delta.pack();
    let log = [
        part(
            1,
            &["https", "done", "again", "moved"],
            &["done", "again", "moved"],
        ),
        renamed,
        part(3, &["again", "moved"], &["moved"]),
    ];
    let log = ShardLog::read(&log, &keyer()).unwrap();
    assert_eq!(waiting(&log), ["http", "again"]);
    let settled: Vec<&str> = log.settled.iter().map(|entry| entry.url.path()).collect();
    assert_eq!(settled, ["/done", "/moved"]);
}
