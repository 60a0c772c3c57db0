//! Every named fail point, on a crawl that goes on afterwards.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use clewline::failpoint::Point;
use terrarium::LiveWeb;

use crate::graph::Graph;
use crate::ledger::{Kill, compare};
use crate::run::{command, ended, finish, is_finished, start};

/// The signal of an abort.
const ABORTED: i32 = 6;

/// Runs until a point is passed so many times.
fn abort_at(point: &str, passing: u64, folder: &Path, web: &LiveWeb) -> Kill {
    let child = command(folder, web)
        .env("CLEWLINE_KILL_AT", format!("{point}:{passing}"))
        .env("CLEWLINE_SMALL_TABLES", "1")
        .spawn()
        .unwrap();
    let (output, talk) = ended(child);
    let signal = output.status.signal();
    assert_eq!(signal, Some(ABORTED), "{point}:{passing} {talk}");
    Kill::of(folder)
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

fn try_point(point: Point, passing: u64) {
    let pages = match point {
        Point::InFlush | Point::InCompaction => 2_000,
        Point::RunsMerging | Point::RunsReplaced => 2_000,
        _ => 200,
    };
    let graph = Graph::new(pages);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let web = graph.serve();
    let mut kills = Vec::new();
    if is_in_recovery(point) {
        // Synced and not committed: there is a tail.
        kills.push(abort_at("after-sync", 2, &folder, &web));
    }
    kills.push(abort_at(point.name(), passing, &folder, &web));
    if !is_finished(&folder) {
        finish(start(&folder, &web));
    }
    compare(graph, &web, &folder, &kills).assert_sound();
}

#[test]
fn a_kill_at_every_named_point_loses_nothing() {
    for point in Point::ALL {
        for passing in passings(point) {
            try_point(point, *passing);
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
