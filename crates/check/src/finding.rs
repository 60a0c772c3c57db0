//! What a rule found.
//!
//! Owns a finding and its fingerprint, by which it is known again in a later run. The fingerprint is
//! made of the rule, the page and the target or value: no line numbers and no counts, so that it
//! survives edits. It refuses to know severities of settings, baselines and forms.

use clewline_core::url::CrawlUrl;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use crate::rule::CheckRule;

/// Places that a finding names; more are counted.
pub const MOST_SAMPLES: usize = 10;

/// Where something stands in a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FindingPlace {
    /// The byte of the decoded page at which the element begins.
    pub byte: u32,
    /// Its line, from 1; 0 until the page was read again.
    pub line: u32,
    /// Its column in characters, from 1; 0 until the page was read again.
    pub column: u32,
    /// The words of the link, or what else the element says; empty until the page was read again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// One thing that is wrong, at one cause.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckFinding {
    /// By which rule.
    pub rule: &'static CheckRule,
    /// The page; where a whole host is meant, its first page or its root.
    pub page: CrawlUrl,
    /// What the page refers to, as a whole URL or as it is written.
    pub target: Option<String>,
    /// What tells findings of one rule on one page apart where there is no target: the name of a
    /// header field, a title, an element's id.
    pub subject: Option<String>,
    /// Where it stands, if it stands in the page.
    pub place: Option<FindingPlace>,
    /// What was seen, as a short sentence without its full stop: `404 Not Found`.
    pub evidence: String,
    /// What to write instead, if that is known: `https://example.com/new`.
    pub mend: Option<String>,
    /// How often it occurs; more than 1 where many pages have one cause.
    pub count: u64,
    /// Other pages with the same cause, at most [`MOST_SAMPLES`].
    pub samples: Vec<CrawlUrl>,
}

impl CheckFinding {
    /// A finding on a page.
    pub fn new(rule: &'static CheckRule, page: CrawlUrl, evidence: impl Into<String>) -> Self {
        Self {
            rule,
            page,
            target: None,
            subject: None,
            place: None,
            evidence: evidence.into(),
            mend: None,
            count: 1,
            samples: Vec::new(),
        }
    }

    /// The same, about what the page refers to.
    #[must_use]
    pub fn with_target(mut self, target: impl Into<String>) -> Self {
        self.target = Some(target.into());
        self
    }

    /// The same, told apart from others of its rule and page.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// The same, at a byte of the page.
    #[must_use]
    pub fn at(mut self, byte: u32) -> Self {
        self.place = Some(FindingPlace {
            byte,
            ..FindingPlace::default()
        });
        self
    }

    /// The same, with what to write instead.
    #[must_use]
    pub fn with_mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    /// Another page has the same cause.
    pub fn also_on(&mut self, page: &CrawlUrl) {
        self.count += 1;
        if self.samples.len() < MOST_SAMPLES {
            self.samples.push(page.clone());
        }
    }

    /// By what it is known again.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Xxh3::new();
        let target = self.target.as_deref().unwrap_or_default();
        let subject = self.subject.as_deref().unwrap_or_default();
        for part in [self.rule.id, self.page.as_str(), target, subject] {
            hash.update(part.as_bytes());
            hash.update(b"\n");
        }
        hash.digest()
    }
}
