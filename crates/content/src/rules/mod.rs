//! Rules that make items of pages.
//!
//! Owns what a rule may say and how it is written (TOML); [`read`](Rules::parse) checks all of
//! it before any page is seen. It refuses to know where rules are kept. Invariant: a rule that
//! was accepted cannot fail on a page: what a page lacks is data, counted per field.

mod apply;
mod parse;
mod select;
#[cfg(test)]
mod tests;

use dom_query::Matcher;
use regex::Regex;
use serde::{Deserialize, Serialize};

pub use apply::Items;
pub use parse::RuleError;
pub use select::{SelectError, SelectedElement, select, without};

/// Rules in the order in which they were written.
#[derive(Debug, Clone)]
pub struct ItemRules {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    /// Of URLs; none means every page.
    patterns: Vec<Regex>,
    field: Field,
}

/// What is taken, from the page or from the item around it.
#[derive(Debug, Clone)]
struct Field {
    name: String,
    /// Where it is; without one the item itself.
    matcher: Option<Matcher>,
    take: Take,
    kind: Kind,
    is_list: bool,
    is_required: bool,
    clean: Vec<Cleaning>,
    /// Fields of its own make it an item.
    fields: Vec<Field>,
}

#[derive(Debug, Clone)]
enum Take {
    Text,
    Html,
    Attribute(String),
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    String,
    Number,
    Date,
    Url,
}

#[derive(Debug, Clone)]
struct Cleaning {
    find: Regex,
    replace: String,
}
