//! The promise of the registry: whoever adds an entry has a flag, a key of the file, a line of
//! `--show-config`, help and reference, and both ways to give it mean the same.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::binding::{Description, SettingValue, ValueKind};
use super::layer::SettingOrigin;
use super::*;
use crate::resolve::{Environment, ResolvedSettings, resolve};

const NOWHERE: Environment = Environment {
    proxy_variable: None,
    date: String::new(),
};

fn resolved(words: &[String], text: &str) -> ResolvedSettings {
    let words = std::iter::once("clewline").chain(words.iter().map(String::as_str));
    let cli = crate::flags::parse(words.map(OsString::from)).unwrap();
    let mut problems = Vec::new();
    let file = file::read("f", text, &mut problems);
    assert_eq!(problems, [], "{text}");
    let resolved = resolve(cli.crawl.settings.0, file, &NOWHERE);
    resolved.unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// A value of a setting that is not its default.
fn sample(setting: &Setting<Effective>, description: &Description, place: &Path) -> SettingValue {
    let default = match &description.value {
        Some(SettingValue::Text(text)) => text.as_str(),
        _ => "",
    };
    let text = |text: &str| SettingValue::Text(text.to_owned());
    let path = |name: &str| text(place.join(name).to_str().unwrap());
    match (description.kind, setting.value_name) {
        (ValueKind::Switch, _) => SettingValue::Switch(true),
        (ValueKind::Level, _) => SettingValue::Level(2),
        _ if !description.choices.is_empty() => text(
            description
                .choices
                .iter()
                .find(|choice| **choice != default)
                .unwrap(),
        ),
        (_, "FILE") if setting.name == "rules" => path("rules.toml"),
        (_, "FILE") => path("file"),
        (_, "DIR") => path(""),
        _ if !default.is_empty() => text(&one_more(default)),
        _ => example(setting.name),
    }
}

/// `30s` becomes `31s`.
fn one_more(text: &str) -> String {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().unwrap();
    format!("{}{}", number + 1, &text[digits..])
}

/// The value that the example file has for a setting.
fn example(name: &str) -> SettingValue {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/clewline.example.toml"
    );
    let text = fs::read_to_string(path).unwrap();
    let value = text.lines().find_map(|line| {
        let is_own = line
            .trim_start_matches("# ")
            .starts_with(&format!("{name} = "));
        let mark = if is_own { "" } else { "or: " };
        Some(line.split_once(&format!("{mark}{name} = "))?.1)
    });
    let value = value.unwrap_or_else(|| panic!("the example has no {name}"));
    let table: toml::Table = format!("x = {value}").parse().unwrap();
    match &table["x"] {
        toml::Value::Array(items) => {
            let texts = items.iter().map(|item| item.as_str().unwrap().to_owned());
            SettingValue::Texts(texts.collect())
        }
        toml::Value::String(text) => SettingValue::Text(text.clone()),
        other => SettingValue::Text(other.to_string()),
    }
}

fn as_flags(setting: &Setting<Effective>, value: &SettingValue) -> Vec<String> {
    let flag = format!("--{}", setting.name);
    match value {
        SettingValue::Switch(_) => vec![flag],
        SettingValue::Level(level) => vec![flag; usize::from(*level)],
        value if setting.is(SettingMark::Positional) => value.texts().to_vec(),
        value => value
            .texts()
            .iter()
            .map(|text| format!("{flag}={text}"))
            .collect(),
    }
}

fn as_line(setting: &Setting<Effective>, value: &SettingValue) -> String {
    let value = Description {
        value: Some(value.clone()),
        ..Description::default()
    };
    format!("{} = {}\n", setting.name, show::literal(&value))
}

fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file"), "https://example.org/\n").unwrap();
    fs::write(
        place.path().join("rules.toml"),
        "[[rule]]\nname = 'title'\nselect = 'title'\n",
    )
    .unwrap();
    place
}

/// What `--show-config` says of a setting: the value and its origin.
fn shown_line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |line: &&str| line.trim_start_matches("# ").split(' ').next() == Some(name);
    text.lines().find(is_it)
}

#[test]
fn a_flag_and_a_line_of_the_file_mean_the_same() {
    let place = place();
    for setting in all() {
        let name = setting.name;
        let description = setting.describe(&mut Effective::from_defaults());
        let value = sample(setting, &description, place.path());
        let root: Vec<String> = match name {
            "url" | "input-file" => Vec::new(),
            _ => vec!["example.com".to_owned()],
        };
        let default = resolved(&root, "");
        let by_flag = resolved(&[&root[..], &as_flags(setting, &value)].concat(), "");
        let by_file = resolved(&root, &as_line(setting, &value));
        assert_eq!(by_flag.config, by_file.config, "{name}");
        assert_eq!(by_flag.options, by_file.options, "{name}");
        let meant = if let Some(Relation::StandsFor(meant, _)) = setting.relation {
            meant
        } else {
            let is_default =
                (&by_flag.config, by_flag.options) == (&default.config, default.options);
            assert!(!is_default, "{name} sets nothing");
            name
        };
        assert_eq!(by_flag.origins.origin(meant), SettingOrigin::Flag);
        if !description.is_shown_elsewhere || meant != name {
            let (text, other) = (show::show(&by_flag), show::show(&by_file));
            let line = shown_line(&text, meant).unwrap_or_else(|| panic!("{name} is not shown"));
            assert!(line.ends_with("# flag"), "{line}");
            let line = shown_line(&other, meant).unwrap();
            assert!(line.ends_with("# f:1"), "{line}");
        }
    }
}

#[test]
fn every_entry_is_in_help_and_reference() {
    let command = crate::flags::command();
    let reference = reference::markdown();
    for setting in all() {
        let name = setting.name;
        let mut arguments = command.get_arguments();
        let arg = arguments.find(|arg| arg.get_id() == name).expect(name);
        assert_eq!(
            arg.get_long().is_none(),
            setting.is(SettingMark::Positional)
        );
        let help = arg.get_help().unwrap().to_string();
        assert!(help.starts_with(setting.help), "{name}: {help}");
        let row = |line: &&str| {
            line.contains(&format!("| `{name}` |")) && line.contains(&format!("| {}", setting.help))
        };
        assert_eq!(reference.lines().filter(row).count(), 1, "{name}");
    }
}

/// The library names settings where it refuses a configuration and does not know the entries; so
/// every word that its checks hold must be the name of one.
#[test]
fn the_library_refuses_settings_by_the_names_of_entries() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../job/src/config");
    let mut found = 0;
    for file in ["validate.rs", "secret.rs"] {
        let source = fs::read_to_string(format!("{folder}/{file}")).unwrap();
        let checks = source.split("#[cfg(test)]").next().unwrap();
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        for line in checks.lines().filter(|line| !is_comment(line)) {
            // Texts for people have spaces, capitals or signs in them.
            let texts = line.split('"').skip(1).step_by(2);
            let is_name = |text: &&str| {
                !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
            };
            for name in texts.filter(is_name) {
                assert!(all().any(|it| it.name == name), "{file}: {name}");
                found += 1;
            }
        }
    }
    assert!(found > 30, "{found}: the checks are elsewhere now");
}

#[test]
fn entries_name_each_other_rightly() {
    let names: Vec<&str> = all().map(|setting| setting.name).collect();
    for (number, name) in names.iter().enumerate() {
        assert!(!names[..number].contains(name), "{name} is there twice");
    }
    for setting in all() {
        let Some(
            Relation::Contradicts(other)
            | Relation::CompletedBy(other)
            | Relation::StandsFor(other, _),
        ) = setting.relation
        else {
            continue;
        };
        assert!(names.contains(&other), "{}: {other}", setting.name);
    }
}
