//! The settings of a crawl: what an entry of the registry says, and what follows from it.
//!
//! Owns the shape of an entry. The entries are in `registry` and, for the `[[host]]` tables of
//! the file, in `hosts`; flags, file, help, `--show-config` and reference are made from them, so
//! they cannot drift apart. Values stay as they were written until all sources are combined,
//! because only then can all problems be told at once.

/// Makes a list of settings, each of these lines:
///
/// ```text
/// /// What the help says of it; without this it does not compile.
/// "name" "VALUE" => kind(its.field, range or parser).short('n').marked(&[Usual]);
/// ```
///
/// The kinds are the methods of a `Binding`; a switch has no `"VALUE"`. `with(function)` is for
/// fields that need more than that, `elsewhere(kind)` for settings without one.
macro_rules! settings {
    (@bind with ($function:path)) => { $function };
    (@bind elsewhere ($kind:ident)) => {
        |bind, _| bind.elsewhere($crate::settings::binding::ValueKind::$kind)
    };
    (@bind $kind:ident ($($field:tt).+ $(, $argument:expr)*)) => {
        |bind, to| bind.$kind(&mut to.$($field).+ $(, $argument)*)
    };
    ($visibility:vis $list:ident for $target:ty: $(
        $(#[doc = $help:literal])+
        $name:literal $($value:literal)? => $kind:ident $field:tt $(.$property:ident $is:tt)*;
    )+) => {
        $visibility const $list: &[$crate::settings::Setting<$target>] = &[$(
            $crate::settings::Setting::<$target>::new(
                $name,
                concat!($($value)?),
                concat!($($help),+).trim_ascii_start(),
                settings!(@bind $kind $field),
            )
            $(.$property $is)*
        ),+];
    };
}

pub(crate) mod arguments;
pub(crate) mod binding;
pub(crate) mod file;
pub(crate) mod hosts;
pub(crate) mod layer;
pub(crate) mod problem;
pub(crate) mod quantity;
pub(crate) mod reference;
pub(crate) mod registry;
pub(crate) mod show;
#[cfg(test)]
mod tests;

use clewline_job::config::Config;

use self::binding::{Binding, Description, Refused, SettingValue};
use self::registry::SECTIONS;
use crate::resolve::CommandOptions;

/// The verbs that take settings as flags; a set of them is their sum.
pub(crate) const CRAWL: u8 = 1;
pub(crate) const INSPECT: u8 = 2;
pub(crate) const RESUME: u8 = 4;
pub(crate) const CHECK: u8 = 8;

/// What settings set: the configuration of a crawl, and how the command behaves around it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effective {
    pub(crate) config: Config,
    pub(crate) options: CommandOptions,
}

impl Effective {
    /// What holds where nobody says anything, for people to read.
    pub(crate) fn from_defaults() -> Self {
        let mut effective = Self::default();
        effective.config.output.folder = Some("<host>.crawl".into());
        effective
    }
}

/// Settings under one heading of the help.
pub(crate) struct HelpSection {
    pub(crate) heading: &'static str,
    /// The verbs that take them.
    pub(crate) verbs: u8,
    pub(crate) settings: &'static [Setting<Effective>],
}

impl HelpSection {
    const fn new(
        heading: &'static str,
        verbs: u8,
        settings: &'static [Setting<Effective>],
    ) -> Self {
        Self {
            heading,
            verbs,
            settings,
        }
    }
}

/// One setting, which sets a field of a `T`.
pub(crate) struct Setting<T> {
    /// The flag without its dashes, and the key of the file.
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    /// The name that other tools have for it.
    pub(crate) alias: Option<&'static str>,
    /// What the help calls its value.
    pub(crate) value_name: &'static str,
    pub(crate) help: &'static str,
    /// What it means if no value is given.
    unset: Unset,
    relation: Option<Relation>,
    marks: &'static [SettingMark],
    bind: fn(&mut Binding<'_>, &mut T),
}

/// What it means if no value is given.
#[derive(Clone, Copy)]
enum Unset {
    /// Nothing that has a name.
    Nothing,
    /// What these words say.
    Means(&'static str),
    /// What these words say, which the help calls its default.
    Default(&'static str),
}

/// What a setting has to do with another one.
#[derive(Clone, Copy)]
enum Relation {
    /// Both cannot be meant; across sources they replace each other.
    Contradicts(&'static str),
    /// Both are meant; across sources they replace each other.
    CompletedBy(&'static str),
    /// A switch that stands for a setting with this value.
    StandsFor(&'static str, &'static str),
}

/// What else is to be known of a setting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingMark {
    /// `-h` shows it; `--help` shows all.
    Usual,
    /// `inspect -h` shows it.
    UsualInInspect,
    /// It means nothing to one page; `inspect` takes it and does not show it.
    NotInInspect,
    /// It belongs to a new crawl; `resume` refuses it.
    NewCrawl,
    /// A job that goes on does not take it over.
    OneRun,
    /// Its value never shows.
    Secret,
    /// The flag may stand without its value, and means this one then.
    ValueOptional(&'static str),
    /// It is given without a flag.
    Positional,
}

impl<T> Setting<T> {
    const fn new(
        name: &'static str,
        value_name: &'static str,
        help: &'static str,
        bind: fn(&mut Binding<'_>, &mut T),
    ) -> Self {
        assert!(!help.is_empty(), "the help says something of every setting");
        Self {
            name,
            short: None,
            alias: None,
            value_name,
            help,
            unset: Unset::Nothing,
            relation: None,
            marks: &[],
            bind,
        }
    }

    const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    const fn unset(mut self, meaning: &'static str) -> Self {
        self.unset = Unset::Means(meaning);
        self
    }

    const fn default(mut self, meaning: &'static str) -> Self {
        self.unset = Unset::Default(meaning);
        self
    }

    const fn contradicts(mut self, other: &'static str) -> Self {
        self.relation = Some(Relation::Contradicts(other));
        self
    }

    const fn stands_for(mut self, other: &'static str, value: &'static str) -> Self {
        self.relation = Some(Relation::StandsFor(other, value));
        self
    }

    const fn completed_by(mut self, other: &'static str) -> Self {
        self.relation = Some(Relation::CompletedBy(other));
        self
    }

    const fn marked(mut self, marks: &'static [SettingMark]) -> Self {
        self.marks = marks;
        self
    }

    pub(crate) fn is(&self, mark: SettingMark) -> bool {
        self.marks.contains(&mark)
    }

    /// What the flag means without a value, if it may stand so.
    pub(crate) fn missing_value(&self) -> Option<&'static str> {
        self.marks.iter().find_map(|mark| match mark {
            SettingMark::ValueOptional(value) => Some(*value),
            _ => None,
        })
    }

    /// What the field says, and what kind of value it takes.
    pub(crate) fn describe(&self, of: &mut T) -> Description {
        let mut binding = Binding::default();
        (self.bind)(&mut binding, of);
        let mut description = binding.description;
        let is_empty = description.value == Some(SettingValue::Texts(Vec::new()));
        if is_empty && !matches!(self.unset, Unset::Nothing) {
            description.value = None;
        }
        description
    }

    /// Reads a value into the field, and answers what is wrong with it.
    pub(crate) fn read(&self, value: &SettingValue, to: &mut T) -> Vec<Refused> {
        let mut binding = Binding::reading(value, self.is(SettingMark::Secret));
        (self.bind)(&mut binding, to);
        binding.refused
    }

    /// A default worth a place in the help: no switches that are off, no empty lists.
    pub(crate) fn default_text(&self, description: &Description) -> Option<String> {
        match (&description.value, self.unset) {
            _ if description.is_shown_elsewhere => None,
            (Some(SettingValue::Text(text)), _) => Some(text.clone()).filter(|text| text != "0"),
            (Some(value), _) => value.says_something().then(|| show::literal(description)),
            (None, Unset::Default(words)) => Some(words.to_owned()),
            (None, _) => None,
        }
    }

    /// What it means that no value is given.
    const fn unset_text(&self) -> &'static str {
        match self.unset {
            Unset::Nothing => "none",
            Unset::Means(words) | Unset::Default(words) => words,
        }
    }
}

/// Every setting, in the order of the help.
pub(crate) fn all() -> impl Iterator<Item = &'static Setting<Effective>> + Clone {
    SECTIONS.iter().flat_map(|section| section.settings)
}
