//! What a browser's processes use.
//!
//! Owns the reading of `/proc`: which processes descend from one, their memory and their CPU time. It
//! refuses to know bounds. Invariant: CPU time never falls, although processes end between two looks.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

/// The kernel counts CPU time in hundredths of a second, whatever its own clock does.
const TICKS_PER_SECOND: u64 = 100;

/// How long a process that did not descend from ours is taken not to. It never will, but another one may
/// get its number.
const LONGEST_TRUST: Duration = Duration::from_secs(10);

/// What a browser and its descendants use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessUsage {
    /// Memory that is theirs and not a file's, in bytes. What two of them share counts twice.
    pub(crate) memory: u64,
    pub(crate) processes: usize,
    /// Since the browser started.
    pub(crate) cpu: Duration,
}

/// Looks at the descendants of one process again and again.
#[derive(Debug)]
pub(crate) struct ProcessMeter {
    root: u32,
    /// CPU ticks by process, those included that ended.
    ticks: HashMap<u32, u64>,
    /// Processes that do not descend from it, since when they are known. A machine has many, and to read
    /// of each costs more than all the rest.
    strangers: HashSet<u32>,
    strangers_since: Instant,
}

impl ProcessMeter {
    /// For a process and whatever descends from it.
    pub(crate) fn new(root: u32) -> Self {
        Self {
            root,
            ticks: HashMap::new(),
            strangers: HashSet::new(),
            strangers_since: Instant::now(),
        }
    }

    /// What they use now.
    pub(crate) fn measure(&mut self) -> ProcessUsage {
        let all = self.relevant();
        let tree = descendants(self.root, &all);
        let strangers = all.keys().filter(|process| !tree.contains(process));
        self.strangers.extend(strangers);
        for (process, facts) in &all {
            if tree.contains(process) {
                let ticks = self.ticks.entry(*process).or_default();
                *ticks = facts.ticks.max(*ticks);
            }
        }
        let ticks: u64 = self.ticks.values().sum();
        ProcessUsage {
            memory: tree.iter().filter_map(|process| memory(*process)).sum(),
            processes: tree.len(),
            cpu: Duration::from_millis(ticks * (1000 / TICKS_PER_SECOND)),
        }
    }

    /// All processes but those that are known to be none of ours.
    fn relevant(&mut self) -> HashMap<u32, ProcessFacts> {
        let present = processes();
        if self.strangers_since.elapsed() > LONGEST_TRUST {
            self.strangers.clear();
            self.strangers_since = Instant::now();
        }
        self.strangers.retain(|process| present.contains(process));
        let relevant = present.difference(&self.strangers);
        relevant
            .filter_map(|process| {
                let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
                Some((*process, facts(&line)?))
            })
            .collect()
    }
}

/// What one line of `/proc/PID/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessFacts {
    parent: u32,
    ticks: u64,
}

fn processes() -> HashSet<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashSet::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// The fields behind the name, which is in parentheses and may hold anything (proc(5)).
fn facts(line: &str) -> Option<ProcessFacts> {
    let (_, fields) = line.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ProcessFacts {
        parent: u32::try_from(number(1)?).ok()?,
        ticks: number(11)?.saturating_add(number(12)?),
    })
}

fn descendants(root: u32, all: &HashMap<u32, ProcessFacts>) -> Vec<u32> {
    let mut tree = vec![root];
    let mut at = 0;
    while let Some(&parent) = tree.get(at) {
        let children = all.iter().filter(|(_, facts)| facts.parent == parent);
        let children: Vec<u32> = children.map(|(process, _)| *process).collect();
        tree.extend(children.into_iter().filter(|child| *child != root));
        at += 1;
    }
    tree.retain(|process| all.contains_key(process));
    tree
}

/// Anonymous and shared memory. Everybody may read it, of sandboxed processes too, unlike `smaps`.
fn memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    Some(memory_of(&status))
}

fn memory_of(status: &str) -> u64 {
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    let ours = fields.filter(|(name, _)| matches!(*name, "RssAnon" | "RssShmem"));
    ours.filter_map(|(_, value)| value.trim().strip_suffix(" kB")?.parse::<u64>().ok())
        .map(|kibibytes| kibibytes * 1024)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_may_hold_anything() {
        let line = "77 (a) b (c) S 5 77 77 0 -1 4194304 1 2 3 4 130 20 0 0 20 0 1 0 99";
        let expected = ProcessFacts {
            parent: 5,
            ticks: 150,
        };
        assert_eq!(facts(line), Some(expected));
        for broken in [
            "",
            "77 (a",
            "77 (a) S",
            "77 (a) S x 1 1 1 1 1 1 1 1 1 1 1 1",
        ] {
            assert_eq!(facts(broken), None, "{broken}");
        }
    }

    #[test]
    fn memory_of_files_does_not_count() {
        let status =
            "Name:\ta\nVmRSS:\t 900 kB\nRssAnon:\t 100 kB\nRssFile:\t 750 kB\nRssShmem:\t 50 kB\n";
        assert_eq!(memory_of(status), 150 * 1024);
        assert_eq!(memory_of("RssAnon: many kB\n"), 0);
    }

    #[test]
    fn only_descendants_count_and_loops_end() {
        let family = [(1, 0), (2, 1), (3, 2), (4, 1), (5, 5), (2, 1)];
        let all = family.map(|(process, parent)| (process, ProcessFacts { parent, ticks: 0 }));
        let mut found = descendants(2, &all.into_iter().collect());
        found.sort_unstable();
        assert_eq!(found, [2, 3]);
    }

    #[test]
    fn this_process_uses_something() {
        let mut meter = ProcessMeter::new(std::process::id());
        let usage = meter.measure();
        assert!(usage.memory > 0 && usage.processes >= 1, "{usage:?}");
    }

    #[test]
    fn a_process_that_begins_later_is_seen_and_strangers_are_read_once() {
        let mut meter = ProcessMeter::new(std::process::id());
        meter.measure();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero();
        let parent = u32::try_from(parent.get()).unwrap();
        assert!(meter.strangers.contains(&parent));
        assert!(!meter.relevant().contains_key(&parent));
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        meter.measure();
        assert!(meter.ticks.contains_key(&child.id()));
        assert!(!meter.strangers.contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        meter.strangers.insert(child.id());
        meter.measure();
        assert!(!meter.strangers.contains(&child.id()));
    }
}
