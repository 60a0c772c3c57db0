//! Code: spans, blocks, and the language of a block.
//!
//! Owns how long a fence must be and where pages name a language. Invariant: what stands in
//! code is never escaped, and its fence never occurs in it.

use clewline_html::TagAttributes;
use clewline_html::references::decoded_text;

use super::Writer;
use crate::math::Formula;
use crate::raised::raised;
use crate::tag::NodeKind;
use crate::tree::NodeId;

/// Elements around a block that may name its language.
const NAMING_ANCESTORS: usize = 2;
/// The longest name of a language.
const LONGEST_LANGUAGE: usize = 20;
/// What stands before the language in a class.
const LANGUAGE_PREFIXES: [&str; 4] = ["language-", "lang-", "highlight-source-", "highlight-"];

impl Writer<'_, '_> {
    pub(super) fn code_span(&mut self, id: NodeId) {
        let holds = self.selection.holds(id);
        if holds.block || self.inside.code {
            return self.children(id);
        }
        if holds.link {
            // A link cannot stand in code, but code can in a link.
            self.inside.code = true;
            self.children(id);
            self.inside.code = false;
            return;
        }
        let mut text = String::new();
        self.gather(id, &mut text);
        self.span(&text);
    }

    /// Text in code.
    pub(super) fn span(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.sheet.space();
        }
        let words: Vec<_> = text.split_whitespace().collect();
        let mut code = words.join(" ");
        if self.sheet.place.cell {
            code = code.replace('|', "\\|");
        }
        if !code.is_empty() {
            let fence = "`".repeat(longest_run(&code) + 1);
            let pad = if code.starts_with('`') || code.ends_with('`') {
                " "
            } else {
                ""
            };
            self.sheet.word(&format!("{fence}{pad}{code}{pad}{fence}"));
        }
        if text.ends_with(char::is_whitespace) {
            self.sheet.space();
        }
    }

    pub(super) fn code_block(&mut self, id: NodeId) {
        let mut text = String::new();
        self.gather(id, &mut text);
        if self.sheet.place.inline {
            return self.span(&text);
        }
        // A first line end after the tag is not part of the text (HTML, 13.2.6.4.7).
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.is_empty() {
            return;
        }
        let fence = "`".repeat(longest_run(text).max(2) + 1);
        let language = self.language(id).unwrap_or_default();
        self.sheet.gap(2);
        self.sheet
            .verbatim(&format!("{fence}{language}\n{text}\n{fence}"));
        self.sheet.gap(2);
    }

    /// Raised or lowered text in code, where no tag can stand.
    pub(super) fn plain_raised(&self, id: NodeId) -> String {
        let mut text = String::new();
        self.gather(id, &mut text);
        raised(self.tree.node(id).tag, &text).unwrap_or(text)
    }

    /// The text of an element as it is, without what was dropped.
    pub(super) fn gather(&self, id: NodeId, text: &mut String) {
        for child in self.tree.children(id) {
            let node = self.tree.node(child);
            match node.tag {
                _ if self.selection.is_dropped(child) => {}
                NodeKind::Text => text.push_str(&decoded_text(node.text)),
                NodeKind::Br => text.push('\n'),
                NodeKind::Sup | NodeKind::Sub => text.push_str(&self.plain_raised(child)),
                NodeKind::Math | NodeKind::Script => {
                    let formula = Formula::from_node(self.tree, child);
                    text.extend(formula.map(|formula| formula.inline()));
                }
                NodeKind::Svg => {}
                _ => self.gather(child, text),
            }
        }
    }

    /// The language that the block, its code or an element just around it names.
    fn language(&self, id: NodeId) -> Option<String> {
        let inner = self.tree.children(id).next();
        let inner = inner.filter(|child| self.tree.node(*child).tag == NodeKind::Code);
        let outer = std::iter::successors(Some(id), |id| Some(self.tree.node(*id).parent));
        let mut places = inner.into_iter().chain(outer.take(NAMING_ANCESTORS + 1));
        places.find_map(|place| named_language(self.tree.node(place).attributes))
    }
}

fn named_language(attributes: TagAttributes<'_>) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let class = attributes.value("class").unwrap_or_default();
    let by_prefix = |word: &str| {
        let prefixed = |prefix: &&str| word.strip_prefix(prefix).map(str::to_owned);
        LANGUAGE_PREFIXES.iter().find_map(prefixed)
    };
    let mut words = class.split_ascii_whitespace();
    let found = words.clone().find_map(by_prefix).or_else(|| {
        let names_next = |word: &&str| matches!(*word, "sourceCode" | "brush:" | "src");
        words.find(names_next)?;
        words
            .next()
            .map(|word| word.trim_end_matches(';').to_owned())
    });
    let is_name = |name: &String| {
        let all = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '.' | '_');
        (1..=LONGEST_LANGUAGE).contains(&name.len()) && name.chars().all(all)
    };
    // Sphinx writes these where no language was named.
    let says_nothing = |name: &String| matches!(name.as_str(), "default" | "none" | "text");
    found.filter(is_name).filter(|name| !says_nothing(name))
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}
