//! What is asked for: the parameters of a request, and links that ask for something else.
//!
//! Owns their names and bounds. Parameters that are not known are passed over, and the last of
//! several of one name counts. Invariant: a link made from a question asks the same question.

use clewline_search::{Folding, LONGEST, MOST_RESULTS, Query, QueryError};
use thiserror::Error;
use url::form_urlencoded;

use super::PATH;

/// Results on one page.
pub(crate) const PER_PAGE: usize = 10;
/// Pages that can be asked for.
pub(crate) const MOST_PAGES: usize = MOST_RESULTS / PER_PAGE;
/// Bytes of a value that results are narrowed to; no host has a longer name (RFC 1035).
const LONGEST_VALUE: usize = 255;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// What its links begin with; empty for the only job of a server.
    pub(crate) base: String,
    /// What is looked for; everything if it is blank.
    pub(crate) text: String,
    /// Narrowings; empty if there is none.
    pub(crate) host: String,
    pub(crate) language: String,
    pub(crate) content_type: String,
    /// The page of results, from 1; nothing if that could not be understood.
    pub(crate) page: Option<usize>,
    pub(crate) folding: Folding,
    /// It is still being written.
    is_typed: bool,
}

/// What results are narrowed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowing {
    Host,
    Language,
    ContentType,
}

/// Why a question is not answered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum QuestionError {
    /// The query is not understood.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// There is no such page.
    #[error("page is a number from 1 to {MOST_PAGES}; narrow the query to see what lies behind")]
    Page,
    /// A value is too long.
    #[error("host, lang and type have at most {LONGEST_VALUE} bytes, q at most {LONGEST}")]
    TooLong,
}

impl Question {
    /// Reads the parameters of a request.
    pub(crate) fn read(query: &str) -> Self {
        let mut question = Self {
            base: String::new(),
            text: String::new(),
            host: String::new(),
            language: String::new(),
            content_type: String::new(),
            page: Some(1),
            folding: Folding::Alike,
            is_typed: false,
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "q" => question.text = value.into_owned(),
                "host" => question.host = value.into_owned(),
                "lang" => question.language = value.into_owned(),
                "type" => question.content_type = value.into_owned(),
                "page" => question.page = page(&value),
                "fold" if value == "no" => question.folding = Folding::Off,
                "typing" => question.is_typed = true,
                _ => {}
            }
        }
        question
    }

    /// The same, asked of a job whose pages begin so.
    #[must_use]
    pub(crate) fn below(mut self, base: &str) -> Self {
        base.clone_into(&mut self.base);
        self
    }

    /// The query that it stands for.
    pub(crate) fn query(&self) -> Result<Query, QuestionError> {
        let page = self.page.ok_or(QuestionError::Page)?;
        let values = [&self.host, &self.language, &self.content_type];
        let is_long = values.iter().any(|value| value.len() > LONGEST_VALUE);
        if is_long || self.text.len() > LONGEST {
            return Err(QuestionError::TooLong);
        }
        let mut query = match (self.is_blank(), self.is_typed) {
            (true, _) => Query::everything(),
            (false, true) => Query::typed(&self.text)?,
            (false, false) => Query::parse(&self.text)?,
        };
        if !self.host.is_empty() {
            query = query.on_host(&self.host);
        }
        if !self.language.is_empty() {
            query = query.in_language(&self.language);
        }
        if !self.content_type.is_empty() {
            query = query.of_type(&self.content_type);
        }
        // One more than is shown tells whether there is a next page.
        Ok(query
            .folding(self.folding)
            .offset((page - 1) * PER_PAGE)
            .limit(PER_PAGE + 1))
    }

    /// Whether no words are looked for.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether results are narrowed.
    pub(crate) fn is_narrowed(&self) -> bool {
        Narrowing::ALL
            .iter()
            .any(|narrowing| !self.narrowed_to(*narrowing).is_empty())
    }

    /// The value that results are narrowed to; empty if they are not.
    pub(crate) fn narrowed_to(&self, narrowing: Narrowing) -> &str {
        match narrowing {
            Narrowing::Host => &self.host,
            Narrowing::Language => &self.language,
            Narrowing::ContentType => &self.content_type,
        }
    }

    /// The same with another narrowing, from its first page on.
    pub(crate) fn narrow(&self, narrowing: Narrowing, value: &str) -> Self {
        let mut question = self.turn(1);
        let place = match narrowing {
            Narrowing::Host => &mut question.host,
            Narrowing::Language => &mut question.language,
            Narrowing::ContentType => &mut question.content_type,
        };
        value.clone_into(place);
        question
    }

    /// The same on another page.
    pub(crate) fn turn(&self, page: usize) -> Self {
        Self {
            page: Some(page),
            ..self.clone()
        }
    }

    /// The same with pages alike treated otherwise.
    pub(crate) fn fold(&self, folding: Folding) -> Self {
        Self {
            folding,
            ..self.turn(1)
        }
    }

    /// What the form has to hold beside the query, by name.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let fold = match self.folding {
            Folding::Off => "no",
            Folding::Alike => "",
        };
        let narrowings = Narrowing::ALL
            .into_iter()
            .map(|narrowing| (narrowing.parameter(), self.narrowed_to(narrowing)));
        narrowings
            .chain([("fold", fold)])
            .filter(|(_, value)| !value.is_empty())
    }

    /// Where it is answered.
    pub(crate) fn link(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", &self.text).extend_pairs(self.kept());
        if let Some(page @ 2..) = self.page {
            query.append_pair("page", &page.to_string());
        }
        format!("{}{PATH}?{}", self.base, query.finish())
    }
}

impl Narrowing {
    pub(crate) const ALL: [Self; 3] = [Self::Host, Self::Language, Self::ContentType];

    /// The name of its parameter.
    pub(crate) const fn parameter(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Language => "lang",
            Self::ContentType => "type",
        }
    }
}

fn page(text: &str) -> Option<usize> {
    let page = if text.is_empty() {
        1
    } else {
        text.parse().ok()?
    };
    (1..=MOST_PAGES).contains(&page).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_and_linked() {
        for (query, link) in [
            ("", "/search?q="),
            ("q=hash+map&page=1&x=y", "/search?q=hash+map"),
            ("q=a&q=%22b%22%26&page=3", "/search?q=%22b%22%26&page=3"),
            (
                "q=&type=text/html&lang=de&host=a.test&fold=no&typing=1",
                "/search?q=&host=a.test&lang=de&type=text%2Fhtml&fold=no",
            ),
        ] {
            let question = Question::read(query);
            assert_eq!(question.link(), link, "{query}");
            let again = Question::read(link.split_once('?').unwrap().1);
            assert_eq!(again.link(), link);
            assert!(question.query().is_ok(), "{query}");
        }
        let narrowed = Question::read("q=a&page=7").narrow(Narrowing::Language, "de");
        assert_eq!(narrowed.link(), "/search?q=a&lang=de");
    }

    #[test]
    fn what_is_out_of_bounds_is_told() {
        let long = "a".repeat(LONGEST_VALUE + 1);
        let huge = "a".repeat(LONGEST + 1);
        for (query, word) in [
            ("q=a&page=0".to_owned(), "from 1 to 100"),
            ("q=a&page=101".to_owned(), "from 1 to 100"),
            ("q=a&page=-1".to_owned(), "from 1 to 100"),
            ("q=a&page=%3Cb%3E".to_owned(), "from 1 to 100"),
            (format!("q=a&host={long}"), "at most 255 bytes"),
            (format!("q={huge}"), "at most 255 bytes"),
            ("q=%22a".to_owned(), "a quote is opened"),
            ("q=colour:red".to_owned(), "there is no field"),
        ] {
            let error = Question::read(&query).query().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!(Question::read("q=%22a&typing=1").query().is_ok());
    }
}
