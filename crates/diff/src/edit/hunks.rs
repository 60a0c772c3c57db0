//! Two rows of tokens, compared.
//!
//! Owns which runs of tokens differ, where a run begins that could begin at several tokens, and
//! which runs are one edit. It refuses to know other pages. Invariants: what a hunk keeps of a page
//! is bounded; time is that of a histogram diff with a bounded search, whatever the pages are.

use std::collections::HashSet;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};
use xxhash_rust::xxh3::Xxh3;

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

/// What is replaced by what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RawHunk {
    before: Range<usize>,
    after: Range<usize>,
}

/// The hunks of a page, in its order.
pub(crate) fn page_hunks(old: &PageTokens, new: &PageTokens, known: &KnownUrls) -> Vec<PageHunk> {
    let raw = raw_hunks(old, new);
    let mut hunks = Vec::with_capacity(raw.len().min(MOST_HUNKS));
    let mut edit = 0;
    for (number, hunk) in raw.iter().take(MOST_HUNKS).enumerate() {
        if number > 0 && !is_one_edit(&raw[number - 1], hunk, &new.tokens) {
            edit += 1;
        }
        let sides = HunkSides { old, new, hunk };
        let found = sides.page_hunk(edit, known);
        // A search that is bounded may take for changed what is not.
        if found.before != found.after {
            hunks.push(found);
        }
    }
    hunks
}

fn raw_hunks(old: &PageTokens, new: &PageTokens) -> Vec<RawHunk> {
    let found = aligned(old, new);
    let mut hunks: Vec<RawHunk> = Vec::with_capacity(found.len());
    for (number, hunk) in found.iter().enumerate() {
        let mut raw = hunk.clone();
        let last = hunks.last();
        let behind = last.map_or((0, 0), |last| (last.before.end, last.after.end));
        let next = found.get(number + 1);
        let end = (old.tokens.len(), new.tokens.len());
        let ahead = next.map_or(end, |next| (next.before.start, next.after.start));
        slide(&mut raw, (&old.tokens, &new.tokens), behind, ahead);
        hunks.push(raw);
    }
    hunks
}

/// The runs that differ where tokens that are alike face each other.
fn aligned(old: &PageTokens, new: &PageTokens) -> Vec<RawHunk> {
    let mut input = InternedInput {
        before: Vec::new(),
        after: Vec::new(),
        interner: Interner::new(old.tokens.len() + new.tokens.len()),
    };
    input.update_before(old.tokens.iter().map(|token| token.likeness));
    input.update_after(new.tokens.iter().map(|token| token.likeness));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut found = Vec::new();
    let mut facing = (0, 0);
    for hunk in diff.hunks() {
        let raw = RawHunk {
            before: hunk.before.start as usize..hunk.before.end as usize,
            after: hunk.after.start as usize..hunk.after.end as usize,
        };
        let alike = (facing.0..raw.before.start).zip(facing.1..raw.after.start);
        found.extend(alike.filter_map(|pair| unequal(pair, old, new)));
        facing = (raw.before.end, raw.after.end);
        found.extend(without_volatile_ends(raw, old, new));
    }
    let alike = (facing.0..old.tokens.len()).zip(facing.1..new.tokens.len());
    found.extend(alike.filter_map(|pair| unequal(pair, old, new)));
    found
}

/// Tokens that face each other and are alike, if they are not the same.
fn unequal((one, other): (usize, usize), old: &PageTokens, new: &PageTokens) -> Option<RawHunk> {
    let is_same = old.tokens[one].hash == new.tokens[other].hash;
    (!is_same).then(|| RawHunk {
        before: one..one + 1,
        after: other..other + 1,
    })
}

/// What looks volatile at the ends of a run that came or went hides where it began: both are hunks
/// of their own. Without them an item beside a counter would be another one on each page.
fn without_volatile_ends(raw: RawHunk, old: &PageTokens, new: &PageTokens) -> Vec<RawHunk> {
    let (before, after) = (raw.before.clone(), raw.after.clone());
    let most = before.len().min(after.len());
    if most == 0 {
        return vec![raw];
    }
    let is_pair = |one: usize, other: usize| {
        let (one, other) = (&old.tokens[one], &new.tokens[other]);
        let words = (old.word(one), new.word(other));
        one.kind == other.kind
            && one.path == other.path
            && match one.kind {
                TokenKind::Link | TokenKind::Image => is_volatile_link(words.0, words.1),
                TokenKind::Word => {
                    words.0 != words.1 && is_volatile_word(words.0) && is_volatile_word(words.1)
                }
                _ => false,
            }
    };
    let tail = (0..most)
        .take_while(|it| is_pair(before.end - 1 - it, after.end - 1 - it))
        .count();
    let rest = most - tail;
    let head = (0..rest)
        .take_while(|it| is_pair(before.start + it, after.start + it))
        .count();
    let cuts = [
        (
            before.start..before.start + head,
            after.start..after.start + head,
        ),
        (
            before.start + head..before.end - tail,
            after.start + head..after.end - tail,
        ),
        (before.end - tail..before.end, after.end - tail..after.end),
    ];
    let parts = cuts
        .into_iter()
        .map(|(before, after)| RawHunk { before, after });
    parts
        .filter(|part| !part.before.is_empty() || !part.after.is_empty())
        .collect()
}

/// A run that only came or went may begin at several tokens with the same result. It begins where a
/// block does, if it can: so equal edits are equal whatever is around them.
fn slide(
    raw: &mut RawHunk,
    (old, new): (&[PageToken], &[PageToken]),
    behind: (usize, usize),
    ahead: (usize, usize),
) {
    let is_insertion = raw.before.is_empty();
    if is_insertion == raw.after.is_empty() {
        return;
    }
    let tokens = if is_insertion { new } else { old };
    let (mut start, mut end) = if is_insertion {
        (raw.after.start, raw.after.end)
    } else {
        (raw.before.start, raw.before.end)
    };
    let mut other = if is_insertion {
        raw.before.start
    } else {
        raw.after.start
    };
    let (least, least_other) = if is_insertion {
        (behind.1, behind.0)
    } else {
        behind
    };
    let (most, most_other) = if is_insertion {
        (ahead.1, ahead.0)
    } else {
        ahead
    };
    while start > least && other > least_other && tokens[start - 1].hash == tokens[end - 1].hash {
        (start, end, other) = (start - 1, end - 1, other - 1);
    }
    let top = (start, end, other);
    while !begins_block(tokens, start) {
        if end >= most || other >= most_other || tokens[start].hash != tokens[end].hash {
            (start, end, other) = top;
            break;
        }
        (start, end, other) = (start + 1, end + 1, other + 1);
    }
    if is_insertion {
        (raw.after, raw.before) = (start..end, other..other);
    } else {
        (raw.before, raw.after) = (start..end, other..other);
    }
}

fn begins_block(tokens: &[PageToken], at: usize) -> bool {
    tokens[at].kind == TokenKind::Element && (at == 0 || tokens[at - 1].block != tokens[at].block)
}

/// Whether nothing but a few words of the same block, or elements without words, is between.
fn is_one_edit(before: &RawHunk, next: &RawHunk, new: &[PageToken]) -> bool {
    let between = &new[before.after.end..next.after.start];
    let Some(first) = between.first() else {
        return true;
    };
    // What the head says is said piece by piece.
    let is_bare = |it: &PageToken| it.kind == TokenKind::Element && it.region.landmark != "head";
    if between.len() <= MOST_BARE && between.iter().all(is_bare) {
        return true;
    }
    let goes_on = before.after.end > 0 && new[before.after.end - 1].block == first.block;
    goes_on
        && between.len() <= MOST_BETWEEN
        && between.iter().all(|token| token.block == first.block)
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

    fn page_hunk(&self, edit: u32, known: &KnownUrls) -> PageHunk {
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
            edit,
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
    tokens
        .iter()
        .for_each(|token| hash.update(&token.hash.to_le_bytes()));
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
