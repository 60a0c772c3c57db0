//! A line on a terminal that says how far something is, and goes away.
//!
//! Owns how often it is drawn, its length and its end. It refuses to know what is done. Invariant:
//! once it is dropped the screen is as if it had never been there, so whatever is said next
//! begins on a clean line.

use std::io::{Stderr, Write, stderr};
use std::time::{Duration, Instant};

use super::draw::{ERASE_LINE, can_redraw, terminal};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// The line, and where it goes.
pub(crate) struct PassingLine<W: Write = Stderr> {
    /// Nothing if nobody would see it.
    out: Option<W>,
    pause: Duration,
    last: Instant,
    is_drawn: bool,
}

impl PassingLine {
    /// On stderr, if that is a terminal that can take a line back.
    pub(crate) fn on_stderr() -> Self {
        Self::new(can_redraw().then(stderr), PAUSE)
    }
}

impl<W: Write> PassingLine<W> {
    fn new(out: Option<W>, pause: Duration) -> Self {
        Self {
            out,
            pause,
            last: Instant::now(),
            is_drawn: false,
        }
    }

    /// Shows a text in the place of the last one, now and then; it is made only if it is shown.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        let is_due = self.last.elapsed() >= self.pause;
        let Some(out) = self.out.as_mut().filter(|_| is_due) else {
            return;
        };
        self.last = Instant::now();
        self.is_drawn = true;
        // A line that wraps could not be taken back; the last column stays free for the cursor.
        let most = terminal().0.saturating_sub(1);
        let text: String = text().chars().take(most).collect();
        // A terminal that went away has nobody to look at it.
        let _ = write!(out, "\r{text}{ERASE_LINE}\r").and_then(|()| out.flush());
    }

    fn clear(&mut self) {
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
        let mut line = PassingLine::new(Some(&mut screen), Duration::ZERO);
        line.show(|| "half [##..] 10".to_owned());
        line.show(|| "most [###.] 9".to_owned());
        drop(line);
        screen.extend_from_slice(b"note: done\n");
        let expected = "\rhalf [##..] 10\x1b[K\r\rmost [###.] 9\x1b[K\r\r\x1b[Knote: done\n";
        assert_eq!(String::from_utf8(screen).unwrap(), expected);
    }

    #[test]
    fn what_was_never_drawn_leaves_no_bytes() {
        let mut screen = Vec::new();
        let hour = Duration::from_hours(1);
        let mut line = PassingLine::new(Some(&mut screen), hour);
        line.show(|| panic!("it is not due"));
        drop(line);
        assert_eq!(screen, b"");
        let mut unseen = PassingLine::<Vec<u8>>::new(None, Duration::ZERO);
        unseen.show(|| panic!("nobody looks"));
    }

    #[test]
    fn a_line_never_wraps() {
        let mut screen = Vec::new();
        let mut line = PassingLine::new(Some(&mut screen), Duration::ZERO);
        line.show(|| "x".repeat(10_000));
        drop(line);
        let drawn = String::from_utf8(screen).unwrap().matches('x').count();
        assert!(drawn < terminal().0, "{drawn}");
    }
}
