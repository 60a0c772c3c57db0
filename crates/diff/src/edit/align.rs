//! Two rows of tokens, aligned.
//!
//! Owns which runs of tokens differ, and where a run begins that could begin at several tokens. It
//! refuses to know what a run says. Invariant: what is compared token by token is bounded, so
//! that the time is, whatever the pages are.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};
use xxhash_rust::xxh3::Xxh3;

use crate::page::{PageToken, PageTokens, TokenKind, is_volatile_link, is_volatile_word};

/// Tokens of two pages that are compared one by one: the time may grow with their square.
const MOST_ALIGNED: usize = 16_384;
/// Equal numbers between two runs that are there by chance.
const MOST_BY_CHANCE: usize = 4;

/// What is replaced by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawHunk {
    pub(super) before: Range<usize>,
    pub(super) after: Range<usize>,
}

/// The runs that differ, in order.
pub(super) fn raw_hunks(old: &PageTokens, new: &PageTokens) -> Vec<RawHunk> {
    let found = joined(aligned(old, new), new);
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

/// Numbers that happen to face each other (12:19:40 and 19:40:05) are no sign that nothing happened
/// between: runs beside them are one.
fn joined(found: Vec<RawHunk>, new: &PageTokens) -> Vec<RawHunk> {
    let mut hunks: Vec<RawHunk> = Vec::with_capacity(found.len());
    for raw in found {
        if let Some(last) = hunks.last_mut() {
            let between = &new.tokens[last.after.end..raw.after.start];
            let is_chance = |it: &PageToken| {
                it.kind == TokenKind::Word
                    && it.block == between[0].block
                    && is_volatile_word(new.word(it))
            };
            if (1..=MOST_BY_CHANCE).contains(&between.len()) && between.iter().all(is_chance) {
                last.before.end = raw.before.end;
                last.after.end = raw.after.end;
                continue;
            }
        }
        hunks.push(raw);
    }
    hunks
}

/// The runs that differ where tokens that are alike face each other.
fn aligned(old: &PageTokens, new: &PageTokens) -> Vec<RawHunk> {
    let mut found = Vec::new();
    let mut facing = (0, 0);
    for raw in unlike(&old.tokens, &new.tokens) {
        let alike = (facing.0..raw.before.start).zip(facing.1..raw.after.start);
        found.extend(alike.filter_map(|pair| unequal(pair, old, new)));
        facing = (raw.before.end, raw.after.end);
        found.extend(without_volatile_ends(raw, old, new));
    }
    let alike = (facing.0..old.tokens.len()).zip(facing.1..new.tokens.len());
    found.extend(alike.filter_map(|pair| unequal(pair, old, new)));
    found
}

/// The runs of tokens that are not alike. Long pages are compared block by block first, and then
/// token by token where blocks differ, unless too many do.
fn unlike(old: &[PageToken], new: &[PageToken]) -> Vec<RawHunk> {
    if old.len() + new.len() <= MOST_ALIGNED {
        let likeness = |token: &PageToken| token.likeness;
        return compared(old.iter().map(likeness), new.iter().map(likeness));
    }
    let (before, after) = (Blocks::new(old), Blocks::new(new));
    let coarse = compared(before.hashes.iter().copied(), after.hashes.iter().copied());
    let mut found = Vec::new();
    for hunk in coarse {
        let raw = RawHunk {
            before: before.tokens(&hunk.before),
            after: after.tokens(&hunk.after),
        };
        if raw.before.len() + raw.after.len() > MOST_ALIGNED {
            found.push(raw);
            continue;
        }
        let (from, to) = (raw.before.start, raw.after.start);
        let fine = unlike(&old[raw.before], &new[raw.after]);
        found.extend(fine.into_iter().map(|fine| RawHunk {
            before: from + fine.before.start..from + fine.before.end,
            after: to + fine.after.start..to + fine.after.end,
        }));
    }
    found
}

/// The blocks of a page: what each says, and where it begins.
struct Blocks {
    hashes: Vec<u64>,
    /// One more than there are blocks.
    starts: Vec<usize>,
}

impl Blocks {
    fn new(tokens: &[PageToken]) -> Self {
        let mut blocks = Self {
            hashes: Vec::new(),
            starts: vec![0],
        };
        for block in tokens.chunk_by(|one, other| one.block == other.block) {
            let mut hash = Xxh3::new();
            for token in block {
                hash.update(&token.likeness.to_le_bytes());
            }
            blocks.hashes.push(hash.digest());
            let end = blocks.starts.last().copied().unwrap_or(0) + block.len();
            blocks.starts.push(end);
        }
        blocks
    }

    fn tokens(&self, blocks: &Range<usize>) -> Range<usize> {
        self.starts[blocks.start]..self.starts[blocks.end]
    }
}

fn compared(
    old: impl ExactSizeIterator<Item = u64>,
    new: impl ExactSizeIterator<Item = u64>,
) -> Vec<RawHunk> {
    let mut input = InternedInput {
        before: Vec::new(),
        after: Vec::new(),
        interner: Interner::new(old.len() + new.len()),
    };
    input.update_before(old);
    input.update_after(new);
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let hunks = diff.hunks().map(|hunk| RawHunk {
        before: hunk.before.start as usize..hunk.before.end as usize,
        after: hunk.after.start as usize..hunk.after.end as usize,
    });
    hunks.collect()
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
    let middle = (
        before.start + head..before.end - tail,
        after.start + head..after.end - tail,
    );
    // A time that got longer is no edit beside a time.
    let is_number = |page: &PageTokens, range: &Range<usize>| {
        let mut tokens = page.tokens[range.clone()].iter();
        tokens.all(|it| it.kind == TokenKind::Word && is_volatile_word(page.word(it)))
    };
    if is_number(old, &middle.0) && is_number(new, &middle.1) {
        return vec![raw];
    }
    let cuts = [
        (
            before.start..before.start + head,
            after.start..after.start + head,
        ),
        middle,
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
