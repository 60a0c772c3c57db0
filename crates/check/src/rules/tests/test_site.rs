//! A site made of answers, as a crawl would have recorded them.

use std::collections::BTreeSet;

use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;
use clewline_job::pages::PageAnswer;
use clewline_job::record::{OutcomeKind, PhaseMillis, Record};

use crate::facts::{FactRow, facts_of_answer, from_pages};
use crate::finding::CheckFinding;
use crate::probe::{ProbeHop, ProbeRow, ProbeTable};
use crate::rules::{JudgeOptions, judge};
use crate::site::SiteTable;
use crate::verdict::{LinkAnswer, judge_answer};

const BASE: &str = "https://site.example/";

pub(super) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(BASE).unwrap().join(text).unwrap()
}

/// A URL and its answer.
#[derive(Debug, Clone)]
struct TestAnswer {
    record: Record,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(super) struct TestSite {
    answers: Vec<TestAnswer>,
    pub(super) probes: ProbeTable,
    pub(super) options: JudgeOptions,
}

impl TestSite {
    pub(super) fn new() -> Self {
        Self {
            answers: Vec::new(),
            probes: ProbeTable::default(),
            options: JudgeOptions {
                is_complete: true,
                accept: Vec::new(),
            },
        }
    }

    /// A home page and one more, which no rule finds fault with.
    pub(super) fn clean() -> Self {
        let home = "<p>Welcome to all who read this.</p><a href=/about>About us</a>";
        let about = "<p>Who we are and what we do.</p><a href=/>Home</a>";
        Self::new().page("/", home).page("/about", about)
    }

    /// A clean site and a page with this in its body.
    pub(super) fn with_body(body: &str) -> Self {
        Self::clean().page("/page", body)
    }

    /// A clean site and a page with this in its head.
    pub(super) fn with_head(head: &str) -> Self {
        Self::clean().document("/page", &document("/page", head, ""))
    }

    /// Another page: a whole document around this body.
    pub(super) fn page(self, path: &str, body: &str) -> Self {
        let document = document(path, "", body);
        self.document(path, &document)
    }

    /// Another page with something in its head.
    pub(super) fn page_with_head(self, path: &str, head: &str) -> Self {
        let document = document(path, head, "");
        self.document(path, &document)
    }

    pub(super) fn document(self, path: &str, document: &str) -> Self {
        let fields = [
            ("content-type", "text/html; charset=utf-8"),
            ("content-encoding", "gzip"),
            ("strict-transport-security", "max-age=31536000"),
            ("content-security-policy", "default-src 'self'"),
        ];
        let mut site = self.answer(path, 200, document.as_bytes());
        for (name, value) in fields {
            site = site.field(name, value);
        }
        site.change(|record| {
            record.content_type = Some("text/html".to_owned());
            record.charset = Some("UTF-8".to_owned());
        })
    }

    /// A file that is a part of pages.
    pub(super) fn part(self, path: &str, kind: LinkKind, media_type: &str) -> Self {
        let site = self
            .answer(path, 200, b"x")
            .field("content-type", media_type);
        site.change(|record| {
            record.kind = kind;
            record.content_type = Some(media_type.to_owned());
        })
    }

    pub(super) fn status(self, path: &str, status: u16) -> Self {
        self.answer(path, status, b"")
    }

    pub(super) fn redirect(self, path: &str, status: u16, to: &str) -> Self {
        self.answer(path, status, b"").change(|record| {
            record.outcome = OutcomeKind::Redirected;
            record.redirect_to = Some(url(to).to_string());
        })
    }

    pub(super) fn skipped(self, path: &str, reason: SkipReason) -> Self {
        self.answer(path, 0, b"").change(|record| {
            record.outcome = OutcomeKind::Skipped;
            record.status = None;
            record.reason = Some(reason);
        })
    }

    pub(super) fn failed(self, path: &str, failure: FailureClass) -> Self {
        self.answer(path, 0, b"").change(|record| {
            record.outcome = OutcomeKind::Failed;
            record.status = None;
            record.failure = Some(failure);
        })
    }

    fn answer(mut self, path: &str, status: u16, body: &[u8]) -> Self {
        let url = url(path);
        let record = Record {
            v: 1,
            key: Keyer::default().key(&url),
            url,
            outcome: OutcomeKind::Fetched,
            status: Some(status),
            redirect_to: None,
            reason: None,
            failure: None,
            error: None,
            wire_bytes: body.len() as u64,
            body_bytes: body.len() as u64,
            truncated: false,
            content_type: None,
            charset: None,
            links: 0,
            new_links: 0,
            depth: u32::from(path != "/"),
            kind: if path == "/" {
                LinkKind::Root
            } else {
                LinkKind::Anchor
            },
            found_on: None,
            tries: 1,
            earlier: Vec::new(),
            timings: PhaseMillis::default(),
            address: None,
            title: None,
            canonical: None,
            lastmod: None,
            digest: None,
            noindex: false,
            shell: false,
            rendered: None,
            protocol: None,
            fetched_at: "2026-11-18T00:00:00.000Z".to_owned(),
        };
        self.answers.push(TestAnswer {
            record,
            fields: Vec::new(),
            body: body.to_vec(),
        });
        self
    }

    /// Changes the record of the last URL.
    pub(super) fn change(mut self, change: impl FnOnce(&mut Record)) -> Self {
        change(&mut self.answers.last_mut().unwrap().record);
        self
    }

    /// How the last URL was named.
    pub(super) fn named(self, kind: LinkKind) -> Self {
        self.change(|record| record.kind = kind)
    }

    /// Another field in the head of the last answer.
    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        let last = self.answers.last_mut().unwrap();
        last.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The head of the last answer without a field.
    pub(super) fn without(mut self, name: &str) -> Self {
        let last = self.answers.last_mut().unwrap();
        last.fields.retain(|(field, _)| field != name);
        self
    }

    /// What two askings of a foreign URL brought.
    pub(super) fn probed(self, target: &str, status: u16) -> Self {
        self.probe(target, status, |_| {})
    }

    pub(super) fn probe(
        mut self,
        target: &str,
        status: u16,
        change: impl FnOnce(&mut ProbeRow),
    ) -> Self {
        let answer = LinkAnswer {
            status: Some(status),
            ..LinkAnswer::default()
        };
        let judged = judge_answer(&answer, &[]);
        let row = || ProbeRow::new(judged.clone(), Some(status), Vec::new());
        let mut row = row().asked_again(row());
        change(&mut row);
        self.probes.insert(url(target), row);
        self
    }

    pub(super) fn table(&self) -> SiteTable {
        let keyer = Keyer::default();
        let pages: Vec<_> = self
            .answers
            .iter()
            .map(|answer| (answer.record.clone(), answer.facts(&keyer)))
            .collect();
        from_pages(keyer, pages).unwrap()
    }

    pub(super) fn judged(&self) -> Vec<CheckFinding> {
        judge(&self.table(), &self.probes, &self.options).unwrap()
    }

    /// The rules that something breaks.
    pub(super) fn rules(&self) -> BTreeSet<&'static str> {
        let findings = self.judged();
        findings.iter().map(|found| found.rule.id).collect()
    }
}

impl TestAnswer {
    fn facts(&self, keyer: &Keyer) -> FactRow {
        let mut head = String::from("HTTP/1.1 200 OK\r\n");
        for (name, value) in &self.fields {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        let answer = PageAnswer {
            head: head.into_bytes(),
            body: self.body.clone(),
            ..PageAnswer::default()
        };
        facts_of_answer(keyer, &self.record, &answer)
    }
}

/// A document that no rule finds fault with, with a title of its own.
pub(super) fn document(path: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>The page {path}</title>\
         <meta name=description content='What stands on the page {path}, told in a few plain words.'>{head}</head>\
         <body><main><h1>About {path}</h1>{body}</main></body></html>"
    )
}

/// A redirect on the way to the end of a foreign URL.
pub(super) fn hop(status: u16, to: &str) -> ProbeHop {
    ProbeHop {
        status,
        to: url(to),
    }
}
