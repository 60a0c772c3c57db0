//! Formulas: where a page holds them, and how each is written.
//!
//! Owns the ways in which pages write formulas (`MathML`, what `KaTeX` and `MathJax` leave in a page,
//! images with TeX as their text, TeX between signs in the text) and the one way in which they are
//! written here: TeX between `$` signs, `$$` where the formula stands on lines of its own. It
//! refuses to know of Markdown. Invariant: a formula is one line, and no word of it is made up
//! beyond the commands of TeX that its elements stand for.

mod mathml;
mod signs;
#[cfg(test)]
mod tests;

use clewline_html::TagAttributes;
use clewline_html::references::decoded_text;

use crate::tag::NodeKind;
use crate::token::any_word;
use crate::tree::{NodeId, Tree};

pub(crate) use signs::{MathPiece, TexUse, pieces};

/// Classes of images whose text is TeX: Sphinx, `MediaWiki`, `WordPress`.
const IMAGE_CLASSES: [&str; 5] = [
    "latex",
    "math",
    "mwe-math-fallback-image-display",
    "mwe-math-fallback-image-inline",
    "tex",
];
/// Classes of what a renderer shows beside the formula itself, so that it would be read twice.
const RENDERING_CLASSES: [&str; 7] = [
    "MJX_Assistive_MathML",
    "MathJax",
    "MathJax_CHTML",
    "MathJax_Display",
    "MathJax_Preview",
    "MathJax_SVG",
    "katex-html",
];
/// The class of what hides a formula from people who see, and has it for those who listen.
const SPOKEN_CLASS: &str = "mwe-math-mathml-";

/// A formula as TeX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Formula {
    tex: String,
    pub(crate) layout: Layout,
}

/// Whether a formula stands in a line or on lines of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Inline,
    Display,
}

impl Formula {
    /// Of TeX as a page has it; nothing if that says nothing.
    pub(crate) fn new(tex: &str, layout: Layout) -> Option<Self> {
        let tex = one_line(tex);
        let tex = unwrapped(&tex);
        // A dollar sign inside would end the formula.
        let is_whole = !tex.is_empty() && !has_bare_dollar(tex);
        is_whole.then(|| Self {
            tex: tex.to_owned(),
            layout,
        })
    }

    /// The formula of an element, if it is one.
    pub(crate) fn from_node(tree: &Tree<'_>, id: NodeId) -> Option<Self> {
        let node = tree.node(id);
        match node.tag {
            NodeKind::Math => of_math(tree, id),
            NodeKind::Script => {
                let text = tree.children(id).next()?;
                Self::from_script(node.attributes, tree.node(text).text)
            }
            NodeKind::Img => Self::from_image(node.attributes),
            _ => None,
        }
    }

    /// TeX in a script, as `MathJax` 2 has it.
    pub(crate) fn from_script(attributes: TagAttributes<'_>, text: &str) -> Option<Self> {
        if !is_tex_script(attributes) {
            return None;
        }
        let kind = attributes.value("type")?;
        Self::new(text, layout_if(kind.contains("mode=display")))
    }

    /// TeX as the text of an image.
    pub(crate) fn from_image(attributes: TagAttributes<'_>) -> Option<Self> {
        if attributes.is_empty() {
            return None;
        }
        let class = attributes.value("class")?;
        // A hidden image stands beside the formula itself.
        let is_hidden = || {
            attributes
                .value("aria-hidden")
                .is_some_and(|it| it == "true")
        };
        if !any_word(&class, |word| IMAGE_CLASSES.contains(&word)) || is_hidden() {
            return None;
        }
        let is_display = any_word(&class, |word| word.ends_with("-display"));
        Self::new(&attributes.value("alt")?, layout_if(is_display))
    }

    /// The formula between its signs.
    pub(crate) fn signed(&self) -> String {
        match self.layout {
            Layout::Inline => self.inline(),
            Layout::Display => format!("$${}$$", self.tex),
        }
    }

    /// The formula between the signs of one that stands in a line.
    pub(crate) fn inline(&self) -> String {
        format!("${}$", self.tex)
    }

    /// The same in a cell of a table, which a bar would end.
    pub(crate) fn in_cell(&self) -> String {
        let tex = self.tex.replace("\\|", "\\Vert ").replace('|', "\\vert ");
        format!("${}$", tex.trim_end())
    }
}

/// Whether a script holds a formula.
pub(crate) fn is_tex_script(attributes: TagAttributes<'_>) -> bool {
    let kind = attributes.value("type");
    kind.is_some_and(|kind| kind.trim_start().starts_with("math/tex"))
}

/// Whether a class is one of a formula's rendering, beside which the formula itself stands.
pub(crate) fn is_rendering(class: &str) -> bool {
    any_word(class, |word| RENDERING_CLASSES.contains(&word))
}

/// Whether a class is one of a formula that is hidden because an image of it is shown.
pub(crate) fn is_spoken(class: &str) -> bool {
    any_word(class, |word| word.starts_with(SPOKEN_CLASS))
}

fn layout_if(is_display: bool) -> Layout {
    if is_display {
        Layout::Display
    } else {
        Layout::Inline
    }
}

fn of_math(tree: &Tree<'_>, id: NodeId) -> Option<Formula> {
    let attributes = tree.node(id).attributes;
    let is = |name, value: &str| attributes.value(name).is_some_and(|it| it == value);
    let layout = layout_if(is("display", "block") || is("mode", "display"));
    let from = |tex: String| Formula::new(&tex, layout);
    let spoken = || attributes.value("alttext").map(String::from);
    annotation(tree, id)
        .and_then(from)
        .or_else(|| spoken().filter(|tex| signs::is_tex(tex)).and_then(from))
        .or_else(|| from(mathml::tex(tree, id)))
        .or_else(|| spoken().and_then(from))
}

/// The TeX that a formula was made of, where it says so.
fn annotation(tree: &Tree<'_>, id: NodeId) -> Option<String> {
    tree.children(id).find_map(|child| {
        let node = tree.node(child);
        let is_tex = || {
            let encoding = node.attributes.value("encoding").unwrap_or_default();
            let encoding = encoding.to_ascii_lowercase();
            encoding.ends_with("tex") || encoding.ends_with("latex")
        };
        match node.tag {
            NodeKind::Annotation if is_tex() => {
                let texts = tree.children(child).map(|text| tree.node(text).text);
                Some(decoded_text(texts.collect::<String>()).into_owned())
            }
            NodeKind::Text | NodeKind::Annotation | NodeKind::AnnotationXml => None,
            _ => annotation(tree, child),
        }
    })
}

/// TeX without its comments and line ends.
fn one_line(tex: &str) -> String {
    let mut line = String::with_capacity(tex.len());
    for part in tex.lines() {
        for word in without_comment(part).split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    line
}

fn without_comment(line: &str) -> &str {
    let comment = line
        .match_indices('%')
        .find(|(at, _)| !line[..*at].ends_with('\\'));
    comment.map_or(line, |(at, _)| &line[..at])
}

/// TeX without the signs or the style around all of it.
fn unwrapped(tex: &str) -> &str {
    const AROUND: [(&str, &str); 6] = [
        ("{\\displaystyle ", "}"),
        ("{\\textstyle ", "}"),
        ("\\(", "\\)"),
        ("\\[", "\\]"),
        ("$$", "$$"),
        ("$", "$"),
    ];
    let inner = AROUND.iter().find_map(|(start, end)| {
        let inner = tex.strip_prefix(start)?.strip_suffix(end)?;
        let closes_early = inner.contains(end) && *end != "}";
        (!closes_early && is_balanced(inner)).then_some(inner)
    });
    inner.unwrap_or(tex).trim()
}

/// Whether no brace closes what was opened before.
fn is_balanced(tex: &str) -> bool {
    let mut open = 0_usize;
    for byte in tex.bytes() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return false,
            b'}' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

fn has_bare_dollar(tex: &str) -> bool {
    tex.match_indices('$')
        .any(|(at, _)| !tex[..at].ends_with('\\'))
}
