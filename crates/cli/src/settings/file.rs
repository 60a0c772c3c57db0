//! Reads `clewline.toml`.
//!
//! Owns where the file is looked for and the way from its keys to a [`Layer`]. The keys and
//! their kinds come from the registry, so a flag is a key and nothing else is. All
//! problems are collected, each with its line.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::binding::{SettingValue, ValueKind};
use super::hosts::HOST_SETTINGS;
use super::layer::{Layer, SettingOrigin};
use super::problem::Problem;
use super::{Setting, all};
use crate::message::shown;
use crate::nearest::nearest;

/// The file that is read from the current folder.
pub(crate) const FILE_NAME: &str = "clewline.toml";
/// The variable that names another one.
pub(crate) const FILE_VARIABLE: &str = "CLEWLINE_CONFIG";
/// The key of the tables with figures for some hosts.
const HOST_KEY: &str = "host";
/// The key of the table that says how a site is checked.
const CHECK_KEY: &str = "check";
/// A larger file is no configuration.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// What a configuration file says.
#[derive(Default)]
pub(crate) struct FileSettings {
    /// The settings that are flags, too.
    pub(crate) layer: Layer,
    /// Its `[[host]]` tables.
    pub(crate) hosts: Vec<Layer>,
}

/// Loads the file the user named, or the one in the current folder if there is one, and says
/// what is wrong with it.
pub(crate) fn load(named: Option<PathBuf>) -> (FileSettings, Vec<Problem>) {
    let is_named = named.is_some();
    let path = named.unwrap_or_else(|| PathBuf::from(FILE_NAME));
    if !is_named && !path.exists() {
        return (FileSettings::default(), Vec::new());
    }
    let name = shown(&path.to_string_lossy()).into_owned();
    match read_text(&path) {
        Ok(text) => {
            let mut problems = Vec::new();
            (read(&name, &text, &mut problems), problems)
        }
        Err(error) => (FileSettings::default(), vec![Problem::new(name, error)]),
    }
}

/// The name and the text of the same file, for whoever reads a table of its own there.
pub(crate) fn source(named: Option<PathBuf>) -> Option<(String, String)> {
    let path = named.unwrap_or_else(|| PathBuf::from(FILE_NAME));
    let text = read_text(&path).ok()?;
    Some((shown(&path.to_string_lossy()).into_owned(), text))
}

fn read_text(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let file = fs::File::open(path).map_err(cannot)?;
    let mut text = String::new();
    let read = file.take(LARGEST_FILE + 1).read_to_string(&mut text);
    match read.map_err(cannot)? as u64 {
        0..=LARGEST_FILE => Ok(text),
        _ => Err(format!("is larger than {LARGEST_FILE} bytes")),
    }
}

/// Reads the text of a file; what is wrong is added to `problems`.
pub(crate) fn read(name: &str, text: &str, problems: &mut Vec<Problem>) -> FileSettings {
    let (document, errors) = DeTable::parse_recoverable(text);
    let source = Source::new(name, text);
    for error in &errors {
        let line = source.line(error.span().map_or(0, |span| span.start));
        problems.push(Problem::new(
            format!("{name}:{line}"),
            shown(error.message()),
        ));
    }
    let mut settings = FileSettings::default();
    let mut reader = Reader { source, problems };
    for (key, value) in document.get_ref() {
        if key.get_ref() == CHECK_KEY {
            // The verb that checks reads it.
            continue;
        }
        if key.get_ref() == HOST_KEY {
            settings.hosts = reader.hosts(value);
        } else {
            reader.entry(all(), (key, value), &mut settings.layer);
        }
    }
    settings
}

/// The file's name and where its lines begin.
struct Source<'a> {
    name: &'a str,
    starts: Vec<usize>,
}

impl<'a> Source<'a> {
    fn new(name: &'a str, text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            name,
            starts: breaks.map(|(at, _)| at + 1).collect(),
        }
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.starts.partition_point(|start| *start <= offset)
    }
}

/// What to write for a value of a kind.
const fn expected(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Switch => "is a switch: write true or false",
        ValueKind::Level => "is a number from 0 to 3",
        ValueKind::Number | ValueKind::Text => "takes one value: a text in quotes, or a number",
        ValueKind::Texts => "takes a text in quotes or a list of such",
    }
}

type Entry<'a, 'i> = (
    &'a Spanned<std::borrow::Cow<'i, str>>,
    &'a Spanned<DeValue<'i>>,
);

struct Reader<'a> {
    source: Source<'a>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    /// Takes one key with its value; the keys are the names of the settings.
    fn entry<T: Default + 'static>(
        &mut self,
        known: impl Iterator<Item = &'static Setting<T>> + Clone,
        (key, value): Entry<'_, '_>,
        layer: &mut Layer,
    ) {
        let line = self.source.line(key.span().start);
        let origin = SettingOrigin::File {
            name: self.source.name.to_owned(),
            line,
        };
        let key = key.get_ref().as_ref();
        let place = origin.place(&shown(key));
        let Some(setting) = known.clone().find(|setting| setting.name == key) else {
            let mut problem = Problem::new(place, "is not a setting");
            problem.hint = suggestion(known, key);
            self.problems.push(problem);
            return;
        };
        let kind = setting.describe(&mut T::default()).kind;
        match convert(kind, setting.missing_value(), value.get_ref()) {
            Some(value) => layer.insert(setting.name, value, origin),
            None => self.problems.push(Problem::new(place, expected(kind))),
        }
    }

    fn hosts(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<Layer> {
        let tables = match value.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| item.get_ref().as_table()).collect(),
            _ => None,
        };
        let Some(tables): Option<Vec<&DeTable<'_>>> = tables else {
            let line = self.source.line(value.span().start);
            let place = format!("{}:{line}: {HOST_KEY}", self.source.name);
            self.problems.push(Problem::new(
                place,
                "is a list of tables: write [[host]] on a line of its own",
            ));
            return Vec::new();
        };
        let mut layers = Vec::new();
        for table in tables {
            let mut layer = Layer::default();
            for entry in table {
                self.entry(HOST_SETTINGS.iter(), entry, &mut layer);
            }
            layers.push(layer);
        }
        layers
    }
}

fn convert(
    kind: ValueKind,
    missing: Option<&'static str>,
    value: &DeValue<'_>,
) -> Option<SettingValue> {
    match (kind, value) {
        (ValueKind::Switch, DeValue::Boolean(on)) => Some(SettingValue::Switch(*on)),
        (ValueKind::Level, DeValue::Integer(number)) => {
            let level: u8 = number.as_str().parse().ok()?;
            (level <= 3).then_some(SettingValue::Level(level))
        }
        (ValueKind::Text, DeValue::Boolean(true)) if missing.is_some() => {
            missing.map(|text| SettingValue::Text(text.to_owned()))
        }
        (ValueKind::Number | ValueKind::Text, value) => scalar(value).map(SettingValue::Text),
        (ValueKind::Texts, DeValue::Boolean(on)) if missing.is_some() => {
            let text = missing.filter(|_| *on).map(str::to_owned);
            Some(SettingValue::Texts(text.into_iter().collect()))
        }
        (ValueKind::Texts, DeValue::Array(items)) => {
            let texts = items.iter().map(|item| scalar(item.get_ref()));
            texts.collect::<Option<_>>().map(SettingValue::Texts)
        }
        (ValueKind::Texts, value) => scalar(value).map(|text| SettingValue::Texts(vec![text])),
        _ => None,
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// What the writer of an unknown key may have meant.
fn suggestion<T: 'static>(
    known: impl Iterator<Item = &'static Setting<T>> + Clone,
    key: &str,
) -> Option<String> {
    let dashed = key.trim_start_matches('-').replace('_', "-");
    let alias = known.clone().find(|setting| {
        let short = setting.short.map(String::from);
        short.as_deref() == Some(key) || setting.alias == Some(key) || setting.name == dashed
    });
    alias
        .map(|setting| setting.name)
        .or_else(|| nearest(&dashed, known.map(|setting| setting.name)))
        .map(|name| format!("for `{}` write `{name}`", shown(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Layer, Vec<String>) {
        let mut problems = Vec::new();
        let settings = read("f.toml", text, &mut problems);
        let lines = problems
            .iter()
            .map(|one| match &one.hint {
                Some(hint) => format!("{one} ({hint})"),
                None => one.to_string(),
            })
            .collect();
        (settings.layer, lines)
    }

    #[test]
    fn all_kinds_are_read() {
        let text = "url = 'example.com'\ntries = 3\nrate = 2.5\nlist = true\nverbose = 2\n\
                    include = ['a', 'b']\nallow-private = true\n";
        let (layer, problems) = check(text);
        assert_eq!(problems, [""; 0]);
        assert_eq!(layer.texts("url"), ["example.com"]);
        assert_eq!(layer.texts("tries"), ["3"]);
        assert_eq!(layer.texts("rate"), ["2.5"]);
        assert_eq!(layer.value("list"), Some(&SettingValue::Switch(true)));
        assert_eq!(layer.value("verbose"), Some(&SettingValue::Level(2)));
        assert_eq!(layer.texts("include"), ["a", "b"]);
        assert_eq!(layer.texts("allow-private"), ["all"]);
    }

    #[test]
    fn all_problems_are_named_with_their_lines() {
        let text = "dleay = '1s'\nlist = 'yes'\n\nmax_pages = 3\nlevel = 2\ninclude = [true]\n\
                    [[host]]\nname = 'a'\nspeeed = 'max'\n";
        let (_, problems) = check(text);
        let expected = [
            "f.toml:1: dleay: is not a setting (for `dleay` write `delay`)",
            "f.toml:6: include: takes a text in quotes or a list of such",
            "f.toml:5: level: is not a setting (for `level` write `depth`)",
            "f.toml:2: list: is a switch: write true or false",
            "f.toml:4: max_pages: is not a setting (for `max_pages` write `max-pages`)",
            "f.toml:9: speeed: is not a setting (for `speeed` write `speed`)",
        ];
        let mut sorted = problems.clone();
        sorted.sort_by_key(|line| line.split(": ").nth(1).map(str::to_owned));
        assert_eq!(sorted, expected, "{problems:?}");
    }

    #[test]
    fn broken_syntax_is_a_problem_with_a_line() {
        let (_, problems) = check("tries = 3\ndelay = \nlist = tru\n");
        assert!(problems.len() >= 2, "{problems:?}");
        assert!(problems[0].starts_with("f.toml:2: "), "{problems:?}");
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        let text = format!("include = {}", "[".repeat(100_000));
        assert!(!check(&text).1.is_empty());
    }
}
