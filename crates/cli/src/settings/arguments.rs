//! Settings as flags of the command line.
//!
//! Owns what the parser and the help know of a setting. It refuses to judge values: it offers
//! choices to help and completions but takes any text, so that a wrong one is told together with
//! all that is wrong elsewhere.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::SettingMark::{NewCrawl, NotInInspect, Positional, Usual, UsualInInspect};
use super::binding::{Description, SettingValue, ValueKind};
use super::layer::{Layer, SettingOrigin};
use super::registry::SECTIONS;
use super::{Effective, INSPECT, RESUME, Setting};

/// The settings that a verb takes as flags, and what was given of them.
pub(crate) struct SettingFlags<const VERB: u8>(pub(crate) Layer);

impl<const VERB: u8> Args for SettingFlags<VERB> {
    fn augment_args(mut command: Command) -> Command {
        let mut defaults = Effective::from_defaults();
        for section in SECTIONS.iter().filter(|one| one.verbs & VERB != 0) {
            for setting in section.settings {
                let arg = argument(setting, &setting.describe(&mut defaults));
                let is_hidden = match VERB {
                    INSPECT => setting.is(NotInInspect),
                    RESUME => setting.is(NewCrawl),
                    _ => false,
                };
                let usual = if VERB == INSPECT {
                    UsualInInspect
                } else {
                    Usual
                };
                let arg = arg.help_heading(section.heading).hide(is_hidden);
                command = command.arg(arg.hide_short_help(!setting.is(usual)));
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const VERB: u8> FromArgMatches for SettingFlags<VERB> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self(Layer::default());
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let mut defaults = Effective::default();
        let sections = SECTIONS.iter().filter(|one| one.verbs & VERB != 0);
        for setting in sections.flat_map(|section| section.settings) {
            let value = match setting.describe(&mut defaults).kind {
                ValueKind::Switch => SettingValue::Switch(matches.get_flag(setting.name)),
                ValueKind::Level => SettingValue::Level(matches.get_count(setting.name)),
                ValueKind::Texts => {
                    let texts = matches.get_many(setting.name).unwrap_or_default();
                    SettingValue::Texts(texts.cloned().collect())
                }
                ValueKind::Number | ValueKind::Text => {
                    match matches.get_one::<String>(setting.name) {
                        Some(text) => SettingValue::Text(text.clone()),
                        None => continue,
                    }
                }
            };
            // A flag that is not there arrives as false, zero or an empty list.
            if value.says_something() {
                self.0.insert(setting.name, value, SettingOrigin::Flag);
            }
        }
        Ok(())
    }
}

/// The flag of a setting. Negative numbers count as values, so that they are refused with the
/// others.
fn argument(setting: &Setting<Effective>, description: &Description) -> Arg {
    let arg = Arg::new(setting.name).help(help_text(setting, description));
    let arg = if setting.is(Positional) {
        arg.num_args(1..).display_order(0)
    } else {
        let arg = arg.long(setting.name).short(setting.short);
        arg.alias(setting.alias)
    };
    let arg = match description.kind {
        ValueKind::Switch => return arg.action(ArgAction::SetTrue),
        ValueKind::Level => return arg.action(ArgAction::Count),
        ValueKind::Texts => arg.action(ArgAction::Append),
        ValueKind::Number | ValueKind::Text => arg.allow_negative_numbers(true),
    };
    let arg = arg.value_name(setting.value_name);
    let arg = arg.value_parser(Choice(description.choices.clone()));
    let arg = arg.hide_possible_values(true);
    if let Some(missing) = setting.missing_value() {
        let arg = arg.num_args(0..=1).require_equals(true);
        return arg.default_missing_value(missing);
    }
    arg
}

/// What a flag means, its choices, its default.
fn help_text(setting: &Setting<Effective>, description: &Description) -> String {
    let mut text = setting.help.to_owned();
    if !description.choices.is_empty() {
        text = format!("{text} [{}]", description.choices.join(", "));
    }
    match setting.default_text(description) {
        Some(default) if default != "unlimited" => format!("{text} [default: {default}]"),
        _ => text,
    }
}

/// Offers values to help and completions, but takes any text.
#[derive(Clone)]
struct Choice(Vec<&'static str>);

impl TypedValueParser for Choice {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = self.0.iter().map(|name| PossibleValue::new(*name));
        (!self.0.is_empty()).then(|| Box::new(values) as _)
    }
}
