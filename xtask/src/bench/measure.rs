//! One run of one command: its time, its memory, and how it ended.
//!
//! Owns the taking of figures. Time comes from the shell's own `time`, which asks the kernel
//! for the children's usage to the millisecond; the peak of memory is read from `/proc` while
//! the command runs. The harness sleeps meanwhile, on the servers' core, unless it was asked to
//! look at the command now and then.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::ground::CRAWLER_CORE;

/// How often memory is looked at. The kernel keeps the peak, so only growth in the last
/// moment of a process can be missed.
const GLANCE: Duration = Duration::from_millis(10);

/// The thread of Clewline that decides everything, of which there is one.
const ENGINE: &str = "clewline-engine";

/// `timeout` answers one of these when it had to end its command, the second by force.
const TIMED_OUT: [i32; 2] = [124, 137];

/// Runs a command on its cores, for a limited time, and times it. What the shell says of the
/// time goes to a file of its own, apart from what the command says.
const TIMED: &str = r#"
cores=$1 limit=$2 times=$3
shift 3
ulimit -Sn "$(ulimit -Hn)"
TIMEFORMAT='%3R %3U %3S'
{ time taskset --cpu-list "$cores" timeout --foreground --kill-after=2 "$limit" "$@" 2>&3 3>&-; } 3>&2 2>"$times"
"#;

/// Variables that would send a contestant elsewhere.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    /// It was still at it when its time was over.
    OutOfTime,
    /// With this exit code.
    Badly(i32),
}

/// What a run took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: f64,
    pub(crate) user: f64,
    pub(crate) system: f64,
    /// Largest resident set, in KiB.
    pub(crate) peak: u64,
    /// Seconds of processor time of the engine's thread, if there was one.
    pub(crate) engine: Option<f64>,
    pub(crate) ended: Ended,
}

/// Where and how long commands run.
#[derive(Debug, Clone)]
pub(crate) struct Stopwatch {
    folder: PathBuf,
    limit: Duration,
    /// As `taskset` lists them.
    cores: String,
}

impl Stopwatch {
    /// What the commands say is kept in `folder` until the next run.
    pub(crate) fn new(folder: &Path, limit: Duration) -> Self {
        Self {
            folder: folder.to_path_buf(),
            limit,
            cores: CRAWLER_CORE.to_string(),
        }
    }

    /// The same on other cores than the one of whoever is measured.
    pub(crate) fn on(self, cores: &str) -> Self {
        let cores = cores.to_owned();
        Self { cores, ..self }
    }

    /// What the last command said.
    pub(crate) fn words(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.folder.join("stdout"))?).into_owned())
    }

    /// What the last command complained of.
    pub(crate) fn complaints(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.folder.join("stderr"))?).into_owned())
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, command: &[String]) -> Result<Cost> {
        self.watch(command, &mut |_| ())
    }

    /// The same; `look` is called with the shell's process again and again.
    pub(crate) fn watch(&self, command: &[String], look: &mut dyn FnMut(u32)) -> Result<Cost> {
        let times = self.folder.join("times");
        let mut shell = Command::new("bash");
        shell.args(["-c", TIMED, "timed", &self.cores]);
        shell.arg(self.limit.as_secs().to_string());
        shell.arg(&times).args(command);
        for name in PROXIES {
            shell.env_remove(name);
        }
        let mut shell = shell
            .stdin(Stdio::null())
            .stdout(File::create(self.folder.join("stdout"))?)
            .stderr(File::create(self.folder.join("stderr"))?)
            .spawn()
            .context("bash")?;
        let mut peak = 0;
        let mut engine = None;
        let status = loop {
            if let Some(status) = shell.try_wait()? {
                break status;
            }
            let processes = below(shell.id());
            let peaks = processes.iter().copied().map(peak_of);
            peak = peak.max(peaks.max().unwrap_or(0));
            // It only grows, and is gone with the thread.
            engine = processes.into_iter().find_map(engine_of).or(engine);
            look(shell.id());
            std::thread::sleep(GLANCE);
        };
        let ended = match status.code() {
            Some(0) => Ended::Well,
            Some(code) if TIMED_OUT.contains(&code) => Ended::OutOfTime,
            Some(code) => Ended::Badly(code),
            None => Ended::Badly(-1),
        };
        let text = fs::read_to_string(&times).context("the times of a run")?;
        let [wall, user, system] = seconds(&text)?;
        Ok(Cost {
            wall,
            user,
            system,
            peak,
            engine,
            ended,
        })
    }
}

/// The last line of the times: the shell may have complained before.
fn seconds(text: &str) -> Result<[f64; 3]> {
    let line = text.lines().last().unwrap_or_default();
    let numbers: Vec<f64> = line
        .split(' ')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(|| format!("the shell's times are {text:?}"))?;
    ensure!(numbers.len() == 3, "the shell's times are {text:?}");
    Ok([numbers[0], numbers[1], numbers[2]])
}

/// The processes below one, whichever of its threads started them. They come and go while one looks.
pub(crate) fn below(parent: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task"));
    let threads = threads.into_iter().flatten().filter_map(Result::ok);
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    let children = children.filter_map(|word| word.parse().ok());
    let with_theirs = |child: u32| std::iter::once(child).chain(below(child));
    children.flat_map(with_theirs).collect()
}

/// Seconds that the engine's thread of a process has been on a processor, to the nanosecond.
fn engine_of(process: u32) -> Option<f64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let mut folders = threads.filter_map(Result::ok).map(|thread| thread.path());
    let engine = folders.find(|folder| {
        fs::read_to_string(folder.join("comm")).is_ok_and(|name| name.trim_end() == ENGINE)
    })?;
    let times = fs::read_to_string(engine.join("schedstat")).ok()?;
    let nanoseconds: f64 = times.split(' ').next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// The largest resident set of a process so far, in KiB.
fn peak_of(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap_or(0)
}

/// Seconds of processor time that a process has used, its own children left out. The kernel
/// tells it in hundredths.
pub(crate) fn processor_seconds(process: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may hold anything; the numbers begin after the last one.
    let (_, numbers) = stat
        .rsplit_once(')')
        .context("the form of /proc/PID/stat")?;
    let ticks = numbers
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<f64>)
        .sum::<Result<f64, _>>()?;
    Ok(ticks / 100.0)
}

/// What a process has and takes at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glimpse {
    pub(crate) at: Instant,
    /// Seconds of processor time so far.
    pub(crate) processor: f64,
    /// The resident set, in KiB.
    pub(crate) resident: u64,
    /// Open files and connections.
    pub(crate) descriptors: usize,
}

impl Glimpse {
    /// Looks at the innermost process below a shell; nothing if it has ended.
    pub(crate) fn below(shell: u32) -> Option<Self> {
        let process = innermost(shell);
        let files = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        Some(Self {
            at: Instant::now(),
            processor: processor_seconds(process).ok()?,
            resident: resident(process)?,
            descriptors: files.count(),
        })
    }
}

/// The last of those who were started by whom one has started. They come and go while one looks.
fn innermost(process: u32) -> u32 {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let list = list.unwrap_or_default();
    let child = list.split_whitespace().find_map(|word| word.parse().ok());
    child.map_or(process, innermost)
}

/// The resident set of a process, in KiB.
fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line?.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shells_times() {
        let check = |text: &str, expected: &str| {
            let found = seconds(text).map(|[wall, user, system]| format!("{wall} {user} {system}"));
            assert_eq!(
                found.ok().as_deref().unwrap_or("error"),
                expected,
                "{text:?}"
            );
        };
        check("1.250 0.200 0.050\n", "1.25 0.2 0.05");
        check("bash: Killed\n1.0 0.2 0.1\n", "1 0.2 0.1");
        check("", "error");
        check("1.0 2.0\n", "error");
    }

    #[test]
    fn what_another_thread_started_is_below() {
        let (sender, started) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            sender.send(child.id()).unwrap();
            stopped.recv().unwrap_err();
            child.kill().unwrap();
            child.wait().unwrap();
        });
        let child = started.recv().unwrap();
        assert!(below(std::process::id()).contains(&child));
        drop(stop);
        thread.join().unwrap();
    }

    #[test]
    fn the_engine_is_known_by_its_name() {
        assert_eq!(engine_of(std::process::id()), None);
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name(ENGINE.into());
        let thread = thread.spawn(move || stopped.recv()).unwrap();
        // The thread gives itself its name before it does anything else.
        let seconds = std::iter::repeat_with(|| engine_of(std::process::id())).find_map(|it| it);
        assert!(seconds.unwrap() < 10.0);
        drop(stop);
        assert!(thread.join().unwrap().is_err());
    }

    #[test]
    fn own_processor_time_can_be_read() {
        assert!(processor_seconds(std::process::id()).unwrap() >= 0.0);
        assert!(peak_of(std::process::id()) > 0);
    }

    #[test]
    fn a_process_can_be_looked_at() {
        // Without children, the innermost process is the one that is asked about.
        let glimpse = Glimpse::below(std::process::id()).unwrap();
        assert!(glimpse.resident > 0 && glimpse.descriptors > 0);
    }
}
