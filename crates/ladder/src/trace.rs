//! Stack traces, cut down to what is ours.
//!
//! Owns the reading of the standard library's backtrace, which has no other form than text. Two
//! rungs show with it what callbacks lose and coroutines keep.

use std::backtrace::Backtrace;

/// The functions of a program that are on the stack now, the innermost first.
pub fn frames(program: &str) -> Vec<String> {
    let backtrace = Backtrace::force_capture().to_string();
    own_frames(&backtrace, program)
}

fn own_frames(backtrace: &str, program: &str) -> Vec<String> {
    let prefix = format!("{program}::");
    let names = backtrace.lines().filter_map(|line| {
        let (number, name) = line.trim().split_once(": ")?;
        number.parse::<u32>().ok()?;
        Some(
            name.trim_start_matches('<')
                .replace("{{closure}}", "{async}"),
        )
    });
    names.filter(|name| name.starts_with(&prefix)).collect()
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
                         \x20            at ./src/bin/rung.rs:7:8\n\
                         \x20  2: rung::outer::{{closure}}\n   3: core::ops::call_once\n\
                         \x20  4: <rung::Loop as Future>::poll\n   5: stranger::main\n";
        let expected = [
            "rung::inner",
            "rung::outer::{async}",
            "rung::Loop as Future>::poll",
        ];
        assert_eq!(own_frames(backtrace, "rung"), expected);
    }
}
