//! The browser's process.
//!
//! Owns which program is the browser, its flags, its start and its end. It refuses to know pages.
//! Invariants: a browser speaks through descriptors 3 and 4 and through no port; when this process ends,
//! however it ends, the pipe closes and the browser ends as well.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc as starts};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tempfile::TempDir;
use thiserror::Error;
use tokio::sync::mpsc;

use crate::devtools::DevTools;
use crate::message::BrowserEvent;
use crate::options::BrowserOptions;
use crate::sandbox::{BrowserSandbox, on_path};
use crate::usage::{ProcessMeter, ProcessUsage};

/// Names of the browser by Debian, Ubuntu and its makers, the cheapest first.
const PROGRAMS: [&str; 6] = [
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];

/// Bytes that are kept of what a browser says about itself.
const LONGEST_COMPLAINT: usize = 8 * 1024;

/// Moves the pipe to the descriptors that Chromium reads and writes. A process of its own does so,
/// because this one would need unsafe code for it.
const MOVE_PIPE: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// What a crawler's browser has no use for, and what makes pages stand still that nobody looks at.
const FLAGS: [&str; 23] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-site-isolation-trials",
    "--disable-sync",
    "--deny-permission-prompts",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-pings",
    "--window-size=1280,1024",
    // Frames of other sites share the page's process; service workers do not fetch past their sessions;
    // whoever fetches judges addresses, and Chromium does not know the one of a page that it was given.
    "--disable-features=IsolateOrigins,site-per-process,ServiceWorkerAutoPreload,Translate,\
     OptimizationHints,MediaRouter,DialMediaRouteProvider,LocalNetworkAccessChecks,\
     LocalNetworkAccessChecksWebSockets,LocalNetworkAccessChecksWebTransport,\
     LocalNetworkAccessChecksWebRTC",
];

/// How browsers are started on this machine.
#[derive(Debug)]
pub(crate) struct BrowserLauncher {
    program: PathBuf,
    sandbox: BrowserSandbox,
    flags: Vec<String>,
}

/// A browser that runs.
#[derive(Debug)]
pub(crate) struct Browser {
    child: Child,
    pub(crate) devtools: DevTools,
    pub(crate) events: mpsc::Receiver<BrowserEvent>,
    pub(crate) pages: u32,
    /// What looks at its processes, except while it renders.
    pub(crate) meter: Option<ProcessMeter>,
    /// What its processes used at the end of its last page.
    pub(crate) usage: ProcessUsage,
    complaint: Arc<Mutex<Vec<u8>>>,
    /// Its profile, where it sees the system's temporary folder.
    _profile: Option<TempDir>,
}

impl BrowserLauncher {
    /// Finds the browser and a sandbox for it.
    pub(crate) fn find(options: &BrowserOptions) -> Result<Self, LaunchError> {
        let program = match &options.program {
            Some(program) => Some(program.clone()).filter(|program| program.is_file()),
            None => PROGRAMS.iter().find_map(|name| on_path(name)),
        };
        let Some(program) = program else {
            return Err(LaunchError::NotInstalled(options.program.clone()));
        };
        let program = program.canonicalize().unwrap_or(program);
        let sandbox = BrowserSandbox::probe(options)?;
        let mut flags: Vec<String> = FLAGS.map(str::to_owned).into();
        let heap = options.bounds.memory / 2 / 1024 / 1024;
        flags.push(format!("--js-flags=--max-old-space-size={}", heap.max(64)));
        Ok(Self {
            program,
            sandbox,
            flags,
        })
    }

    /// Whether browsers are in network namespaces of their own.
    pub(crate) fn has_namespace(&self) -> bool {
        self.sandbox.has_namespace()
    }

    /// Starts a browser and waits until it answers.
    pub(crate) fn start(&self) -> Result<Browser, LaunchError> {
        let failed = |problem: String| LaunchError::Failed {
            program: self.program.clone(),
            problem,
        };
        let browser = self.spawn().map_err(|error| failed(error.to_string()))?;
        if browser.devtools.greet() {
            return Ok(browser);
        }
        let complaint = browser.complaint();
        if complaint.contains("No usable sandbox") || complaint.contains("--no-sandbox") {
            Err(LaunchError::NoSandbox)
        } else {
            Err(failed(complaint))
        }
    }

    fn spawn(&self) -> io::Result<Browser> {
        let profile = if self.sandbox.has_namespace() {
            None
        } else {
            Some(tempfile::Builder::new().prefix("clewline-").tempdir()?)
        };
        let folder = profile.as_ref().map_or(Path::new("/tmp"), TempDir::path);
        let words: Vec<OsString> = self.sandbox.words(&self.program, &self.flags, folder);
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", MOVE_PIPE, "sh"])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let complaint = Arc::default();
        let mut child = start_and_listen(command, &complaint)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for");
        };
        let (devtools, events) = DevTools::connect(to, from)?;
        let process = child.id();
        Ok(Browser {
            child,
            devtools,
            events,
            pages: 0,
            meter: Some(ProcessMeter::new(process)),
            usage: ProcessUsage::default(),
            complaint,
            _profile: profile,
        })
    }
}

impl Browser {
    /// Whether it still answers.
    pub(crate) async fn is_alive(&self) -> bool {
        let version = self.devtools.command(None, "Browser.getVersion", json!({}));
        version.await.is_ok()
    }

    /// The last line that it said about itself and that is no mere warning.
    pub(crate) fn complaint(&self) -> String {
        let complaint = self
            .complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&complaint);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<&str> = lines.collect();
        let fatal = lines.iter().rfind(|line| line.contains("FATAL"));
        let line = fatal.or(lines.last()).copied().unwrap_or_default();
        line.chars().filter(|letter| !letter.is_control()).collect()
    }
}

impl Drop for Browser {
    /// Ends all its processes. Those in a namespace end with bubblewrap, which is in the group.
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a browser on a thread that lives as long as it does. Bubblewrap ends with its parent, and for
/// the kernel that is the thread which started it, not the process (prctl(2), `PR_SET_PDEATHSIG`).
fn start_and_listen(mut command: Command, complaint: &Arc<Mutex<Vec<u8>>>) -> io::Result<Child> {
    let complaint = Arc::clone(complaint);
    let (sender, started) = starts::channel();
    let thread = thread::Builder::new().name("browser-errors".into());
    thread.spawn(move || {
        let mut child = command.spawn();
        let errors = child.as_mut().ok().and_then(|child| child.stderr.take());
        let is_wanted = sender.send(child).is_ok();
        if let Some(errors) = errors.filter(|_| is_wanted) {
            listen(errors, &complaint);
        }
    })?;
    let started = started.recv();
    started.unwrap_or_else(|_| Err(io::Error::other("its thread ended")))
}

/// Keeps the first bytes that a browser says, and reads the rest so that it never waits.
fn listen(mut errors: ChildStderr, complaint: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut bytes) {
        let mut kept = complaint.lock().unwrap_or_else(PoisonError::into_inner);
        let room = LONGEST_COMPLAINT.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..count.min(room)]);
    }
}

/// Why no page can be rendered on this machine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// There is no browser.
    #[error("{}", missing(.0.as_deref()))]
    NotInstalled(Option<PathBuf>),
    /// Only bubblewrap could make a sandbox for root.
    #[error(
        "the browser has no sandbox here: root needs bubblewrap for it; install Debian's package \
         bubblewrap, or run as another user. --no-browser-sandbox renders without a sandbox"
    )]
    NoBubblewrap,
    /// Chromium has no sandbox here.
    #[error(
        "the browser has no sandbox here: the system forbids user namespaces. In a container, allow them \
         with --security-opt seccomp=unconfined, or run as another user than root; \
         --no-browser-sandbox renders without a sandbox"
    )]
    NoSandbox,
    /// The browser started and failed.
    #[error("the browser {} does not start: {problem}", program.display())]
    Failed {
        /// The browser.
        program: PathBuf,
        /// What it said.
        problem: String,
    },
}

fn missing(program: Option<&Path>) -> String {
    let install = "install Debian's package chromium-headless-shell (or chromium)";
    match program {
        Some(program) => format!("there is no browser {}: {install}", program.display()),
        None => format!("there is no browser on this machine: {install}"),
    }
}
