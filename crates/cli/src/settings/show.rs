//! The effective configuration for people: `--show-config`.
//!
//! Owns how each value is written, as a line of `clewline.toml` that can be used again, with
//! its origin behind. Secrets are named, never shown.

use std::fmt::Write as _;

use super::SettingMark::Secret;
use super::binding::{Description, SECRET, SettingValue, ValueKind};
use super::hosts::{HOST_SETTINGS, HostTable};
use super::layer::SettingOrigin;
use super::{Effective, all};
use crate::message::shown;
use crate::resolve::ResolvedSettings;

/// Values begin in this column where the name is not longer.
const NAME_WIDTH: usize = 20;
const VALUE_WIDTH: usize = 28;

/// The whole configuration, a line per setting.
pub(crate) fn show(resolved: &ResolvedSettings) -> String {
    let mut text = String::from("# The effective configuration; what follows # is its origin.\n");
    let mut effective = Effective {
        config: resolved.config.clone(),
        options: resolved.options,
    };
    for setting in all() {
        let description = setting.describe(&mut effective);
        if description.is_shown_elsewhere {
            continue;
        }
        let origin = resolved.origins.origin(setting.name);
        let (mark, value) = match (&description.value, &origin) {
            (None, SettingOrigin::Environment(_)) => ("# ", SECRET.to_owned()),
            (None, _) => ("# ", format!("({})", setting.unset_text())),
            (Some(value), _) if setting.is(Secret) && value.says_something() => {
                ("# ", literal(&description))
            }
            (Some(_), _) => ("", literal(&description)),
        };
        let name = format!("{mark}{}", setting.name);
        let value = shown(&value);
        let _ = writeln!(
            text,
            "{name:<NAME_WIDTH$} = {value:<VALUE_WIDTH$} # {origin}"
        );
    }
    for mut table in HostTable::from_config(&resolved.config) {
        let (host, line) = (table.figures.host.clone(), host_line(&mut table));
        let _ = writeln!(text, "# host {}: {}", shown(&host), shown(&line));
    }
    text
}

fn host_line(table: &mut HostTable) -> String {
    let mut words = Vec::new();
    for setting in HOST_SETTINGS.iter().skip(1) {
        match setting.describe(table).value {
            Some(SettingValue::Switch(on)) => words.push(format!("{} {on}", setting.name)),
            Some(SettingValue::Text(text)) => words.push(format!("{} {text}", setting.name)),
            Some(SettingValue::Texts(texts)) => {
                words.extend(texts.iter().map(|text| format!("{} {text}", setting.name)));
            }
            Some(SettingValue::Level(_)) | None => {}
        }
    }
    words.join(", ")
}

/// A value as the file has it; the library knows which quotes a text needs.
pub(crate) fn literal(description: &Description) -> String {
    let quoted = |text: &String| toml::Value::from(text.as_str()).to_string();
    match &description.value {
        None => String::new(),
        Some(SettingValue::Switch(on)) => on.to_string(),
        Some(SettingValue::Level(level)) => level.to_string(),
        Some(SettingValue::Text(text)) if description.kind == ValueKind::Number => text.clone(),
        Some(SettingValue::Text(text)) => quoted(text),
        Some(SettingValue::Texts(texts)) => {
            let items: Vec<String> = texts.iter().map(quoted).collect();
            format!("[{}]", items.join(", "))
        }
    }
}
