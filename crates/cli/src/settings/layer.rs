//! One source of settings, and how sources are laid over each other.
//!
//! Owns precedence: flag over file over default, where a value comes from, and which settings
//! replace each other. It refuses to know what values mean.

use std::collections::BTreeMap;
use std::fmt;

use clewline_job::config::Config;

use super::SettingMark::{NewCrawl, OneRun, Secret};
use super::binding::SettingValue;
use super::problem::Problem;
use super::{Effective, Relation, Setting, all};
use crate::resolve::CommandOptions;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// The command line.
    Flag,
    /// A line of the configuration file.
    File { name: String, line: usize },
    /// The configuration of a job that goes on.
    Job,
    /// A keyword of another language.
    Keyword,
    /// A variable of the environment.
    Environment(&'static str),
    /// Nobody said anything.
    Default,
}

impl SettingOrigin {
    /// How to name a setting to whoever wrote it there.
    pub(crate) fn place(&self, name: &str) -> String {
        match self {
            Self::File { name: file, line } => format!("{file}:{line}: {name}"),
            Self::Job => format!("job.toml: {name}"),
            Self::Keyword => name.replace('-', "_"),
            _ if name == "url" => "URL".to_owned(),
            _ => format!("--{name}"),
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => formatter.write_str("flag"),
            Self::File { name, line } => write!(formatter, "{name}:{line}"),
            Self::Job => formatter.write_str("job.toml"),
            Self::Keyword => formatter.write_str("keyword"),
            Self::Environment(variable) => write!(formatter, "environment, {variable}"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

/// Values by the names of their settings, each with its origin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layer {
    given: BTreeMap<&'static str, (SettingValue, SettingOrigin)>,
}

impl Layer {
    /// What a job that goes on takes over from its configuration; secrets are not kept there.
    pub(crate) fn from_job(config: &Config) -> Self {
        let mut stored = Effective {
            config: config.clone(),
            options: CommandOptions::default(),
        };
        let mut layer = Self::default();
        for setting in all() {
            let is_kept = ![NewCrawl, OneRun, Secret]
                .iter()
                .any(|mark| setting.is(*mark));
            if let Some(value) = setting.describe(&mut stored).value.filter(|_| is_kept) {
                layer.insert(setting.name, value, SettingOrigin::Job);
            }
        }
        layer
    }

    pub(crate) fn insert(
        &mut self,
        name: &'static str,
        value: SettingValue,
        origin: SettingOrigin,
    ) {
        self.given.insert(name, (value, origin));
    }

    pub(crate) fn value(&self, name: &str) -> Option<&SettingValue> {
        self.given.get(name).map(|(value, _)| value)
    }

    /// The texts of a setting that may be repeated.
    pub(crate) fn texts(&self, name: &str) -> &[String] {
        self.value(name)
            .map(SettingValue::texts)
            .unwrap_or_default()
    }

    pub(crate) fn origin(&self, name: &str) -> SettingOrigin {
        let given = self.given.get(name);
        given.map_or(SettingOrigin::Default, |(_, origin)| origin.clone())
    }

    /// How to name a setting to whoever wrote it.
    pub(crate) fn place(&self, name: &str) -> String {
        self.origin(name).place(name)
    }

    /// Whether anybody gave the setting.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Whether somebody wrote the setting for this run; what a job kept is not that.
    pub(crate) fn is_written(&self, name: &str) -> bool {
        self.is_given(name) && self.origin(name) != SettingOrigin::Job
    }

    fn asks_for(&self, name: &str) -> bool {
        self.value(name).is_some_and(SettingValue::says_something)
    }

    /// Turns switches into the settings that they stand for and names what cannot both be meant.
    pub(crate) fn tidy(&mut self, problems: &mut Vec<Problem>) {
        for setting in all() {
            match setting.relation {
                Some(Relation::StandsFor(meant, value)) => {
                    self.replace_switch(setting.name, (meant, value), problems);
                }
                Some(Relation::Contradicts(other))
                    if self.asks_for(setting.name) && self.asks_for(other) =>
                {
                    let message = format!("contradicts --{other}; keep one");
                    problems.push(Problem::new(self.place(setting.name), message));
                }
                _ => {}
            }
        }
    }

    fn replace_switch(
        &mut self,
        switch: &str,
        (name, value): (&'static str, &str),
        problems: &mut Vec<Problem>,
    ) {
        let Some((SettingValue::Switch(true), origin)) = self.given.remove(switch) else {
            return;
        };
        match self.texts(name).iter().find(|other| *other != value) {
            Some(other) => problems.push(Problem::new(
                origin.place(switch),
                format!("means --{name} {value}, which contradicts --{name} {other}; keep one"),
            )),
            None => self.insert(name, SettingValue::Text(value.to_owned()), origin),
        }
    }

    /// Lays this layer over a lower one.
    pub(crate) fn over(mut self, mut lower: Self) -> Self {
        for setting in all() {
            if let Some(Relation::Contradicts(other) | Relation::CompletedBy(other)) =
                setting.relation
                && (self.is_given(setting.name) || self.is_given(other))
            {
                lower.given.remove(setting.name);
                lower.given.remove(other);
            }
        }
        for (name, given) in lower.given {
            self.given.entry(name).or_insert(given);
        }
        self
    }

    /// Reads all values into their fields. One that is refused is told, and counts from then on
    /// as one that nobody gave.
    pub(crate) fn read<'s, T: 'static>(
        &mut self,
        settings: impl Iterator<Item = &'s Setting<T>>,
        to: &mut T,
        problems: &mut Vec<Problem>,
    ) {
        for setting in settings {
            let Some((value, origin)) = self.given.get(setting.name) else {
                continue;
            };
            let refused = setting.read(value, to);
            if refused.is_empty() {
                continue;
            }
            let place = origin.place(setting.name);
            self.given.remove(setting.name);
            for one in refused {
                let mut problem = Problem::new(place.clone(), one.message);
                problem.hint = one.hint.map(str::to_owned);
                problems.push(problem);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> SettingValue {
        SettingValue::Text(value.to_owned())
    }

    const ON: SettingValue = SettingValue::Switch(true);

    fn layer(origin: &SettingOrigin, values: &[(&'static str, SettingValue)]) -> Layer {
        let mut layer = Layer::default();
        for (name, value) in values {
            layer.insert(name, value.clone(), origin.clone());
        }
        layer
    }

    fn file() -> SettingOrigin {
        SettingOrigin::File {
            name: "f".to_owned(),
            line: 1,
        }
    }

    #[test]
    fn higher_layers_win() {
        let flags = [("tries", text("2")), ("rate", text("5/s"))];
        let lower = [
            ("tries", text("3")),
            ("delay", text("1s")),
            ("depth", text("4")),
        ];
        let merged = layer(&SettingOrigin::Flag, &flags).over(layer(&file(), &lower));
        assert_eq!(merged.value("tries"), Some(&text("2")));
        assert_eq!(merged.value("depth"), Some(&text("4")));
        assert_eq!(merged.value("delay"), None, "the flag's rate replaces it");
        assert_eq!(merged.origin("tries"), SettingOrigin::Flag);
        assert_eq!(merged.origin("depth"), file());
        assert_eq!(merged.origin("list"), SettingOrigin::Default);
    }

    #[test]
    fn a_switch_and_its_setting_replace_each_other_across_layers() {
        let zstd = || vec![("warc-zstd", ON)];
        let small = || vec![("warc-compression", text("small"))];
        for (above, below, name, expected) in [
            (zstd(), small(), "warc-compression", "zstd"),
            (small(), zstd(), "warc-compression", "small"),
            (vec![], zstd(), "warc-compression", "zstd"),
            (
                vec![("no-parent", ON)],
                vec![("scope", text("any"))],
                "scope",
                "path",
            ),
        ] {
            let mut flags = layer(&SettingOrigin::Flag, &above);
            let mut lower = layer(&file(), &below);
            let mut problems = Vec::new();
            flags.tidy(&mut problems);
            lower.tidy(&mut problems);
            assert_eq!(flags.over(lower).value(name), Some(&text(expected)));
            assert!(problems.is_empty());
        }
    }

    #[test]
    fn contradictions_are_named() {
        let mut problems = Vec::new();
        let values = [
            ("strict", ON),
            ("lenient", ON),
            ("delay", text("1s")),
            ("rate", text("1/s")),
        ];
        layer(&SettingOrigin::Flag, &values).tidy(&mut problems);
        let places: Vec<&str> = problems.iter().map(|one| one.place.as_str()).collect();
        assert_eq!(places, ["--strict", "--delay"]);
    }
}
