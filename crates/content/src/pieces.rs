//! A page piece by piece: its elements and texts in order, each element with its end.
//!
//! Owns the walk over the tree for whoever compares or measures pages. It refuses to know what the
//! pieces mean. Invariants: every element that begins ends; the content of what holds no words for
//! people (scripts, styles, templates, drawings, embedded objects) is left out, the element is not.

use std::borrow::Cow;

use clewline_html::TagAttributes;
use clewline_html::references::decoded_text;

use crate::limits::{ContentLimits, Deadline, Refusal};
use crate::tag::NodeKind;
use crate::tree::{NodeId, Tree};

/// An element that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageElement<'a> {
    /// Its name in lower case; `other` where the crate has no name for it.
    pub name: &'static str,
    /// It stands on lines of its own.
    pub is_block: bool,
    attributes: TagAttributes<'a>,
}

impl<'a> PageElement<'a> {
    /// The value of an attribute, its character references decoded.
    pub fn value(self, name: &str) -> Option<Cow<'a, str>> {
        self.attributes.value(name)
    }
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagePiece<'a> {
    /// An element begins.
    Open(PageElement<'a>),
    /// The innermost open element ends.
    Close,
    /// Text, its character references decoded.
    Text(Cow<'a, str>),
}

/// Walks over a page. `html` and `body` are no pieces: everything is in them.
///
/// ```
/// use clewline_content::{ContentLimits, PagePiece, each_piece};
/// let mut names = Vec::new();
/// each_piece("<ul><li>A &amp; B<li>C", &ContentLimits::default(), &mut |piece| match piece {
///     PagePiece::Open(element) => names.push(element.name.to_owned()),
///     PagePiece::Close => names.push("/".to_owned()),
///     PagePiece::Text(text) => names.push(text.into_owned()),
/// })?;
/// assert_eq!(names, ["ul", "li", "A & B", "/", "li", "C", "/", "/"]);
/// # Ok::<(), clewline_content::Refusal>(())
/// ```
pub fn each_piece<'a>(
    html: &'a str,
    limits: &ContentLimits,
    take: &mut dyn FnMut(PagePiece<'a>),
) -> Result<(), Refusal> {
    if html.len() > limits.most_bytes {
        let most = limits.most_bytes;
        return Err(Refusal::TooLong { most });
    }
    let mut deadline = Deadline::start(limits);
    let tree = Tree::from_html(html, limits, &mut deadline)?;
    for child in tree.children(NodeId::ROOT) {
        walk(&tree, child, &mut deadline, take)?;
    }
    Ok(())
}

/// The depth of the recursion is that of the tree, which is limited.
fn walk<'a>(
    tree: &Tree<'a>,
    id: NodeId,
    deadline: &mut Deadline,
    take: &mut dyn FnMut(PagePiece<'a>),
) -> Result<(), Refusal> {
    deadline.step()?;
    let node = tree.node(id);
    if node.tag == NodeKind::Text {
        take(PagePiece::Text(decoded_text(node.text)));
        return Ok(());
    }
    take(PagePiece::Open(PageElement {
        name: node.tag.name(),
        is_block: node.tag.is_block(),
        attributes: node.attributes,
    }));
    if !is_opaque(node.tag) {
        for child in tree.children(id) {
            walk(tree, child, deadline, take)?;
        }
    }
    take(PagePiece::Close);
    Ok(())
}

/// Nothing in it is words of the page.
const fn is_opaque(tag: NodeKind) -> bool {
    matches!(
        tag,
        NodeKind::Script
            | NodeKind::Style
            | NodeKind::Template
            | NodeKind::Noscript
            | NodeKind::Iframe
            | NodeKind::Noembed
            | NodeKind::Noframes
            | NodeKind::Canvas
            | NodeKind::Object
            | NodeKind::Audio
            | NodeKind::Video
            | NodeKind::Svg
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_words_is_named_and_left_out() {
        let html = "<title>T &lt;</title><script>let a = '<p>';</script><p>a<svg><text>b</svg>\
            <img alt='x'></p><noscript>no</noscript><my-part>c</my-part>";
        let mut found = Vec::new();
        let limits = ContentLimits::default();
        each_piece(html, &limits, &mut |piece| match piece {
            PagePiece::Open(element) => {
                found.push(format!("({}", element.name));
                found.extend(element.value("alt").map(|alt| format!("[{alt}]")));
            }
            PagePiece::Close => found.push(")".to_owned()),
            PagePiece::Text(text) => found.push(format!(" {text}")),
        })
        .unwrap();
        let expected = "(title T <)(script)(p a(svg)(img[x]))(noscript)(other c)";
        assert_eq!(found.concat(), expected);
        let small = ContentLimits {
            most_bytes: 10,
            ..limits
        };
        let refused = each_piece(html, &small, &mut |_| ());
        assert_eq!(refused, Err(Refusal::TooLong { most: 10 }));
    }
}
