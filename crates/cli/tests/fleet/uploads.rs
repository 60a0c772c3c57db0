//! Results that outlive their machines: what workers uploaded is merged without them and without the
//! database.

use fieldwork::s3::{self, S3Server};

use super::*;

/// Crawls with uploads, loses the machines and the database, and merges what is in the store.
fn crawl_and_merge(fleet: &mut Fleet, store: &str) {
    fleet
        .extra
        .extend(["--upload-to", store].map(str::to_owned));
    let mut first = fleet.command(Start::Job);
    first.arg("--quiet");
    let mut second = fleet.command(Start::Join);
    second.args(["--quiet", "--upload-to", store]);
    for worker in fleet.two_of([first, second]) {
        let output = worker.wait_with_output().unwrap();
        let talk = told(&output);
        assert!(output.status.success(), "{talk}");
        assert!(!talk.contains(s3::SECRET), "{talk}");
    }
    let settled = fleet.status().unwrap().totals.settled;
    for number in 0..8 {
        std::fs::remove_dir_all(fleet.folder(number)).ok();
    }
    fleet.database.stop();
    let merged = fleet.clewline(&["fleet", "merge", store, "-o", "merged.crawl"]);
    assert!(merged.status.success(), "{}", told(&merged));
    assert!(printed(&merged).contains("is a finished crawl"));
    let records = fleet.records_in("merged.crawl");
    assert_eq!(records.len() as u64, settled);
    fleet.check_whole(&records);
}

#[test]
fn what_is_in_a_shared_folder_is_merged_without_the_database() {
    let Some(mut fleet) = Fleet::new("uploaded", 12, 6, &["--shards", "8"]) else {
        return;
    };
    let store = fleet.place.path().join("store");
    std::fs::create_dir(&store).unwrap();
    crawl_and_merge(&mut fleet, &format!("file://{}", store.display()));
}

#[test]
fn what_is_in_s3_is_merged_without_the_database() {
    let Some(server) = S3Server::start() else {
        return;
    };
    let Some(mut fleet) = Fleet::new("uploaded", 12, 6, &["--shards", "8"]) else {
        return;
    };
    server.make_bucket("crawls");
    fleet.environment = server.environment().to_vec();
    crawl_and_merge(&mut fleet, "s3://crawls/some/prefix");
}
