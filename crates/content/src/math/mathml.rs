//! `MathML` as TeX, for formulas that do not say what they were made of.
//!
//! Owns which command stands for which element; signs stay the characters that they are. It
//! refuses to know of annotations. Invariant: only what stands in a token is written, so stray
//! text adds nothing, and the recursion is as deep as the tree.

use clewline_html::references::decoded_text;

use crate::tag::NodeKind;
use crate::tree::{NodeId, Tree};

/// Names that TeX has a command for.
const FUNCTIONS: [&str; 22] = [
    "arg", "cos", "cosh", "cot", "deg", "det", "dim", "exp", "gcd", "inf", "ker", "lim", "ln",
    "log", "max", "min", "mod", "sin", "sinh", "sup", "tan", "tanh",
];

/// The TeX of what is in an element.
pub(super) fn tex(tree: &Tree<'_>, id: NodeId) -> String {
    let mut out = String::new();
    for child in tree.children(id) {
        push(&mut out, &node(tree, child));
    }
    out
}

fn node(tree: &Tree<'_>, id: NodeId) -> String {
    let part = |number| nth(tree, id, number);
    match tree.node(id).tag {
        NodeKind::Mi => name(&token(tree, id)),
        NodeKind::Mn | NodeKind::Mo => escaped(&token(tree, id)),
        NodeKind::Mtext | NodeKind::Ms => match token(tree, id) {
            text if text.trim().is_empty() => String::new(),
            text => format!("\\text{{{}}}", escaped(&text)),
        },
        NodeKind::Mfrac => format!("\\frac{{{}}}{{{}}}", part(0), part(1)),
        NodeKind::Msqrt => format!("\\sqrt{{{}}}", tex(tree, id)),
        NodeKind::Mroot => format!("\\sqrt[{}]{{{}}}", part(1), part(0)),
        NodeKind::Msup => format!("{}^{}", base(&part(0)), group(&part(1))),
        NodeKind::Msub | NodeKind::Munder => format!("{}_{}", base(&part(0)), group(&part(1))),
        NodeKind::Msubsup | NodeKind::Munderover => {
            let (below, above) = (group(&part(1)), group(&part(2)));
            format!("{}_{below}^{above}", base(&part(0)))
        }
        NodeKind::Mover => over(&part(0), &part(1)),
        NodeKind::Mfenced => fenced(tree, id),
        NodeKind::Mtable => table(tree, id),
        NodeKind::Text | NodeKind::Annotation | NodeKind::AnnotationXml | NodeKind::Mphantom => {
            String::new()
        }
        _ => tex(tree, id),
    }
}

/// The elements in an element; text between them means nothing.
fn parts(tree: &Tree<'_>, id: NodeId) -> impl Iterator<Item = NodeId> {
    tree.children(id)
        .filter(|child| tree.node(*child).tag != NodeKind::Text)
}

fn nth(tree: &Tree<'_>, id: NodeId, number: usize) -> String {
    let part = parts(tree, id).nth(number);
    part.map(|part| node(tree, part)).unwrap_or_default()
}

/// The text of a token without what nobody sees.
fn token(tree: &Tree<'_>, id: NodeId) -> String {
    let mut text = String::new();
    for child in tree.children(id) {
        let node = tree.node(child);
        if node.tag == NodeKind::Text {
            text.push_str(&decoded_text(node.text));
        } else {
            text.push_str(&token(tree, child));
        }
    }
    let is_seen = |c: &char| !matches!(c, '\u{200b}' | '\u{2061}'..='\u{2064}' | '\u{feff}');
    let text: String = text.chars().filter(is_seen).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn name(text: &str) -> String {
    if FUNCTIONS.contains(&text) {
        return format!("\\{text}");
    }
    let is_word = text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_word {
        return format!("\\mathrm{{{text}}}");
    }
    escaped(text)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => out.extend(['\\', character]),
            '\\' => out.push('\u{2216}'),
            '^' => out.push_str("\\^{}"),
            _ => out.push(character),
        }
    }
    out
}

/// Joins two pieces; a command must not run into a letter.
fn push(out: &mut String, piece: &str) {
    let ends_in_command = || {
        let letters = out.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        letters.len() < out.len() && letters.ends_with('\\')
    };
    if piece.starts_with(|c: char| c.is_ascii_alphanumeric()) && ends_in_command() {
        out.push(' ');
    }
    out.push_str(piece);
}

fn is_single(tex: &str) -> bool {
    tex.chars().nth(1).is_none() && !tex.is_empty()
}

/// What an index is put to.
fn base(tex: &str) -> String {
    let is_command = tex
        .strip_prefix('\\')
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let is_number = !tex.is_empty() && tex.bytes().all(|byte| byte.is_ascii_digit());
    if is_single(tex) || is_command || is_number {
        tex.to_owned()
    } else {
        format!("{{{tex}}}")
    }
}

fn group(tex: &str) -> String {
    if is_single(tex) {
        tex.to_owned()
    } else {
        format!("{{{tex}}}")
    }
}

fn over(inner: &str, above: &str) -> String {
    let accent = match above {
        "¯" | "‾" | "\u{304}" | "―" => "overline",
        "\\^{}" | "ˆ" | "\u{302}" => "hat",
        "→" | "\u{20d7}" => "vec",
        "~" | "˜" | "\u{303}" => "tilde",
        "˙" | "\u{307}" => "dot",
        _ => return format!("{}^{}", base(inner), group(above)),
    };
    format!("\\{accent}{{{inner}}}")
}

fn fenced(tree: &Tree<'_>, id: NodeId) -> String {
    let attributes = tree.node(id).attributes;
    let sign = |name, default: &str| {
        let sign = attributes.value(name);
        escaped(sign.as_deref().unwrap_or(default).trim())
    };
    let separator = sign("separators", ",");
    let separator = separator.chars().next().map(String::from);
    let inner: Vec<_> = parts(tree, id).map(|part| node(tree, part)).collect();
    let inner = inner.join(&separator.unwrap_or_default());
    format!("{}{inner}{}", sign("open", "("), sign("close", ")"))
}

fn table(tree: &Tree<'_>, id: NodeId) -> String {
    let row = |row: NodeId| {
        let cells = parts(tree, row).filter(|cell| tree.node(*cell).tag == NodeKind::Mtd);
        let cells: Vec<_> = cells.map(|cell| tex(tree, cell)).collect();
        cells.join(" & ")
    };
    let rows = parts(tree, id).filter(|part| tree.node(*part).tag == NodeKind::Mtr);
    let rows: Vec<_> = rows.map(row).filter(|row| !row.is_empty()).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("\\begin{{matrix}} {} \\end{{matrix}}", rows.join(" \\\\ "))
}
