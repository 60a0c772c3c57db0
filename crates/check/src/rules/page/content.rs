//! What a page says: titles, headings, encodings, and error pages in disguise.
//!
//! Owns the judgement of one page's words. It refuses to compare pages. Invariant: a single sign
//! never makes an error page, nor does a phrase in the text.

use clewline_job::record::OutcomeKind;
use encoding_rs::Encoding;

use super::PageView;
use crate::facts::HtmlFacts;
use crate::probe::{FEW_WORDS, says_not_found};
use crate::rules::bag::FindingBag;
use crate::rules::registry::content as rules;

/// Bits in which the texts of two error pages may differ.
const NEAR_BITS: u32 = 3;
/// Words below which the texts of all pages are alike.
const COMPARABLE_WORDS: u32 = 20;
/// Garbled characters that a page about encodings may show.
const FEW_GARBLED: u32 = 1;
/// Characters of titles and descriptions that are habit.
const TITLE_LENGTHS: std::ops::RangeInclusive<usize> = 10..=60;
const DESCRIPTION_LENGTHS: std::ops::RangeInclusive<usize> = 50..=160;

pub(super) fn judge(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) {
    judge_charset(view, html, bag);
    if html.garbled > FEW_GARBLED {
        let evidence = format!("{} garbled characters", html.garbled);
        bag.list(view.finding(&rules::MOJIBAKE, evidence));
    }
    if html.titles.len() > 1 {
        let evidence = format!("{:?} and {:?}", html.titles[0], html.titles[1]);
        bag.list(view.finding(&rules::TITLE_SEVERAL, evidence));
    }
    if !view.row.is_indexable() {
        return;
    }
    let title = html.titles.first().map_or("", |title| title.trim());
    match title.chars().count() {
        0 => bag.list(view.finding(&rules::TITLE_MISSING, "no title")),
        length if !TITLE_LENGTHS.contains(&length) => {
            bag.list(view.finding(&rules::TITLE_LENGTH, format!("{length} characters")));
        }
        _ => {}
    }
    let description = html.descriptions.first().map_or("", |text| text.trim());
    match description.chars().count() {
        0 => bag.list(view.finding(&rules::DESCRIPTION_MISSING, "no description")),
        length if !DESCRIPTION_LENGTHS.contains(&length) => {
            let evidence = format!("{length} characters");
            bag.list(view.finding(&rules::DESCRIPTION_LENGTH, evidence));
        }
        _ => {}
    }
    match html.h1.0 {
        0 => bag.list(view.finding(&rules::H1_MISSING, "no h1")),
        1 => {}
        count => bag.list(view.finding(&rules::H1_SEVERAL, format!("{count} h1 elements"))),
    }
}

fn judge_charset(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) {
    let field = view.facts.head.field("content-type").unwrap_or_default();
    let sent = charset_of(field);
    let encoding = |label: &str| Encoding::for_label(label.trim().as_bytes());
    match (sent, html.charset.as_deref()) {
        (Some(sent), Some(said)) if encoding(sent) != encoding(said) => {
            let evidence = format!("the header says {sent:?}, the page {said:?}");
            bag.gather(view.finding(&rules::CHARSET, evidence));
        }
        (None, None) if html.words > 0 => {
            bag.gather(view.finding(&rules::CHARSET, "nobody names the encoding"));
        }
        _ => {}
    }
}

/// The parameter `charset` of a media type.
fn charset_of(field: &str) -> Option<&str> {
    let parameters = field.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches(['"', '\'']))
}

/// Signs that a page is an error page, though its status is good. Two that do not depend on each
/// other are needed; a page that was redirected has the first when names that cannot exist end at
/// the same place.
fn soft_signs(view: &PageView<'_>) -> Vec<&'static str> {
    let mut signs = Vec::new();
    let Some(html) = view.html() else {
        return signs;
    };
    let title = html.titles.first().map_or("", |title| &**title);
    let is_titled = says_not_found(title) || says_not_found(&html.h1.1);
    if is_titled {
        signs.push("its title or heading says that there is no such page");
    }
    let beside = view.ends.probes.impossible_beside(view.url());
    let is_alike = beside.is_some_and(|answer| {
        let is_near = (answer.near ^ html.near).count_ones() <= NEAR_BITS;
        answer.is_good() && answer.near != 0 && html.words >= COMPARABLE_WORDS && is_near
    });
    if is_alike {
        signs.push("it looks like the answer to a name that cannot exist");
    }
    if html.words < FEW_WORDS && is_titled {
        signs.push("it has few words");
    }
    // The comparison is two signs in one: the site answers 200 to such names, and with this page.
    if is_alike && signs.len() == 1 {
        signs.push("the site answers 200 to such names");
    }
    signs
}

pub(super) fn judge_soft(view: &PageView<'_>, bag: &mut FindingBag) {
    if is_home_or_error_page(view) || view.row.outcome == OutcomeKind::Redirected {
        return;
    }
    let signs = soft_signs(view);
    if signs.len() >= 2 {
        let evidence = format!("{}, and {}", signs[0], signs[1]);
        bag.list(view.finding(&rules::SOFT_404, evidence));
    }
}

/// A home page is never one, and the error page itself is meant to say so.
fn is_home_or_error_page(view: &PageView<'_>) -> bool {
    let url = view.url();
    let last = url.path().trim_end_matches('/').rsplit('/').next();
    let last = last.unwrap_or_default().to_ascii_lowercase();
    let name = last.split('.').next().unwrap_or_default();
    let is_home = url.path() == "/" && url.query().is_none();
    is_home
        || matches!(
            name,
            "404" | "410" | "not-found" | "notfound" | "not_found" | "error"
        )
}
