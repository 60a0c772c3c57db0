//! The reference of all settings, made from the same definitions as flags and file.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Args, Command};

use super::{HostSettings, definitions, key_of};
use crate::flags::default_text;
use crate::resolve::show::defaults;

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
    let defaults = defaults();
    let known = definitions();
    let mut heading = "";
    for arg in known.get_arguments() {
        let own = arg.get_help_heading().unwrap_or_default();
        if own != heading {
            let _ = write!(
                page,
                "\n## {own}\n\n| flag | key | default | meaning |\n|---|---|---|---|\n"
            );
            heading = own;
        }
        let key = key_of(arg);
        let standing = defaults.iter().find(|(name, _)| *name == key);
        let default = standing.and_then(|(_, standing)| default_text(standing));
        let default = default.map_or_else(String::new, |text| format!("`{text}`"));
        let _ = writeln!(
            page,
            "| {} | `{key}` | {default} | {} |",
            flag(arg),
            meaning(arg)
        );
    }
    page.push_str(HOSTS);
    page.push_str("\n| key | meaning |\n|---|---|\n");
    for arg in HostSettings::augment_args(Command::new("host")).get_arguments() {
        let _ = writeln!(page, "| `{}` | {} |", key_of(arg), meaning(arg));
    }
    page
}

fn flag(arg: &Arg) -> String {
    let Some(long) = arg.get_long() else {
        return format!("`{}…`", key_of(arg).to_uppercase());
    };
    let short = arg
        .get_short()
        .map(|short| format!("-{short}, "))
        .unwrap_or_default();
    let takes_value = !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count);
    let value = arg
        .get_value_names()
        .and_then(|names| names.first())
        .filter(|_| takes_value);
    let is_optional = arg
        .get_num_args()
        .is_some_and(|range| range.min_values() == 0);
    let value = match value {
        Some(name) if is_optional => format!(" [{name}]"),
        Some(name) => format!(" {name}"),
        None => String::new(),
    };
    format!("`{short}--{long}{value}`")
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count) {
        let _ = write!(text, "; one of {}", values.join(", "));
    }
    text.replace('|', "\\|")
}
