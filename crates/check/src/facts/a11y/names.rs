//! Names of images, links, buttons, fields and headings.
//!
//! Owns from where a name may come: attributes, a label around a field or for it, other elements by
//! their id, the words and images within. Words and other elements may come later, so whoever has no
//! name at its start tag is judged at its end or at that of the page. It refuses to know what is a
//! good name: anything that is more than white space is one.

use std::collections::{HashMap, HashSet};

use clewline_html::{Name, Namespace};

use super::aria::{aria_name, is_referring};
use super::known::{
    ALT, ARIA_LABEL, ARIA_LABELLEDBY, BUTTON, FOR, INPUT, LABEL, MAP, PLACEHOLDER, SELECT, TABINDEX,
};
use super::{Marks, Open};
use crate::facts::element::Element;
use crate::facts::{MOST_IDS, fragment_hash};

/// Elements without a name that are kept until the page ends.
const MOST_AWAITED: usize = 10_000;

/// An element that has no name yet.
#[derive(Debug)]
struct Awaited {
    rule: &'static str,
    byte: u32,
    subject: Box<str>,
    /// A name was found.
    is_named: bool,
    /// The elements that name it.
    labelled_by: Vec<u64>,
    /// Its own id, for which there may be a label.
    id: Option<u64>,
    /// Whether its words are its name.
    by_words: bool,
}

/// What is known of an id.
#[derive(Debug)]
struct IdUse {
    count: u32,
    /// The byte of the second element that has it, and the id.
    again: Option<(u32, Box<str>)>,
}

#[derive(Debug, Default)]
pub(super) struct NameDraft {
    awaited: Vec<Awaited>,
    /// Ids of elements that have words, hidden or not.
    with_words: HashSet<u64>,
    /// Ids that a label with words is for.
    labelled: HashSet<u64>,
    ids: HashMap<u64, IdUse>,
    referred: HashSet<u64>,
}

impl NameDraft {
    /// Notes ids and what refers to them.
    pub(super) fn note(&mut self, element: &Element<'_, '_>, is_hidden: bool) {
        if element.attributes.is_empty() {
            return;
        }
        if let Some(id) = element.value(super::known::ID).filter(|id| !id.is_empty())
            && self.ids.len() < MOST_IDS
        {
            let fresh = IdUse {
                count: 0,
                again: None,
            };
            let known = self.ids.entry(fragment_hash(&id)).or_insert(fresh);
            known.count += 1;
            if known.count == 2 && !is_hidden {
                known.again = Some((element.byte, id.into()));
            }
        }
        for (_, name, _) in element.attributes {
            if aria_name(name).is_some_and(is_referring) {
                let words = value_of(element, name);
                let words = words.split_ascii_whitespace().map(fragment_hash);
                self.referred.extend(words.take(100));
            }
        }
        if element.name == LABEL
            && let Some(id) = element.value(FOR)
        {
            self.referred.insert(fragment_hash(&id));
        }
    }

    /// Judges what has a name or must have one.
    pub(super) fn judge(
        &mut self,
        element: &Element<'_, '_>,
        open: &mut Open,
        around: &mut [Open],
    ) {
        if element.namespace == Namespace::Html || element.namespace == Namespace::Template {
            self.in_html(element, open, around);
        }
        // What has a name of its own gives it to those around it.
        let is_spoken = element.says(ARIA_LABEL)
            || element.name == Name::IMG && element.says(ALT)
            || element.name == INPUT && is_image(element) && element.says(ALT);
        open.has_words |= is_spoken || element.has(ARIA_LABELLEDBY);
        open.has_any_words |= is_spoken;
        // So does a title, where there is nothing better.
        open.has_words |= element.says(Name::TITLE) && element.name != Name::A;
    }

    fn in_html(&mut self, element: &Element<'_, '_>, open: &mut Open, around: &mut [Open]) {
        match element.name {
            Name::IMG => {
                let is_blank = element
                    .value(ALT)
                    .is_some_and(|alt| !alt.is_empty() && alt.trim().is_empty());
                let is_fine = element.has(ALT) && !is_blank;
                let may_be_unnamed = !matches!(
                    open.role,
                    None | Some("none" | "presentation" | "img" | "image" | "button" | "link")
                );
                if !is_fine && !may_be_unnamed && !is_decoration(open, element) {
                    self.await_name("a11y/image-alt", Name::SRC, element, open);
                }
            }
            Name::AREA => {
                let is_in_map = around.iter().any(|open| open.name == MAP);
                if is_in_map && element.has(Name::HREF) && !element.says(ALT) {
                    self.await_name("a11y/area-alt", Name::HREF, element, open);
                }
            }
            Name::A => {
                let is_link = matches!(open.role, None | Some("link"));
                if is_link && element.has(Name::HREF) {
                    self.await_words("a11y/link-name", Name::HREF, element, open);
                }
            }
            BUTTON if !is_decoration(open, element) => {
                self.await_words("a11y/button-name", Name::NAME, element, open);
                within_label(open, around);
            }
            Name::IFRAME | Name::FRAME => {
                let is_left_out = element
                    .value(TABINDEX)
                    .is_some_and(|index| index.trim().parse::<i64>().is_ok_and(|index| index < 0));
                if !is_left_out && !is_decoration(open, element) {
                    self.await_name("a11y/frame-title", Name::SRC, element, open);
                }
            }
            LABEL => open.label_for = element.value(FOR).map(|id| fragment_hash(&id)),
            _ => self.field(element, open, around),
        }
        if let Some(level) = super::structure::heading_level(element, open)
            && level > 0
        {
            self.await_words("a11y/empty-heading", super::known::ID, element, open);
        }
    }

    fn field(&mut self, element: &Element<'_, '_>, open: &mut Open, around: &mut [Open]) {
        let rule = match element.name {
            INPUT if is_image(element) && element.says(ALT) => return,
            INPUT if is_image(element) => "a11y/input-image-alt",
            INPUT if !is_field(element) => return,
            INPUT | Name::TEXTAREA if element.says(PLACEHOLDER) => return,
            INPUT | Name::TEXTAREA => "a11y/label",
            SELECT => "a11y/select-name",
            _ => return,
        };
        if is_decoration(open, element) {
            return;
        }
        self.await_name(rule, Name::NAME, element, open);
        within_label(open, around);
    }

    fn await_words(
        &mut self,
        rule: &'static str,
        subject: Name,
        element: &Element<'_, '_>,
        open: &mut Open,
    ) {
        self.await_name(rule, subject, element, open);
        if let Some(awaited) = open.awaited {
            self.awaited[awaited].by_words = true;
        }
    }

    /// Keeps an element that has no name in its attributes.
    fn await_name(
        &mut self,
        rule: &'static str,
        subject: Name,
        element: &Element<'_, '_>,
        open: &mut Open,
    ) {
        if element.says(ARIA_LABEL)
            || element.says(Name::TITLE)
            || self.awaited.len() >= MOST_AWAITED
        {
            return;
        }
        let labelled_by = element.value(ARIA_LABELLEDBY).unwrap_or_default();
        let labelled_by = labelled_by.split_ascii_whitespace().map(fragment_hash);
        open.awaited = Some(self.awaited.len());
        self.awaited.push(Awaited {
            rule,
            byte: element.byte,
            subject: element.value(subject).unwrap_or_default().into(),
            is_named: false,
            labelled_by: labelled_by.take(100).collect(),
            id: open.id,
            by_words: false,
        });
    }

    /// An element is complete.
    pub(super) fn closed(&mut self, open: &Open) {
        if let Some(awaited) = open.awaited.and_then(|place| self.awaited.get_mut(place)) {
            awaited.is_named |= awaited.by_words && open.has_words;
        }
        if let Some(id) = open.id
            && open.has_any_words
        {
            self.with_words.insert(id);
        }
        if open.name == LABEL && open.has_words {
            for field in &open.fields {
                self.awaited[*field].is_named = true;
            }
            self.labelled.extend(open.label_for);
        }
    }

    /// Marks all that have no name in the end, and ids that are not unique though others refer to them.
    pub(super) fn finish(self, marks: &mut Marks) {
        for awaited in &self.awaited {
            let is_labelled = awaited
                .id
                .is_some_and(|id| self.labelled.contains(&id) && awaited.rule != "a11y/link-name");
            let mut labels = awaited.labelled_by.iter();
            let is_named =
                awaited.is_named || is_labelled || labels.any(|id| self.with_words.contains(id));
            if !is_named {
                marks.push(awaited.rule, awaited.byte, &awaited.subject);
            }
        }
        let referred = self.ids.iter().filter(|(id, _)| self.referred.contains(id));
        let mut twice: Vec<_> = referred
            .filter_map(|(_, known)| known.again.as_ref())
            .collect();
        twice.sort_unstable();
        for (byte, id) in twice {
            marks.push("a11y/duplicate-id-aria", *byte, id);
        }
    }
}

/// A label around a field names it by its words.
fn within_label(open: &Open, around: &mut [Open]) {
    let label = around.iter_mut().rev().find(|open| open.name == LABEL);
    if let (Some(label), Some(awaited)) = (label, open.awaited) {
        label.fields.push(awaited);
    }
}

fn value_of<'a>(element: &Element<'a, '_>, name: &str) -> std::borrow::Cow<'a, str> {
    match element.long(name) {
        Some(value) => value,
        None => element
            .value(Name::new(name.as_bytes()))
            .unwrap_or_default(),
    }
}

/// Whether an element says that it means nothing, and can't be reached by the keyboard.
fn is_decoration(open: &Open, element: &Element<'_, '_>) -> bool {
    matches!(open.role, Some("none" | "presentation"))
        && !element.has(TABINDEX)
        && !matches!(element.name, BUTTON | INPUT | SELECT | Name::TEXTAREA)
}

fn is_image(element: &Element<'_, '_>) -> bool {
    element.is(Name::TYPE, "image")
}

/// Whether an `input` is a field that needs a label.
fn is_field(element: &Element<'_, '_>) -> bool {
    let kind = element.value(Name::TYPE).unwrap_or_default();
    let kind = kind.trim();
    ["hidden", "image", "button", "submit", "reset"]
        .into_iter()
        .all(|other| !kind.eq_ignore_ascii_case(other))
}
