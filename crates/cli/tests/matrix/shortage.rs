//! Too little of something: space on the disk, descriptors.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use std::time::Duration;

use fieldwork::faults::own_mounts;

use crate::ground::{Ground, HOST, check_all_fetched, read, skip, web};

#[test]
fn few_descriptors_fail_no_url() {
    let pages = 800;
    let web = web(pages, Duration::from_millis(20));
    let ground = Ground::new();
    let flags = [
        "--concurrency",
        "1000",
        "--host-concurrency",
        "1000",
        "--tries",
        "1",
    ];
    let line = ground.line(&flags, &[web.url(HOST, "/0")]);
    let run = ground.start_behind("ulimit -n 256", &line);
    let (code, talk) = run.end();
    assert_eq!(code, Some(0), "{talk}");
    check_all_fetched(&ground.records(), pages as usize);
}

#[test]
fn a_full_disk_pauses_the_crawl_until_there_is_room() {
    let Some(way) = own_mounts() else {
        return skip("full disk", "no file system can be mounted here");
    };
    let pages = 6000;
    let web = web(pages, Duration::ZERO);
    let ground = Ground::new();
    let place = ground.folder().parent().unwrap().to_path_buf();
    // The ballast leaves room for a beginning only.
    let script = format!(
        "mount -t tmpfs -o size=96m none '{0}' && head -c 95M /dev/zero > '{0}/ballast' \
         && exec \"$0\" \"$@\"",
        place.display()
    );
    let mut line: Vec<String> = way.split(' ').map(str::to_owned).collect();
    line.extend(["sh", "-c", &script].map(str::to_owned));
    let flags = ["--min-free", "0", "--memory", "16M"];
    line.extend(ground.line(&flags, &[web.url(HOST, "/0")]));
    let mut run = ground.start(&line);
    let mut talk = BufReader::new(run.talk());
    let mut said = String::new();
    while !said.contains("paused: nothing can be written") {
        let length = talk.read_line(&mut said).unwrap();
        assert!(length > 0, "it ended without a pause: {said}");
    }
    // The file system is seen by its process only, and lasts as long as somebody holds it.
    let inside = format!("/proc/{}/root{}", run.id(), place.display());
    let held = File::open(inside).unwrap();
    let inside = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    std::fs::remove_file(inside.join("ballast")).unwrap();
    talk.read_to_string(&mut said).unwrap();
    let (code, _) = run.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("there is room again"), "{said}");
    check_all_fetched(&read(&inside.join("job")), pages as usize);
}
