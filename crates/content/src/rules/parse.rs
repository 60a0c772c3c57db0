//! From TOML to rules, or to an error that names the rule.
//!
//! Owns the notation. Invariant: every selector and every expression is compiled here, with the
//! size that the regex crate allows by default, so that matching stays linear.

use std::collections::BTreeSet;

use dom_query::Matcher;
use regex::Regex;
use serde::Deserialize;

use super::{Cleaning, Field, ItemRules, Kind, Rule, Take};

/// Rules in a file.
const MOST_RULES: usize = 1000;
/// Fields in an item.
const MOST_FIELDS: usize = 1000;
/// Items in items.
const DEEPEST: usize = 8;

/// Why rules cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// It is not TOML, or has keys and values that no rule has.
    #[error("line {line}: {message}")]
    Notation {
        /// Where.
        line: usize,
        /// What is wrong, as the parser says it.
        message: String,
    },
    /// There are none.
    #[error("there is no rule: a file of rules has a [[rule]] at least")]
    Empty,
    /// A selector is not one.
    #[error("{name}: select = {selector:?} is no CSS selector, or one that is not supported")]
    Selector {
        /// The rule and the field.
        name: String,
        /// As written.
        selector: String,
    },
    /// A regular expression is not one.
    #[error("{name}: find = {pattern:?} is no regular expression")]
    Expression {
        /// The rule and the field.
        name: String,
        /// As written.
        pattern: String,
        /// What is wrong.
        source: regex::Error,
    },
    /// Something else than text, HTML or an attribute is to be taken.
    #[error("{name}: take = {take:?} is neither text nor html nor an attribute such as @href")]
    Take {
        /// The rule and the field.
        name: String,
        /// As written.
        take: String,
    },
    /// Two have the same name, or one has none.
    #[error("{name}: the name is empty or there is another of that name")]
    Name {
        /// The rule and the field.
        name: String,
    },
    /// A field with fields is told to take or to convert something as well.
    #[error("{name}: has fields of its own, so it has no take, type or clean")]
    Nested {
        /// The rule and the field.
        name: String,
    },
    /// There is more than anyone writes by hand.
    #[error("{name}: there are more than {most} of them, or they are nested too deep")]
    TooMany {
        /// The rule and the field.
        name: String,
        /// The limit.
        most: usize,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRules {
    #[serde(default)]
    rule: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    name: String,
    #[serde(default)]
    urls: Vec<String>,
    select: Option<String>,
    take: Option<String>,
    r#type: Option<Kind>,
    list: Option<bool>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    clean: Vec<WrittenCleaning>,
    #[serde(default)]
    field: Vec<WrittenField>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    name: String,
    select: Option<String>,
    take: Option<String>,
    r#type: Option<Kind>,
    #[serde(default)]
    list: bool,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    clean: Vec<WrittenCleaning>,
    #[serde(default)]
    field: Vec<WrittenField>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCleaning {
    find: String,
    #[serde(default)]
    replace: String,
}

impl ItemRules {
    /// Reads rules.
    ///
    /// ```
    /// use clewline_content::{ContentLimits, ItemRules};
    /// let rules = ItemRules::parse(r#"
    ///     [[rule]]
    ///     name = "books"
    ///     select = "li"
    ///     list = true
    ///     [[rule.field]]
    ///     name = "price"
    ///     select = "b"
    ///     type = "number"
    /// "#)?;
    /// let url = "https://example.com/".parse()?;
    /// let items = rules.items("<li>A <b>3.50</b><li>B", &url, &ContentLimits::default())?;
    /// assert_eq!(items.items["books"], serde_json::json!([{"price": 3.5}, {"price": null}]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let written: WrittenRules = toml::from_str(text).map_err(|it| notation(text, &it))?;
        if written.rule.is_empty() {
            return Err(RuleError::Empty);
        }
        bounded("rule", written.rule.len(), MOST_RULES)?;
        unique("rule", written.rule.iter().map(|rule| rule.name.as_str()))?;
        let rules = written.rule.into_iter().map(rule);
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
        })
    }
}

fn notation(text: &str, error: &toml::de::Error) -> RuleError {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    RuleError::Notation {
        line: before.matches('\n').count() + 1,
        message: error.message().to_owned(),
    }
}

fn rule(written: WrittenRule) -> Result<Rule, RuleError> {
    let patterns = written.urls.iter().map(|glob| pattern(&written.name, glob));
    let patterns = patterns.collect::<Result<_, _>>()?;
    let outer = format!("rule {}", written.name);
    let field = WrittenField {
        name: written.name,
        select: written.select,
        take: written.take,
        r#type: written.r#type,
        list: written.list.unwrap_or_default(),
        required: written.required,
        clean: written.clean,
        field: written.field,
    };
    Ok(Rule {
        patterns,
        field: compile(field, &outer, 0)?,
    })
}

/// A pattern of whole URLs, in which a star is anything.
fn pattern(name: &str, glob: &str) -> Result<Regex, RuleError> {
    let literal: Vec<_> = glob.split('*').map(regex::escape).collect();
    let expression = format!("^{}$", literal.join(".*"));
    Regex::new(&expression).map_err(|source| RuleError::Expression {
        name: format!("rule {name}: urls"),
        pattern: glob.to_owned(),
        source,
    })
}

fn compile(written: WrittenField, name: &str, depth: usize) -> Result<Field, RuleError> {
    if depth > DEEPEST {
        return Err(too_many(name, DEEPEST));
    }
    let is_item = !written.field.is_empty();
    let converts = written.take.is_some() || written.r#type.is_some() || !written.clean.is_empty();
    if is_item && converts {
        let name = name.to_owned();
        return Err(RuleError::Nested { name });
    }
    bounded(name, written.field.len(), MOST_FIELDS)?;
    unique(name, written.field.iter().map(|field| field.name.as_str()))?;
    let inner = |field: WrittenField| {
        let path = format!("{name}, field {}", field.name);
        compile(field, &path, depth + 1)
    };
    let select = written.select;
    Ok(Field {
        matcher: select.map(|select| matcher(name, select)).transpose()?,
        take: take(name, written.take.as_deref())?,
        kind: written.r#type.unwrap_or_default(),
        is_list: written.list,
        is_required: written.required,
        clean: written
            .clean
            .into_iter()
            .map(|cleaning| self::cleaning(name, cleaning))
            .collect::<Result<_, _>>()?,
        fields: written
            .field
            .into_iter()
            .map(inner)
            .collect::<Result<_, _>>()?,
        name: written.name,
    })
}

fn matcher(name: &str, selector: String) -> Result<Matcher, RuleError> {
    let name = name.to_owned();
    Matcher::new(&selector).map_err(|_| RuleError::Selector { name, selector })
}

fn take(name: &str, written: Option<&str>) -> Result<Take, RuleError> {
    match written {
        None | Some("text") => Ok(Take::Text),
        Some("html") => Ok(Take::Html),
        Some(other) => match other.strip_prefix('@') {
            Some(attribute) if !attribute.is_empty() => {
                Ok(Take::Attribute(attribute.to_ascii_lowercase()))
            }
            _ => Err(RuleError::Take {
                name: name.to_owned(),
                take: other.to_owned(),
            }),
        },
    }
}

fn cleaning(name: &str, written: WrittenCleaning) -> Result<Cleaning, RuleError> {
    let find = Regex::new(&written.find).map_err(|source| RuleError::Expression {
        name: name.to_owned(),
        pattern: written.find,
        source,
    })?;
    Ok(Cleaning {
        find,
        replace: written.replace,
    })
}

fn unique<'n>(place: &str, names: impl Iterator<Item = &'n str>) -> Result<(), RuleError> {
    let mut known = BTreeSet::new();
    for name in names {
        if name.trim().is_empty() || !known.insert(name) {
            let name = format!("{place} {name:?}");
            return Err(RuleError::Name { name });
        }
    }
    Ok(())
}

fn bounded(name: &str, count: usize, most: usize) -> Result<(), RuleError> {
    if count > most {
        return Err(too_many(name, most));
    }
    Ok(())
}

fn too_many(name: &str, most: usize) -> RuleError {
    let name = name.to_owned();
    RuleError::TooMany { name, most }
}
