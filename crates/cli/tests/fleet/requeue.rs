//! A machine is lost with all that it fetched: exactly its pages are queued and fetched again, and
//! what is merged after that lacks nothing. A budget counts them once, and says that it ended the
//! job.

use std::collections::BTreeSet;

use clewline_job::merge::WORKERS;

use super::*;

/// So many bytes behind the last checkpoint make a worker write the next one.
const MANY_BYTES: u64 = 1 << 40;

/// A worker that died with its machine.
struct LostMachine {
    folder: PathBuf,
    /// Records that it left.
    records: Vec<Record>,
}

/// Runs a job to its end, in which the second of three workers is lost after it committed something
/// and after logs were shortened, so that the text of settled URLs is in no log any more.
fn lose_a_machine(fleet: &mut Fleet) -> LostMachine {
    let first = fleet.worker(Start::Job);
    fleet.until("a job", |status| status.totals.pages > 0);
    let mut second = fleet.worker(Start::Join);
    let folder = fleet.folder(fleet.started % 8);
    fleet.until("shortened logs", |status| {
        let long = format!("update clewline.shard set tail_bytes = {MANY_BYTES}");
        fleet.database.sql(&long);
        let past = fleet.database.sql("select count(*) from clewline.past");
        let pages = "select coalesce(sum(t.pages), 0) from clewline.tenure t
            where t.worker in (select p.worker from clewline.tenure p join clewline.past l
            on l.job = p.job and l.shard = p.shard) and t.worker <> (select worker
            from clewline.tenure order by shard, epoch limit 1)";
        let pages = fleet.database.sql(pages);
        let is_late = status.phase == JobPhase::Done;
        assert!(!is_late, "the job is too small: {past} {pages}");
        past.parse::<u64>().unwrap() > 4 && pages.parse::<u64>().unwrap() > 10
    });
    second.kill().unwrap();
    second.wait().unwrap();
    let third = fleet.worker(Start::Join);
    end(first);
    end(third);
    let workers = std::fs::read_dir(folder.join(WORKERS)).unwrap();
    let logs = workers.map(|worker| worker.unwrap().path().join(urls::FILE));
    let records = logs.flat_map(|log| records(&log).unwrap()).flatten();
    let records = records.collect();
    std::fs::remove_dir_all(&folder).unwrap();
    LostMachine { folder, records }
}

impl Fleet {
    /// Merges into a folder by the command, with more flags.
    fn merge_into(&self, output: &str, flags: &[&str]) -> Output {
        let folders = (0..8).map(|number| self.folder(number));
        let folders = folders.filter(|folder| folder.exists());
        let folders: Vec<String> = folders.map(|path| path.display().to_string()).collect();
        let url = self.database.url();
        let mut arguments = vec!["fleet", "merge", &url, "--job", self.job, "-o", output];
        arguments.extend(flags);
        arguments.extend(folders.iter().map(String::as_str));
        self.clewline(&arguments)
    }

    fn records_in(&self, output: &str) -> Vec<Record> {
        let urls = self.place.path().join(output).join(urls::FILE);
        records(&urls).unwrap().map(Result::unwrap).collect()
    }

    fn todo(&self) -> u64 {
        let totals = self.status().unwrap().totals;
        totals.admitted - totals.settled
    }
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn pages_of_a_lost_machine_are_fetched_again_and_no_others() {
    let Some(mut fleet) = Fleet::new("lost", 30, 30, &[]) else {
        return;
    };
    let lost = lose_a_machine(&mut fleet);
    assert!(!lost.records.is_empty());
    let before = fleet.status().unwrap().totals;
    assert_eq!(before.admitted, before.settled);

    let refused = fleet.merge_into("none.crawl", &[]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(told(&refused).contains("pages of 1 worker are missing"));
    let allowed = fleet.merge_into("without.crawl", &["--allow-missing"]);
    assert!(allowed.status.success(), "{}", told(&allowed));
    let kept = fleet.records_in("without.crawl");
    let missing = before.settled - kept.len() as u64;
    assert!(missing > 0);

    let requeued = fleet.merge_into("none.crawl", &["--requeue-missing"]);
    assert_eq!(requeued.status.code(), Some(3), "{}", told(&requeued));
    let text = printed(&requeued);
    assert!(
        text.contains(&format!("{missing} URLs queued again")),
        "{text}"
    );
    assert!(!fleet.place.path().join("none.crawl").exists());
    assert_eq!(fleet.todo(), missing);
    // What waits is not queued twice.
    let again = fleet.merge_into("early.crawl", &["--requeue-missing"]);
    assert!(again.status.success(), "{}", told(&again));
    assert!(printed(&again).contains("stopped before its end"));
    assert_eq!(fleet.todo(), missing);

    let joined = fleet.worker(Start::Join);
    let folder = fleet.folder(fleet.started % 8);
    end(joined);
    let worker = std::fs::read_dir(folder.join(WORKERS)).unwrap().next();
    let log = worker.unwrap().unwrap().path().join(urls::FILE);
    let fetched: Vec<Record> = records(&log).unwrap().map(Result::unwrap).collect();
    let keys = |records: &[Record]| -> BTreeSet<String> {
        records
            .iter()
            .map(|record| record.key.to_string())
            .collect()
    };
    assert_eq!(fetched.len() as u64, missing, "each once");
    assert!(keys(&fetched).is_disjoint(&keys(&kept)), "and no others");

    let merged = fleet.merge_into("whole.crawl", &["--requeue-missing"]);
    assert!(merged.status.success(), "{}", told(&merged));
    assert!(printed(&merged).contains("is a finished crawl"));
    let whole = fleet.records_in("whole.crawl");
    assert_eq!(whole.len() as u64, before.settled);
    assert_eq!(fleet.status().unwrap().totals.pages, before.pages);
    let oracle = fleet.internet.oracle(&OracleRules::default());
    let comparison = Comparison::new(&oracle, seen(&whole));
    assert!(comparison.is_perfect(), "{comparison}");
    fleet.judge();
    assert!(!lost.folder.exists());
}

#[test]
fn a_budget_counts_lost_pages_once_and_says_that_it_ended_the_job() {
    let Some(mut fleet) = Fleet::new("lost-budget", 30, 30, &["--max-pages", "400"]) else {
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
    assert!(status.totals.pages < 400 && status.ended.is_none());
    let joined = fleet.worker(Start::Join);
    end(joined);
    let merged = fleet.merge_into("whole.crawl", &[]);
    assert!(merged.status.success(), "{}", told(&merged));
    let text = printed(&merged);
    assert!(
        text.contains("a crawl that --max-pages ended early"),
        "{text}"
    );
    let whole = fleet.records_in("whole.crawl");
    let pages = whole
        .iter()
        .filter(|record| record.outcome == OutcomeKind::Fetched && record.kind.is_page());
    assert_eq!(pages.count(), 400);
    assert_eq!(fleet.status().unwrap().totals.pages, 400);
    let report = fleet.place.path().join("whole.crawl/report.html");
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("stopped by --max-pages"));
}

#[test]
fn what_was_uploaded_is_merged_without_the_database() {
    let Some(mut fleet) = Fleet::new("uploaded", 12, 6, &[]) else {
        return;
    };
    let store = format!("file://{}", fleet.place.path().join("store").display());
    std::fs::create_dir(fleet.place.path().join("store")).unwrap();
    fleet.extra = vec!["--upload-to".into(), store.clone()];
    let running = [fleet.worker(Start::Job), fleet.worker(Start::Job)];
    running.into_iter().for_each(end);
    let settled = fleet.status().unwrap().totals.settled;
    fleet.database.stop();
    let merged = fleet.clewline(&["fleet", "merge", &store, "-o", "merged.crawl"]);
    assert!(merged.status.success(), "{}", told(&merged));
    let records = fleet.records_in("merged.crawl");
    assert_eq!(records.len() as u64, settled);
    let oracle = fleet.internet.oracle(&OracleRules::default());
    let comparison = Comparison::new(&oracle, seen(&records));
    assert!(comparison.is_perfect(), "{comparison}");
}
