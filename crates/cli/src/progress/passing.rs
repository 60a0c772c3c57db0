//! A line on a terminal that says how far a long piece of work is, and goes away.
//!
//! Owns how often it is drawn and its end; `render` owns what it looks like. It refuses to know
//! what is done. Every verb that may take long and is no crawl shows this line. Invariant:
//! once it is dropped the screen is as if it had never been there, so whatever is said next
//! begins on a clean line.

use std::io::{Stderr, Write, stderr};
use std::time::{Duration, Instant};

use super::draw::{ERASE_LINE, can_redraw, terminal};
use super::render;
use crate::message::Colour;
use crate::resolve::Talk;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// The line, and where it goes.
pub(crate) struct PassingLine<W: Write = Stderr> {
    /// Nothing if nobody would see it.
    out: Option<W>,
    doing: String,
    pause: Duration,
    began: Instant,
    last: Instant,
    is_drawn: bool,
    in_colour: bool,
}

impl PassingLine {
    /// On stderr, if that is a terminal that can take a line back.
    pub(crate) fn on_stderr(doing: &str) -> Self {
        let mut line = Self::new(can_redraw().then(stderr), doing, PAUSE);
        line.in_colour = Colour::Auto.decide(true);
        line
    }

    /// The same, unless nothing is to be said.
    pub(crate) fn for_talk(doing: &str, talk: Talk) -> Self {
        match talk {
            Talk::Quiet => Self::new(None, doing, PAUSE),
            _ => Self::on_stderr(doing),
        }
    }
}

impl<W: Write> PassingLine<W> {
    fn new(out: Option<W>, doing: &str, pause: Duration) -> Self {
        Self {
            out,
            doing: doing.to_owned(),
            pause,
            began: Instant::now(),
            last: Instant::now(),
            is_drawn: false,
            in_colour: false,
        }
    }

    /// Shows how much is done and a count, now and then; the count is made only if it is shown.
    /// How much there is to do may not be known.
    pub(crate) fn show(&mut self, done: u64, of: Option<u64>, count: impl FnOnce() -> String) {
        let is_due = self.last.elapsed() >= self.pause;
        let Some(out) = self.out.as_mut().filter(|_| is_due) else {
            return;
        };
        self.last = Instant::now();
        self.is_drawn = true;
        let share = of.map(|of| (done as f64 / of.max(1) as f64).min(1.0));
        let work = render::WorkProgress {
            doing: &self.doing,
            share,
            count: &count(),
            elapsed: self.began.elapsed(),
        };
        let text = render::work(&work, terminal().0, self.in_colour);
        // A terminal that went away has nobody to look at it.
        let _ = write!(out, "\r{text}{ERASE_LINE}\r").and_then(|()| out.flush());
    }

    /// Takes the line away, before something else is said; it comes back.
    pub(crate) fn clear(&mut self) {
        if let Some(out) = self.out.as_mut().filter(|_| self.is_drawn) {
            let _ = write!(out, "\r{ERASE_LINE}").and_then(|()| out.flush());
        }
        self.is_drawn = false;
    }
}

impl<W: Write> Drop for PassingLine<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_back() {
        let mut screen = Vec::new();
        let mut line = PassingLine::new(Some(&mut screen), "reading", Duration::ZERO);
        line.show(1, None, || "10 pages".to_owned());
        line.show(2, None, || "9 pages".to_owned());
        drop(line);
        screen.extend_from_slice(b"note: done\n");
        let expected =
            "\rreading   10 pages\x1b[K\r\rreading   9 pages\x1b[K\r\r\x1b[Knote: done\n";
        assert_eq!(String::from_utf8(screen).unwrap(), expected);
    }

    #[test]
    fn what_was_never_drawn_leaves_no_bytes() {
        let mut screen = Vec::new();
        let hour = Duration::from_hours(1);
        let mut line = PassingLine::new(Some(&mut screen), "reading", hour);
        line.show(1, None, || panic!("it is not due"));
        drop(line);
        assert_eq!(screen, b"");
        let mut unseen = PassingLine::<Vec<u8>>::new(None, "reading", Duration::ZERO);
        unseen.show(1, None, || panic!("nobody looks"));
        let mut quiet = PassingLine::for_talk("reading", Talk::Quiet);
        quiet.pause = Duration::ZERO;
        quiet.show(1, None, || panic!("nobody wants to look"));
    }

    #[test]
    fn a_line_never_wraps() {
        let mut screen = Vec::new();
        let mut line = PassingLine::new(Some(&mut screen), "reading", Duration::ZERO);
        line.show(1, Some(2), || "x".repeat(10_000));
        drop(line);
        let drawn = String::from_utf8(screen).unwrap().matches('x').count();
        assert!(drawn < terminal().0, "{drawn}");
    }
}
