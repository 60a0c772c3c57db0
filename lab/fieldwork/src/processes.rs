//! Processes that a program under test started.
//!
//! Owns which processes descend from one, which of them are browsers, what they hold of the memory and
//! how one is killed. It refuses to know why. Invariant: a process that is gone is none, and no failure.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// A process and whatever descends from it.
pub fn tree(root: u32) -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let numbers = names.filter_map(|name| name.parse::<u32>().ok());
    let all: Vec<(u32, u32)> = numbers
        .filter_map(|process| {
            let parent = state(process)?.split_whitespace().nth(1)?.parse().ok()?;
            Some((process, parent))
        })
        .collect();
    let mut tree = BTreeSet::from([root]);
    loop {
        let before = tree.len();
        let of_tree = all.iter().filter(|(_, parent)| tree.contains(parent));
        let children: Vec<u32> = of_tree.map(|(process, _)| *process).collect();
        tree.extend(children);
        if tree.len() == before {
            return tree;
        }
    }
}

/// Processes that descend from this one and whose command line names a browser.
pub fn browsers_of(root: u32) -> BTreeSet<u32> {
    let is_browser = |process: &u32| {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("chrom")
    };
    tree(root).into_iter().filter(is_browser).collect()
}

/// Whether a process runs; one that nobody has buried yet does not.
pub fn is_running(process: u32) -> bool {
    state(process).is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Ends a process, unless it ended by itself.
pub fn kill(process: u32) {
    let process = i32::try_from(process).unwrap();
    let _ = kill_process(Pid::from_raw(process).unwrap(), Signal::KILL);
}

/// Memory that belongs to a process and not to a file, in bytes.
pub fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    let own = fields.filter(|(name, _)| matches!(*name, "RssAnon" | "RssShmem"));
    let sizes = own.filter_map(|(_, size)| size.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    sizes.sum::<u64>() * 1024
}

/// Processor time of a process and of those of its children that ended, to a hundredth of a second.
pub fn processor_time(process: u32) -> Duration {
    let state = state(process).unwrap_or_default();
    let ticks = state.split_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The fields behind the name, which may hold anything (proc(5)): the state comes first.
fn state(process: u32) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(line.rsplit_once(')')?.1.trim_start().to_owned())
}
