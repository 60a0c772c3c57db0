//! Rules on single pages.
//!
//! Owns which of them are asked for which rows. It refuses to compare pages with each other.
//! Invariant: pages that are no good HTML are judged by their record, head and size alone.

mod canonical;
mod content;
mod fields;
mod fragments;
mod hreflang;
mod links;
mod marks;
mod places;
mod redirects;
mod weight;

use std::io;

use clewline_core::url::CrawlUrl;
use clewline_job::record::Record;

use super::bag::FindingBag;
use super::link_ends::LinkEnds;
use crate::facts::{FactRow, HtmlFacts};
use crate::finding::CheckFinding;
use crate::rule::CheckRule;
use crate::site::UrlRow;

pub(super) use hreflang::is_default;

/// A page with all that rules may ask of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageView<'a> {
    pub(super) ends: &'a LinkEnds<'a>,
    pub(super) record: &'a Record,
    pub(super) row: &'a UrlRow,
    pub(super) facts: &'a FactRow,
}

impl<'a> PageView<'a> {
    pub(super) const fn url(&self) -> &'a CrawlUrl {
        &self.record.url
    }

    /// What it says, if it is good HTML.
    pub(super) fn html(&self) -> Option<&'a HtmlFacts> {
        self.facts.html.as_ref().filter(|_| self.row.is_good())
    }

    fn finding(&self, rule: &'static CheckRule, evidence: impl Into<String>) -> CheckFinding {
        CheckFinding::new(rule, self.url().clone(), evidence)
    }

    /// A finding about the whole host, which stands at its root.
    fn host_finding(&self, rule: &'static CheckRule, evidence: impl Into<String>) -> CheckFinding {
        CheckFinding::new(rule, self.url().with_path("/"), evidence)
    }
}

/// Asks all rules about one page.
pub(super) fn judge_page(view: &PageView<'_>, bag: &mut FindingBag) -> io::Result<()> {
    links::judge_server(view, bag);
    links::judge_root(view, bag);
    links::judge_references(view, bag)?;
    weight::judge(view, bag);
    fields::judge_cookies(view, bag);
    if let Some(html) = view.html() {
        fields::judge_policies(view, html, bag);
        marks::judge(view, html, bag);
        content::judge(view, html, bag);
        canonical::judge(view, html, bag)?;
        hreflang::judge(view, html, bag)?;
    }
    content::judge_soft(view, bag);
    Ok(())
}
