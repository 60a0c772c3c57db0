//! What the command says to people: errors, hints, notes, and whether in colour.
//!
//! Owns the tone and the look of stderr; stdout belongs to data. Text that came from elsewhere
//! passes [`shown`], so nothing from a page or a file can steer a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stderr};
use std::sync::OnceLock;

use serde_json::json;

use crate::settings::problem::Problem;

/// More problems than this are only counted.
const MOST_PROBLEMS: usize = 20;

/// Foreign text made harmless: whatever a terminal would obey is written out.
pub(crate) use clewline_job::escape::visible as shown;

/// Whether a stream is written in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Colour {
    /// Where the stream is a terminal and nobody objects.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// The decision for a stream; `NO_COLOR` (no-color.org) and a dumb terminal object.
    pub(crate) fn decide(self, is_terminal: bool) -> bool {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                is_terminal
                    && set("NO_COLOR").is_none()
                    && set("TERM").is_none_or(|terminal| terminal != "dumb")
            }
        }
    }
}

/// The form of what goes to stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LogForm {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The form that the process writes; the first who chooses decides, and flags are read first.
static LOG_FORM: OnceLock<LogForm> = OnceLock::new();

/// Decides the form of stderr for the whole process.
pub(crate) fn choose_log_form(form: LogForm) {
    LOG_FORM.set(form).ok();
}

/// The form that was chosen.
pub(crate) fn log_form() -> LogForm {
    LOG_FORM.get().copied().unwrap_or_default()
}

/// A line of text, as the form has it; `level` says what it is.
pub(crate) fn log_line(level: &str, text: &str) -> String {
    match log_form() {
        LogForm::Text => shown(text).into_owned(),
        LogForm::Json => json!({ "level": level, "message": text }).to_string(),
    }
}

/// Prints errors and hints to stderr.
pub(crate) struct Speaker {
    in_colour: bool,
}

impl Speaker {
    pub(crate) fn new(colour: Colour) -> Self {
        Self {
            in_colour: colour.decide(stderr().is_terminal()),
        }
    }

    /// An error with its causes and, after a blank line, what may help.
    pub(crate) fn error(&self, error: &anyhow::Error, hints: &[String]) {
        let message = with_causes(error);
        if log_form() == LogForm::Json {
            return self.say_json(&message, hints);
        }
        self.say(&format!(
            "{} {}\n",
            self.label("error:", RED),
            multiline(&message)
        ));
        self.hints(hints);
    }

    /// All that is wrong with the settings.
    pub(crate) fn problems(&self, problems: &[Problem]) {
        if log_form() == LogForm::Json {
            for problem in problems {
                let hints: Vec<String> = problem.hint.iter().cloned().collect();
                self.say_json(&problem.to_string(), &hints);
            }
            return;
        }
        let mut text = String::new();
        for problem in problems.iter().take(MOST_PROBLEMS) {
            let _ = writeln!(text, "{} {problem}", self.label("error:", RED));
        }
        if let Some(more) = problems.len().checked_sub(MOST_PROBLEMS + 1) {
            let _ = writeln!(text, "{} and {} more", self.label("error:", RED), more + 1);
        }
        self.say(&text);
        let mut hints: Vec<String> = Vec::new();
        for hint in problems
            .iter()
            .take(MOST_PROBLEMS)
            .filter_map(|one| one.hint.as_ref())
        {
            if !hints.contains(hint) {
                hints.push(hint.clone());
            }
        }
        self.hints(&hints);
    }

    fn hints(&self, hints: &[String]) {
        if hints.is_empty() {
            return;
        }
        let mut text = String::from("\n");
        for hint in hints {
            let _ = writeln!(text, "{} {}", self.label("hint:", CYAN), multiline(hint));
        }
        self.say(&text);
    }

    /// A line that helps but is no error.
    pub(crate) fn note(&self, text: &str) {
        self.say(&(note(text, self.in_colour) + "\n"));
    }

    fn say_json(&self, message: &str, hints: &[String]) {
        let line = json!({ "level": "error", "message": message, "hints": hints });
        self.say(&format!("{line}\n"));
    }

    fn label(&self, label: &str, colour: &str) -> String {
        painted(label, colour, self.in_colour)
    }

    #[expect(
        clippy::unused_self,
        reason = "the only way to stderr is through a speaker"
    )]
    fn say(&self, text: &str) {
        // A closed stderr leaves nobody to tell.
        let _ = stderr().write_all(text.as_bytes());
    }
}

/// The look of a note, for whoever prints it.
pub(crate) fn note(text: &str, in_colour: bool) -> String {
    match log_form() {
        LogForm::Text => format!("{} {}", painted("note:", CYAN, in_colour), shown(text)),
        LogForm::Json => log_line("note", text),
    }
}

fn painted(label: &str, colour: &str, in_colour: bool) -> String {
    if in_colour {
        format!("\x1b[1;{colour}m{label}\x1b[0m")
    } else {
        label.to_owned()
    }
}

/// An error and its causes; a cause that the message tells already is not told again.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// Escapes each line for itself, so that our own line breaks stay.
fn multiline(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(shown).collect();
    lines.join("\n")
}

const RED: &str = "31";
const CYAN: &str = "36";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_decided_once() {
        assert!(Colour::Always.decide(false));
        assert!(!Colour::Never.decide(true));
        assert!(!Colour::Auto.decide(false));
    }
}
