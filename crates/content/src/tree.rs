//! A page as a tree, as far as reading needs it.
//!
//! Owns which element ends where when its end tag is missing, early or stray. Far from all of
//! HTML's rules: nothing is moved (no foster parenting, no adoption agency), so a node never
//! costs more than its tag. It refuses to know what is worth reading. Invariant: nodes lie in
//! document order, a parent before its children; depth and count stay below the limits.

use clewline_html::TagAttributes;

use crate::limits::{ContentLimits, Deadline, Refusal};
use crate::math::TexUse;
use crate::tag::NodeKind;
use crate::token::{Scanner, Token};

/// A place in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The node that holds everything.
    pub(crate) const ROOT: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An element or a text.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) tag: NodeKind,
    pub(crate) attributes: TagAttributes<'a>,
    /// Of a text, with its character references as written.
    pub(crate) text: &'a str,
    pub(crate) parent: NodeId,
    first: Option<NodeId>,
    last: Option<NodeId>,
    next: Option<NodeId>,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    /// Whether its texts are known to hold TeX.
    pub(crate) tex: TexUse,
}

impl<'a> Tree<'a> {
    /// Builds the tree of a page, within the limits.
    pub(crate) fn from_html(
        html: &'a str,
        limits: &ContentLimits,
        deadline: &mut Deadline,
    ) -> Result<Self, Refusal> {
        let mut builder = Builder {
            tree: Self {
                nodes: Vec::new(),
                tex: TexUse::from_page(html),
            },
            open: vec![NodeId::ROOT],
            limits,
        };
        builder.tree.nodes.push(Node {
            tag: NodeKind::Html,
            attributes: TagAttributes::default(),
            text: "",
            parent: NodeId::ROOT,
            first: None,
            last: None,
            next: None,
        });
        for token in Scanner::new(html) {
            deadline.step()?;
            builder.take(token)?;
        }
        Ok(builder.tree)
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.index()]
    }

    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All nodes, a parent before its children.
    pub(crate) fn ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.node(id).first, |child| self.node(*child).next)
    }
}

struct Builder<'a, 'l> {
    tree: Tree<'a>,
    /// From the root to the innermost open element.
    open: Vec<NodeId>,
    limits: &'l ContentLimits,
}

impl<'a> Builder<'a, '_> {
    fn take(&mut self, token: Token<'a>) -> Result<(), Refusal> {
        match token {
            Token::Text(text) | Token::Raw(_, text) => {
                self.append(NodeKind::Text, TagAttributes::default(), text)?;
            }
            Token::Close(tag) => self.close(tag),
            // What they say about the page is in the metadata; as nodes they would hold it all.
            Token::Open(NodeKind::Html | NodeKind::Body, _) => {}
            Token::Open(tag, attributes) => {
                self.end_before(tag);
                let id = self.append(tag, attributes, "")?;
                if tag.is_void() || (attributes.is_self_closing() && self.is_foreign(tag)) {
                    return Ok(());
                }
                if self.open.len() >= self.limits.deepest {
                    let deepest = self.limits.deepest;
                    return Err(Refusal::TooDeep { deepest });
                }
                self.open.push(id);
            }
        }
        Ok(())
    }

    /// Whether an element is of SVG or `MathML`, where a slash ends a tag.
    fn is_foreign(&self, tag: NodeKind) -> bool {
        let is_root = |tag| matches!(tag, NodeKind::Svg | NodeKind::Math);
        is_root(tag) || self.open.iter().any(|id| is_root(self.tree.node(*id).tag))
    }

    fn append(
        &mut self,
        tag: NodeKind,
        attributes: TagAttributes<'a>,
        text: &'a str,
    ) -> Result<NodeId, Refusal> {
        let most = self.limits.most_nodes.min(u32::MAX as usize);
        if self.tree.len() >= most {
            return Err(Refusal::TooManyNodes { most });
        }
        let parent = self.open.last().copied().unwrap_or(NodeId::ROOT);
        let id = NodeId(self.tree.len() as u32);
        self.tree.nodes.push(Node {
            tag,
            attributes,
            text,
            parent,
            first: None,
            last: None,
            next: None,
        });
        let before = self.tree.nodes[parent.index()].last.replace(id);
        match before {
            Some(before) => self.tree.nodes[before.index()].next = Some(id),
            None => self.tree.nodes[parent.index()].first = Some(id),
        }
        Ok(id)
    }

    /// Ends what this element ends by beginning (HTML, 13.1.2.4: optional tags).
    fn end_before(&mut self, tag: NodeKind) {
        match tag {
            NodeKind::Li => self.end_one_of(
                &[NodeKind::Li],
                &[NodeKind::Ul, NodeKind::Ol, NodeKind::Menu],
            ),
            NodeKind::Dt | NodeKind::Dd => {
                self.end_one_of(&[NodeKind::Dt, NodeKind::Dd], &[NodeKind::Dl]);
            }
            NodeKind::Option | NodeKind::Optgroup => {
                self.end_one_of(&[NodeKind::Option], &[NodeKind::Select]);
            }
            NodeKind::Td | NodeKind::Th => {
                self.end_one_of(&[NodeKind::Td, NodeKind::Th], &[NodeKind::Table]);
            }
            NodeKind::Tr => self.end_one_of(&[NodeKind::Tr], &[NodeKind::Table]),
            NodeKind::Thead | NodeKind::Tbody | NodeKind::Tfoot => {
                self.end_one_of(
                    &[NodeKind::Thead, NodeKind::Tbody, NodeKind::Tfoot],
                    &[NodeKind::Table],
                );
            }
            NodeKind::A => self.end_one_of(&[NodeKind::A], &[]),
            // The head's end tag may be missing as well.
            _ if tag.is_block() && tag != NodeKind::Head => {
                self.end_one_of(&[NodeKind::Head], &[]);
            }
            _ => {}
        }
        if tag.ends_paragraph() {
            self.end_one_of(&[NodeKind::P], &[NodeKind::Button]);
        }
    }

    /// Ends the innermost of these, unless a fence or a boundary is nearer.
    fn end_one_of(&mut self, tags: &[NodeKind], fences: &[NodeKind]) {
        for depth in (1..self.open.len()).rev() {
            let open = self.tree.node(self.open[depth]).tag;
            if tags.contains(&open) {
                self.open.truncate(depth);
                return;
            }
            if fences.contains(&open) || (open.is_boundary() && !is_inside_row(tags, open)) {
                return;
            }
        }
    }

    fn close(&mut self, tag: NodeKind) {
        if matches!(tag, NodeKind::Other) {
            return self.close_inline(tag);
        }
        if !tag.is_block() && !tag.is_boundary() {
            return self.close_inline(tag);
        }
        self.end_one_of(&[tag], &[]);
    }

    /// The end tag of an inline element does not end the blocks inside it.
    fn close_inline(&mut self, tag: NodeKind) {
        for depth in (1..self.open.len()).rev() {
            let open = self.tree.node(self.open[depth]).tag;
            if open == tag {
                self.open.truncate(depth);
                return;
            }
            if open.is_block() {
                return;
            }
        }
    }
}

/// Cells fence off what is in them, but not the parts of their own table.
fn is_inside_row(tags: &[NodeKind], open: NodeKind) -> bool {
    let parts = [
        NodeKind::Tr,
        NodeKind::Thead,
        NodeKind::Tbody,
        NodeKind::Tfoot,
        NodeKind::Table,
        NodeKind::Td,
        NodeKind::Th,
    ];
    matches!(open, NodeKind::Td | NodeKind::Th | NodeKind::Caption)
        && tags.iter().all(|tag| parts.contains(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(tree: &Tree<'_>, id: NodeId) -> String {
        let node = tree.node(id);
        if node.tag == NodeKind::Text {
            return node.text.to_owned();
        }
        let children: Vec<_> = tree.children(id).map(|child| shape(tree, child)).collect();
        format!("{:?}[{}]", node.tag, children.join(" "))
    }

    fn read(html: &str, limits: &ContentLimits) -> Result<String, Refusal> {
        let tree = Tree::from_html(html, limits, &mut Deadline::start(limits))?;
        Ok(shape(&tree, NodeId::ROOT))
    }

    #[test]
    fn missing_and_stray_end_tags_are_understood() {
        for (html, expected) in [
            ("<p>a<p>b", "P[a] P[b]"),
            ("<p>a<div>b</div>c", "P[a] Div[b] c"),
            (
                "<ul><li>a<li>b<ul><li>c</ul></ul>d",
                "Ul[Li[a] Li[b Ul[Li[c]]]] d",
            ),
            ("<dl><dt>a<dd>b<dt>c</dl>", "Dl[Dt[a] Dd[b] Dt[c]]"),
            (
                "<table><tr><td>a<td>b<tr><td>c</table>d",
                "Table[Tr[Td[a] Td[b]] Tr[Td[c]]] d",
            ),
            (
                "<td><table><tr><td>a</td></table>b",
                "Td[Table[Tr[Td[a]]] b]",
            ),
            ("</div>a</p>b", "a b"),
            ("<b>a<p>b</b>c", "B[a P[b c]]"),
            ("<a>x<a>y", "A[x] A[y]"),
            ("<div><br>a</br></div>", "Div[Br[] a]"),
            ("<head><title>t</title><p>a", "Head[Title[t]] P[a]"),
            ("<html><body><p>a</body></html>", "P[a]"),
            (
                "<svg><path/><g/></svg><span/>a",
                "Svg[Other[] Other[]] Span[a]",
            ),
            ("<math/>a", "Math[] a"),
        ] {
            let expected = format!("Html[{expected}]");
            assert_eq!(
                read(html, &ContentLimits::default()),
                Ok(expected),
                "{html}"
            );
        }
    }

    #[test]
    fn limits_are_kept_and_named() {
        let limits = ContentLimits {
            deepest: 10,
            most_nodes: 50,
            ..ContentLimits::default()
        };
        let deep = "<div>".repeat(10);
        assert_eq!(read(&deep, &limits), Err(Refusal::TooDeep { deepest: 10 }));
        assert!(read(&"<div>".repeat(9), &limits).is_ok());
        let many = "<br>".repeat(50);
        assert_eq!(
            read(&many, &limits),
            Err(Refusal::TooManyNodes { most: 50 })
        );
        assert!(read(&"<p>".repeat(49), &limits).is_ok());
    }
}
