//! Progress on stderr: a live block on a terminal, a line now and then elsewhere.
//!
//! Owns when and where something is drawn; `render` owns what it looks like, `draw` how a block
//! is replaced in place, `passing` the one line of what is no crawl. It refuses to know the engine: whoever crawls publishes a [`Snapshot`]
//! on the [`LatestSnapshot`], and a thread looks at it.

mod draw;
mod passing;
pub(crate) mod render;

use std::io::{IsTerminal, Stderr, stderr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use self::draw::{Drawer, can_redraw};
pub(crate) use self::passing::PassingLine;
use crate::message::{self, LogForm, log_form, log_line};
use crate::resolve::{CommandOptions, Talk};

/// Five times a second looks alive and costs nothing.
const REDRAW: Duration = Duration::from_millis(200);
/// In a log a line now and then is enough.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Lines that wait for a slow terminal; whoever says more waits with them.
const WAITING_LINES: usize = 256;

/// How a crawl stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) elapsed: Duration,
    pub(crate) done: u64,
    pub(crate) queued: u64,
    pub(crate) in_flight: u64,
    pub(crate) pages_per_second: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) memory_bytes: u64,
    /// URLs that could not be fetched.
    pub(crate) failed: u64,
    /// Those, and URLs that answered with an error.
    pub(crate) broken: u64,
    /// Pages that look empty without JavaScript, as long as no page was rendered.
    pub(crate) empty_pages: u64,
    /// Time left, where it can be told.
    pub(crate) eta: Option<Duration>,
    /// What it waits for, "held to 10/s by politeness; your own site? --speed fast".
    pub(crate) waiting: Option<String>,
    pub(crate) hosts_active: u64,
    /// What the whole fleet has done, "fleet of 4: 12,345 done, 678 queued".
    pub(crate) fleet: Option<String>,
    pub(crate) last_url: Option<String>,
}

/// Where the newest snapshot hangs.
#[derive(Clone, Default)]
pub(crate) struct LatestSnapshot(Arc<Mutex<Option<Snapshot>>>);

impl LatestSnapshot {
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
pub(crate) struct ProgressDisplay {
    voice: Voice,
    thread: Option<JoinHandle<()>>,
}

impl ProgressDisplay {
    /// Begins to draw what hangs on the board, as far as the options want it.
    pub(crate) fn start(board: &LatestSnapshot, options: CommandOptions) -> Self {
        let (sender, receiver) = sync_channel(WAITING_LINES);
        let is_terminal = stderr().is_terminal();
        let mode = match options.talk {
            Talk::Quiet => Mode::Silent,
            _ if can_redraw() && log_form() == LogForm::Text => Mode::Block,
            _ => Mode::Lines,
        };
        let in_colour = options.colour.decide(is_terminal);
        let board = board.clone();
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || run(&board, &receiver, mode, in_colour));
        Self {
            voice: Voice {
                orders: sender,
                in_colour,
            },
            // Without a thread to spare the crawl goes on unseen.
            thread: thread.ok(),
        }
    }

    /// A way to print lines from another thread.
    pub(crate) fn voice(&self) -> Voice {
        self.voice.clone()
    }

    /// Takes the block away.
    pub(crate) fn finish(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.voice.orders.send(Order::End);
            let _ = thread.join();
        }
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prints lines above the block, as long as there is one.
#[derive(Clone)]
pub(crate) struct Voice {
    orders: SyncSender<Order>,
    in_colour: bool,
}

impl Voice {
    pub(crate) fn say(&self, line: &str) {
        self.order(log_line("info", line));
    }

    /// A line that helps but is no error.
    pub(crate) fn note(&self, note: &str) {
        self.order(message::note(note, self.in_colour));
    }

    fn order(&self, line: String) {
        // After the end nobody listens, and nothing is left to say.
        let _ = self.orders.send(Order::Say(line));
    }
}

enum Order {
    Say(String),
    End,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Silent,
    Lines,
    Block,
}

fn run(board: &LatestSnapshot, orders: &Receiver<Order>, mode: Mode, in_colour: bool) {
    let mut drawer = Drawer::new(stderr());
    let pause = if mode == Mode::Block {
        REDRAW
    } else {
        LINE_EVERY
    };
    let mut due = Instant::now() + pause;
    loop {
        match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Order::Say(line)) if mode != Mode::Silent => drawer.line(&line),
            Ok(Order::Say(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => break,
        }
        // Not only after silence: a stream of lines must not hide how the crawl stands.
        if Instant::now() >= due {
            due = Instant::now() + pause;
            if let Some(snapshot) = board.newest() {
                draw_one(&mut drawer, &snapshot, mode, in_colour);
            }
        }
    }
    drawer.clear();
}

fn draw_one(drawer: &mut Drawer<Stderr>, snapshot: &Snapshot, mode: Mode, in_colour: bool) {
    match mode {
        Mode::Silent => {}
        Mode::Lines if log_form() == LogForm::Json => drawer.line(&render::json_line(snapshot)),
        Mode::Lines => drawer.line(&render::line(snapshot)),
        Mode::Block => {
            let (width, height) = draw::terminal();
            drawer.block(render::render(snapshot, width, in_colour), width, height);
        }
    }
}

#[cfg(test)]
mod tests;
