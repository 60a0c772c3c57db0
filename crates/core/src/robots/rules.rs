//! The rules of one group, packed, in the order in which they decide.
//!
//! Owns the packing and the choice of the deciding rule; refuses to know the syntax of the file.
//! Invariant: entries stand in descending weight, `Allow` before `Disallow`, earlier lines first,
//! so the first entry that matches is the longest match of RFC 9309 section 2.2.2.

use std::borrow::Cow;
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::pattern::{self, Subject, Tail};
use super::{MAX_RULE_BYTES, MAX_RULES, Rule};

/// What a rule says; in the order in which rules of equal weight decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Kind {
    Allow,
    Disallow,
}

/// A rule before it is packed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RuleDraft<'a> {
    pub(super) line: u32,
    pub(super) kind: Kind,
    /// The length of the pattern as [`pattern::written`] has it: its priority.
    pub(super) weight: u16,
    pub(super) tail: Tail,
    /// The pattern as `pattern::compile` leaves it.
    pub(super) pattern: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

impl RuleDraft<'_> {
    fn fits(&self) -> bool {
        u16::try_from(self.pattern.len().max(self.text.len())).is_ok()
    }
}

/// Where a rule's text and pattern lie in the arena.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    line: u32,
    text_at: u32,
    pattern_at: u32,
    text_len: u16,
    pattern_len: u16,
    prefix_len: u16,
    weight: u16,
    probe: Option<u16>,
    kind: Kind,
    tail: Tail,
}

impl Entry {
    fn order(&self) -> (Reverse<u16>, Kind, u32) {
        (Reverse(self.weight), self.kind, self.line)
    }
}

/// Packed rules: a crawl holds those of many thousand hosts at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RuleSet {
    arena: Box<str>,
    entries: Box<[Entry]>,
}

/// Rules as they are read, packed at once: a file of the greatest length takes no more than the
/// bounds allow while it arrives.
#[derive(Debug, Default)]
pub(super) struct Builder {
    arena: String,
    entries: Vec<Entry>,
}

impl Builder {
    /// Adds a rule, unless there is no room for it.
    pub(super) fn push(&mut self, draft: RuleDraft<'_>) {
        let pattern = pattern::canonical(draft.pattern);
        let draft = RuleDraft { pattern, ..draft };
        let size = draft.text.len() + draft.pattern.len();
        let has_room = self.entries.len() < MAX_RULES && self.arena.len() + size <= MAX_RULE_BYTES;
        if has_room && draft.fits() {
            self.entries.extend(pack(&mut self.arena, &draft));
        }
    }

    /// About how many bytes it takes.
    pub(super) fn held(&self) -> usize {
        self.arena.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// All rules in the order in which they decide, their texts in the same order.
    pub(super) fn finish(mut self) -> RuleSet {
        self.entries.sort_by_key(Entry::order);
        let unsorted = RuleSet {
            arena: self.arena.into_boxed_str(),
            entries: self.entries.into_boxed_slice(),
        };
        let mut arena = String::with_capacity(unsorted.arena.len());
        let entries = unsorted
            .drafts()
            .filter_map(|draft| pack(&mut arena, &draft));
        RuleSet {
            entries: entries.collect(),
            arena: arena.into_boxed_str(),
        }
    }
}

impl RuleSet {
    /// Packs rules that were stored.
    pub(super) fn build(drafts: Vec<RuleDraft<'_>>) -> Self {
        let mut builder = Builder::default();
        for draft in drafts {
            builder.push(draft);
        }
        builder.finish()
    }

    pub(super) fn drafts(&self) -> impl Iterator<Item = RuleDraft<'_>> {
        self.entries.iter().map(|entry| RuleDraft {
            line: entry.line,
            kind: entry.kind,
            weight: entry.weight,
            tail: entry.tail,
            pattern: Cow::Borrowed(self.pattern(entry)),
            text: Cow::Borrowed(self.text(entry)),
        })
    }

    /// The rule that decides about `path`, if one matches.
    pub(super) fn decide(&self, path: &str) -> Option<(Kind, Rule<'_>)> {
        let mut subject = Subject::new(path);
        let entry = self
            .entries
            .iter()
            .find(|entry| self.matches(entry, &mut subject))?;
        Some((
            entry.kind,
            Rule {
                line: entry.line,
                text: self.text(entry),
            },
        ))
    }

    fn matches(&self, entry: &Entry, subject: &mut Subject<'_>) -> bool {
        let (prefix, wildcards) = self.pattern(entry).split_at(usize::from(entry.prefix_len));
        let Some(rest) = subject.after(prefix) else {
            return false;
        };
        if wildcards.is_empty() {
            return entry.tail == Tail::Open || rest.is_empty();
        }
        if entry.probe.is_some_and(|probe| !subject.may_contain(probe)) {
            return false;
        }
        subject
            .wildcards_match(rest, wildcards, entry.tail)
            .unwrap_or(entry.kind == Kind::Disallow)
    }

    fn text(&self, entry: &Entry) -> &str {
        slice(&self.arena, entry.text_at, entry.text_len)
    }

    fn pattern(&self, entry: &Entry) -> &str {
        slice(&self.arena, entry.pattern_at, entry.pattern_len)
    }
}

fn slice(arena: &str, at: u32, len: u16) -> &str {
    let start = at as usize;
    &arena[start..start + usize::from(len)]
}

fn pack(arena: &mut String, draft: &RuleDraft<'_>) -> Option<Entry> {
    let text_at = arena.len();
    arena.push_str(&draft.text);
    // Nearly every pattern stands in its line as it is, so it costs no room of its own.
    let pattern_at = if let Some(offset) = draft.text.rfind(&*draft.pattern) {
        text_at + offset
    } else {
        arena.push_str(&draft.pattern);
        arena.len() - draft.pattern.len()
    };
    let prefix_len = draft.pattern.find('*').unwrap_or(draft.pattern.len());
    Some(Entry {
        line: draft.line,
        text_at: u32::try_from(text_at).ok()?,
        pattern_at: u32::try_from(pattern_at).ok()?,
        text_len: u16::try_from(draft.text.len()).ok()?,
        pattern_len: u16::try_from(draft.pattern.len()).ok()?,
        prefix_len: u16::try_from(prefix_len).ok()?,
        weight: draft.weight,
        probe: pattern::probe(&draft.pattern[prefix_len..]),
        kind: draft.kind,
        tail: draft.tail,
    })
}
