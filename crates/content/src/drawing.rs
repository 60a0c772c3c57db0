//! Drawings in a page (SVG): the trace that each leaves in its text.
//!
//! Owns what is said of a drawing, and which one is only an icon. A drawing that has a name says
//! it; one without is told of as a diagram, unless it is as small as an icon or called one. It
//! refuses to know how text is written. Invariant: at most one word that the page does not have.

use clewline_html::TagAttributes;
use clewline_html::references::decoded_text;

use crate::tag::NodeKind;
use crate::token::any_word;
use crate::tree::{NodeId, Tree};

/// Drawings up to this width and height are icons.
const LARGEST_ICON: f64 = 64.0;
/// Characters that are kept of a name.
const LONGEST_LABEL: usize = 300;

/// What is said of a drawing; nothing of one that is hidden or that only decorates.
pub(crate) fn trace(tree: &Tree<'_>, id: NodeId) -> Option<String> {
    let attributes = tree.node(id).attributes;
    if is_silent(attributes) {
        return None;
    }
    let is_icon = is_icon(tree, id);
    match label(tree, id) {
        Some(label) if is_icon => Some(label),
        Some(label) => Some(format!("[diagram: {label}]")),
        None if is_icon => None,
        None => Some("[diagram]".to_owned()),
    }
}

fn is_silent(attributes: TagAttributes<'_>) -> bool {
    let is = |name, values: &[&str]| {
        let value = attributes.value(name);
        value.is_some_and(|value| values.contains(&value.trim()))
    };
    is("aria-hidden", &["true"]) || is("role", &["presentation", "none"])
}

/// The name that a drawing has, as it is read to people who do not see it.
fn label(tree: &Tree<'_>, id: NodeId) -> Option<String> {
    let said = |tag| {
        let element = tree
            .children(id)
            .find(|child| tree.node(*child).tag == tag)?;
        let texts = tree.children(element).map(|text| tree.node(text).text);
        tidy(&decoded_text(texts.collect::<String>()))
    };
    let named = tree.node(id).attributes.value("aria-label");
    named
        .and_then(|label| tidy(&label))
        .or_else(|| said(NodeKind::Title))
        .or_else(|| said(NodeKind::Desc))
}

/// One line without brackets, which are those of the trace.
fn tidy(text: &str) -> Option<String> {
    let text: String = text.chars().take(LONGEST_LABEL).collect();
    let text = text.replace(['[', ']'], " ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(line).filter(|line| !line.is_empty())
}

fn is_icon(tree: &Tree<'_>, id: NodeId) -> bool {
    let attributes = tree.node(id).attributes;
    let class = attributes.value("class").unwrap_or_default();
    if any_word(&class, |word| word.to_ascii_lowercase().contains("icon")) {
        return true;
    }
    if let Some((width, height)) = size(attributes) {
        return width <= LARGEST_ICON && height <= LARGEST_ICON;
    }
    // A drawing that is kept elsewhere and used again and again.
    let mut parts = tree.children(id).map(|part| tree.node(part).tag);
    let is_used = |tag| {
        matches!(
            tag,
            NodeKind::Use | NodeKind::Text | NodeKind::Title | NodeKind::Desc
        )
    };
    let is_empty = tree.children(id).next().is_none();
    is_empty || parts.all(is_used)
}

/// Width and height, in pixels or in units of the drawing.
fn size(attributes: TagAttributes<'_>) -> Option<(f64, f64)> {
    let length = |name| {
        let value = attributes.value(name)?;
        match value.trim().strip_suffix("em") {
            Some(value) => value.trim().parse::<f64>().ok().map(|em| em * 16.0),
            None => value.trim().trim_end_matches("px").parse().ok(),
        }
    };
    if let (Some(width), Some(height)) = (length("width"), length("height")) {
        return Some((width, height));
    }
    let view = attributes.value("viewBox")?;
    let mut numbers = view
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .skip(2);
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{ContentLimits, Deadline};

    #[test]
    fn drawings_leave_a_trace_and_icons_do_not() {
        for (svg, expected) in [
            (
                "<svg viewBox='0 0 400 300'><path/></svg>",
                Some("[diagram]"),
            ),
            ("<svg width=640 height=40><rect/></svg>", Some("[diagram]")),
            ("<svg><circle r=5></circle></svg>", Some("[diagram]")),
            (
                "<svg role=img><title>How a [page]\n flows &amp; ends</title><path/></svg>",
                Some("[diagram: How a page flows & ends]"),
            ),
            (
                "<svg><desc>Flow</desc><path/></svg>",
                Some("[diagram: Flow]"),
            ),
            (
                "<svg aria-label='By label'><title>T</title><path/></svg>",
                Some("[diagram: By label]"),
            ),
            (
                "<svg width=16 height=16><title>Home</title></svg>",
                Some("Home"),
            ),
            ("<svg width=1em height=1em><path/></svg>", None),
            ("<svg viewBox='0,0,24,24'><path/></svg>", None),
            ("<svg class='octicon big-Icon'><path/></svg>", None),
            ("<svg> <use href='#x'/> </svg>", None),
            ("<svg></svg>", None),
            (
                "<svg aria-hidden=true width=900 height=900><title>x</title></svg>",
                None,
            ),
            ("<svg role=presentation><title>x</title><path/></svg>", None),
        ] {
            let limits = ContentLimits::default();
            let tree = Tree::from_html(svg, &limits, &mut Deadline::start(&limits)).unwrap();
            let drawing = tree.children(NodeId::ROOT).next().unwrap();
            assert_eq!(trace(&tree, drawing).as_deref(), expected, "{svg}");
        }
    }
}
