//! Machines that go wrong under their workers: a folder that is deleted, a disk that is full, clocks
//! that are hours apart.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;

use fieldwork::faults::{faketime, own_mounts};

use super::*;

/// Removes a folder in which somebody still writes.
fn remove_while_written(folder: &Path) {
    let begun = Instant::now();
    while folder.exists() {
        std::fs::remove_dir_all(folder).ok();
        assert!(begun.elapsed() < PATIENCE, "it cannot be removed");
    }
}

/// The numbers of the members that have shards.
fn owners(fleet: &Fleet) -> Vec<u64> {
    let members = fleet.status().unwrap().members;
    let with_shards = members.iter().filter(|member| member.shards > 0);
    with_shards.map(|member| member.worker).collect()
}

#[test]
fn a_worker_whose_folder_is_deleted_ends_and_its_pages_are_fetched_again() {
    let Some(mut fleet) = Fleet::new("deleted", 20, 20, &["--shards", "8"]) else {
        return;
    };
    let [first, second] = fleet.two_workers();
    let folder = fleet.last_folder();
    let worker = std::fs::read_dir(folder.join("workers")).unwrap().next();
    let worker = worker.unwrap().unwrap().file_name();
    let worker = u64::from_str_radix(worker.to_str().unwrap(), 16).unwrap();
    fleet.until("pages of it", |_| {
        let pages =
            format!("select coalesce(sum(pages), 0) from clewline.tenure where worker = {worker}");
        fleet.database.sql(&pages).parse::<u64>().unwrap() > 5
    });
    remove_while_written(&folder);
    let output = second.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    remove_while_written(&folder);
    end(first);
    let requeued = fleet.merge_into("none.crawl", &["--requeue-missing"]);
    assert_eq!(requeued.status.code(), Some(3), "{}", told(&requeued));
    let name = clewline_job::merge::name_of(worker);
    let text = printed(&requeued);
    assert!(
        text.contains(&name) && text.contains("queued again"),
        "{text}"
    );
    end(fleet.worker(Start::Join));
    fleet.check_whole(&fleet.merged());
    fleet.judge();
}

/// The same command on a small disk that only it can see.
fn on_small_disk(way: &str, disk: &Path, command: &Command) -> Command {
    let script = format!(
        "mount -t tmpfs -o size=128m none '{}' && exec \"$0\" \"$@\"",
        disk.display()
    );
    let mut words = way.split(' ');
    let mut wrapped = Command::new(words.next().unwrap());
    wrapped.args(words).args(["sh", "-c", &script]);
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped.stdin(Stdio::null()).stdout(Stdio::null());
    wrapped.stderr(Stdio::piped());
    wrapped
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    let mut ballast = File::create(path).unwrap();
    let mut size = 1 << 20;
    while size > 0 {
        match ballast.write(&vec![0; size]) {
            Ok(written) if written > 0 => {}
            _ => size /= 2,
        }
    }
}

#[test]
fn a_worker_whose_disk_is_full_keeps_its_shards_and_loses_nothing() {
    let Some(way) = own_mounts() else {
        eprintln!("SKIPPED: full disk of a worker: no file system can be mounted here");
        return;
    };
    let Some(mut fleet) = Fleet::new("full", 20, 20, &["--shards", "8"]) else {
        return;
    };
    let mut first = fleet.command(Start::Job);
    first.arg("--quiet");
    let mut second = fleet.command(Start::Join);
    second.args(["--min-free", "0", "--memory", "16M"]);
    let disk = fleet.last_folder();
    std::fs::create_dir(&disk).unwrap();
    let [first, mut second] = fleet.two_of([first, on_small_disk(way, &disk, &second)]);
    let members = owners(&fleet);
    // The file system is seen by its process only, and lasts as long as somebody holds it.
    let held = File::open(format!("/proc/{}/root{}", second.id(), disk.display())).unwrap();
    let inside = PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        held.as_raw_fd()
    ));
    fill(&inside.join("ballast"));
    let mut talk = BufReader::new(second.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("paused: nothing can be written") {
        let length = talk.read_line(&mut said).unwrap();
        assert!(length > 0, "it ended without a pause: {said}");
    }
    // A lease has to pass: nothing else shows that nobody takes the shards over.
    std::thread::sleep(fleet.status().unwrap().job.expiry * 3 / 2);
    assert_eq!(owners(&fleet), members, "it renews its lease");
    std::fs::remove_file(inside.join("ballast")).unwrap();
    talk.read_to_string(&mut said).unwrap();
    assert!(second.wait().unwrap().success(), "{said}");
    assert!(said.contains("there is room again"), "{said}");
    end(first);
    let folders = [fleet.folder(1), inside];
    let folders: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
    let url = fleet.url();
    let mut arguments = vec![
        "fleet",
        "merge",
        &url,
        "--job",
        "full",
        "-o",
        "merged.crawl",
    ];
    arguments.extend(folders.iter().map(String::as_str));
    let merged = fleet.clewline(&arguments);
    assert!(merged.status.success(), "{}", told(&merged));
    fleet.check_whole(&fleet.records_in("merged.crawl"));
    fleet.judge();
}

/// What is kept with a host travels from the first machine to the second, whose clock is two hours
/// behind: were it the machine's time, the hosts would wait for hours.
#[test]
fn clocks_that_are_hours_apart_delay_nothing_and_hurry_nothing() {
    let Some(library) = faketime() else {
        eprintln!("SKIPPED: clocks hours apart: libfaketime is not here");
        return;
    };
    let Some(mut fleet) = Fleet::new("clocks", 20, 20, &["--shards", "8"]) else {
        return;
    };
    let clocks = ["+1h", "-1h"].into_iter();
    let commands = [Start::Job, Start::Join].map(|does| fleet.command(does));
    let mut commands = clocks.zip(commands).map(|(offset, mut command)| {
        command.arg("--quiet");
        command.env("LD_PRELOAD", &library).env("FAKETIME", offset);
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        command.env("DONT_FAKE_MONOTONIC", "1");
        command
    });
    let both = std::array::from_fn(|_| commands.next().unwrap());
    let [first, second] = fleet.two_of(both);
    fleet.until("some pages", |status| status.totals.pages > 100);
    signal(&first, Signal::INT);
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    end(second);
    let records = fleet.merged();
    fleet.check_whole(&records);
    fleet.judge();
}
