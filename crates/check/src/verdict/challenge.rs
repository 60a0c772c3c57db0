//! Pages that stand before a page, to keep robots out.
//!
//! Owns the fields and titles by which those are known that wall off robots. It refuses to judge
//! statuses. Invariant: a title alone is believed only where the status is no good one.

use super::LinkAnswer;

/// Fields that say so, with the beginnings of the values that mean a wall; whom they belong to.
const FIELDS: [(&str, &[&str], &str); 7] = [
    ("cf-mitigated", &["challenge"], "a challenge of Cloudflare"),
    (
        "x-amzn-waf-action",
        &["challenge", "captcha"],
        "a challenge of AWS WAF",
    ),
    (
        "x-vercel-mitigated",
        &["challenge", "deny"],
        "a challenge of Vercel",
    ),
    ("x-datadome", &["protected"], "a wall of DataDome"),
    ("sg-captcha", &["challenge"], "a challenge of SiteGround"),
    ("x-sucuri-block", &[""], "a wall of Sucuri"),
    ("x-px-block", &[""], "a wall of HUMAN"),
];

/// Titles of such pages, lower-case.
const TITLES: [&str; 12] = [
    "just a moment",
    "attention required! | cloudflare",
    "access denied",
    "ddos-guard",
    "checking your browser",
    "pardon our interruption",
    "are you a robot",
    "please verify you are a human",
    "verify you are human",
    "robot check",
    "security check",
    "bot verification",
];

/// What walls the page off, if something does.
pub(super) fn wall(answer: &LinkAnswer<'_>) -> Option<&'static str> {
    let by_field = answer.head.and_then(|head| {
        let mut said = FIELDS.iter().filter(|(name, beginnings, _)| {
            head.field(name).is_some_and(|value| {
                let value = value.trim().to_ascii_lowercase();
                beginnings.iter().any(|begin| value.starts_with(begin))
            })
        });
        said.next().map(|(_, _, wall)| *wall)
    });
    by_field.or_else(|| title_of_wall(answer).then_some("a page that keeps robots out"))
}

fn title_of_wall(answer: &LinkAnswer<'_>) -> bool {
    // 404 and 410 are about the page, whatever stands on it.
    let is_open = answer
        .status
        .is_none_or(|status| matches!(status, 200..=299 | 404 | 410));
    if is_open {
        return false;
    }
    let title = answer.title.unwrap_or_default().trim().to_lowercase();
    TITLES.iter().any(|begin| title.starts_with(begin))
}
