//! Stack traces, cut down to what is ours.
//!
//! Owns the reading of the standard library's backtrace, which has no other form than text. Two
//! rungs show with it what callbacks lose and coroutines keep.

use std::backtrace::Backtrace;

/// The functions of a program that are on the stack now, the innermost first, with the lines
/// where they are, as far as the build has kept names and lines.
fn frames(program: &str) -> Vec<String> {
    let backtrace = Backtrace::force_capture().to_string();
    own_frames(&backtrace, program)
}

/// A frame is a line `NUMBER: NAME`, and perhaps a line `at FILE:LINE:COLUMN` below it.
fn own_frames(backtrace: &str, program: &str) -> Vec<String> {
    let (prefix, file) = (format!("{program}::"), format!("bin/{program}.rs:"));
    let mut frames = Vec::new();
    let mut lines = backtrace.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((_, name)) = line.split_once(": ") else {
            continue;
        };
        let place = lines.next_if(|below| below.starts_with("at "));
        let place = place.and_then(|place| place.split_once(&file));
        let name = name.trim_start_matches('<');
        let name = name.strip_prefix(&prefix).or(place.map(|_| name));
        let line = place.and_then(|(_, place)| place.split(':').next());
        frames.extend(name.map(|name| match line {
            Some(line) => format!("{name}, line {line}"),
            None => name.to_owned(),
        }));
    }
    frames
}

/// Shows the first error of a run with its trace; the others look the same.
#[derive(Debug)]
pub struct Trace {
    program: &'static str,
    is_shown: bool,
}

impl Trace {
    /// A trace of a program that shows nothing when it shall be quiet.
    pub fn new(program: &'static str, quiet: bool) -> Self {
        Self {
            program,
            is_shown: quiet,
        }
    }

    /// Shows the error and the stack that the caller stands on.
    pub fn show(&mut self, error: &dyn std::fmt::Display) {
        if self.is_shown {
            return;
        }
        self.is_shown = true;
        eprintln!("Trace of the first error: {error}");
        for frame in frames(self.program) {
            eprintln!("  in {frame}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_frames_are_kept() {
        let backtrace = "   0: std::backtrace::Backtrace::create\n   1: rung::inner\n\
                         \x20            at ./src/bin/rung.rs:7:8\n   2: {async_fn#0}\n\
                         \x20            at ./src/bin/rung.rs:9:1\n   3: call_once\n\
                         \x20            at ./library/core/function.rs:9:1\n\
                         \x20  4: <rung::Loop as Future>::poll\n   5: stranger::main\n";
        let expected = [
            "inner, line 7",
            "{async_fn#0}, line 9",
            "Loop as Future>::poll",
        ];
        assert_eq!(own_frames(backtrace, "rung"), expected);
    }
}
