//! One source of settings, and how sources are laid over each other.
//!
//! Owns precedence: flag over file over default, where a value comes from, and which settings
//! replace each other. It refuses to know what values mean.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::Settings;
use super::problem::Problem;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line.
    Flag,
    /// A line of the configuration file.
    File { name: String, line: usize },
    /// The configuration of a job that goes on.
    Job,
    /// A variable of the environment.
    Environment(&'static str),
    /// Nobody said anything.
    Default,
}

impl Origin {
    /// How to name a setting to whoever wrote it there.
    pub(crate) fn place(&self, key: &str) -> String {
        match self {
            Self::File { name, line } => format!("{name}:{line}: {key}"),
            Self::Job => format!("job.toml: {key}"),
            _ if key == "url" => "URL".to_owned(),
            _ => format!("--{key}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => formatter.write_str("flag"),
            Self::File { name, line } => write!(formatter, "{name}:{line}"),
            Self::Job => formatter.write_str("job.toml"),
            Self::Environment(variable) => write!(formatter, "environment, {variable}"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

/// Settings of which the newest source decides: one of them given in a higher layer removes
/// all of them from the lower ones.
const REPLACE_EACH_OTHER: [&[&str]; 5] = [
    &["url", "input-file"],
    &["cookies", "no-cookies"],
    &["output", "no-output"],
    &["delay", "rate"],
    &["quiet", "verbose"],
];

/// Settings that cannot both be meant.
const CONTRADICT: [(&str, &str); 4] = [
    ("cookies", "no-cookies"),
    ("output", "no-output"),
    ("delay", "rate"),
    ("quiet", "verbose"),
];

/// Switches that are another way to write a setting: the switch, the setting, its value.
const SWITCHES: [(&str, &str, &str); 4] = [
    ("no-parent", "scope", "path"),
    ("lenient", "scope", "domain"),
    ("strict", "scope", "host"),
    ("warc-zstd", "warc-compression", "zstd"),
];

/// Values by key, each with its origin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layer {
    values: Map<String, Value>,
    origins: BTreeMap<String, Origin>,
}

impl Layer {
    /// What the command line says.
    pub(crate) fn of_flags(settings: &Settings) -> Self {
        let mut layer = Self::default();
        if let Ok(Value::Object(values)) = serde_json::to_value(settings) {
            for (key, value) in values {
                layer.insert(&key, value, Origin::Flag);
            }
        }
        layer
    }

    pub(crate) fn insert(&mut self, key: &str, value: Value, origin: Origin) {
        // A flag that is not there arrives as null, false, zero or an empty list; in a file
        // somebody wrote it.
        if origin == Origin::Flag && !says_something(&value) {
            return;
        }
        if !value.is_null() {
            self.values.insert(key.to_owned(), value);
        }
        self.origins.insert(key.to_owned(), origin);
    }

    /// Says that all values come from the same place.
    pub(crate) fn all_from(mut self, place: &Origin) -> Self {
        for origin in self.origins.values_mut() {
            origin.clone_from(place);
        }
        self
    }

    fn remove(&mut self, key: &str) {
        self.values.remove(key);
        self.origins.remove(key);
    }

    fn has(&self, key: &str) -> bool {
        self.values.get(key).is_some_and(says_something)
    }

    /// Turns switches into the settings that they stand for and names what cannot both be meant.
    pub(crate) fn tidy(&mut self, problems: &mut Vec<Problem>) {
        for (switch, key, meant) in SWITCHES {
            if !self.has(switch) {
                continue;
            }
            let origin = self.origin(switch);
            let place = origin.place(switch);
            self.remove(switch);
            let other = self.values.get(key).and_then(Value::as_str);
            match other.filter(|other| *other != meant) {
                Some(other) => problems.push(Problem::new(
                    place,
                    format!("means --{key} {meant}, which contradicts --{key} {other}; keep one"),
                )),
                None => self.insert(key, Value::from(meant), origin),
            }
        }
        for (one, other) in CONTRADICT {
            if self.has(one) && self.has(other) {
                let place = self.origin(one).place(one);
                problems.push(Problem::new(
                    place,
                    format!("contradicts --{other}; keep one"),
                ));
            }
        }
    }

    /// Lays this layer over a lower one.
    pub(crate) fn over(mut self, mut lower: Self) -> Self {
        for group in REPLACE_EACH_OTHER {
            if group.iter().any(|key| self.origins.contains_key(*key)) {
                for key in group {
                    lower.remove(key);
                }
            }
        }
        for (key, value) in lower.values {
            self.values.entry(key).or_insert(value);
        }
        for (key, origin) in lower.origins {
            self.origins.entry(key).or_insert(origin);
        }
        self
    }

    pub(crate) fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }

    /// How to name a setting to whoever wrote it.
    pub(crate) fn place(&self, key: &str) -> String {
        self.origin(key).place(key)
    }

    /// The values in their typed form.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_value(Value::Object(self.values.clone()))
            .expect("each value was read by the kind of its field")
    }
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(on) => *on,
        Value::Array(items) => !items.is_empty(),
        Value::Number(number) => number.as_u64() != Some(0),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(origin: &Origin, values: &[(&str, Value)]) -> Layer {
        let mut layer = Layer::default();
        for (key, value) in values {
            layer.insert(key, value.clone(), origin.clone());
        }
        layer
    }

    fn file() -> Origin {
        Origin::File {
            name: "f".to_owned(),
            line: 1,
        }
    }

    #[test]
    fn higher_layers_win() {
        let flags = layer(
            &Origin::Flag,
            &[("tries", "2".into()), ("rate", "5/s".into())],
        );
        let lower = layer(
            &file(),
            &[
                ("tries", "3".into()),
                ("delay", "1s".into()),
                ("depth", "4".into()),
            ],
        );
        let merged = flags.over(lower);
        let settings: Settings = merged.read();
        assert_eq!(settings.pace.tries.as_deref(), Some("2"));
        assert_eq!(settings.scope.depth.as_deref(), Some("4"));
        assert_eq!(settings.pace.delay, None, "the flag's rate replaces it");
        assert_eq!(merged.origin("tries"), Origin::Flag);
        assert_eq!(merged.origin("depth"), file());
        assert_eq!(merged.origin("list"), Origin::Default);
    }

    #[test]
    fn a_switch_for_a_reach_is_a_scope() {
        let mut problems = Vec::new();
        let mut flags = layer(&Origin::Flag, &[("no-parent", true.into())]);
        flags.tidy(&mut problems);
        let merged = flags.over(layer(&file(), &[("scope", "any".into())]));
        assert_eq!(
            merged.read::<Settings>().scope.scope.as_deref(),
            Some("path")
        );
        assert!(problems.is_empty());
    }

    #[test]
    fn a_switch_and_its_setting_replace_each_other_across_layers() {
        let named = |compression: &str| vec![("warc-compression", Value::from(compression))];
        let switch = vec![("warc-zstd", Value::from(true))];
        for (above, below, expected) in [
            (switch.clone(), named("small"), "zstd"),
            (named("small"), switch.clone(), "small"),
            (vec![], switch, "zstd"),
        ] {
            let (mut flags, mut lower) = (layer(&Origin::Flag, &above), layer(&file(), &below));
            let mut problems = Vec::new();
            flags.tidy(&mut problems);
            lower.tidy(&mut problems);
            let settings: Settings = flags.over(lower).read();
            let found = settings.output.warc_compression;
            assert_eq!(found.as_deref(), Some(expected));
            assert!(problems.is_empty());
        }
    }

    #[test]
    fn contradictions_are_named() {
        let mut problems = Vec::new();
        layer(
            &Origin::Flag,
            &[
                ("strict", true.into()),
                ("lenient", true.into()),
                ("delay", "1s".into()),
                ("rate", "1/s".into()),
            ],
        )
        .tidy(&mut problems);
        let places: Vec<&str> = problems.iter().map(|one| one.place.as_str()).collect();
        assert_eq!(places, ["--strict", "--delay"]);
    }
}
