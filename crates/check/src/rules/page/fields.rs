//! Fields of answers that protect readers, and cookies.
//!
//! Owns which fields and attributes are asked for. It refuses to know values of cookies. Invariant:
//! one finding stands for a host, or for a cookie of it.

use clewline_core::url::Scheme;

use super::PageView;
use crate::facts::HtmlFacts;
use crate::rules::bag::FindingBag;
use crate::rules::registry::hosts as rules;

/// Seconds that a host should insist on https, at least.
const SHORT_HSTS: u64 = 31 * 24 * 60 * 60;
/// Names that cookies of logins have, lower-case.
const LOGIN_NAMES: [&str; 8] = [
    "session", "sessid", "sid", "auth", "token", "login", "jwt", "remember",
];

pub(super) fn judge_policies(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) {
    let head = &view.facts.head;
    // Without a head, as in some archives, nothing can be missing.
    if head.fields.is_empty() {
        return;
    }
    let has_name = view.url().ip().is_none() && view.url().host().contains('.');
    if view.url().scheme() == Scheme::Https && has_name {
        let seconds = head.field("strict-transport-security").map(max_age);
        let fault = match seconds {
            None => Some("Strict-Transport-Security is missing"),
            Some(seconds) if seconds < SHORT_HSTS => {
                Some("Strict-Transport-Security lasts less than 31 days")
            }
            Some(_) => None,
        };
        if let Some(fault) = fault {
            bag.gather(view.host_finding(&rules::HSTS, fault).with_subject(fault));
        }
    }
    let policies: Vec<_> = head.all("content-security-policy").collect();
    let fault = match policies[..] {
        [] if !html.upgrades_insecure => Some("Content-Security-Policy is missing"),
        [] => None,
        _ if policies.iter().all(|policy| allows_all(policy)) => {
            Some("Content-Security-Policy allows every script")
        }
        _ => None,
    };
    if let Some(fault) = fault {
        bag.gather(view.host_finding(&rules::CSP, fault).with_subject(fault));
    }
}

fn max_age(field: &str) -> u64 {
    directive(field, "max-age").unwrap_or(0)
}

/// The number of a directive such as `max-age=60`.
pub(super) fn directive(field: &str, name: &str) -> Option<u64> {
    let mut parts = field
        .split([';', ','])
        .filter_map(|part| part.split_once('='));
    let (_, value) = parts.find(|(found, _)| found.trim().eq_ignore_ascii_case(name))?;
    value.trim().trim_matches('"').parse().ok()
}

/// Whether a policy restricts scripts, but lets all of them in.
fn allows_all(policy: &str) -> bool {
    let policy = policy.to_ascii_lowercase();
    let list = |name: &str| {
        let mut directives = policy.split(';').map(str::split_ascii_whitespace);
        directives.find_map(|mut words| (words.next() == Some(name)).then_some(words))
    };
    let Some(sources) = list("script-src").or_else(|| list("default-src")) else {
        return false;
    };
    let sources: Vec<_> = sources.collect();
    // A nonce, a hash or `strict-dynamic` makes browsers pass over `unsafe-inline` and hosts.
    let is_strict = |source: &&str| {
        source.starts_with("'nonce-") || source.starts_with("'sha") || *source == "'strict-dynamic'"
    };
    let is_open = sources.contains(&"*") || sources.contains(&"'unsafe-inline'");
    is_open && !sources.iter().any(is_strict)
}

/// A cookie as a field sets it, without its value.
struct SetCookie<'a> {
    name: &'a str,
    attributes: Vec<(String, &'a str)>,
}

impl<'a> SetCookie<'a> {
    fn new(field: &'a str) -> Self {
        let mut parts = field.split(';');
        let name = parts.next().unwrap_or_default();
        let attribute = |part: &'a str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.trim().to_ascii_lowercase(), value.trim())
        };
        Self {
            name: name.split('=').next().unwrap_or_default().trim(),
            attributes: parts.map(attribute).collect(),
        }
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        let found = self
            .attributes
            .iter()
            .rev()
            .find(|(found, _)| found == name);
        found.map(|(_, value)| *value)
    }

    fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    /// Whether the field takes the cookie away.
    fn is_deleted(&self) -> bool {
        let is_spent = self
            .attribute("max-age")
            .is_some_and(|age| age.starts_with('-') || age == "0");
        is_spent
            || self
                .attribute("expires")
                .is_some_and(|date| date.contains("1970"))
    }

    fn is_login(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        let is_forgery_token = name.contains("csrf") || name.contains("xsrf");
        !is_forgery_token && LOGIN_NAMES.iter().any(|part| name.contains(part))
    }

    fn breaks_its_prefix(&self) -> bool {
        let is_secure = self.has("secure");
        if self.name.starts_with("__Host-") {
            !is_secure || self.has("domain") || self.attribute("path") != Some("/")
        } else {
            self.name.starts_with("__Secure-") && !is_secure
        }
    }
}

pub(super) fn judge_cookies(view: &PageView<'_>, bag: &mut FindingBag) {
    let is_https = view.url().scheme() == Scheme::Https;
    for field in view.facts.head.all("set-cookie") {
        let cookie = SetCookie::new(field);
        if cookie.name.is_empty() || cookie.is_deleted() {
            continue;
        }
        let is_secure = cookie.has("secure");
        let same_site = cookie.attribute("samesite").unwrap_or_default();
        let mut tell = |rule, evidence: &str| {
            bag.gather(view.host_finding(rule, evidence).with_subject(cookie.name));
        };
        if cookie.breaks_its_prefix() {
            tell(&rules::COOKIE_PREFIX, "its attributes break the prefix");
        } else if !is_secure && same_site.eq_ignore_ascii_case("none") {
            tell(&rules::COOKIE_SAMESITE, "SameSite=None without Secure");
        } else if !is_secure && is_https {
            tell(&rules::COOKIE_SECURE, "Secure is missing");
        }
        if cookie.is_login() && !cookie.has("httponly") {
            tell(&rules::COOKIE_HTTPONLY, "HttpOnly is missing");
        }
    }
}
