//! Where a browser runs, and what it cannot reach from there.
//!
//! Owns the two nets: an empty network namespace made by bubblewrap, and flags that leave Chromium no way
//! to a network. It owns the choice of a sandbox as well. It refuses to know the protocol. Invariant: a
//! browser runs without any sandbox only if the user says so.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::launch::LaunchError;
use crate::options::{BrowserNets, BrowserOptions};

/// Bytes of the temporary folder inside of the namespace; the browser's profile is there.
const TEMPORARY_BYTES: &str = "268435456";

/// What a browser needs of the system, as far as it is there.
const SYSTEM_FOLDERS: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/etc/alternatives",
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
];

/// A proxy at which nobody listens, for loopback addresses too, and no other way than through it.
const NO_WAY_OUT: [&str; 6] = [
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
];

/// How a browser is shut in on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrowserSandbox {
    /// Bubblewrap, if it works here.
    bubblewrap: Option<PathBuf>,
    /// Chromium's own sandbox is off.
    is_open: bool,
    has_flags: bool,
}

impl BrowserSandbox {
    /// Finds out what works here; bubblewrap is tried once.
    pub(crate) fn probe(options: &BrowserOptions) -> Result<Self, LaunchError> {
        let has_flags = matches!(options.nets, BrowserNets::All | BrowserNets::FlagsAlone);
        let installed = on_path("bwrap");
        let is_wanted = matches!(options.nets, BrowserNets::All | BrowserNets::NamespaceAlone);
        let works = installed.clone().filter(|program| is_working(program));
        // Without bubblewrap, root has no sandbox at all: Chromium refuses to make one for it.
        let is_root = rustix::process::geteuid().is_root();
        let is_open = match (&works, &installed) {
            (Some(_), _) if is_wanted => false,
            _ if options.no_sandbox => true,
            (None, None) if is_root => return Err(LaunchError::NoBubblewrap),
            _ if is_root => return Err(LaunchError::NoSandbox),
            _ => false,
        };
        Ok(Self {
            bubblewrap: works.filter(|_| is_wanted),
            is_open,
            has_flags,
        })
    }

    /// Whether the browser is in a network namespace of its own.
    pub(crate) fn has_namespace(&self) -> bool {
        self.bubblewrap.is_some()
    }

    /// The browser's command line, as words. `profile` is the folder for its profile where it sees the
    /// system's temporary folder.
    pub(crate) fn words(&self, program: &Path, flags: &[String], profile: &Path) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut profile = profile.to_owned();
        if let Some(bubblewrap) = &self.bubblewrap {
            words.push(bubblewrap.into());
            words.extend(namespace(program));
            profile = "/tmp/profile".into();
        }
        words.push(program.into());
        words.extend(flags.iter().map(OsString::from));
        let mut folder = OsString::from("--user-data-dir=");
        folder.push(profile);
        words.push(folder);
        if self.has_flags {
            words.extend(NO_WAY_OUT.map(OsString::from));
        }
        if self.is_open {
            words.push("--no-sandbox".into());
        }
        words.push("about:blank".into());
        words
    }
}

/// Words for bubblewrap: nothing of the system can be written, nothing of its users can be read.
fn namespace(program: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add = |more: &[&str]| words.extend(more.iter().map(OsString::from));
    add(&["--unshare-all", "--uid", "1000", "--gid", "1000"]);
    add(&["--die-with-parent", "--new-session", "--clearenv"]);
    add(&["--setenv", "PATH", "/usr/bin:/bin"]);
    add(&["--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8"]);
    for folder in SYSTEM_FOLDERS {
        match fs::read_link(folder) {
            // A folder that moved below /usr.
            Ok(target) if Path::new(folder).parent() == Some(Path::new("/")) => {
                add(&["--symlink", &target.to_string_lossy(), folder]);
            }
            _ => add(&["--ro-bind-try", folder, folder]),
        }
    }
    add(&["--proc", "/proc", "--dev", "/dev"]);
    add(&["--size", TEMPORARY_BYTES, "--tmpfs", "/tmp"]);
    add(&["--size", TEMPORARY_BYTES, "--tmpfs", "/dev/shm"]);
    let is_known = SYSTEM_FOLDERS
        .iter()
        .any(|known| program.starts_with(known));
    if let Some(folder) = program.parent().filter(|_| !is_known) {
        words.extend(["--ro-bind".into(), folder.into(), folder.into()]);
    }
    words
}

/// Whether bubblewrap can make such a namespace here.
fn is_working(bubblewrap: &Path) -> bool {
    let program = Path::new("/usr/bin/true");
    let status = Command::new(bubblewrap)
        .args(namespace(program))
        .arg(program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// The program of this name.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(sandbox: &BrowserSandbox) -> Vec<String> {
        let words = sandbox.words(Path::new("/srv/b/chrome"), &[], Path::new("/tmp/p"));
        words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_namespace_has_no_network_and_the_browser_its_sandbox() {
        let words = words(&BrowserSandbox {
            bubblewrap: Some("/usr/bin/bwrap".into()),
            is_open: false,
            has_flags: true,
        });
        assert_eq!(words[0], "/usr/bin/bwrap");
        for expected in ["--unshare-all", "--die-with-parent", "--clearenv", "/srv/b"] {
            assert!(words.iter().any(|word| word == expected), "{expected}");
        }
        for expected in NO_WAY_OUT {
            assert!(words.iter().any(|word| word == expected), "{expected}");
        }
        assert!(!words.iter().any(|word| word == "--no-sandbox"));
        assert!(!words.iter().any(|word| word == "--share-net"));
    }

    #[test]
    fn no_sandbox_is_said_aloud() {
        let words = words(&BrowserSandbox {
            bubblewrap: None,
            is_open: true,
            has_flags: true,
        });
        assert_eq!(words[0], "/srv/b/chrome");
        assert!(words.iter().any(|word| word == "--no-sandbox"));
        assert!(words.iter().any(|word| word == "--user-data-dir=/tmp/p"));
    }
}
