//! From clauses to the engine's queries.
//!
//! Owns which fields a word is looked for in, what each counts, and the order of pages that hold
//! all words before those that hold some. A page's score is the sum over the words of a query,
//! and over the fields each of them is in.

use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, FuzzyTermQuery, Occur,
    PhrasePrefixQuery, PhraseQuery, Query as EngineQuery, RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::tokenizer::Token;

use crate::query::{Clause, Filter, Form, Place, Sign, Text};
use crate::schema::{ADDRESS_BOOST, Fields, HEADINGS_BOOST, TITLE_BOOST};
use crate::words::{begins_unspaced, is_single_unspaced, query_words};

/// More than a word can score in all fields together, in an index of any size: BM25 stays below
/// 2.2 times the logarithm of the number of pages.
const BEYOND_SCORE: f32 = 512.0;

/// Words that a phrase prefix may go on with.
const MOST_EXPANSIONS: u32 = 200;

type Boxed = Box<dyn EngineQuery>;

/// A query as the engine takes it.
pub(crate) struct Compiled {
    pub(crate) query: Boxed,
    /// What the score of a page that holds all words has on top, which no sum of scores reaches;
    /// nothing if there are not several words.
    pub(crate) all_words: Option<f32>,
}

/// The engine's query for a whole query.
pub(crate) fn compile(clause: &Clause, fields: &Fields) -> Compiled {
    let some = part(clause, fields);
    let sought: Vec<&Clause> = match clause {
        Clause::List(items) => sought(items).collect(),
        _ => Vec::new(),
    };
    if sought.len() < 2 {
        return Compiled {
            query: some,
            all_words: None,
        };
    }
    let all = sought.iter().map(|clause| part(clause, fields)).collect();
    let bonus = BEYOND_SCORE * sought.iter().map(|clause| count(clause)).sum::<usize>() as f32;
    let all = ConstScoreQuery::new(Box::new(BooleanQuery::intersection(all)), bonus);
    let query = BooleanQuery::new(vec![(Occur::Must, some), (Occur::Should, Box::new(all))]);
    Compiled {
        query: Box::new(query),
        all_words: Some(bonus),
    }
}

fn sought(items: &[(Sign, Clause)]) -> impl Iterator<Item = &Clause> {
    let positive = items.iter().filter(|(sign, _)| *sign != Sign::Refused);
    positive
        .map(|(_, clause)| clause)
        .filter(|clause| !matches!(clause, Clause::Filter(_)))
}

/// Words that add to a score.
fn count(clause: &Clause) -> usize {
    match clause {
        Clause::Text(text) => query_words(&text.words).len(),
        Clause::Filter(_) => 0,
        Clause::Any(clauses) => clauses.iter().map(count).sum(),
        Clause::List(items) => sought(items).map(count).sum(),
    }
}

fn part(clause: &Clause, fields: &Fields) -> Boxed {
    match clause {
        Clause::Text(text) => words(text, fields),
        Clause::Filter(filter) => narrow(filter, fields),
        Clause::Any(clauses) => {
            let choices = clauses.iter().map(|clause| part(clause, fields)).collect();
            Box::new(BooleanQuery::union(choices))
        }
        Clause::List(items) => list(items, fields),
    }
}

/// Filters and required clauses must match; of the wanted ones any, unless one is required.
fn list(items: &[(Sign, Clause)], fields: &Fields) -> Boxed {
    let mut parts: Vec<(Occur, Boxed)> = Vec::new();
    let mut wanted: Vec<Boxed> = Vec::new();
    let mut requires_words = false;
    for (sign, clause) in items {
        let query = part(clause, fields);
        let is_filter = matches!(clause, Clause::Filter(_));
        match sign {
            Sign::Refused => parts.push((Occur::MustNot, query)),
            Sign::Wanted if !is_filter => wanted.push(query),
            Sign::Wanted | Sign::Required => {
                requires_words |= !is_filter;
                parts.push((Occur::Must, query));
            }
        }
    }
    if !wanted.is_empty() {
        let occur = if requires_words {
            Occur::Should
        } else {
            Occur::Must
        };
        parts.push((occur, Box::new(BooleanQuery::union(wanted))));
    }
    if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        let all = ConstScoreQuery::new(Box::new(AllQuery), 0.0);
        parts.push((Occur::Must, Box::new(all)));
    }
    Box::new(BooleanQuery::new(parts))
}

fn words(text: &Text, fields: &Fields) -> Boxed {
    let tokens = query_words(&text.words);
    let places: &[(Field, f32)] = match text.place {
        Some(Place::Title) => &[(fields.title, 1.0)],
        Some(Place::Headings) => &[(fields.headings, 1.0)],
        Some(Place::Body) => &[(fields.body, 1.0)],
        Some(Place::Address) => &[(fields.address, 1.0)],
        None => &[
            (fields.title, TITLE_BOOST),
            (fields.headings, HEADINGS_BOOST),
            (fields.body, 1.0),
            (fields.address, ADDRESS_BOOST),
        ],
    };
    let mut choices: Vec<Boxed> = places
        .iter()
        .map(|&(field, boost)| {
            let query = in_field(&tokens, text.form, field);
            Box::new(BoostQuery::new(query, boost)) as Boxed
        })
        .collect();
    if choices.len() == 1 {
        return choices.remove(0);
    }
    Box::new(BooleanQuery::union(choices))
}

fn in_field(tokens: &[Token], form: Form, field: Field) -> Boxed {
    let term = |token: &Token| Term::from_field_text(field, &token.text);
    let [only] = tokens else {
        return phrase(tokens, form, field);
    };
    match form {
        Form::Fuzzy(distance) => Box::new(FuzzyTermQuery::new(term(only), distance, true)),
        Form::Exact if !is_single_unspaced(&only.text) => {
            Box::new(TermQuery::new(term(only), IndexRecordOption::WithFreqs))
        }
        Form::Exact | Form::Prefix => Box::new(FuzzyTermQuery::new_prefix(term(only), 0, true)),
    }
}

fn phrase(tokens: &[Token], form: Form, field: Field) -> Boxed {
    let Some(last) = tokens.last() else {
        return Box::new(EmptyQuery);
    };
    let first = tokens[0].position;
    let terms = tokens
        .iter()
        .map(|token| {
            (
                token.position - first,
                Term::from_field_text(field, &token.text),
            )
        })
        .collect();
    if form == Form::Prefix && !begins_unspaced(&last.text) {
        let mut query = PhrasePrefixQuery::new_with_offset(terms);
        query.set_max_expansions(MOST_EXPANSIONS);
        return Box::new(query);
    }
    Box::new(PhraseQuery::new_with_offset(terms))
}

fn narrow(filter: &Filter, fields: &Fields) -> Boxed {
    let exact = |field, text: &str| -> Boxed {
        let term = Term::from_field_text(field, text);
        Box::new(TermQuery::new(term, IndexRecordOption::Basic))
    };
    let second = |seconds| Term::from_field_i64(fields.fetched_at, seconds);
    let query: Boxed = match filter {
        Filter::Host(host) => exact(fields.site, host),
        Filter::OneHost(host) => exact(fields.host, host),
        Filter::Language(language) => exact(fields.language, primary(language)),
        Filter::ContentType(name) => {
            let types = types(name);
            let choices = types.iter().map(|name| exact(fields.content_type, name));
            Box::new(BooleanQuery::union(choices.collect()))
        }
        Filter::After(from) => Box::new(RangeQuery::new(
            Bound::Included(second(*from)),
            Bound::Unbounded,
        )),
        Filter::Before(to) => Box::new(RangeQuery::new(
            Bound::Unbounded,
            Bound::Excluded(second(*to)),
        )),
    };
    Box::new(ConstScoreQuery::new(query, 0.0))
}

/// `de-AT` is looked for as `de`, which is what the index holds.
fn primary(language: &str) -> &str {
    language.split(['-', '_']).next().unwrap_or(language)
}

/// The media types that a short name stands for.
fn types(name: &str) -> Vec<String> {
    let known: &[&str] = match name {
        "html" => &["text/html", "application/xhtml+xml"],
        "text" | "txt" => &["text/plain"],
        "markdown" | "md" => &["text/markdown"],
        "pdf" => &["application/pdf"],
        "json" => &["application/json"],
        "xml" => &["text/xml", "application/xml"],
        _ => return vec![name.to_owned()],
    };
    known.iter().map(|name| (*name).to_owned()).collect()
}
