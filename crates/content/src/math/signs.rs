//! TeX in the text of a page, between signs.
//!
//! Owns which signs begin and end a formula (`\(…\)`, `\[…\]`, `$$…$$`, `$…$`, environments) and
//! when they do not: texts about regular expressions, shells and prices have the same signs.
//! Invariant: time is linear, because the end of a formula is looked for in a window that the
//! next beginning ends; nothing of a text is lost.

use memchr::{memchr2, memmem};

use super::{Formula, Layout};

/// Bytes of the longest formula.
const LONGEST: usize = 4000;
/// Environments of formulas.
const ENVIRONMENTS: [&str; 14] = [
    "align", "alignat", "aligned", "array", "bmatrix", "cases", "eqnarray", "equation", "gather",
    "matrix", "multline", "pmatrix", "split", "vmatrix",
];
/// What pages say that render TeX, in their scripts and styles.
const RENDERERS: [&str; 5] = ["MathJax", "mathjax", "katex", "KaTeX", "math/tex"];

/// Whether a page is known to show TeX as formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TexUse {
    /// It names a renderer.
    Rendered,
    /// Signs alone do not make a formula.
    Unknown,
}

impl TexUse {
    pub(crate) fn from_page(html: &str) -> Self {
        let names = |name: &&str| memmem::find(html.as_bytes(), name.as_bytes()).is_some();
        if RENDERERS.iter().any(names) {
            Self::Rendered
        } else {
            Self::Unknown
        }
    }
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MathPiece<'t> {
    Words(&'t str),
    Formula(Formula),
}

/// The pieces of a text, in order.
pub(crate) fn pieces(text: &str, tex: TexUse) -> MathPieces<'_> {
    MathPieces {
        rest: text,
        next: None,
        tex,
    }
}

/// Yields the pieces of a text.
#[derive(Debug)]
pub(crate) struct MathPieces<'t> {
    rest: &'t str,
    next: Option<Formula>,
    tex: TexUse,
}

impl<'t> Iterator for MathPieces<'t> {
    type Item = MathPiece<'t>;

    fn next(&mut self) -> Option<MathPiece<'t>> {
        if let Some(formula) = self.next.take() {
            return Some(MathPiece::Formula(formula));
        }
        let rest = self.rest;
        if rest.is_empty() {
            return None;
        }
        let mut at = 0;
        while let Some(found) = memchr2(b'\\', b'$', &rest.as_bytes()[at..]) {
            let start = at + found;
            match formula_at(&rest[start..], self.tex) {
                Ok((formula, length)) => {
                    self.rest = &rest[start + length..];
                    if start == 0 {
                        return Some(MathPiece::Formula(formula));
                    }
                    self.next = Some(formula);
                    return Some(MathPiece::Words(&rest[..start]));
                }
                Err(passed) => at = start + passed,
            }
        }
        self.rest = "";
        Some(MathPiece::Words(rest))
    }
}

/// The formula that a text begins with and its length; else how much to pass over.
fn formula_at(text: &str, tex: TexUse) -> Result<(Formula, usize), usize> {
    let found = match text.as_bytes() {
        [b'\\', b'(', ..] => between(text, "\\(", "\\)", Layout::Inline),
        [b'\\', b'[', ..] => between(text, "\\[", "\\]", Layout::Display),
        [b'$', b'$', ..] => between(text, "$$", "$$", Layout::Display),
        [b'$', ..] => return dollars(text),
        [b'\\', b'b', ..] => return environment(text),
        // An escaped sign is no sign.
        [b'\\', next, ..] if next.is_ascii() => return Err(2),
        _ => return Err(1),
    };
    let (inner, length, layout) = found.ok_or(2_usize)?;
    let is_formula = tex == TexUse::Rendered || is_tex(inner) || is_variable(inner);
    let formula = Formula::new(inner, layout).filter(|_| is_formula);
    formula.map(|formula| (formula, length)).ok_or(2)
}

/// What stands between two signs, with the length of all of it.
fn between<'t>(
    text: &'t str,
    start: &str,
    end: &str,
    layout: Layout,
) -> Option<(&'t str, usize, Layout)> {
    let window = window(&text[start.len()..]);
    // Signs that begin again have not begun a formula before.
    let again = memmem::find(window.as_bytes(), start.as_bytes()).filter(|_| start != end);
    let window = &window[..again.unwrap_or(window.len())];
    let length = memmem::find(window.as_bytes(), end.as_bytes())?;
    let inner = &window[..length];
    Some((inner, start.len() + length + end.len(), layout))
}

fn window(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// A formula between single dollar signs, which prices and shells have as well: no space inside
/// the signs, no digit behind them, and TeX between them.
fn dollars(text: &str) -> Result<(Formula, usize), usize> {
    let window = window(&text[1..]);
    let length = window.find('$').ok_or(1_usize)?;
    let inner = &window[..length];
    let is_tight = !inner.starts_with(char::is_whitespace) && !inner.ends_with(char::is_whitespace);
    let digit_follows = text[length + 2..].starts_with(|c: char| c.is_ascii_digit());
    let is_formula = is_tight && !digit_follows && (inner.contains('^') || has_command(inner));
    // The second sign may begin a formula.
    let formula = Formula::new(inner, Layout::Inline).filter(|_| is_formula);
    formula
        .map(|formula| (formula, length + 2))
        .ok_or(length + 1)
}

/// `\begin{align}…\end{align}`, of which the signs are a part.
fn environment(text: &str) -> Result<(Formula, usize), usize> {
    let passed = 2_usize;
    let inner = text.strip_prefix("\\begin{").ok_or(passed)?;
    let is_name = |name: &&&str| inner.strip_prefix(**name).is_some_and(closes_name);
    let name = ENVIRONMENTS.iter().find(is_name).ok_or(passed)?;
    let (start, end) = (format!("\\begin{{{name}"), format!("\\end{{{name}"));
    let (_, length, layout) = between(text, &start, &end, Layout::Display).ok_or(passed)?;
    let rest = &text[length..];
    let closing = rest.find('}').filter(|at| closes_name(&rest[..=*at]));
    let length = length + closing.ok_or(passed)? + 1;
    let formula = Formula::new(&text[..length], layout);
    formula.map(|formula| (formula, length)).ok_or(passed)
}

/// Whether the name of an environment ends here, maybe with the star of its twin.
fn closes_name(rest: &str) -> bool {
    rest.strip_prefix('*').unwrap_or(rest).starts_with('}')
}

/// Whether a text can hardly be anything but TeX.
pub(super) fn is_tex(text: &str) -> bool {
    text.contains(['^', '_', '=']) || has_command(text)
}

/// A command of TeX has two letters at least; `\w` is of regular expressions.
fn has_command(text: &str) -> bool {
    text.match_indices('\\').any(|(at, _)| {
        let name = text.as_bytes()[at + 1..].iter();
        name.take(2)
            .filter(|byte| byte.is_ascii_alphabetic())
            .count()
            == 2
    })
}

fn is_variable(text: &str) -> bool {
    let mut letters = text.trim().chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
}
