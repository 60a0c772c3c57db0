//! Bytes on their way to stdout: as they are for a program, harmless for a terminal.
//!
//! Invariant: nothing that steers reaches a terminal; at most one line is held, and a long one
//! goes out in parts.

use std::io::{self, BufWriter, IsTerminal, Write};

use crate::message::shown;

/// The most of a line that is held back.
const LONGEST: usize = 16 * 1024;

pub(super) struct Screen<W: Write> {
    out: BufWriter<W>,
    is_terminal: bool,
    line: Vec<u8>,
}

impl<W: Write + IsTerminal> Screen<W> {
    pub(super) fn new(out: W) -> Self {
        let is_terminal = out.is_terminal();
        Self::for_output(out, is_terminal)
    }
}

impl<W: Write> Screen<W> {
    fn for_output(out: W, is_terminal: bool) -> Self {
        Self {
            out: BufWriter::new(out),
            is_terminal,
            line: Vec::new(),
        }
    }

    /// Hands on all that is held.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write_line()?;
        self.out.flush()
    }

    fn write_line(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.line);
        let cells: Vec<_> = text.split('\t').map(shown).collect();
        self.out.write_all(cells.join("\t").as_bytes())?;
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        for &byte in bytes {
            if byte == b'\n' {
                // The usual end of a line is no attempt to steer.
                if self.line.last() == Some(&b'\r') {
                    self.line.pop();
                }
                self.write_line()?;
                self.out.write_all(b"\n")?;
            } else {
                self.line.push(byte);
            }
            if self.line.len() >= LONGEST {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_steered() {
        for (is_terminal, expected) in [
            (true, "a\tb\n\\x1b[2J\nü\\x0dx"),
            (false, "a\tb\r\n\u{1b}[2J\nü\rx"),
        ] {
            let mut out = Vec::new();
            let mut screen = Screen::for_output(&mut out, is_terminal);
            for piece in "a\tb\r\n\u{1b}[2J\nü\rx".as_bytes().chunks(1) {
                screen.write_all(piece).unwrap();
            }
            screen.finish().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
