//! Two rows of tokens, compared.
//!
//! Owns what a run of tokens that differs says, and which runs are one edit. It refuses to know
//! other pages. Invariant: what a hunk keeps of a page is bounded.

use std::collections::HashSet;
use std::ops::Range;

use xxhash_rust::xxh3::Xxh3;

use super::align::{RawHunk, raw_hunks};
use super::{PageHunk, without_fragment};
use crate::entry::DiffLayer;
use crate::page::{
    PageToken, PageTokens, TokenKind, is_currency, is_volatile_link, is_volatile_word,
};
use crate::side::key_of;

/// Hunks of a page that are kept.
const MOST_HUNKS: usize = 2_000;
/// Bytes of a run that are kept.
const LONGEST_RUN: usize = 1_000;
/// Links of a hunk that are kept on each side.
const MOST_LINKS: usize = 20;
/// Tokens of a run that may be noise: a counter is no paragraph.
const MOST_VOLATILE: usize = 24;
/// Equal tokens within one block between two hunks of one edit.
const MOST_BETWEEN: usize = 200;
/// Equal elements without words between two hunks of one edit.
const MOST_BARE: usize = 8;
/// Tokens between an amount and its currency: thousands and cents.
const NEAR_MONEY: usize = 3;
/// Words beside a link that go with it when its page does: a teaser, a date.
const MOST_TEASER: usize = 80;

/// Pages that are on one side only.
#[derive(Debug, Default)]
pub(crate) struct KnownUrls {
    pub(crate) gone: HashSet<u128>,
    pub(crate) new: HashSet<u128>,
    /// New URLs of pages that moved.
    pub(crate) moved: HashSet<u128>,
}

/// The hunks of a page, in its order.
pub(crate) fn page_hunks(old: &PageTokens, new: &PageTokens, known: &KnownUrls) -> Vec<PageHunk> {
    let raw = raw_hunks(old, new);
    let mut hunks: Vec<PageHunk> = Vec::with_capacity(raw.len().min(MOST_HUNKS));
    let mut edit = 0;
    for (number, hunk) in raw.iter().take(MOST_HUNKS).enumerate() {
        let mut found = HunkSides { old, new, hunk }.page_hunk(known);
        let joint = match number.checked_sub(1) {
            Some(last) => joint(&raw[last], hunk, (&old.tokens, &new.tokens)),
            None => Joint::Block,
        };
        // What looks volatile is no bridge between two edits.
        let is_bridge = found.is_volatile || hunks.last().is_some_and(|last| last.is_volatile);
        if joint == Joint::None || (joint == Joint::Bare && is_bridge) {
            edit += 1;
        }
        found.edit = edit;
        // A search that is bounded may take for changed what is not.
        if found.before != found.after {
            hunks.push(found);
        }
    }
    hunks
}

/// What is between two hunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// Something that parts them.
    None,
    /// Elements of the same part of the page, without words.
    Bare,
    /// Nothing, or a few words of one block in which both are.
    Block,
}

fn joint(before: &RawHunk, next: &RawHunk, (old, new): (&[PageToken], &[PageToken])) -> Joint {
    let between = &new[before.after.end..next.after.start];
    let Some(first) = between.first() else {
        return Joint::Block;
    };
    let behind = before.after.end.checked_sub(1).map(|last| &new[last]);
    let goes_on = |tokens: &[PageToken], range: &Range<usize>| {
        let last = range.start.checked_sub(1).map(|last| tokens[last].block);
        range.is_empty() || last == Some(tokens[range.start].block)
    };
    if behind.is_some_and(|it| it.block == first.block)
        && between.len() <= MOST_BETWEEN
        && between.iter().all(|token| token.block == first.block)
        && goes_on(new, &next.after)
        && goes_on(old, &next.before)
    {
        return Joint::Block;
    }
    // What the head says is said piece by piece.
    let landmark = first.region.landmark;
    let is_same_part = landmark != "head"
        && behind.is_none_or(|it| it.region.landmark == landmark)
        && new
            .get(next.after.start)
            .is_none_or(|it| it.region.landmark == landmark);
    let is_bare = |it: &PageToken| it.kind == TokenKind::Element && it.region.landmark == landmark;
    if is_same_part && between.len() <= MOST_BARE && between.iter().all(is_bare) {
        return Joint::Bare;
    }
    Joint::None
}

/// A hunk with the pages that it is of.
struct HunkSides<'a> {
    old: &'a PageTokens,
    new: &'a PageTokens,
    hunk: &'a RawHunk,
}

impl HunkSides<'_> {
    fn removed(&self) -> &[PageToken] {
        &self.old.tokens[self.hunk.before.clone()]
    }

    fn added(&self) -> &[PageToken] {
        &self.new.tokens[self.hunk.after.clone()]
    }

    fn all(&self) -> impl Iterator<Item = &PageToken> {
        self.removed().iter().chain(self.added())
    }

    fn page_hunk(&self, known: &KnownUrls) -> PageHunk {
        let (removed, added) = (self.removed(), self.added());
        let first = added.first().or_else(|| removed.first());
        let first = first.expect("a hunk has a token on one side");
        PageHunk {
            before: hash_of(removed),
            after: hash_of(added),
            blocks: [
                block_around(&self.old.tokens, &self.hunk.before),
                block_around(&self.new.tokens, &self.hunk.after),
            ],
            shape: shape_of(removed) ^ shape_of(added).rotate_left(1),
            path: first.path,
            region: first.region.name(),
            edit: 0,
            layers: self
                .all()
                .fold(0, |bits, token| bits | layer_of(token).bit()),
            is_volatile: self.is_volatile(),
            is_explained: self.is_explained(known),
            is_anchor: self.all().all(|token| {
                matches!(
                    token.kind,
                    TokenKind::Element | TokenKind::Link | TokenKind::Image
                ) || (token.kind == TokenKind::Word && token.link != 0)
            }),
            removed: cut(self.old.run(self.hunk.before.clone())),
            added: cut(self.new.run(self.hunk.after.clone())),
            links_removed: links(self.old, removed),
            links_added: links(self.new, added),
        }
    }

    /// Whether all that differs looks as if it differed each time.
    fn is_volatile(&self) -> bool {
        let (removed, added) = (self.removed(), self.added());
        if removed.is_empty() || added.is_empty() || self.all().count() > MOST_VOLATILE {
            return false;
        }
        let targets = |page: &PageTokens, tokens: &[PageToken]| -> Vec<String> {
            let of_links = tokens.iter().filter(|token| is_target(token.kind));
            of_links.map(|token| page.word(token).to_owned()).collect()
        };
        let (before, after) = (targets(self.old, removed), targets(self.new, added));
        let is_same_link = |(one, other): (&String, &String)| is_volatile_link(one, other);
        let is_fit = |page: &PageTokens, tokens: &[PageToken]| {
            let mut tokens = tokens.iter();
            tokens.all(|token| match token.kind {
                TokenKind::Word | TokenKind::Title => is_volatile_word(page.word(token)),
                TokenKind::Link | TokenKind::Image => true,
                _ => false,
            })
        };
        before.len() == after.len()
            && !self.is_money()
            && before.iter().zip(&after).all(is_same_link)
            && is_fit(self.old, removed)
            && is_fit(self.new, added)
    }

    /// Whether a currency stands beside what differs.
    fn is_money(&self) -> bool {
        let is_near = |page: &PageTokens, range: &Range<usize>| {
            let start = range.start.saturating_sub(NEAR_MONEY);
            let end = (range.end + NEAR_MONEY).min(page.tokens.len());
            page.tokens[start..end].iter().any(|token| {
                let is_same_block = page.tokens[range.start].block == token.block;
                is_same_block && token.kind == TokenKind::Word && is_currency(page.word(token))
            })
        };
        is_near(self.old, &self.hunk.before) || is_near(self.new, &self.hunk.after)
    }

    /// Whether a link to a page went or came with the page.
    fn is_explained(&self, known: &KnownUrls) -> bool {
        let leads_to = |page: &PageTokens, token: &&PageToken, urls: &HashSet<u128>| {
            token.kind == TokenKind::Link
                && urls.contains(&key_of(without_fragment(page.word(token))))
        };
        let gone = self
            .removed()
            .iter()
            .filter(|it| leads_to(self.old, it, &known.gone))
            .count();
        let new = self
            .added()
            .iter()
            .filter(|it| leads_to(self.new, it, &known.new))
            .count();
        // The words of a link may name the address.
        let renames = |page: &PageTokens, tokens: &[PageToken]| {
            let targets = tokens.iter().filter_map(|token| page.target_around(token));
            targets
                .filter(|it| known.moved.contains(&key_of(without_fragment(it))))
                .count()
        };
        let moved = renames(self.old, self.removed()) + renames(self.new, self.added());
        if gone + new + moved == 0 {
            return false;
        }
        let words: Vec<_> = self.all().filter(|it| it.kind.is_words()).collect();
        if words.iter().any(|it| it.kind != TokenKind::Word) {
            return false;
        }
        let is_one_sided = self.hunk.before.is_empty() || self.hunk.after.is_empty();
        let beside = words.iter().filter(|it| it.link == 0).count();
        beside == 0 || (is_one_sided && beside <= MOST_TEASER * (gone + new))
    }
}

const fn is_target(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Link | TokenKind::Image)
}

fn links(page: &PageTokens, tokens: &[PageToken]) -> Vec<String> {
    let links = tokens
        .iter()
        .filter(|it| is_target(it.kind) || it.kind == TokenKind::Canonical);
    links
        .take(MOST_LINKS)
        .map(|token| page.word(token).to_owned())
        .collect()
}

fn cut(run: &str) -> String {
    if run.len() <= LONGEST_RUN {
        return run.to_owned();
    }
    format!("{}…", &run[..run.floor_char_boundary(LONGEST_RUN)])
}

/// The hash of the block in which a range begins.
fn block_around(tokens: &[PageToken], range: &Range<usize>) -> u64 {
    let Some(first) = tokens.get(range.start) else {
        return 0;
    };
    let is_in = |token: &&PageToken| token.block == first.block;
    let before = tokens[..range.start]
        .iter()
        .rev()
        .take(MOST_BETWEEN)
        .take_while(is_in)
        .count();
    let after = tokens[range.start..]
        .iter()
        .take(MOST_BETWEEN)
        .take_while(is_in)
        .count();
    hash_of(&tokens[range.start - before..range.start + after])
}

/// 0 for no tokens.
fn hash_of(tokens: &[PageToken]) -> u64 {
    if tokens.is_empty() {
        return 0;
    }
    let mut hash = Xxh3::new();
    for token in tokens {
        hash.update(&token.hash.to_le_bytes());
    }
    hash.digest().max(1)
}

/// Kinds and elements; however many words or other tokens of a kind follow each other count as one.
fn shape_of(tokens: &[PageToken]) -> u64 {
    let mut hash = Xxh3::new();
    let mut last = None;
    for token in tokens {
        if token.kind == TokenKind::Element {
            hash.update(&token.hash.to_le_bytes());
        } else if last != Some(token.kind) {
            hash.update(&[token.kind as u8]);
        }
        last = Some(token.kind);
    }
    hash.digest()
}

const fn layer_of(token: &PageToken) -> DiffLayer {
    match token.kind {
        TokenKind::Element => DiffLayer::Structure,
        TokenKind::Word => DiffLayer::Text,
        TokenKind::Link => DiffLayer::Links,
        TokenKind::Image => DiffLayer::Images,
        TokenKind::Title => DiffLayer::Title,
        TokenKind::Description => DiffLayer::Description,
        TokenKind::Canonical => DiffLayer::Canonical,
        TokenKind::Robots => DiffLayer::Robots,
    }
}
