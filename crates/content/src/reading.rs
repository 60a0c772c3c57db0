//! A part of a tree as plain text.
//!
//! Owns the walk; where lines break is [`TextWriter`]'s. Invariant: the depth of the recursion
//! is the tree's, which is limited.

use crate::drawing;
use crate::math::Formula;
use crate::selection::Selection;
use crate::tag::NodeKind;
use crate::text::TextWriter;
use crate::tree::{NodeId, Tree};

/// The words of a selection.
pub(crate) fn text(tree: &Tree<'_>, selection: &Selection) -> String {
    let mut writer = TextWriter::new(tree.tex);
    walk(tree, selection, selection.root, &mut writer);
    writer.finish()
}

fn walk(tree: &Tree<'_>, selection: &Selection, id: NodeId, writer: &mut TextWriter) {
    if selection.is_dropped(id) {
        return;
    }
    let node = tree.node(id);
    match node.tag {
        NodeKind::Text => return writer.text(node.text),
        NodeKind::Math | NodeKind::Script | NodeKind::Img => {
            if let Some(formula) = Formula::from_node(tree, id) {
                writer.formula(&formula);
            }
            return;
        }
        NodeKind::Svg => {
            if let Some(trace) = drawing::trace(tree, id) {
                writer.apart(&trace);
            }
            return;
        }
        _ => {}
    }
    writer.open(node.tag);
    for child in tree.children(id) {
        walk(tree, selection, child, writer);
    }
    writer.close(node.tag);
}
