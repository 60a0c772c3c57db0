//! A machine is lost with all that it fetched: exactly its pages are queued and fetched again, and
//! what is merged after that lacks nothing. A budget counts them once, and says that it ended the
//! job.

use std::collections::BTreeSet;

use clewline_job::merge::WORKERS;

use super::*;

/// Every commit finds its log too long, so that logs are shortened all the time and the text of
/// settled URLs is in the past only.
const LONG_LOGS: &str = "
    create function clewline.lengthen() returns trigger language plpgsql as $$
        begin new.tail_bytes = 1::bigint << 40; return new; end $$;
    create trigger lengthen before update on clewline.shard for each row
        when (new.head > old.head) execute function clewline.lengthen()";

/// Long enough that no worker is taken for dead on a busy machine: each test counts its folders.
const LEASE: [&str; 4] = ["--lease", "20s", "--shards", "8"];

/// A worker whose machine is gone.
struct LostMachine {
    /// Its name.
    worker: String,
    /// Records that it had, those included that never counted.
    records: Vec<Record>,
}

/// The only worker that wrote below a folder.
fn worker_in(folder: &Path) -> PathBuf {
    let mut workers = std::fs::read_dir(folder.join(WORKERS)).unwrap();
    let worker = workers.next().unwrap().unwrap().path();
    assert!(workers.next().is_none(), "it joined again");
    worker
}

fn keys(records: &[Record]) -> BTreeSet<String> {
    let keys = records.iter().map(|record| record.key.to_string());
    keys.collect()
}

/// Runs a job to its end by two workers, and loses the folder of the second.
fn lose_a_machine(fleet: &mut Fleet) -> LostMachine {
    // Whoever connects first makes the tables.
    FleetServer::connect(&fleet.url()).unwrap();
    fleet.database.sql(LONG_LOGS);
    fleet.two_workers().into_iter().for_each(end);
    let folder = fleet.last_folder();
    let worker = worker_in(&folder);
    let left = records(&worker.join(urls::FILE)).unwrap();
    let left: Vec<Record> = left.map(Result::unwrap).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    LostMachine {
        worker: worker.file_name().unwrap().to_str().unwrap().to_owned(),
        records: left,
    }
}

impl Fleet {
    fn todo(&self) -> u64 {
        let totals = self.status().unwrap().totals;
        totals.admitted - totals.settled
    }
}

#[test]
fn pages_of_a_lost_machine_are_fetched_again_and_no_others() {
    let Some(mut fleet) = Fleet::new("lost", 20, 20, &LEASE) else {
        return;
    };
    let lost = lose_a_machine(&mut fleet);
    let before = fleet.status().unwrap().totals;
    assert_eq!(before.admitted, before.settled);
    let past = fleet.database.sql("select count(*) from clewline.past");
    assert!(past.parse::<u64>().unwrap() > 8, "logs were shortened");

    let allowed = fleet.merge_into("without.crawl", &["--allow-missing"]);
    assert!(allowed.status.success(), "{}", told(&allowed));
    let kept = fleet.records_in("without.crawl");
    let missing = before.settled - kept.len() as u64;
    let named = format!("{} ({} pages)", lost.worker, before.pages - pages(&kept));
    assert!(missing > 0, "{named}");
    let refused = fleet.merge_into("none.crawl", &[]);
    assert_eq!(refused.status.code(), Some(3));
    let text = told(&refused);
    assert!(text.contains("pages of 1 worker are missing"), "{text}");
    assert!(text.contains(&named), "{named}: {text}");

    let requeued = fleet.merge_into("none.crawl", &["--requeue-missing"]);
    assert_eq!(requeued.status.code(), Some(3), "{}", told(&requeued));
    let text = printed(&requeued);
    let queued = format!("{missing} URLs queued again");
    assert!(text.contains(&queued) && text.contains(&named), "{text}");
    assert!(!fleet.place.path().join("none.crawl").exists());
    assert_eq!(fleet.todo(), missing);
    // What waits is not queued twice.
    let again = fleet.merge_into("early.crawl", &["--requeue-missing"]);
    assert!(again.status.success(), "{}", told(&again));
    assert!(printed(&again).contains("stopped before its end"));
    assert_eq!(fleet.todo(), missing);

    end(fleet.worker(Start::Join));
    let log = worker_in(&fleet.last_folder()).join(urls::FILE);
    let fetched: Vec<Record> = records(&log).unwrap().map(Result::unwrap).collect();
    assert_eq!(fetched.len() as u64, missing, "each once");
    assert!(keys(&fetched).is_disjoint(&keys(&kept)), "and no others");
    assert!(keys(&fetched).is_subset(&keys(&lost.records)));

    let merged = fleet.merge_into("whole.crawl", &["--requeue-missing"]);
    assert!(merged.status.success(), "{}", told(&merged));
    assert!(printed(&merged).contains("is a finished crawl"));
    let whole = fleet.records_in("whole.crawl");
    assert_eq!(whole.len() as u64, before.settled);
    assert_eq!(fleet.status().unwrap().totals.pages, before.pages);
    fleet.check_whole(&whole);
    fleet.judge();
}

#[test]
fn a_budget_counts_lost_pages_once_and_says_that_it_ended_the_job() {
    let budget = [&["--max-pages", "150"], &LEASE[..]].concat();
    let Some(mut fleet) = Fleet::new("lost-budget", 20, 20, &budget) else {
        return;
    };
    lose_a_machine(&mut fleet);
    assert_eq!(
        fleet.status().unwrap().ended.as_deref(),
        Some("--max-pages")
    );
    let requeued = fleet.merge_into("none.crawl", &["--requeue-missing"]);
    assert!(
        printed(&requeued).contains("queued again"),
        "{}",
        told(&requeued)
    );
    let status = fleet.status().unwrap();
    assert!(status.totals.pages < 150 && status.ended.is_none());
    end(fleet.worker(Start::Join));
    let merged = fleet.merge_into("whole.crawl", &[]);
    assert!(merged.status.success(), "{}", told(&merged));
    let text = printed(&merged);
    assert!(
        text.contains("a crawl that --max-pages ended early"),
        "{text}"
    );
    assert_eq!(pages(&fleet.records_in("whole.crawl")), 150);
    assert_eq!(fleet.status().unwrap().totals.pages, 150);
    let report = fleet.place.path().join("whole.crawl/report.html");
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("stopped by --max-pages"));
}
