//! What an answer says of an external link.
//!
//! Owns the way from what a crawl brought to a row of the table that rules ask. The verdict itself is
//! that of `clewline-check`; this module refuses to have one of its own.

use std::time::SystemTime;

use clewline::Page;
use clewline_check::ProbeRow;
use clewline_check::facts::{HeadFacts, of_text};
use clewline_check::probe::ProbeHop;
use clewline_check::rules::is_made_by_scripts;
use clewline_check::settings::AcceptedStatus;
use clewline_check::verdict::{LinkAnswer, judge_answer};
use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;
use clewline_warc::Moment;

use super::ProbeWish;
use super::settled::{AnsweredProbe, ProbeAnswer, ProbeEnd, ProbedPage};

/// Fields by which walls for bots are known.
const FIELDS: [&str; 8] = [
    "cf-mitigated",
    "x-amzn-waf-action",
    "x-vercel-mitigated",
    "x-datadome",
    "sg-captcha",
    "x-sucuri-block",
    "x-px-block",
    "crawler-price",
];

/// The time of day.
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Moment::since_1970(since.unwrap_or_default())
}

/// What is kept of a page for its verdict.
pub(super) fn read_page(page: &Page) -> ProbedPage {
    let field = |name: &str| {
        let value = page.headers.text(name)?;
        Some((name.into(), value.into()))
    };
    let fields = FIELDS.iter().filter_map(|name| field(name)).collect();
    let mut read = ProbedPage {
        head: HeadFacts { fields },
        ..ProbedPage::default()
    };
    if (200..300).contains(&page.status()) {
        read_body(page, &mut read);
    }
    read
}

fn read_body(page: &Page, read: &mut ProbedPage) {
    let text = page.text();
    let facts = of_text(&Keyer::default(), page.url(), &text);
    read.is_scripted = is_made_by_scripts(&facts, text.len() as u64);
    let is_whole = !facts.is_cut && !facts.is_unread;
    if let Some(html) = facts.html {
        read.words = html.words;
        read.ids = is_whole.then(|| html.ids.into());
    }
}

/// The row of an answer; none if there is no answer.
pub(super) fn row(
    url: &CrawlUrl,
    answer: &ProbeAnswer,
    wish: &ProbeWish,
    accept: &[AcceptedStatus],
) -> Option<ProbeRow> {
    let hops: Vec<ProbeHop> = answer
        .hops
        .iter()
        .map(|(status, to)| ProbeHop {
            status: *status,
            to: to.clone(),
        })
        .collect();
    let mut asked = LinkAnswer::default();
    match &answer.end {
        ProbeEnd::Unasked => None,
        ProbeEnd::Failed(class, words) => {
            asked.failure = Some(*class);
            asked.words = words;
            Some(ProbeRow::new(judge_answer(&asked, accept), None, hops))
        }
        ProbeEnd::Skipped(reason, words) => {
            asked.skip = Some(*reason);
            asked.words = words;
            let mut row = ProbeRow::for_unasked(judge_answer(&asked, accept), *reason);
            row.hops = hops;
            Some(row)
        }
        ProbeEnd::Answered(answered) => Some(answered_row(url, answered, hops, wish, accept)),
    }
}

fn answered_row(
    url: &CrawlUrl,
    answered: &AnsweredProbe,
    hops: Vec<ProbeHop>,
    wish: &ProbeWish,
    accept: &[AcceptedStatus],
) -> ProbeRow {
    let record = &answered.record;
    let mut asked = LinkAnswer::from_record(record);
    // A type that is not read is no reason not to believe its status.
    asked.skip = None;
    let page = answered.page.as_ref();
    if let Some(page) = page {
        asked = asked.with_head(&page.head);
    }
    let mut row = ProbeRow::new(judge_answer(&asked, accept), record.status, hops);
    let Some(page) = page else {
        return row;
    };
    let end = row.end().unwrap_or(url).clone();
    let title = record.title.as_deref().unwrap_or_default();
    row.note_page(&end, title, page.words);
    row.is_scripted = page.is_scripted;
    // What was cut off may hold the id.
    if let Some(ids) = page.ids.as_deref().filter(|_| !record.truncated) {
        let wanted: Vec<u64> = wish.ids.iter().copied().collect();
        row.note_ids(&wanted, ids);
    }
    row
}
