//! A private `PostgreSQL` server for tests, from Debian's package.
//!
//! Owns its processes and its folder, both of which end with the value. It listens on a socket in
//! that folder, where everybody is let in, and on a loopback port, where a password is asked for.
//! `PostgreSQL` refuses to run as root, so root starts it as another user. It refuses to know what is
//! asked of it. Invariant: a server that was started is ready for connections.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Where Debian puts the servers of all versions.
const PACKAGES: &str = "/usr/lib/postgresql";

/// Starts until one succeeds: a port may be taken, and memory of a killed server in use for a moment.
const STARTS: usize = 300;

/// Linux counts processor time in these for whoever reads it, see `proc_pid_stat(5)`.
const TICK_MILLISECONDS: u64 = 10;

/// The user and the database of tests.
pub const USER: &str = "clewline";

/// Whoever may log in, and how.
const LOGINS: &str = "local all all trust\nlocal replication all trust\n\
                      host all all 127.0.0.0/8 scram-sha-256\n";

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A server with its folder.
pub struct Server {
    place: TempDir,
    programs: PathBuf,
    /// Who runs it, if root may not.
    user: Option<(u32, u32)>,
    port: u16,
    settings: Vec<String>,
    running: Option<Child>,
}

/// Whether a primary waits for its replica with each commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// What is acknowledged is on both.
    Synchronous,
    /// The replica may lag behind.
    Asynchronous,
}

impl Server {
    /// A server, or nothing where the package is missing, which is said aloud.
    pub fn start() -> Option<Self> {
        Self::configured(&[], &[])
    }

    /// The server that tests share which only read and write; it ends with the last of them.
    pub fn shared() -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap();
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Self::start()?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// A server with settings, and with files in its data folder that only it can read.
    pub fn configured(settings: &[(&str, &str)], files: &[(&str, &[u8])]) -> Option<Self> {
        let mut server = Self::new()?;
        let settings = settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        server.settings = settings.collect();
        server.run_program("initdb", &["-N", "-A", "trust", "-U", USER, "-E", "UTF8"]);
        server.write("pg_hba.conf", LOGINS.as_bytes());
        for (name, text) in files {
            server.write(name, text);
        }
        server.restart();
        server.sql_in("postgres", &format!("create database {USER}"));
        Some(server)
    }

    fn new() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: there is no PostgreSQL here: apt-get install postgresql");
            return None;
        };
        let place = tempfile::tempdir().unwrap();
        let user = other_user();
        if let Some((user, group)) = user {
            chown(place.path(), Some(user), Some(group)).unwrap();
        }
        Some(Self {
            place,
            programs,
            user,
            port: 0,
            settings: Vec::new(),
            running: None,
        })
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    fn write(&self, name: &str, text: &[u8]) {
        let path = self.data().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((user, group)) = self.user {
            chown(&path, Some(user), Some(group)).unwrap();
        }
    }

    /// A program of the package, as the user who runs the server.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = match self.user {
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", &user.to_string(), "--regid", &group.to_string()]);
                command.arg("--clear-groups").arg(path);
                command
            }
            None => Command::new(path),
        };
        command.env("PGDATA", self.data()).env("LC_ALL", "C");
        command.current_dir(self.place.path()).stdin(Stdio::null());
        command
    }

    fn run_program(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.program(name).args(arguments).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs statements as the server's owner and answers what they print.
    pub fn sql(&self, text: &str) -> String {
        self.sql_in(USER, text)
    }

    fn sql_in(&self, database: &str, text: &str) -> String {
        let (place, port) = (self.place.path().to_str().unwrap(), self.port.to_string());
        let way = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", place, "-p", &port];
        let rest = ["-U", USER, "-d", database, "-c", text];
        let printed = self.run_program("psql", &[&way[..], &rest[..]].concat());
        printed.trim_end().to_owned()
    }

    /// Its address on the socket, where no password is asked for.
    pub fn url(&self) -> String {
        let (place, port) = (self.place.path().display(), self.port);
        format!("postgres://{USER}@/{USER}?host={place}&port={port}")
    }

    /// Its address by TCP, under a name that leads to loopback.
    pub fn tcp_url(&self, host: &str) -> String {
        let port = self.port;
        format!("postgres://{USER}@{host}:{port}/{USER}")
    }

    /// Its port on loopback.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Processor time that all of its processes took so far, those that ended included.
    pub fn processor_time(&self) -> Duration {
        let Some(first) = self.running.as_ref().map(|child| u64::from(child.id())) else {
            return Duration::ZERO;
        };
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let stats = entries.filter_map(|entry| {
            let id: u64 = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name may contain anything; what follows its bracket are numbers.
            let (_, rest) = text.rsplit_once(')')?;
            let fields: Vec<&str> = rest.split_whitespace().collect();
            let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
            let ended = if id == first {
                field(16)? + field(17)?
            } else {
                0
            };
            let is_ours = id == first || field(4)? == first;
            is_ours.then_some(field(14)? + field(15)? + ended)
        });
        Duration::from_millis(stats.sum::<u64>() * TICK_MILLISECONDS)
    }

    /// Kills the first process of the server with -9; the others end when they notice.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    /// Kills one of its other processes, which makes it begin again.
    pub fn crash(&self) {
        let found =
            self.sql("select pid from pg_stat_activity where backend_type = 'checkpointer'");
        let pid = Pid::from_raw(found.parse().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    /// Ends it in good order.
    pub fn stop(&mut self) {
        self.end(Signal::INT);
    }

    fn end(&mut self, signal: Signal) {
        if let Some(mut running) = self.running.take() {
            let pid = Pid::from_child(&running);
            if kill_process(pid, signal).is_ok() {
                running.wait().unwrap();
            }
        }
    }

    /// Starts it, after it was ended in good order if it runs.
    pub fn restart(&mut self) {
        self.stop();
        let is_new = self.port == 0;
        for _ in 0..STARTS {
            if is_new {
                self.port = free_port();
            }
            if let Ok(running) = self.try_start() {
                self.running = Some(running);
                return;
            }
        }
        panic!("the server did not start; it said: {:?}", self.try_start());
    }

    /// The process, once it says that it is ready; otherwise what it said before it ended.
    fn try_start(&self) -> Result<Child, String> {
        let mut command = self.program("postgres");
        command.arg("-k").arg(self.place.path());
        command.args(["-p", &self.port.to_string(), "-c", "fsync=off"]);
        command.args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "logging_collector=off",
        ]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
        let mut said = String::new();
        for line in lines.by_ref() {
            said += &line.unwrap();
            said.push('\n');
            if said.ends_with("ready to accept connections\n")
                || said.ends_with("ready to accept read-only connections\n")
            {
                // It must not wait for somebody to read what it says.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(running);
            }
        }
        running.wait().unwrap();
        Err(said)
    }

    /// A replica that follows this server.
    #[must_use]
    pub fn replica(&self, replication: Replication) -> Self {
        let mut replica = Self::new().expect("the package is here");
        let (place, port) = (self.place.path().to_str().unwrap(), self.port.to_string());
        let from = ["-h", place, "-p", &port, "-U", USER];
        let data = replica.data();
        let how = [
            "-D",
            data.to_str().unwrap(),
            "-R",
            "-c",
            "fast",
            "-X",
            "stream",
            "--no-sync",
        ];
        replica.run_program("pg_basebackup", &[&from[..], &how[..]].concat());
        replica.settings.clone_from(&self.settings);
        replica.restart();
        if replication == Replication::Synchronous {
            self.sql("alter system set synchronous_standby_names = '*'");
            self.sql("select pg_reload_conf()");
        }
        replica
    }

    /// Makes a replica the server that writes.
    pub fn promote(&self) {
        self.run_program("pg_ctl", &["promote", "-w"]);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // At once, with all of its processes.
        self.end(Signal::QUIT);
    }
}

/// The programs of the latest version that is installed.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(PACKAGES).ok()?.filter_map(Result::ok);
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, folder)| folder.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop().map(|(_, folder)| folder)
}

/// Whom root starts the server as.
fn other_user() -> Option<(u32, u32)> {
    let number = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if number(&["-u"]) != Some(0) {
        return None;
    }
    let user = |name| Some((number(&["-u", name])?, number(&["-g", name])?));
    user("postgres").or_else(|| user("nobody"))
}

fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}
