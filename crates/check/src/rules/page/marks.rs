//! What stands in a page and is wrong by itself.
//!
//! Owns the step from marks to findings. It refuses to know what the marks mean. Invariant: equal
//! marks of one host are one finding, with a count.

use super::PageView;
use crate::facts::HtmlFacts;
use crate::rule::CheckRule;
use crate::rules::bag::FindingBag;
use crate::rules::registry::{find, links, mixed};

/// The marks of a page.
pub(super) fn judge(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) {
    let is_upgraded = html.upgrades_insecure
        || view
            .facts
            .head
            .all("content-security-policy")
            .any(|policy| {
                policy
                    .to_ascii_lowercase()
                    .contains("upgrade-insecure-requests")
            });
    for mark in &html.marks {
        let Ok(rule) = find(mark.rule) else { continue };
        let rule = match rule.category() {
            "mixed" if is_upgraded && rule != &mixed::FORM => &mixed::UPGRADED,
            _ => rule,
        };
        // A reference that does not parse is told where references are judged.
        let finding = view.finding(rule, evidence(rule)).at(mark.byte);
        if rule == &links::MALFORMED {
            bag.list(finding.with_target(&*mark.subject));
        } else {
            bag.gather(finding.with_subject(&*mark.subject));
        }
    }
}

/// The summary says what was seen: a mark is nothing but that.
fn evidence(rule: &'static CheckRule) -> &'static str {
    rule.summary
}
