//! The blocks of a Markdown text, as far as a passage must not be cut there.
//!
//! Owns where a fence, a table and a heading begin and end, within quotes and lists, too. It refuses
//! to know how long a passage may be. Invariant: the blocks follow each other without a gap, and
//! together they are the text.

use std::ops::Range;

/// What a stretch of lines is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockShape {
    /// A line that begins a section of this level.
    Heading(u8),
    /// Code between fences.
    Code,
    /// Rows of a table.
    Table,
    /// Lines of text up to a blank one.
    Text,
    /// Blank lines.
    Blank,
}

/// A stretch of lines, in bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkdownBlock {
    pub(super) shape: BlockShape,
    pub(super) range: Range<usize>,
}

/// The blocks of a text in order.
pub(super) fn blocks(markdown: &str) -> Vec<MarkdownBlock> {
    let mut blocks: Vec<MarkdownBlock> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in markdown.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let inner = unprefixed(line.trim_end());
        let (shape, begins) = if let Some(open) = fence {
            if closes(inner, open) {
                fence = None;
            }
            (BlockShape::Code, false)
        } else {
            fence = fence_of(inner);
            (shape_of(line.trim_end(), inner, fence), fence.is_some())
        };
        match blocks.last_mut() {
            Some(last)
                if last.shape == shape && !begins && !matches!(shape, BlockShape::Heading(_)) =>
            {
                last.range.end = range.end;
            }
            _ => blocks.push(MarkdownBlock { shape, range }),
        }
    }
    blocks
}

fn shape_of(line: &str, inner: &str, fence: Option<&str>) -> BlockShape {
    if fence.is_some() {
        return BlockShape::Code;
    }
    if inner.is_empty() {
        return BlockShape::Blank;
    }
    if inner.starts_with('|') {
        return BlockShape::Table;
    }
    // A heading within a quote or a list begins no section of the page.
    match heading(line) {
        Some((level, _)) => BlockShape::Heading(level),
        None => BlockShape::Text,
    }
}

/// The level and the words of a heading (`CommonMark`, 4.2).
pub(super) fn heading(line: &str) -> Option<(u8, &str)> {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    let is_heading = (1..=6).contains(&level) && words.starts_with([' ', '\t']);
    is_heading.then(|| (level as u8, words.trim().trim_end_matches('#').trim_end()))
}

/// A line without the marks of quotes and lists around it.
fn unprefixed(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let inner = rest
            .strip_prefix('>')
            .or_else(|| rest.strip_prefix("- "))
            .or_else(|| rest.strip_prefix(": "))
            .or_else(|| {
                rest.trim_start_matches(|c: char| c.is_ascii_digit())
                    .strip_prefix(". ")
            });
        match inner {
            Some(inner) => rest = inner.trim_start(),
            None => return rest,
        }
    }
}

/// The signs that open code, if the line does (`CommonMark`, 4.5).
fn fence_of(line: &str) -> Option<&str> {
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(sign).len();
    let is_fence = length >= 3 && (sign == '~' || !line[length..].contains('`'));
    is_fence.then(|| &line[..length])
}

fn closes(line: &str, open: &str) -> bool {
    let sign = open.chars().next().unwrap_or('`');
    line.len() >= open.len() && line.chars().all(|c| c == sign)
}
