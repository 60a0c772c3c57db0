//! Reads single values and collects what is wrong with them.
//!
//! Owns the wording of refusals: which setting, what was written, what to write instead. It
//! refuses to know what a setting is for. A refused value reads as if it were not there, and
//! the problems make sure that nobody crawls with it.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::message::shown;
use crate::settings::SECRETS;
use crate::settings::layer::{Layer, Origin};
use crate::settings::problem::Problem;
use crate::settings::quantity;

/// Texts longer than this are cut in messages.
const LONGEST_QUOTE: usize = 60;

/// A value as the user wrote it, with the name of its setting.
#[derive(Clone, Copy)]
pub(crate) struct Written<'a> {
    pub(crate) key: &'static str,
    pub(crate) text: Option<&'a str>,
}

/// A value of a setting that is given once at the most.
pub(crate) fn written<'a>(key: &'static str, text: Option<&'a String>) -> Written<'a> {
    Written {
        key,
        text: text.map(String::as_str),
    }
}

/// Reads the values of one layer.
pub(crate) struct Reader<'a> {
    layer: &'a Layer,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(layer: &'a Layer) -> Self {
        Self {
            layer,
            problems: Vec::new(),
        }
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Adds a problem with a setting.
    pub(crate) fn refuse(&mut self, key: &str, message: impl Into<String>) {
        self.problems
            .push(Problem::new(self.layer.place(key), message));
    }

    /// Adds a way on to the problem that was told last.
    pub(crate) fn hint(&mut self, hint: &str) {
        if let Some(last) = self.problems.last_mut() {
            last.hint = Some(hint.to_owned());
        }
    }

    /// Whether anybody wrote the setting.
    pub(crate) fn is_given(&self, key: &str) -> bool {
        self.layer.origin(key) != Origin::Default
    }

    /// Whether somebody wrote the setting for this run; what a job kept is not that.
    pub(crate) fn is_written(&self, key: &str) -> bool {
        self.is_given(key) && self.layer.origin(key) != Origin::Job
    }

    pub(crate) fn period(
        &mut self,
        written: Written<'_>,
        range: &RangeInclusive<Duration>,
    ) -> Option<Duration> {
        let notation = Notation {
            what: "a time such as 500ms, 2s, 1m30s or 1h",
            parse: quantity::period,
            show: |period| quantity::show_period(*period),
        };
        self.quantity(written, &notation, range)
    }

    pub(crate) fn size(
        &mut self,
        written: Written<'_>,
        range: &RangeInclusive<u64>,
    ) -> Option<u64> {
        let notation = Notation {
            what: "a size such as 512k, 32M or 1G",
            parse: quantity::size,
            show: |bytes| quantity::show_size(*bytes),
        };
        self.quantity(written, &notation, range)
    }

    pub(crate) fn rate(
        &mut self,
        written: Written<'_>,
        range: &RangeInclusive<f64>,
    ) -> Option<f64> {
        let notation = Notation {
            what: "a rate such as 5/s or 30/m",
            parse: quantity::rate,
            show: |rate| quantity::show_rate(*rate),
        };
        self.quantity(written, &notation, range)
    }

    pub(crate) fn count(
        &mut self,
        written: Written<'_>,
        range: &RangeInclusive<u64>,
    ) -> Option<u64> {
        let notation = Notation {
            what: "a whole number",
            parse: quantity::count,
            show: u64::to_string,
        };
        self.quantity(written, &notation, range)
    }

    /// A count that fits 32 bits because its range does.
    pub(crate) fn small_count(
        &mut self,
        written: Written<'_>,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let range = u64::from(*range.start())..=u64::from(*range.end());
        self.count(written, &range)
            .and_then(|number| u32::try_from(number).ok())
    }

    fn quantity<T: PartialOrd>(
        &mut self,
        written: Written<'_>,
        notation: &Notation<T>,
        range: &RangeInclusive<T>,
    ) -> Option<T> {
        let text = written.text?;
        let Some(value) = (notation.parse)(text) else {
            self.refuse(
                written.key,
                format!("`{}` is not {}", quote(text), notation.what),
            );
            return None;
        };
        let bound = if value < *range.start() {
            Some(("small; the least", range.start()))
        } else if value > *range.end() {
            Some(("large; the most", range.end()))
        } else {
            None
        };
        if let Some((verdict, bound)) = bound {
            let bound = (notation.show)(bound);
            self.refuse(
                written.key,
                format!("`{}` is too {verdict} is {bound}", quote(text)),
            );
            return None;
        }
        Some(value)
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        written: Written<'_>,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = written.text?;
        let found = choices.iter().find(|(name, _)| *name == text.trim());
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let message = format!("`{}` is not one of {}", quote(text), names.join(", "));
            self.refuse(written.key, message);
        }
        found.map(|(_, value)| *value)
    }

    /// Each of several texts through a parser; a secret's text is never part of the message.
    pub(crate) fn each<'t, T, E: Display>(
        &mut self,
        key: &'static str,
        texts: impl IntoIterator<Item = &'t str>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let mut values = Vec::new();
        for text in texts {
            match parse(text) {
                Ok(value) => values.push(value),
                Err(error) if SECRETS.contains(&key) => self.refuse(key, error.to_string()),
                Err(error) => self.refuse(key, format!("`{}` {error}", quote(text))),
            }
        }
        values
    }

    /// One text through a parser.
    pub(crate) fn one<T, E: Display>(
        &mut self,
        written: Written<'_>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        self.each(written.key, written.text, parse).pop()
    }
}

struct Notation<T> {
    what: &'static str,
    parse: fn(&str) -> Option<T>,
    show: fn(&T) -> String,
}

/// The items of comma-separated lists.
pub(crate) fn items(texts: &[String]) -> impl Iterator<Item = &str> {
    texts
        .iter()
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

/// A harmless excerpt of what was written.
pub(crate) fn quote(text: &str) -> String {
    let mut excerpt: String = text.chars().take(LONGEST_QUOTE).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    shown(&excerpt).into_owned()
}
