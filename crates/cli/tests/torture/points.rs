//! Every named fail point, on a crawl that goes on afterwards.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use clewline_job::failpoint::Point;
use terrarium::LiveWeb;

use crate::graph::Graph;
use crate::ledger::{Kill, compare};
use crate::run::{SMALL_TABLES, command, ended, finish, is_finished, start};

/// The signal of an abort.
const ABORTED: i32 = 6;

/// Runs until a point is passed so many times; nothing if it never is.
fn abort_at(point: &str, passing: u64, folder: &Path, web: &LiveWeb) -> Option<Kill> {
    let child = command(folder, web)
        .env("CLEWLINE_KILL_AT", format!("{point}:{passing}"))
        .env(SMALL_TABLES, "1")
        .spawn()
        .unwrap();
    let (output, talk) = ended(child);
    let is_aborted = output.status.signal() == Some(ABORTED);
    assert!(is_aborted || output.status.success(), "{point} {talk}");
    is_aborted.then(|| Kill::of(folder))
}

/// Which passings of a point are tried.
const fn passings(point: Point) -> &'static [u64] {
    match point {
        Point::BeforeAppend
        | Point::AfterAppend
        | Point::AfterSync
        | Point::BeforeCommit
        | Point::AfterCommit
        | Point::ArchiveBeforeRename
        | Point::ArchiveAfterRename => &[1, 2],
        // The first of all, and one among many.
        Point::ArchiveHandOver => &[1, 40],
        // Witness, marker, report, and the marker that says finished.
        Point::BeforeRename => &[1, 2, 3, 4],
        _ => &[1],
    }
}

/// Whether a point lies on the way of a restart that has a tail to cut.
const fn is_in_recovery(point: Point) -> bool {
    matches!(
        point,
        Point::RecoveryBegins
            | Point::RecoveryOpened
            | Point::BeforeCut
            | Point::AfterCut
            | Point::RecoveryEnds
    )
}

/// Crawls a graph up to a point and on from there; answers whether the point was passed.
fn is_passed(point: Point, passing: u64, pages: u64) -> bool {
    let graph = Graph::new(pages);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let web = graph.serve();
    let mut kills = Vec::new();
    if is_in_recovery(point) {
        // Synced and not committed: there is a tail.
        kills.extend(abort_at("after-sync", 2, &folder, &web));
    }
    let kill = abort_at(point.name(), passing, &folder, &web);
    let is_passed = kill.is_some();
    kills.extend(kill);
    if !is_finished(&folder) {
        finish(start(&folder, &web));
    }
    compare(graph, &web, &folder, &kills).assert_sound();
    is_passed
}

#[test]
fn a_kill_at_every_named_point_loses_nothing() {
    for point in Point::ALL {
        for passing in passings(point) {
            // Where the disk is slow there are few commits, and a point may want several.
            let mut pages = [200, 2_000, 8_000, 32_000].into_iter();
            let passed = pages.any(|pages| is_passed(point, *passing, pages));
            assert!(passed, "{point:?}:{passing} is never passed");
        }
    }
}

#[test]
fn the_documented_points_are_those_of_the_code() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let (_, table) = docs.split_once("<!-- points -->").unwrap();
    let (table, _) = table.split_once("<!-- end of points -->").unwrap();
    let documented: BTreeSet<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let named: BTreeSet<&str> = Point::ALL.map(Point::name).into_iter().collect();
    assert_eq!(named.len(), Point::ALL.len(), "names are distinct");
    assert_eq!(documented, named);
}
