//! From a page to items.
//!
//! Owns the tree that selectors need, and how values are taken, cleaned and converted. The tree
//! is html5ever's, which is quadratic in nesting and may make many elements of few (open
//! formatting elements are opened again in every paragraph): so the depth is checked before,
//! and time and nodes after every few kilobytes. Invariant: what is taken of a page is at most
//! a few times as long as the page.

use std::collections::BTreeMap;

use dom_query::{Document, NodeRef, Selection};
use html5ever::tendril::TendrilSink as _;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use serde::Serialize;
use serde_json::{Map, Number, Value};
use url::Url;

use super::{Field, ItemRules, Kind, Take};
use crate::date::normalised_date;
use crate::limits::{ContentLimits, Deadline, Refusal};
use crate::tree::Tree;

/// Bytes between two looks at what the parser has made.
const PIECE: usize = 4 << 10;
/// What is taken may be so many times as long as the page, since elements may overlap.
const MOST_GROWTH: usize = 4;
/// Room for the shortest of pages.
const LEAST_ROOM: usize = 64 << 10;
/// What a value costs beside its text.
const VALUE_COST: usize = 16;

/// What rules found on a page.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Items {
    /// By the name of the rule.
    pub items: BTreeMap<String, Value>,
    /// Required fields that were missing or not of their type, and how often.
    pub missing: BTreeMap<String, u64>,
    /// Whether something was left out, because it became much longer than the page.
    pub truncated: bool,
}

impl ItemRules {
    /// Applies those rules whose URL patterns match.
    pub fn items(&self, html: &str, url: &Url, limits: &ContentLimits) -> Result<Items, Refusal> {
        let is_meant = |patterns: &[regex::Regex]| {
            patterns.is_empty() || patterns.iter().any(|it| it.is_match(url.as_str()))
        };
        let mut rules = self
            .rules
            .iter()
            .filter(|rule| is_meant(&rule.patterns))
            .peekable();
        if rules.peek().is_none() {
            return Ok(Items::default());
        }
        let mut deadline = Deadline::start(limits);
        let document = parsed(html, limits, &mut deadline)?;
        let base = document.base_uri().and_then(|base| url.join(&base).ok());
        let mut taker = Taker {
            base: base.unwrap_or_else(|| url.clone()),
            deadline,
            room: html.len().saturating_mul(MOST_GROWTH).max(LEAST_ROOM),
            found: Items::default(),
        };
        for rule in rules {
            let value = taker.field(document.root(), &rule.field, &rule.field.name)?;
            taker.found.items.insert(rule.field.name.clone(), value);
        }
        Ok(taker.found)
    }
}

pub(super) fn parsed(
    html: &str,
    limits: &ContentLimits,
    deadline: &mut Deadline,
) -> Result<Document, Refusal> {
    if html.len() > limits.most_bytes {
        let most = limits.most_bytes;
        return Err(Refusal::TooLong { most });
    }
    Tree::from_html(html, limits, deadline)?;
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(Document::default(), options);
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        parser.process(piece.into());
        rest = after;
        deadline.look()?;
        let made = parser.tokenizer.sink.sink.tree.len();
        if made > limits.most_nodes {
            let most = limits.most_nodes;
            return Err(Refusal::TooManyNodes { most });
        }
    }
    Ok(parser.finish())
}

struct Taker {
    base: Url,
    deadline: Deadline,
    /// Bytes that may still be taken.
    room: usize,
    found: Items,
}

impl Taker {
    /// What a field is within a node; null or an empty list if it is not there.
    fn field(&mut self, node: NodeRef<'_>, field: &Field, path: &str) -> Result<Value, Refusal> {
        let mut values = Vec::new();
        match &field.matcher {
            None => values.extend(self.value(node, field, path)?),
            Some(matcher) => {
                let here = Selection::from(node);
                let places = if field.is_list {
                    here.select_matcher(matcher)
                } else {
                    here.select_single_matcher(matcher)
                };
                for place in places.nodes() {
                    self.deadline.look()?;
                    values.extend(self.value(*place, field, path)?);
                    if self.found.truncated {
                        break;
                    }
                }
            }
        }
        if values.is_empty() && field.is_required {
            *self.found.missing.entry(path.to_owned()).or_default() += 1;
        }
        Ok(if field.is_list {
            Value::Array(values)
        } else {
            values.pop().unwrap_or_default()
        })
    }

    fn value(
        &mut self,
        node: NodeRef<'_>,
        field: &Field,
        path: &str,
    ) -> Result<Option<Value>, Refusal> {
        if field.fields.is_empty() {
            let text = match &field.take {
                Take::Text => folded(&node.text()),
                Take::Html => node.inner_html().trim().to_owned(),
                Take::Attribute(name) => match node.attr(name) {
                    Some(value) => value.trim().to_owned(),
                    None => return Ok(None),
                },
            };
            let value = self.converted(cleaned(text, field), field.kind);
            return Ok(value.filter(|value| self.has_room(value)));
        }
        let mut item = Map::new();
        for inner in &field.fields {
            let path = format!("{path}.{}", inner.name);
            let value = self.field(node, inner, &path)?;
            item.insert(inner.name.clone(), value);
        }
        let item = Value::Object(item);
        Ok(Some(item).filter(|item| self.has_room(item)))
    }

    fn converted(&self, text: String, kind: Kind) -> Option<Value> {
        match kind {
            _ if text.is_empty() => None,
            Kind::String => Some(Value::String(text)),
            Kind::Number => number(&text).map(Value::Number),
            Kind::Date => normalised_date(&text).map(Value::String),
            Kind::Url => self
                .base
                .join(&text)
                .ok()
                .map(|url| Value::String(url.into())),
        }
    }

    fn has_room(&mut self, value: &Value) -> bool {
        // What is inside an item was counted when it was taken.
        let cost = VALUE_COST + value.as_str().map_or(0, str::len);
        let has_room = cost <= self.room;
        self.room = self.room.saturating_sub(cost);
        self.found.truncated |= !has_room;
        has_room
    }
}

pub(super) fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cleaned(text: String, field: &Field) -> String {
    let clean = |text: String, cleaning: &super::Cleaning| {
        let replaced = cleaning.find.replace_all(&text, cleaning.replace.as_str());
        replaced.trim().to_owned()
    };
    field.clean.iter().fold(text, clean)
}

/// A number with or without separators of thousands: `1,234.5`, `-7`, `1 000`
fn number(text: &str) -> Option<Number> {
    let digits: String = text
        .chars()
        .filter(|c| !matches!(c, ',' | '_' | '\'') && !c.is_whitespace())
        .collect();
    if !digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
    {
        return None;
    }
    match digits.parse::<i64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => Number::from_f64(digits.parse().ok()?),
    }
}
