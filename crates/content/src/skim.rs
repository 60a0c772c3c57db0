//! The streaming pass over a page: metadata, plain text, and a count of what a tree would hold.
//!
//! Owns what the stream leaves out, and the small trees of what it cannot read as it comes:
//! formulas and drawings. It refuses to know of the main content. Invariant: no element is held
//! beyond the one that hides what is in it, so that a missing end tag costs little.

use clewline_html::TagAttributes;

use crate::drawing;
use crate::limits::{ContentLimits, Deadline, Refusal};
use crate::math::{self, Formula, TexUse};
use crate::metadata::MetadataCollector;
use crate::tag::NodeKind;
use crate::text::TextWriter;
use crate::token::{Scanner, Token};
use crate::tree::{NodeId, Tree};

/// Reads a page from its beginning to its end.
pub(crate) fn skim(
    html: &str,
    limits: &ContentLimits,
    deadline: &mut Deadline,
) -> Result<(MetadataCollector, String), Refusal> {
    let tex = TexUse::from_page(html);
    let mut pass = Pass {
        collector: MetadataCollector::default(),
        writer: TextWriter::new(tex),
        hidden: None,
        script: TagAttributes::default(),
        tex,
    };
    let mut scanner = Scanner::new(html);
    let mut count = 0;
    loop {
        let start = scanner.position();
        let Some(token) = scanner.next() else {
            return Ok((pass.collector, pass.writer.finish()));
        };
        deadline.step()?;
        count += 1;
        if count > limits.most_nodes {
            let most = limits.most_nodes;
            return Err(Refusal::TooManyNodes { most });
        }
        let ended = pass.hide(token, start);
        pass.take(token);
        if let Some(start) = ended {
            // A formula that is nested too deep is not read; the page may be.
            if let Ok(tree) = Tree::from_html(&html[start..scanner.position()], limits, deadline) {
                pass.foreign(&tree);
            }
        }
    }
}

/// The element that hides what is in it.
#[derive(Debug, Clone, Copy)]
struct Hidden {
    tag: NodeKind,
    /// How many of its name are open.
    open: usize,
    /// Where it begins.
    start: usize,
}

struct Pass<'a> {
    collector: MetadataCollector,
    writer: TextWriter,
    hidden: Option<Hidden>,
    /// The attributes of the last script.
    script: TagAttributes<'a>,
    tex: TexUse,
}

impl<'a> Pass<'a> {
    /// Keeps in mind what hides; answers where a formula or a drawing began that ends here.
    fn hide(&mut self, token: Token<'a>, start: usize) -> Option<usize> {
        let tex = self.tex;
        match (token, &mut self.hidden) {
            (Token::Open(tag, attributes), Some(hidden))
                if tag == hidden.tag && !(is_foreign(tag) && attributes.is_self_closing()) =>
            {
                hidden.open += 1;
            }
            (Token::Close(tag), Some(hidden)) if tag == hidden.tag => {
                hidden.open -= 1;
                if hidden.open == 0 {
                    let start = hidden.start;
                    self.hidden = None;
                    return is_foreign(tag).then_some(start);
                }
            }
            (Token::Open(tag, attributes), None) if hides(tag, attributes, tex) => {
                self.hidden = Some(Hidden {
                    tag,
                    open: 1,
                    start,
                });
            }
            _ => {}
        }
        None
    }

    fn take(&mut self, token: Token<'a>) {
        let hidden = self.hidden.map(|hidden| hidden.tag);
        match token {
            Token::Text(text) if hidden.is_none() => {
                self.collector.text(text);
                self.writer.text(text);
            }
            // The tag of a script is of interest, though its content is not text.
            Token::Open(tag, attributes) if hidden.is_none_or(|tag| tag == NodeKind::Script) => {
                self.open(tag, attributes);
            }
            Token::Close(tag) if hidden.is_none() => {
                self.collector.close(tag);
                self.writer.close(tag);
            }
            // The title of a drawing is not that of the page.
            Token::Raw(tag, text) if hidden.is_none_or(|hidden| hidden == tag) => {
                self.collector.raw(tag, text);
                if tag == NodeKind::Script {
                    let formula = Formula::from_script(self.script, text);
                    self.formula(formula.as_ref());
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, tag: NodeKind, attributes: TagAttributes<'a>) {
        self.collector.open(tag, attributes);
        self.writer.open(tag);
        match tag {
            NodeKind::Script => self.script = attributes,
            NodeKind::Img => self.formula(Formula::from_image(attributes).as_ref()),
            _ => {}
        }
    }

    fn formula(&mut self, formula: Option<&Formula>) {
        if let Some(formula) = formula {
            self.collector.words(&formula.inline());
            self.writer.formula(formula);
        }
    }

    /// Writes what a formula or a drawing says.
    fn foreign(&mut self, tree: &Tree<'_>) {
        for child in tree.children(NodeId::ROOT) {
            match tree.node(child).tag {
                NodeKind::Math => self.formula(Formula::from_node(tree, child).as_ref()),
                NodeKind::Svg => {
                    if let Some(trace) = drawing::trace(tree, child) {
                        self.writer.apart(&trace);
                    }
                }
                _ => {}
            }
        }
    }
}

const fn is_foreign(tag: NodeKind) -> bool {
    matches!(tag, NodeKind::Svg | NodeKind::Math)
}

/// Whether the stream leaves out what is in the element. Others that people do not read have
/// end tags which are often missing: a page must not vanish behind one.
fn hides(tag: NodeKind, attributes: TagAttributes<'_>, tex: TexUse) -> bool {
    match tag {
        NodeKind::Script
        | NodeKind::Style
        | NodeKind::Title
        | NodeKind::Template
        | NodeKind::Noscript => true,
        NodeKind::Svg | NodeKind::Math => !attributes.is_self_closing(),
        NodeKind::Span | NodeKind::Div if tex == TexUse::Rendered => {
            let class = attributes.value("class");
            class.is_some_and(|class| math::is_rendering(&class))
        }
        _ => attributes.begins_raw_text(),
    }
}
