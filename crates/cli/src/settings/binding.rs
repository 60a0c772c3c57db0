//! Binds a setting to its field of the configuration, in both directions.
//!
//! Owns how each kind of value is read into a field and shown from it, and the wording of
//! refusals: what was written, and what to write instead. An entry of the registry names its
//! field once, and reading, `--show-config` and the default in the help follow from that. It
//! refuses to know where a value comes from. A refused value leaves the field as it is.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clewline_core::address::Cidr;
use clewline_job::config::{PageBehavior, Root, Secret};

use super::quantity;
use crate::message::shown;

/// What stands in the place of a secret.
pub(crate) const SECRET: &str = "(secret)";
/// Texts longer than this are cut in messages.
const LONGEST_QUOTE: usize = 60;

/// A value as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingValue {
    Switch(bool),
    Level(u8),
    Text(String),
    Texts(Vec<String>),
}

impl SettingValue {
    /// Whether it asks for anything: a switch that is off and an empty list do not.
    pub(crate) const fn says_something(&self) -> bool {
        match self {
            Self::Switch(on) => *on,
            Self::Level(level) => *level > 0,
            Self::Text(_) => true,
            Self::Texts(texts) => !texts.is_empty(),
        }
    }

    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Texts(texts) => texts,
            Self::Switch(_) | Self::Level(_) => &[],
        }
    }
}

/// How the values of a setting are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ValueKind {
    #[default]
    Switch,
    /// A switch that may be repeated.
    Level,
    /// A text that the file also takes without quotes, and that is shown so.
    Number,
    Text,
    Texts,
}

/// What a binding tells of a setting.
#[derive(Debug, Clone, Default)]
pub(crate) struct Description {
    pub(crate) kind: ValueKind,
    /// The only texts it takes; empty for any.
    pub(crate) choices: Vec<&'static str>,
    /// The field's value, if it has one.
    pub(crate) value: Option<SettingValue>,
    /// Another setting shows the field.
    pub(crate) is_shown_elsewhere: bool,
}

/// Why a value is refused.
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
}

/// A field that takes a value: plain, or one that may be missing.
pub(crate) trait Slot<T> {
    fn put(&mut self, value: T);
    fn current(&self) -> Option<T>;
}

impl<T: Copy> Slot<T> for T {
    fn put(&mut self, value: T) {
        *self = value;
    }

    fn current(&self) -> Option<T> {
        Some(*self)
    }
}

impl<T: Copy> Slot<T> for Option<T> {
    fn put(&mut self, value: T) {
        *self = Some(value);
    }

    fn current(&self) -> Option<T> {
        *self
    }
}

/// A whole number of any width.
pub(crate) trait WholeNumber: Copy + TryFrom<u64> + TryInto<u64> {}

impl<N: Copy + TryFrom<u64> + TryInto<u64>> WholeNumber for N {}

/// A value that is shown as a text; the same text reads back, unless it is a secret.
pub(crate) trait AsText {
    fn as_text(&self) -> String;
}

macro_rules! as_text {
    ($($kind:ty: $show:expr;)+) => {$(
        impl AsText for $kind {
            fn as_text(&self) -> String {
                let show: fn(&Self) -> String = $show;
                show(self)
            }
        }
    )+};
}

as_text! {
    String: Self::clone;
    PathBuf: |path| path.to_string_lossy().into_owned();
    SocketAddr: ToString::to_string;
    Cidr: ToString::to_string;
    Secret: |_| SECRET.to_owned();
    (String, Secret): |(name, _)| format!("{name}: {SECRET}");
    Root: |root| root.url.as_str().to_owned();
    PageBehavior: |behavior| match behavior {
        PageBehavior::Autoscroll => "autoscroll".to_owned(),
        PageBehavior::Autoclick => "autoclick".to_owned(),
    };
}

/// One look at a field, which reads a value into it if there is one.
#[derive(Default)]
pub(crate) struct Binding<'a> {
    written: Option<&'a SettingValue>,
    /// The text is not part of a message.
    is_secret: bool,
    pub(crate) description: Description,
    pub(crate) refused: Vec<Refused>,
}

impl<'a> Binding<'a> {
    pub(crate) fn reading(written: &'a SettingValue, is_secret: bool) -> Self {
        Self {
            written: Some(written),
            is_secret,
            ..Self::default()
        }
    }

    /// The setting has no field of its own; somebody else reads it.
    pub(crate) fn elsewhere(&mut self, kind: ValueKind) {
        self.description.kind = kind;
        self.description.is_shown_elsewhere = true;
    }

    /// Roots are read before all others; here they are only shown.
    pub(crate) fn roots(&mut self, roots: &[Root]) {
        let texts = roots.iter().map(AsText::as_text).collect();
        self.describe(ValueKind::Texts, Some(SettingValue::Texts(texts)));
    }

    pub(crate) fn switch(&mut self, slot: &mut impl Slot<bool>) {
        if let Some(SettingValue::Switch(on)) = self.written {
            slot.put(*on);
        }
        self.describe(ValueKind::Switch, slot.current().map(SettingValue::Switch));
    }

    /// A switch that turns its field off.
    pub(crate) fn switch_off(&mut self, slot: &mut bool) {
        let mut is_off = !*slot;
        self.switch(&mut is_off);
        *slot = !is_off;
    }

    pub(crate) fn level(&mut self, slot: &mut u8) {
        if let Some(SettingValue::Level(level)) = self.written {
            *slot = *level;
        }
        self.describe(ValueKind::Level, Some(SettingValue::Level(*slot)));
    }

    pub(crate) fn count<N: WholeNumber>(
        &mut self,
        slot: &mut impl Slot<N>,
        range: RangeInclusive<N>,
    ) {
        self.whole(slot, range, &COUNT, ValueKind::Number);
    }

    pub(crate) fn size<N: WholeNumber>(
        &mut self,
        slot: &mut impl Slot<N>,
        range: RangeInclusive<N>,
    ) {
        self.whole(slot, range, &SIZE, ValueKind::Text);
    }

    fn whole<N: WholeNumber>(
        &mut self,
        slot: &mut impl Slot<N>,
        range: RangeInclusive<N>,
        notation: &Notation<u64>,
        kind: ValueKind,
    ) {
        let wide = |number: N| number.try_into().unwrap_or(u64::MAX);
        let (least, most) = range.into_inner();
        let number = self.quantity(notation, wide(least)..=wide(most));
        if let Some(number) = number.and_then(|number| N::try_from(number).ok()) {
            slot.put(number);
        }
        let text = slot.current().map(|number| (notation.show)(wide(number)));
        self.describe(kind, text.map(SettingValue::Text));
    }

    pub(crate) fn period(
        &mut self,
        slot: &mut impl Slot<Duration>,
        range: RangeInclusive<Duration>,
    ) {
        self.measure(slot, range, &PERIOD);
    }

    /// A time that has a default although its field may be empty.
    pub(crate) fn period_or(
        &mut self,
        slot: &mut Option<Duration>,
        range: RangeInclusive<Duration>,
        default: Duration,
    ) {
        self.period(slot, range);
        let text = quantity::show_period(slot.unwrap_or(default));
        self.describe(ValueKind::Text, Some(SettingValue::Text(text)));
    }

    pub(crate) fn rate(&mut self, slot: &mut impl Slot<f64>, range: RangeInclusive<f64>) {
        self.measure(slot, range, &RATE);
    }

    fn measure<T: PartialOrd + Copy>(
        &mut self,
        slot: &mut impl Slot<T>,
        range: RangeInclusive<T>,
        notation: &Notation<T>,
    ) {
        if let Some(value) = self.quantity(notation, range) {
            slot.put(value);
        }
        let text = slot.current().map(notation.show);
        self.describe(ValueKind::Text, text.map(SettingValue::Text));
    }

    fn quantity<T: PartialOrd + Copy>(
        &mut self,
        notation: &Notation<T>,
        range: RangeInclusive<T>,
    ) -> Option<T> {
        let text = self.written?.texts().first()?;
        let Some(value) = (notation.parse)(text) else {
            self.refuse(format!("`{}` is not {}", quote(text), notation.what));
            return None;
        };
        let (verdict, bound) = if value < *range.start() {
            ("small; the least", *range.start())
        } else if value > *range.end() {
            ("large; the most", *range.end())
        } else {
            return Some(value);
        };
        let bound = (notation.show)(bound);
        self.refuse(format!("`{}` is too {verdict} is {bound}", quote(text)));
        None
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy + PartialEq>(
        &mut self,
        slot: &mut impl Slot<T>,
        choices: &[(&'static str, T)],
    ) {
        self.choice_also(slot, choices, &[]);
    }

    /// One of several texts, or of those that once meant the same and are not offered any more.
    pub(crate) fn choice_also<T: Copy + PartialEq>(
        &mut self,
        slot: &mut impl Slot<T>,
        choices: &[(&'static str, T)],
        once: &[(&'static str, T)],
    ) {
        self.description.choices = choices.iter().map(|(name, _)| *name).collect();
        if let Some(text) = self.written.and_then(|written| written.texts().first()) {
            let mut known = choices.iter().chain(once);
            let chosen = known.find(|(name, _)| *name == text.trim());
            if let Some((_, value)) = chosen {
                slot.put(*value);
            } else {
                let names = self.description.choices.join(", ");
                self.refuse(format!("`{}` is not one of {names}", quote(text)));
            }
        }
        let current = slot.current();
        let name = choices.iter().find(|(_, value)| Some(*value) == current);
        let text = name.map(|(name, _)| SettingValue::Text((*name).to_owned()));
        self.describe(ValueKind::Text, text);
    }

    /// One text through a parser.
    pub(crate) fn one<T: AsText, E: Display>(
        &mut self,
        slot: &mut Option<T>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) {
        let texts = self.texts().into_iter();
        if let Some(value) = self.parsed(texts, |text| parse(text).map(Some)).pop() {
            *slot = Some(value);
        }
        let text = slot
            .as_ref()
            .map(|value| SettingValue::Text(value.as_text()));
        self.describe(ValueKind::Text, text);
    }

    /// Each text through a parser.
    pub(crate) fn list<T: AsText, E: Display>(
        &mut self,
        slot: &mut Vec<T>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) {
        self.lists(slot, |text| parse(text).map(Some));
    }

    /// Each text through a parser that makes any number of values of it.
    pub(crate) fn lists<T: AsText, I: IntoIterator<Item = T>, E: Display>(
        &mut self,
        slot: &mut Vec<T>,
        parse: impl Fn(&str) -> Result<I, E>,
    ) {
        let texts = self.texts().into_iter();
        self.take_list(slot, texts, parse);
    }

    /// Each item of comma-separated texts through a parser.
    pub(crate) fn items<T: AsText, E: Display>(
        &mut self,
        slot: &mut Vec<T>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) {
        let texts = self.texts().into_iter();
        let items = texts.flat_map(|text| text.split(',')).map(str::trim);
        let items = items.filter(|item| !item.is_empty());
        self.take_list(slot, items, |text| parse(text).map(Some));
    }

    fn take_list<'t, T: AsText, I: IntoIterator<Item = T>, E: Display>(
        &mut self,
        slot: &mut Vec<T>,
        texts: impl Iterator<Item = &'t str>,
        parse: impl Fn(&str) -> Result<I, E>,
    ) {
        if self.written.is_some() {
            *slot = self.parsed(texts, parse);
        }
        let texts = slot.iter().map(AsText::as_text).collect();
        self.describe(ValueKind::Texts, Some(SettingValue::Texts(texts)));
    }

    fn texts(&self) -> Vec<&'a str> {
        let texts = self.written.map(SettingValue::texts).unwrap_or_default();
        texts.iter().map(String::as_str).collect()
    }

    fn parsed<'t, T, I: IntoIterator<Item = T>, E: Display>(
        &mut self,
        texts: impl Iterator<Item = &'t str>,
        parse: impl Fn(&str) -> Result<I, E>,
    ) -> Vec<T> {
        let mut values = Vec::new();
        for text in texts {
            match parse(text) {
                Ok(parsed) => values.extend(parsed),
                Err(error) if self.is_secret => self.refuse(error.to_string()),
                Err(error) => self.refuse(format!("`{}` {error}", quote(text))),
            }
        }
        values
    }

    /// Adds a way on where exactly this text was refused.
    pub(crate) fn hint(&mut self, text: &str, hint: &'static str) {
        if let Some(last) = self.refused.last_mut()
            && self
                .written
                .is_some_and(|written| written.texts() == [text])
        {
            last.hint = Some(hint);
        }
    }

    fn refuse(&mut self, message: String) {
        self.refused.push(Refused {
            message,
            hint: None,
        });
    }

    fn describe(&mut self, kind: ValueKind, value: Option<SettingValue>) {
        self.description.kind = kind;
        self.description.value = value;
    }
}

struct Notation<T> {
    what: &'static str,
    parse: fn(&str) -> Option<T>,
    show: fn(T) -> String,
}

const PERIOD: Notation<Duration> = Notation {
    what: "a time such as 500ms, 2s, 1m30s or 1h",
    parse: quantity::period,
    show: quantity::show_period,
};
const SIZE: Notation<u64> = Notation {
    what: "a size such as 512k, 32M or 1G",
    parse: quantity::size,
    show: quantity::show_size,
};
const RATE: Notation<f64> = Notation {
    what: "a rate such as 5/s or 30/m",
    parse: quantity::rate,
    show: quantity::show_rate,
};
const COUNT: Notation<u64> = Notation {
    what: "a whole number",
    parse: quantity::count,
    show: |number| number.to_string(),
};

/// A harmless excerpt of what was written.
pub(crate) fn quote(text: &str) -> String {
    let mut excerpt: String = text.chars().take(LONGEST_QUOTE).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    shown(&excerpt).into_owned()
}
