//! The reference of all settings, made from the same definitions as flags and file.

use std::fmt::Write as _;

use super::SettingMark::Positional;
use super::binding::{Description, ValueKind};
use super::hosts::HOST_SETTINGS;
use super::registry::SECTIONS;
use super::{Effective, Setting};

const INTRODUCTION: &str = "\
# Configuration

Every setting is a flag and a key of `clewline.toml`, which is read from the current folder, from
the path in `CLEWLINE_CONFIG`, or from `--config FILE`. A flag wins over the file, the file over
the default; `clewline --show-config` prints every value with its origin. Unknown keys are refused.

Times are written `500ms`, `2s`, `1m30s`, `1h`, a plain number is seconds. Sizes are written `512k`,
`32M`, `1G` with units of 1,024, a plain number is bytes. Rates are written `5/s`, `30/m`, a plain
number is per second. Settings that may be repeated take a list in the file. Paths are relative to
the current folder.

This page is generated: `UPDATE_DOCS=1 cargo test -p clewline-cli` writes it anew.
";

const HOSTS: &str = r#"
## Some hosts

Tables `[[host]]` of the file give other figures and header fields to some hosts; the first name
that matches counts.

What `--header` and `--user` give goes to the roots' origins only: their scheme, host and port (with
or without `www.`), https on the same host, and hosts of the same registrable domain that a root
redirects to. Nothing goes from https to plain http; a root without a scheme counts as https unless
it is on this machine. `Accept` and `Accept-Language` go everywhere. For anything else, name
the hosts here: `name = "*"` with `header = ["Name: value"]` sends a field to every host.
"#;

/// The page.
pub(crate) fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    let mut defaults = Effective::from_defaults();
    for section in &SECTIONS {
        let head = "| flag | key | default | meaning |\n|---|---|---|---|";
        let _ = writeln!(page, "\n## {}\n\n{head}", section.heading);
        for setting in section.settings {
            let description = setting.describe(&mut defaults);
            let default = setting.default_text(&description);
            let default = default.map_or_else(String::new, |text| format!("`{text}`"));
            let (flag, meaning) = (flag(setting, &description), meaning(setting, &description));
            let name = setting.name;
            let _ = writeln!(page, "| {flag} | `{name}` | {default} | {meaning} |");
        }
    }
    page.push_str(HOSTS);
    page.push_str("\n| key | meaning |\n|---|---|\n");
    for setting in HOST_SETTINGS {
        let meaning = setting.help.replace('|', "\\|");
        let _ = writeln!(page, "| `{}` | {meaning} |", setting.name);
    }
    page
}

fn flag(setting: &Setting<Effective>, description: &Description) -> String {
    if setting.is(Positional) {
        return format!("`{}…`", setting.value_name);
    }
    let short = setting.short.map(|short| format!("-{short}, "));
    let value = match description.kind {
        ValueKind::Switch | ValueKind::Level => String::new(),
        _ if setting.missing_value().is_some() => format!(" [{}]", setting.value_name),
        _ => format!(" {}", setting.value_name),
    };
    format!("`{}--{}{value}`", short.unwrap_or_default(), setting.name)
}

fn meaning(setting: &Setting<Effective>, description: &Description) -> String {
    let mut text = setting.help.to_owned();
    if !description.choices.is_empty() {
        let _ = write!(text, "; one of `{}`", description.choices.join("`, `"));
    }
    text.replace('|', "\\|")
}
