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

use crate::query::{Clause, QueryFilter, SearchField, Sign, Text, WordForm};
use crate::schema::{ADDRESS_BOOST, Fields, HEADINGS_BOOST, TITLE_BOOST};
use crate::words::{begins_unspaced, is_single_unspaced, query_words};

/// Words that a phrase prefix may go on with.
const MOST_EXPANSIONS: u32 = 200;

type Boxed = Box<dyn EngineQuery>;

/// A query as the engine takes it.
pub(crate) struct Compiled {
    /// Pages that match. For words without filters it is one union of terms, of which the engine
    /// finds the best without looking at all pages.
    pub(crate) some: Boxed,
    /// Those of them that hold all words, with the same scores; nothing if there are not several
    /// words.
    pub(crate) all: Option<Boxed>,
}

/// The engine's query for a whole query.
pub(crate) fn compile(clause: &Clause, fields: &Fields) -> Compiled {
    let some = part(clause, fields);
    let sought: Vec<&Clause> = match clause {
        Clause::List(items) => sought(items).collect(),
        _ => Vec::new(),
    };
    let all = (sought.len() > 1).then(|| {
        let words = sought.iter().map(|clause| part(clause, fields)).collect();
        let words = ConstScoreQuery::new(Box::new(BooleanQuery::intersection(words)), 0.0);
        let both = vec![
            (Occur::Must, some.box_clone()),
            (Occur::Must, Box::new(words) as Boxed),
        ];
        Box::new(BooleanQuery::new(both)) as Boxed
    });
    Compiled { some, all }
}

fn sought(items: &[(Sign, Clause)]) -> impl Iterator<Item = &Clause> {
    let positive = items.iter().filter(|(sign, _)| *sign != Sign::Refused);
    positive
        .map(|(_, clause)| clause)
        .filter(|clause| !matches!(clause, Clause::Filter(_)))
}

fn part(clause: &Clause, fields: &Fields) -> Boxed {
    match clause {
        Clause::Text(_) | Clause::Any(_) => union(choices(clause, fields)),
        Clause::Filter(filter) => narrow(filter, fields),
        Clause::List(items) => list(items, fields),
    }
}

/// What a clause is a choice of, as one flat list: its score is the sum over those that match.
fn choices(clause: &Clause, fields: &Fields) -> Vec<Boxed> {
    match clause {
        Clause::Text(text) => words(text, fields),
        Clause::Any(clauses) => {
            let each = clauses.iter().flat_map(|clause| choices(clause, fields));
            each.collect()
        }
        Clause::Filter(_) | Clause::List(_) => vec![part(clause, fields)],
    }
}

fn union(mut choices: Vec<Boxed>) -> Boxed {
    if choices.len() == 1 {
        return choices.remove(0);
    }
    Box::new(BooleanQuery::union(choices))
}

/// Filters and required clauses must match; of the wanted ones any, unless one is required.
fn list(items: &[(Sign, Clause)], fields: &Fields) -> Boxed {
    let mut parts: Vec<(Occur, Boxed)> = Vec::new();
    let mut wanted: Vec<Boxed> = Vec::new();
    let mut requires_words = false;
    for (sign, clause) in items {
        let is_filter = matches!(clause, Clause::Filter(_));
        match sign {
            Sign::Refused => parts.push((Occur::MustNot, part(clause, fields))),
            Sign::Wanted if !is_filter => wanted.extend(choices(clause, fields)),
            Sign::Wanted | Sign::Required => {
                requires_words |= !is_filter;
                parts.push((Occur::Must, part(clause, fields)));
            }
        }
    }
    if parts.is_empty() && !wanted.is_empty() {
        return union(wanted);
    }
    if !wanted.is_empty() {
        let occur = if requires_words {
            Occur::Should
        } else {
            Occur::Must
        };
        parts.push((occur, union(wanted)));
    }
    if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        let all = ConstScoreQuery::new(Box::new(AllQuery), 0.0);
        parts.push((Occur::Must, Box::new(all)));
    }
    Box::new(BooleanQuery::new(parts))
}

fn words(text: &Text, fields: &Fields) -> Vec<Boxed> {
    let tokens = query_words(&text.words);
    let places: &[(Field, f32)] = match text.place {
        Some(SearchField::Title) => &[(fields.title, 1.0)],
        Some(SearchField::Headings) => &[(fields.headings, 1.0)],
        Some(SearchField::Body) => &[(fields.body, 1.0)],
        Some(SearchField::Address) => &[(fields.address, 1.0)],
        None => &[
            (fields.title, TITLE_BOOST),
            (fields.headings, HEADINGS_BOOST),
            (fields.body, 1.0),
            (fields.address, ADDRESS_BOOST),
        ],
    };
    let choices = places.iter().map(|&(field, boost)| {
        let query = in_field(&tokens, text.form, field);
        Box::new(BoostQuery::new(query, boost)) as Boxed
    });
    choices.collect()
}

fn in_field(tokens: &[Token], form: WordForm, field: Field) -> Boxed {
    let term = |token: &Token| Term::from_field_text(field, &token.text);
    let [only] = tokens else {
        return phrase(tokens, form, field);
    };
    match form {
        WordForm::Fuzzy(distance) => Box::new(FuzzyTermQuery::new(term(only), distance, true)),
        WordForm::Exact if !is_single_unspaced(&only.text) => {
            Box::new(TermQuery::new(term(only), IndexRecordOption::WithFreqs))
        }
        WordForm::Exact | WordForm::Prefix => {
            Box::new(FuzzyTermQuery::new_prefix(term(only), 0, true))
        }
    }
}

fn phrase(tokens: &[Token], form: WordForm, field: Field) -> Boxed {
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
    if form == WordForm::Prefix && !begins_unspaced(&last.text) {
        let mut query = PhrasePrefixQuery::new_with_offset(terms);
        query.set_max_expansions(MOST_EXPANSIONS);
        return Box::new(query);
    }
    Box::new(PhraseQuery::new_with_offset(terms))
}

fn narrow(filter: &QueryFilter, fields: &Fields) -> Boxed {
    let exact = |field, text: &str| -> Boxed {
        let term = Term::from_field_text(field, text);
        Box::new(TermQuery::new(term, IndexRecordOption::Basic))
    };
    let second = |seconds| Term::from_field_i64(fields.fetched_at, seconds);
    let query: Boxed = match filter {
        QueryFilter::Host(host) => exact(fields.site, host),
        QueryFilter::OneHost(host) => exact(fields.host, host),
        QueryFilter::Language(language) => exact(fields.language, primary(language)),
        QueryFilter::ContentType(name) => {
            let types = types(name);
            let choices = types.iter().map(|name| exact(fields.content_type, name));
            Box::new(BooleanQuery::union(choices.collect()))
        }
        QueryFilter::After(from) => Box::new(RangeQuery::new(
            Bound::Included(second(*from)),
            Bound::Unbounded,
        )),
        QueryFilter::Before(to) => Box::new(RangeQuery::new(
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
