//! The command on a terminal: the live block, colours, and what is left on the screen.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use terrarium::{Page, Site};

use crate::place::{HOST, Place, garden, masked, web_of};
use crate::screen::screen;

const WIDTH: u16 = 70;

/// A pseudo-terminal: what a program writes to its stdout and stderr is read here.
struct Terminal {
    ours: File,
    child: Child,
}

impl Terminal {
    fn run(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: WIDTH,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let path = std::ffi::OsStr::from_bytes(name.to_bytes());
        let theirs = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        command.stdin(Stdio::null());
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        let child = command.spawn().unwrap();
        Self {
            ours: File::from(ours),
            child,
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads until the text is there.
    fn read_until(&mut self, wanted: &str, text: &mut String) {
        while !text.contains(wanted) {
            assert!(self.read(text), "no {wanted:?} in {text:?}");
        }
    }

    /// One piece more; false at the end, where Linux says EIO instead of nothing.
    fn read(&mut self, text: &mut String) -> bool {
        let mut piece = [0; 4096];
        let length = self.ours.read(&mut piece).unwrap_or(0);
        // A piece may end inside a character of the bar; nothing that is looked for does.
        text.push_str(&String::from_utf8_lossy(&piece[..length]));
        length > 0
    }

    /// Reads the rest and takes the exit code.
    fn end(mut self, text: &mut String) -> Option<i32> {
        while self.read(text) {}
        self.child.wait().unwrap().code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where the test went well it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A site without an end, slow enough to look at. Whoever crawls it has a time limit, so that
/// a test fails instead of hanging.
fn endless() -> Site {
    Site::new().handler(|request| {
        let next = format!("{}x", request.path());
        let page = Page::html(format!("<a href={next}>next</a>"));
        page.delay(Duration::from_millis(30)).into()
    })
}

#[test]
fn the_block_goes_without_a_trace() {
    let web = web_of(endless());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let flags = ["--no-output", "--no-sitemaps", "--max-time", "1m", &root];
    let mut terminal = Terminal::run(place.command(&flags));
    let mut text = String::new();
    terminal.read_until(" pages/s   ", &mut text);
    let live = screen(&text, usize::from(WIDTH)).join("\n");
    assert!(
        live.contains(" done   ") && live.contains(" in flight"),
        "{live}"
    );
    assert!(
        text.contains("\x1b[1m") && !text.contains("\x1b[?25"),
        "{text:?}"
    );
    terminal.signal(Signal::INT);
    assert_eq!(terminal.end(&mut text), Some(130));
    let left = masked(&screen(&text, usize::from(WIDTH)).join("\n"), &web);
    let number = regex::Regex::new(r"\d+ pages").unwrap();
    let left = number.replace(&left, "# pages");
    let (talk, report) = left.split_once("\noutcomes ").unwrap();
    let expected = "\
note: 127.0.0.1 is this machine: no rate limit (as --speed max)
stopping: what is in flight may finish, within 10 s; once more to stop
 at once";
    assert_eq!(talk.replace("within # s", "within 10 s"), expected);
    let (_, summary) = report.rsplit_once("\n\n").unwrap();
    let expected = "\
# pages in # s, # pages/s, 0 broken
http://127.0.0.1:PORT/ · interrupted
note: stopped with 1 URL still to do";
    assert_eq!(summary, expected);
}

#[test]
fn the_block_says_what_holds_the_crawl() {
    let web = web_of(endless());
    let place = Place::new();
    let root = web.url(HOST, "/");
    // As often as progress is told, so that the two could always miss each other.
    let line = ["--no-output", "--rate", "10/s", "--max-time", "1m", &root];
    let mut terminal = Terminal::run(place.command(&line));
    terminal.read_until("held to 10/s by politeness", &mut String::new());
}

#[test]
fn the_block_says_what_is_tried_again() {
    let nobody = std::net::TcpListener::bind((HOST, 0)).unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let link = format!("<a href=http://{HOST}:{port}/>dead</a>");
    let web = web_of(Site::new().pages([("/", link.as_str())]));
    let place = Place::new();
    let mut terminal = Terminal::run(place.command(&["--no-output", &web.url(HOST, "/")]));
    let mut text = String::new();
    terminal.read_until(&format!("retrying {HOST}:{port} in "), &mut text);
    assert!(!text.contains("held to"), "{text}");
}

#[test]
fn colour_is_not_for_everyone() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    let shown = |line: &[&str], variable: (&str, &str)| {
        let place = Place::new();
        let mut command = place.command(&[line, &["--no-output", &root]].concat());
        command.env(variable.0, variable.1);
        let mut text = String::new();
        assert_eq!(Terminal::run(command).end(&mut text), Some(0));
        text
    };
    let is_coloured = |text: &str| text.contains("\x1b[1m") || text.contains("\x1b[1;");
    assert!(is_coloured(&shown(&[], ("TERM", "xterm"))));
    assert!(!shown(&[], ("NO_COLOR", "1")).contains("\x1b[3"));
    assert!(!is_coloured(&shown(
        &["--color", "never"],
        ("TERM", "xterm")
    )));
    assert!(!shown(&[], ("TERM", "dumb")).contains('\x1b'));
    assert!(is_coloured(&shown(
        &["--color", "always"],
        ("NO_COLOR", "1")
    )));
}
