//! A page in passages: pieces that can be found, quoted and embedded alone.
//!
//! Owns where a page is cut: at headings first, then between blocks, then between lines, sentences
//! and words, and never in code or a table that is not huge. It refuses to know where the page came
//! from. Invariants: passages do not overlap and are stretches of the Markdown in its order; all that
//! they leave out is blank or a heading that a passage has in its path; the id depends on nothing but
//! the URL, the path and the words.

mod blocks;
#[cfg(test)]
mod tests;

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use self::blocks::{BlockShape, MarkdownBlock, blocks, heading};

/// A passage that is shorter takes up the section that follows.
pub const LEAST_PASSAGE: usize = 1200;
/// A passage of text is not longer, in characters.
pub const MOST_PASSAGE: usize = 2000;
/// Code and tables that are longer are cut at the end of a line.
pub const LONGEST_WHOLE: usize = 16_000;
/// What stands between the headings of a path.
const STEP: &str = " > ";
/// Characters of one heading that a path holds.
const LONGEST_HEADING: usize = 200;

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PagePassage {
    /// The headings above all of it, from the outermost on.
    pub headings: Vec<String>,
    /// Its words, as Markdown.
    pub words: String,
    /// Where they stand in the Markdown of the page, in bytes.
    pub range: Range<usize>,
}

impl PagePassage {
    /// The path in front of the words.
    pub fn text(&self) -> String {
        if self.headings.is_empty() {
            return self.words.clone();
        }
        format!("{}\n\n{}", self.path(), self.words)
    }

    /// The headings in one line.
    pub fn path(&self) -> String {
        Self::path_of(&self.headings)
    }

    pub(crate) fn path_of(headings: &[String]) -> String {
        headings.join(STEP)
    }

    /// 32 hexadecimal digits that the URL, the path and the words make.
    pub fn id(&self, url: &str) -> String {
        format!("{:032x}", self.number(url))
    }

    /// The same as a number.
    pub fn number(&self, url: &str) -> u128 {
        let whole = format!("{url}\0{}\0{}", self.headings.join("\0"), self.words);
        xxh3_128(whole.as_bytes())
    }
}

/// A section: what stands below one heading, up to the next.
struct MarkdownSection {
    /// Level and words of the headings that lead here, its own as the last.
    path: Vec<(u8, String)>,
    /// Its own heading is the first of them.
    blocks: Vec<MarkdownBlock>,
}

/// The passages of a page's Markdown.
///
/// ```
/// use clewline_content::passages;
/// let found = passages("# Maps\n\n## Put\n\nAdds a key.\n");
/// assert_eq!(found[0].text(), "Maps\n\n## Put\n\nAdds a key.");
/// ```
pub fn passages(markdown: &str) -> Vec<PagePassage> {
    let mut cutter = Cutter {
        markdown,
        open: None,
        done: Vec::new(),
    };
    for section in sections(markdown) {
        cutter.take(&section);
    }
    cutter.close();
    cutter.done
}

fn sections(markdown: &str) -> Vec<MarkdownSection> {
    let mut sections = vec![MarkdownSection {
        path: Vec::new(),
        blocks: Vec::new(),
    }];
    let mut path: Vec<(u8, String)> = Vec::new();
    for block in blocks(markdown) {
        if let BlockShape::Heading(level) = block.shape {
            let words =
                heading(markdown[block.range.clone()].trim_end()).map_or("", |(_, words)| words);
            let words = words.chars().take(LONGEST_HEADING).collect();
            path.retain(|(above, _)| *above < level);
            path.push((level, words));
            sections.push(MarkdownSection {
                path: path.clone(),
                blocks: Vec::new(),
            });
        }
        if let Some(section) = sections.last_mut() {
            section.blocks.push(block);
        }
    }
    sections
}

/// A passage that may take up more.
struct OpenPassage {
    path: Vec<(u8, String)>,
    range: Range<usize>,
}

struct Cutter<'a> {
    markdown: &'a str,
    open: Option<OpenPassage>,
    done: Vec<PagePassage>,
}

impl Cutter<'_> {
    fn take(&mut self, section: &MarkdownSection) {
        let (Some(first), Some(last)) = (section.blocks.first(), section.blocks.last()) else {
            return;
        };
        let range = first.range.start..last.range.end;
        let length = self.length(&range);
        if let Some(open) = &mut self.open {
            let before = self.markdown[open.range.clone()].chars().count();
            if before < LEAST_PASSAGE && before + length <= MOST_PASSAGE {
                open.range.end = range.end;
                let shared = open
                    .path
                    .iter()
                    .zip(&section.path)
                    .take_while(|(a, b)| a == b);
                let shared = shared.count();
                open.path.truncate(shared);
                return;
            }
        }
        self.close();
        let open = OpenPassage {
            path: section.path.clone(),
            range,
        };
        if length <= MOST_PASSAGE {
            self.open = Some(open);
            return;
        }
        for range in self.pieces(&section.blocks) {
            let path = open.path.clone();
            self.push(&OpenPassage { path, range });
        }
    }

    fn length(&self, range: &Range<usize>) -> usize {
        self.markdown[range.clone()].chars().count()
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.push(&open);
        }
    }

    fn push(&mut self, open: &OpenPassage) {
        let mut range = open.range.clone();
        let first = self.markdown[range.clone()].lines().next().unwrap_or("");
        // The heading of a section stands in its path; where several sections share a passage, the
        // path has only what they share, and their headings stay in the text.
        let own = heading(first).map(|(level, words)| {
            let words: String = words.chars().take(LONGEST_HEADING).collect();
            (level, words)
        });
        if own.is_some() && open.path.last() == own.as_ref() {
            let text = &self.markdown[range.clone()];
            range.start += text.find('\n').map_or(text.len(), |end| end + 1);
        }
        let text = &self.markdown[range.clone()];
        // The spaces that indent code or a list belong to it.
        let blank: usize = text
            .split_inclusive('\n')
            .take_while(|line| line.trim().is_empty())
            .map(str::len)
            .sum();
        range.start += blank;
        range.end = range.start + self.markdown[range.clone()].trim_end().len();
        if range.is_empty() {
            return;
        }
        let headings = open.path.iter().map(|(_, words)| words.clone());
        self.done.push(PagePassage {
            headings: headings.filter(|words| !words.is_empty()).collect(),
            words: self.markdown[range.clone()].to_owned(),
            range,
        });
    }

    /// A long section in pieces that are no longer than a passage may be.
    fn pieces(&self, blocks: &[MarkdownBlock]) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut room = 0;
        for block in blocks {
            for part in self.parts(block) {
                let length = self.length(&part);
                match pieces.last_mut() {
                    Some(last) if length <= room => {
                        last.end = part.end;
                        room -= length;
                    }
                    _ => {
                        room = MOST_PASSAGE.saturating_sub(length);
                        pieces.push(part);
                    }
                }
            }
        }
        pieces
    }

    /// A block, or what it is cut into because it is too long.
    fn parts(&self, block: &MarkdownBlock) -> Vec<Range<usize>> {
        let most = match block.shape {
            BlockShape::Code | BlockShape::Table => LONGEST_WHOLE,
            _ => MOST_PASSAGE,
        };
        let mut parts = Vec::new();
        let mut rest = block.range.clone();
        while !rest.is_empty() {
            let text = &self.markdown[rest.clone()];
            let Some((most, _)) = text.char_indices().nth(most) else {
                parts.push(rest);
                break;
            };
            let end = rest.start + cut(&text[..most]);
            parts.push(rest.start..end);
            rest.start = end;
        }
        parts
    }
}

/// Where a text that is too long is cut: behind the last line, sentence or word in it.
fn cut(text: &str) -> usize {
    let least = text.len() / 2;
    let behind = |sign: &str| text.rfind(sign).map(|at| at + sign.len());
    ["\n", ". ", "。", " "]
        .iter()
        .filter_map(|sign| behind(sign))
        .find(|end| *end > least)
        .unwrap_or(text.len())
}

/// A heading of a page's Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlineEntry {
    /// Its level, from 1 to 6.
    pub level: u8,
    /// Its words, as Markdown.
    pub words: String,
    /// Where its line begins, in bytes.
    pub at: usize,
}

/// The headings of a page's Markdown in order.
///
/// ```
/// use clewline_content::outline;
/// let found = outline("# Maps\n\nText.\n\n## Put\n");
/// assert_eq!((found[1].level, found[1].words.as_str(), found[1].at), (2, "Put", 15));
/// ```
pub fn outline(markdown: &str) -> Vec<OutlineEntry> {
    let headings = blocks(markdown).into_iter().filter_map(|block| {
        let (level, words) = heading(markdown[block.range.clone()].trim_end())?;
        let is_heading = matches!(block.shape, BlockShape::Heading(_));
        is_heading.then(|| OutlineEntry {
            level,
            words: words.chars().take(LONGEST_HEADING).collect(),
            at: block.range.start,
        })
    });
    headings.collect()
}
