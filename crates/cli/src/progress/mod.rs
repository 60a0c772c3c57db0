//! Progress on stderr: a live block on a terminal, a line now and then elsewhere.
//!
//! Owns when and where something is drawn; `render` owns what it looks like, `draw` how a block
//! is replaced in place. It refuses to know the engine: whoever crawls publishes a [`Snapshot`]
//! on the [`Board`], and a thread looks at it.

mod draw;
mod render;

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use self::draw::Drawer;
use crate::message::shown;
use crate::resolve::{Options, Talk};

/// Five times a second looks alive and costs nothing.
const REDRAW: Duration = Duration::from_millis(200);
/// In a log a line now and then is enough.
const LINE_EVERY: Duration = Duration::from_secs(5);
const SHOW_CURSOR: &str = "\x1b[?25h";

/// How a crawl stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) elapsed: Duration,
    pub(crate) done: u64,
    pub(crate) queued: u64,
    pub(crate) in_flight: u64,
    pub(crate) pages: u64,
    pub(crate) pages_per_second: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) memory_bytes: u64,
    pub(crate) failed: u64,
    pub(crate) broken: u64,
    /// Time left, where it can be told.
    pub(crate) eta: Option<Duration>,
    /// What it waits for, "held to 10/s by politeness; your own site? --speed fast".
    pub(crate) waiting: Option<String>,
    pub(crate) hosts_active: u64,
    pub(crate) last_url: Option<String>,
}

/// Where the newest snapshot hangs.
#[derive(Clone, Default)]
pub(crate) struct Board(Arc<Mutex<Option<Snapshot>>>);

impl Board {
    /// Replaces the snapshot.
    pub(crate) fn publish(&self, snapshot: Snapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
    }

    fn newest(&self) -> Option<Snapshot> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The thread that draws. Ends, and leaves a clean screen, when finished or dropped.
pub(crate) struct Progress {
    orders: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to draw what hangs on the board, as far as the options want it.
    pub(crate) fn start(board: &Board, options: Options) -> Self {
        let (sender, receiver) = channel();
        let is_terminal = stderr().is_terminal();
        let mode = match options.talk {
            Talk::Quiet => Mode::Silent,
            _ if is_terminal && std::env::var_os("TERM").is_none_or(|name| name != "dumb") => {
                Mode::Block
            }
            _ => Mode::Lines,
        };
        let in_colour = options.colour.decide(is_terminal);
        let board = board.clone();
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || run(&board, &receiver, mode, in_colour));
        Self {
            orders: Some(sender),
            // Without a thread to spare the crawl goes on unseen.
            thread: thread.ok(),
        }
    }

    /// Prints a line of talk above the block.
    pub(crate) fn say(&self, line: &str) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(shown(line).into_owned());
        }
    }

    /// Takes the block away and gives the cursor back.
    pub(crate) fn finish(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Silent,
    Lines,
    Block,
}

fn run(board: &Board, orders: &Receiver<String>, mode: Mode, in_colour: bool) {
    let mut drawer = Drawer::new(stderr());
    let pause = if mode == Mode::Block {
        REDRAW
    } else {
        LINE_EVERY
    };
    loop {
        match orders.recv_timeout(pause) {
            Ok(_) if mode == Mode::Silent => {}
            Ok(line) => drawer.line(&line),
            Err(RecvTimeoutError::Timeout) => {
                let Some(snapshot) = board.newest() else {
                    continue;
                };
                match mode {
                    Mode::Silent => {}
                    Mode::Lines => drawer.line(&render::line(&snapshot)),
                    Mode::Block => {
                        BLOCK_IS_LIVE.store(true, Ordering::Relaxed);
                        let (width, height) = draw::terminal();
                        let lines = render::render(&snapshot, width, in_colour);
                        drawer.block(lines, width, height);
                    }
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    drawer.clear();
    BLOCK_IS_LIVE.store(false, Ordering::Relaxed);
}

static BLOCK_IS_LIVE: AtomicBool = AtomicBool::new(false);

/// Gives the cursor back before the process ends without finishing.
pub(crate) fn restore_terminal() {
    use std::io::Write as _;
    if BLOCK_IS_LIVE.load(Ordering::Relaxed) {
        let _ = stderr().write_all(format!("{SHOW_CURSOR}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests;
