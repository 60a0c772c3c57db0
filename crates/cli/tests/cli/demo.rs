//! The demo: a first crawl without a network.

use std::fs;

use crate::place::{Place, Ran};

#[test]
fn the_demo_finds_its_faults_and_leaves_nothing_behind() {
    let place = Place::new();
    fs::create_dir(place.path("scratch")).unwrap();
    let mut command = place.command(&["demo"]);
    // Neither a proxy nor a file of the user's has a say.
    command.env("http_proxy", "http://127.0.0.1:9");
    fs::write(place.path("clewline.toml"), "depth = 0\n").unwrap();
    let output = command
        .env("TMPDIR", place.path("scratch"))
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{out}");
    for part in [
        "/chart-room.html",
        "/loop-west",
        "/lighthouse.png",
        "5 broken",
        "robots.txt disallows it",
        "$ clewline search lamp",
        "1. The lamp",
        "linked from",
        "Try next:",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // The page that fails once was fetched in the end, and the sitemap's page found.
    assert!(out.contains("12 pages in"), "{out}");
    assert!(!out.contains("report.html"), "{out}");
    assert_eq!(place.names("scratch"), [""; 0]);
    assert_eq!(place.names("."), ["clewline.toml", "scratch"]);
}

#[test]
fn the_demo_keeps_its_folder_where_it_is_told_to() {
    let place = Place::new();
    // With a folder of its own, the demo needs none for temporary files.
    let mut command = place.command(&["demo", "-o", "kept"]);
    let ran = Ran::from(command.env("TMPDIR", place.path("none")).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.out.contains("The crawl is in kept."), "{}", ran.out);
    assert_eq!(place.records("kept").len(), 19);
    let again = place.run(&["search", "kept", "Ariadne"]);
    assert!(again.out.contains("/log.html"), "{}", again.out);
}
