//! The value of a `Set-Cookie` header (6265bis sections 5.6 and 5.7).
//!
//! Owns its syntax and the conditions that need no jar; refuses to know other cookies.
//! Invariant: a cookie that is answered may be sent to its host as it is.

use super::host::{self, CookieReach};
use super::{Cookie, CookieContext, CookieRefusal, LONGEST_LIFE, MAX_ATTRIBUTE_BYTES, date};

/// The attributes that a crawler heeds; of each the last one counts.
#[derive(Default)]
struct Attributes<'a> {
    expires: Option<u64>,
    max_age: Option<u64>,
    domain: Option<&'a str>,
    path: Option<&'a str>,
    secure: bool,
}

pub(super) fn parse(
    context: CookieContext<'_>,
    set_cookie: &[u8],
    now: u64,
) -> Result<Cookie, CookieRefusal> {
    if set_cookie
        .iter()
        .any(|byte| byte.is_ascii_control() && *byte != b'\t')
    {
        return Err(CookieRefusal::ControlCharacter);
    }
    let text = std::str::from_utf8(set_cookie).map_err(|_| CookieRefusal::NotText)?;
    let (pair, rest) = text.split_once(';').unwrap_or((text, ""));
    let (name, value) = pair.split_once('=').unwrap_or(("", pair));
    let (name, value) = (trim(name), trim(value));
    if name.is_empty() && value.is_empty() {
        return Err(CookieRefusal::Empty);
    }
    let attributes = Attributes::parse(rest, now);
    let (domain, reach) = scope(context.host, attributes.domain)?;
    if attributes.secure && !context.secure {
        return Err(CookieRefusal::Insecure);
    }
    check_prefix(name, value, &attributes)?;
    let path = attributes
        .path
        .unwrap_or_else(|| default_path(context.plain_path()));
    let cookie = Cookie {
        name: name.into(),
        value: value.into(),
        domain,
        path: path.into(),
        reach,
        secure: attributes.secure,
        expires: attributes.max_age.or(attributes.expires),
        created: 0,
        used: 0,
    };
    if !cookie.is_small() {
        return Err(CookieRefusal::TooLarge);
    }
    Ok(cookie)
}

/// Only blanks and tabs are outer space here; a value may begin with any other character.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

impl<'a> Attributes<'a> {
    fn parse(text: &'a str, now: u64) -> Self {
        let mut attributes = Self::default();
        for attribute in text.split(';') {
            let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            let (name, value) = (trim(name), trim(value));
            if value.len() <= MAX_ATTRIBUTE_BYTES {
                attributes.take(name, value, now);
            }
        }
        attributes
    }

    fn take(&mut self, name: &str, value: &'a str, now: u64) {
        let longest = now.saturating_add(LONGEST_LIFE);
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("expires") {
            self.expires = date::parse(value)
                .map(|date| date.min(longest))
                .or(self.expires);
        } else if is("max-age") {
            self.max_age = end_of(value, now)
                .map(|end| end.min(longest))
                .or(self.max_age);
        } else if is("domain") {
            self.domain = Some(value.strip_prefix('.').unwrap_or(value));
        } else if is("path") {
            self.path = Some(value).filter(|path| path.starts_with('/'));
        } else if is("secure") {
            self.secure = true;
        }
    }
}

/// When a `Max-Age` ends; one of zero or less has ended at the beginning of time.
fn end_of(value: &str, now: u64) -> Option<u64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: u64 = digits.parse().unwrap_or(u64::MAX);
    if seconds == 0 || value.starts_with('-') {
        Some(0)
    } else {
        Some(now.saturating_add(seconds))
    }
}

/// The folder of the path that set the cookie (RFC 6265 section 5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(slash) if slash > 0 && path.starts_with('/') => &path[..slash],
        _ => "/",
    }
}

/// The hosts a cookie is for.
///
/// A domain must lie between the host and its registrable domain. That is stricter than "not a
/// public suffix" where suffixes nest: `city.jp` is none, yet `*.city.jp` are, and a cookie for
/// the former would be shared by strangers.
fn scope(host: &str, domain: Option<&str>) -> Result<(Box<str>, CookieReach), CookieRefusal> {
    let Some(domain) = domain.filter(|domain| !domain.is_empty()) else {
        return Ok((host.into(), CookieReach::Host));
    };
    let domain = canonical(domain).ok_or(CookieRefusal::ForeignDomain)?;
    if !host::covers(&domain, host) {
        return Err(CookieRefusal::ForeignDomain);
    }
    if domain.len() < host::site(host).len() {
        return Err(CookieRefusal::PublicSuffix);
    }
    let reach = CookieReach::below(&domain);
    Ok((domain, reach))
}

/// A domain in the form of a host: lower-case, and names in other scripts in their ASCII form.
fn canonical(domain: &str) -> Option<Box<str>> {
    if domain.is_ascii() {
        return Some(domain.to_ascii_lowercase().into());
    }
    match url::Host::parse(domain).ok()? {
        url::Host::Domain(name) => Some(name.into()),
        _ => None,
    }
}

/// The promises of 6265bis section 4.1.3. A cookie without a name is sent as its bare value, so
/// that value must not look like such a name either.
fn check_prefix(name: &str, value: &str, attributes: &Attributes<'_>) -> Result<(), CookieRefusal> {
    let sent = if name.is_empty() { value } else { name };
    let begins = |prefix: &str| {
        sent.get(..prefix.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    };
    let is_host = begins("__Host-");
    if !is_host && !begins("__Secure-") {
        return Ok(());
    }
    let host_kept = attributes.domain.is_none_or(str::is_empty) && attributes.path == Some("/");
    if name.is_empty() || !attributes.secure || (is_host && !host_kept) {
        return Err(CookieRefusal::Prefix);
    }
    Ok(())
}
