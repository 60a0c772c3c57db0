//! A part of a tree as Markdown: `CommonMark` with tables and strikethrough.
//!
//! Owns how each element is written. Lines and escapes are the sheet's. Invariant: the text is
//! at most a few times as long as the page, the recursion as deep as the tree, and no element
//! is copied more than a handful of times: emphasis in emphasis and links in links add nothing.

mod code;
mod sheet;
mod table;
#[cfg(test)]
mod tests;

use clewline_html::references::decoded_text;
use url::Url;

use crate::drawing;
use crate::math::{Formula, Layout, MathPiece, pieces};
use crate::selection::Selection;
use crate::tag::NodeKind;
use crate::tree::{NodeId, Tree};
use sheet::Sheet;

/// Markdown may be so many times as long as its page: absolute links are longer than relative
/// ones, but a page made of short links to long addresses must not fill the memory.
const MOST_GROWTH: usize = 4;
/// Raised texts in raised texts that are marked.
const MOST_RAISED: usize = 3;
/// Room for the shortest of pages.
const LEAST_ROOM: usize = 64 << 10;

/// Markdown, and whether there was room for all of it.
#[derive(Debug)]
pub(crate) struct MarkdownText {
    pub(crate) text: String,
    pub(crate) truncated: bool,
}

/// Writes a selection; `length` is the page's.
pub(crate) fn write(
    tree: &Tree<'_>,
    selection: &Selection,
    base: &Url,
    length: usize,
) -> MarkdownText {
    let mut writer = Writer {
        tree,
        selection,
        base,
        sheet: Sheet::new(length.saturating_mul(MOST_GROWTH).max(LEAST_ROOM)),
        inside: Inside::default(),
    };
    writer.children(selection.root);
    MarkdownText {
        truncated: writer.sheet.truncated,
        text: writer.sheet.finish(),
    }
}

/// The marks that are open already.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each mark is open or not, whatever the others are"
)]
struct Inside {
    link: bool,
    strong: bool,
    emphasis: bool,
    struck: bool,
    code: bool,
    list: bool,
    heading: bool,
    /// How many raised or lowered texts.
    raised: usize,
}

struct Writer<'t, 'a> {
    tree: &'t Tree<'a>,
    selection: &'t Selection,
    base: &'t Url,
    sheet: Sheet,
    inside: Inside,
}

impl Writer<'_, '_> {
    fn children(&mut self, id: NodeId) {
        let tree = self.tree;
        for child in tree.children(id) {
            self.node(child);
        }
    }

    fn node(&mut self, id: NodeId) {
        if self.selection.is_dropped(id) {
            return;
        }
        let tree = self.tree;
        let node = tree.node(id);
        match node.tag {
            NodeKind::Text if self.inside.code => self.span(&decoded_text(node.text)),
            NodeKind::Text => self.words(node.text),
            NodeKind::Math | NodeKind::Script => {
                self.formula(Formula::from_node(tree, id).as_ref());
            }
            NodeKind::Svg => self.drawing(id),
            NodeKind::Sup => self.raised(id, "sup"),
            NodeKind::Sub => self.raised(id, "sub"),
            NodeKind::Br => self.sheet.hard_break(),
            NodeKind::Hr => self.rule(),
            NodeKind::Img => self.image(id),
            NodeKind::A => self.link(id),
            NodeKind::B | NodeKind::Strong => self.marked(id, "**", |inside| &mut inside.strong),
            NodeKind::I | NodeKind::Em => self.marked(id, "*", |inside| &mut inside.emphasis),
            NodeKind::Del | NodeKind::S => self.marked(id, "~~", |inside| &mut inside.struck),
            NodeKind::Code | NodeKind::Tt | NodeKind::Kbd | NodeKind::Samp => self.code_span(id),
            NodeKind::Pre | NodeKind::Xmp => self.code_block(id),
            NodeKind::Ul | NodeKind::Ol | NodeKind::Menu => self.list(id),
            NodeKind::Li => self.item(id, "- "),
            NodeKind::Blockquote => self.block(id, |writer| writer.prefixed(id, "> ", "> ")),
            NodeKind::Dd => self.item(id, ": "),
            NodeKind::Table => self.table(id),
            tag => match tag.heading() {
                Some(level) => self.heading(id, level),
                None if tag.is_block() => self.block(id, |writer| writer.children(id)),
                None => self.children(id),
            },
        }
    }

    fn block(&mut self, id: NodeId, inner: impl FnOnce(&mut Self)) {
        // The definitions of a term follow it at once.
        let lines = if self.tree.node(id).tag == NodeKind::Dt {
            1
        } else {
            2
        };
        self.sheet.gap(2);
        inner(self);
        self.sheet.gap(lines);
    }

    fn prefixed(&mut self, id: NodeId, marker: &str, continuation: &str) {
        self.through(
            |sheet, inner| sheet.prefixed(marker, continuation, inner),
            |writer| {
                writer.children(id);
            },
        );
    }

    fn captured(&mut self, id: NodeId) -> sheet::InlineText {
        self.through(
            |sheet, inner| sheet.captured(inner),
            |writer| writer.children(id),
        )
    }

    /// Lets the sheet run a part of this writer, which needs the sheet itself.
    fn through<R>(
        &mut self,
        outer: impl FnOnce(&mut Sheet, Inner<'_>) -> R,
        inner: impl FnOnce(&mut Self),
    ) -> R {
        let mut sheet = std::mem::replace(&mut self.sheet, Sheet::new(0));
        let answer = outer(
            &mut sheet,
            Box::new(|lent: &mut Sheet| {
                std::mem::swap(&mut self.sheet, lent);
                inner(self);
                std::mem::swap(&mut self.sheet, lent);
            }),
        );
        self.sheet = sheet;
        answer
    }

    fn rule(&mut self) {
        self.sheet.gap(2);
        if !self.sheet.place.inline {
            self.sheet.word("---");
            self.sheet.gap(2);
        }
    }

    fn heading(&mut self, id: NodeId, level: u8) {
        let outer = std::mem::replace(&mut self.inside.heading, true);
        let captured = self.captured(id);
        self.inside.heading = outer;
        if captured.text.is_empty() {
            return;
        }
        self.sheet.gap(2);
        let signs = "######";
        if self.sheet.place.inline {
            self.sheet.word(&captured.text);
        } else {
            let signs = &signs[..usize::from(level).min(signs.len())];
            self.sheet.word(&format!("{signs} {}", captured.text));
        }
        self.sheet.gap(2);
    }

    /// Emphasis, whose marks must touch its words.
    fn marked(&mut self, id: NodeId, mark: &str, flag: fn(&mut Inside) -> &mut bool) {
        if self.selection.holds(id).block || *flag(&mut self.inside) || self.inside.code {
            return self.children(id);
        }
        *flag(&mut self.inside) = true;
        let captured = self.captured(id);
        *flag(&mut self.inside) = false;
        let text = &captured.text;
        let marked = if text.is_empty() {
            String::new()
        } else {
            format!("{mark}{text}{mark}")
        };
        self.put(&captured, &marked);
    }

    fn put(&mut self, captured: &sheet::InlineText, text: &str) {
        if captured.before {
            self.sheet.space();
        }
        self.sheet.word(text);
        if captured.after {
            self.sheet.space();
        }
    }

    fn link(&mut self, id: NodeId) {
        let target = self.tree.node(id).attributes.value("href");
        // A heading that links to itself is a heading.
        let target = target.filter(|target| !(self.inside.heading && target.starts_with('#')));
        let target = target.and_then(|target| self.absolute(&target));
        let Some(target) = target.filter(|_| !self.inside.link) else {
            return self.children(id);
        };
        self.inside.link = true;
        let captured = self.captured(id);
        self.inside.link = false;
        let text = match captured.text.as_str() {
            "" => String::new(),
            text => format!("[{text}]({target})"),
        };
        self.put(&captured, &text);
    }

    /// Text with its character references as written, and the formulas in it.
    fn words(&mut self, raw: &str) {
        let text = decoded_text(raw);
        for piece in pieces(&text, self.tree.tex) {
            match piece {
                MathPiece::Words(words) => self.sheet.text(words),
                MathPiece::Formula(formula) => self.formula(Some(&formula)),
            }
        }
    }

    /// A formula, whose signs are never escaped.
    fn formula(&mut self, formula: Option<&Formula>) {
        let Some(formula) = formula else {
            return;
        };
        let place = self.sheet.place;
        match formula.layout {
            _ if place.cell => self.sheet.word(&formula.in_cell()),
            Layout::Inline => self.sheet.word(&formula.signed()),
            Layout::Display if place.inline => self.sheet.word(&formula.inline()),
            Layout::Display => {
                self.sheet.gap(1);
                self.sheet.word(&formula.signed());
                self.sheet.gap(1);
            }
        }
    }

    /// The trace of a drawing. Its brackets are those of no link, so they stay as they are.
    fn drawing(&mut self, id: NodeId) {
        let Some(trace) = drawing::trace(self.tree, id) else {
            return;
        };
        let inner = trace.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let words = self
            .sheet
            .captured(|sheet| sheet.text(inner.unwrap_or(&trace)));
        self.sheet.space();
        self.sheet.word(&match inner {
            Some(_) => format!("[{}]", words.text),
            None => words.text,
        });
        self.sheet.space();
    }

    /// Raised or lowered text: HTML, since Markdown has no sign for it.
    fn raised(&mut self, id: NodeId, name: &str) {
        if self.inside.code {
            let text = self.plain_raised(id);
            return self.span(&text);
        }
        if self.selection.holds(id).block || self.inside.raised >= MOST_RAISED {
            return self.children(id);
        }
        self.inside.raised += 1;
        let captured = self.captured(id);
        self.inside.raised -= 1;
        let text = match captured.text.as_str() {
            "" => String::new(),
            text => format!("<{name}>{text}</{name}>"),
        };
        self.put(&captured, &text);
    }

    fn image(&mut self, id: NodeId) {
        let attributes = self.tree.node(id).attributes;
        if let Some(formula) = Formula::from_image(attributes) {
            return self.formula(Some(&formula));
        }
        let source = attributes.value("src");
        let Some(source) = source.and_then(|source| self.absolute(&source)) else {
            return;
        };
        let words = attributes.value("alt").unwrap_or_default();
        let words = words.replace(['[', ']', '\n', '|', '`', '\\'], " ");
        self.sheet.word(&format!("![{}]({source})", words.trim()));
    }

    /// An address that can be followed from anywhere; a page's scripts and data are none.
    fn absolute(&self, link: &str) -> Option<String> {
        let url = self.base.join(link.trim()).ok()?;
        let is_address = !matches!(url.scheme(), "javascript" | "data" | "vbscript" | "blob");
        // Signs that would end the link; the parser leaves them as they are.
        let text = url.as_str().replace('(', "%28").replace(')', "%29");
        let text = text.replace(['<', '>', ' ', '|', '\\'], "");
        is_address.then_some(text)
    }

    fn list(&mut self, id: NodeId) {
        let (tree, nested) = (self.tree, self.inside.list);
        let node = tree.node(id);
        let start = node
            .attributes
            .value("start")
            .and_then(|it| it.trim().parse().ok());
        let mut number: u32 = start.unwrap_or(1);
        self.sheet.gap(if nested { 1 } else { 2 });
        self.inside.list = true;
        for child in tree.children(id) {
            match tree.node(child).tag {
                NodeKind::Li if self.selection.is_dropped(child) => {}
                NodeKind::Li if node.tag == NodeKind::Ol => {
                    self.item(child, &format!("{number}. "));
                    number = number.saturating_add(1);
                }
                _ => self.node(child),
            }
        }
        self.inside.list = nested;
        self.sheet.gap(if nested { 1 } else { 2 });
    }

    fn item(&mut self, id: NodeId, marker: &str) {
        self.sheet.gap(1);
        // The continuation is as wide as the marker (CommonMark, 5.2).
        let continuation = " ".repeat(marker.len());
        self.prefixed(id, marker, &continuation);
    }
}

/// What the sheet runs.
type Inner<'i> = Box<dyn FnOnce(&mut Sheet) + 'i>;
