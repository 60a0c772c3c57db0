//! The cookies of a crawl (RFC 6265 and its revision 6265bis), safe against public suffixes.
//!
//! This module owns which cookies are kept, for how long, and which go with a request. It refuses
//! to know the clock (`now` is an argument) and HTTP beyond the value of two headers. `SameSite`
//! and `HttpOnly` are read over: a crawler has no scripts and every request is a navigation.
//!
//! Invariants: no cookie reaches a host outside the registrable domain that set it; the jar holds
//! at most [`MAX_COOKIES`] cookies, [`MAX_COOKIES_PER_SITE`] per site and [`MAX_JAR_BYTES`];
//! values never show in debug output.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::url::{CrawlUrl, Scheme};

mod cookie;
mod date;
mod host;
mod netscape;
mod parse;
#[cfg(test)]
mod tests;

use cookie::Cookie;
pub use netscape::CookieFileError;

/// The most bytes of a cookie's name and value together.
pub const MAX_COOKIE_BYTES: usize = 4_096;

/// The most bytes of a cookie's path or domain.
pub const MAX_ATTRIBUTE_BYTES: usize = 1_024;

/// The most cookies of one registrable domain.
pub const MAX_COOKIES_PER_SITE: usize = 50;

/// The most cookies in a jar.
pub const MAX_COOKIES: usize = 100_000;

/// The most bytes of names, values, domains and paths in a jar.
pub const MAX_JAR_BYTES: usize = 64 << 20;

/// The longest `Cookie` header that is made; common servers refuse longer ones. The cookies that
/// do not fit are left out, the most general ones first.
pub const MAX_HEADER_BYTES: usize = 16 * 1024;

/// The longest life of a cookie in seconds, 400 days (6265bis section 5.5).
pub const LONGEST_LIFE: u64 = 400 * 24 * 60 * 60;

/// Where a cookie comes from or goes to.
#[derive(Clone, Copy, Debug)]
pub struct CookieContext<'a> {
    /// Whether the connection is protected (https).
    pub secure: bool,
    /// The host as the URL standard serialises it: lower-case, IPv6 in brackets.
    pub host: &'a str,
    /// The path of the URL; a query behind it is ignored.
    pub path: &'a str,
}

impl<'a> CookieContext<'a> {
    /// The context of a request for a URL.
    pub fn for_url(url: &'a CrawlUrl) -> Self {
        Self {
            secure: url.scheme() == Scheme::Https,
            host: url.host(),
            path: url.path(),
        }
    }
}

impl<'a> CookieContext<'a> {
    fn plain_path(&self) -> &'a str {
        self.path.split('?').next().unwrap_or(self.path)
    }
}

/// What a `Set-Cookie` did to the jar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum CookieChange {
    /// The cookie is new or has a new value.
    Accepted,
    /// What the jar sends is as before; the life of a known cookie may have been prolonged.
    Unchanged,
    /// The cookie was known and has been ended.
    Removed,
    /// The cookie was not taken.
    Refused(CookieRefusal),
}

/// Why a cookie was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CookieRefusal {
    /// Neither a name nor a value.
    Empty,
    /// A control character somewhere in the header.
    ControlCharacter,
    /// Name and value are not UTF-8.
    NotText,
    /// Larger than [`MAX_COOKIE_BYTES`], or for a path longer than [`MAX_ATTRIBUTE_BYTES`].
    TooLarge,
    /// The domain does not cover the host that set the cookie.
    ForeignDomain,
    /// The domain is shared by sites of different owners.
    PublicSuffix,
    /// A secure cookie over plain HTTP, or a plain one that would hide a secure one.
    Insecure,
    /// The promise of a `__Host-` or `__Secure-` name is not kept.
    Prefix,
}

/// The cookies of a crawl.
///
/// ```
/// use clewline_core::cookies::{CookieChange, CookieContext, CookieJar};
///
/// let mut jar = CookieJar::default();
/// let context = CookieContext { secure: true, host: "www.example.com", path: "/shop/" };
/// assert_eq!(jar.store(context, b"id=7; Path=/; Secure", 0), CookieChange::Accepted);
/// assert_eq!(jar.header(context, 0).as_deref(), Some("id=7"));
/// assert_eq!(jar.header(CookieContext { secure: false, ..context }, 0), None);
/// ```
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Cookie>", into = "Vec<Cookie>")]
pub struct CookieJar {
    /// Cookies by registrable domain, so that a host without any costs one look.
    sites: BTreeMap<Arc<str>, Vec<Cookie>>,
    /// The site of each cookie by when it was last set, for eviction.
    ages: BTreeMap<u64, Arc<str>>,
    bytes: usize,
    /// The next value of `created` and `used`.
    next: u64,
}

impl CookieJar {
    /// Takes in the value of a `Set-Cookie` header that came with the answer of `context`.
    pub fn store(
        &mut self,
        context: CookieContext<'_>,
        set_cookie: &[u8],
        now: u64,
    ) -> CookieChange {
        let cookie = match parse::parse(context, set_cookie, now) {
            Ok(cookie) => cookie,
            Err(refusal) => return CookieChange::Refused(refusal),
        };
        let known = self.site_of(&cookie.domain);
        if !context.secure && known.iter().any(|other| cookie.overlays(other)) {
            return CookieChange::Refused(CookieRefusal::Insecure);
        }
        let change = change(
            known.iter().find(|other| other.is_same(&cookie)),
            &cookie,
            now,
        );
        match change {
            CookieChange::Removed => self.remove_same(&cookie),
            CookieChange::Unchanged if cookie.is_expired(now) => {}
            _ => self.insert(cookie, Some(now)),
        }
        change
    }

    /// The value of the `Cookie` header for a request, if any cookie goes with it.
    ///
    /// Cookies for longer paths come first, then older ones (RFC 6265 section 5.4).
    pub fn header(&self, context: CookieContext<'_>, now: u64) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let site = self.site_of(context.host);
        let mut sent: Vec<&Cookie> = site
            .iter()
            .filter(|cookie| cookie.is_sent_to(context, now))
            .collect();
        sent.sort_by_key(|cookie| (Reverse(cookie.path.len()), cookie.created));
        let mut header = String::new();
        for cookie in sent {
            append(&mut header, cookie);
        }
        (!header.is_empty()).then_some(header)
    }

    /// Takes in a cookie file in Netscape's format (`cookies.txt`), all of it or, if a line is
    /// wrong, nothing; answers how many cookies it held.
    pub fn load_netscape(&mut self, text: &str) -> Result<usize, CookieFileError> {
        let cookies = netscape::parse(text)?;
        let count = cookies.len();
        for cookie in cookies {
            self.insert(cookie, None);
        }
        Ok(count)
    }

    /// How many cookies the jar holds, expired ones included.
    pub fn len(&self) -> usize {
        self.ages.len()
    }

    /// Whether the jar holds no cookie.
    pub fn is_empty(&self) -> bool {
        self.ages.is_empty()
    }

    /// The site of a host, by whose name its cookies are kept: its registrable domain.
    pub fn site_name(host: &str) -> &str {
        host::site(host)
    }

    /// The cookies of the site with this name.
    #[must_use]
    pub fn only_site(&self, name: &str) -> Self {
        let cookies = self.sites.get(name).cloned().unwrap_or_default();
        Self::from(cookies)
    }

    /// Puts the cookies of a site in place of all that are known of it.
    pub fn replace_site(&mut self, name: &str, cookies: &Self) {
        while self.take(name, |_| true).is_some() {}
        let mut cookies = cookies.sites.get(name).cloned().unwrap_or_default();
        cookies.sort_by_key(|cookie| cookie.created);
        for cookie in cookies {
            self.insert(cookie, None);
        }
    }

    fn site_of(&self, host: &str) -> &[Cookie] {
        self.sites.get(host::site(host)).map_or(&[], Vec::as_slice)
    }

    /// Puts a cookie in, in place of the same one.
    fn insert(&mut self, mut cookie: Cookie, now: Option<u64>) {
        let name = host::site(&cookie.domain);
        let old = self.take(name, |other| other.is_same(&cookie));
        if let Some(now) = now {
            while self.take(name, |other| other.is_expired(now)).is_some() {}
        }
        cookie.created = old.map_or(self.next, |old| old.created);
        cookie.used = self.next;
        self.next += 1;
        self.place(cookie);
    }

    /// Puts a cookie in that is not there yet, and makes room for it.
    fn place(&mut self, cookie: Cookie) {
        let name = host::site(&cookie.domain);
        let site = match self.sites.get_key_value(name) {
            Some((site, _)) => Arc::clone(site),
            None => Arc::from(name),
        };
        self.bytes += cookie.bytes();
        self.ages.insert(cookie.used, Arc::clone(&site));
        let kept = self.sites.entry(Arc::clone(&site)).or_default();
        kept.push(cookie);
        if kept.len() > MAX_COOKIES_PER_SITE {
            let oldest = kept.iter().map(|cookie| cookie.used).min();
            self.take(&site, |other| Some(other.used) == oldest);
        }
        while self.len() > MAX_COOKIES || self.bytes > MAX_JAR_BYTES {
            self.evict_oldest();
        }
    }

    fn remove_same(&mut self, cookie: &Cookie) {
        self.take(host::site(&cookie.domain), |other| other.is_same(cookie));
    }

    fn evict_oldest(&mut self) {
        if let Some((&used, site)) = self.ages.first_key_value() {
            let site = Arc::clone(site);
            self.take(&site, |other| other.used == used);
        }
    }

    /// Takes the first cookie of a site that `wanted` picks out of the jar.
    fn take(&mut self, site: &str, wanted: impl Fn(&Cookie) -> bool) -> Option<Cookie> {
        let kept = self.sites.get_mut(site)?;
        let at = kept.iter().position(wanted)?;
        let cookie = kept.swap_remove(at);
        if kept.is_empty() {
            self.sites.remove(site);
        }
        self.ages.remove(&cookie.used);
        self.bytes -= cookie.bytes();
        Some(cookie)
    }
}

/// What storing `cookie` means, given the same cookie as it was known.
fn change(known: Option<&Cookie>, cookie: &Cookie, now: u64) -> CookieChange {
    match known {
        Some(_) if cookie.is_expired(now) => CookieChange::Removed,
        None if cookie.is_expired(now) => CookieChange::Unchanged,
        Some(known)
            if known.value == cookie.value
                && known.secure == cookie.secure
                && !known.is_expired(now) =>
        {
            CookieChange::Unchanged
        }
        _ => CookieChange::Accepted,
    }
}

fn append(header: &mut String, cookie: &Cookie) {
    let parts = [
        &*cookie.name,
        if cookie.name.is_empty() { "" } else { "=" },
        &*cookie.value,
    ];
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let separator = if header.is_empty() { "" } else { "; " };
    if header.len() + separator.len() + length <= MAX_HEADER_BYTES {
        header.push_str(separator);
        header.extend(parts);
    }
}

impl fmt::Debug for CookieJar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cookies: Vec<&Cookie> = self.sites.values().flatten().collect();
        formatter
            .debug_struct("CookieJar")
            .field("cookies", &cookies)
            .finish_non_exhaustive()
    }
}

/// Builds the jar anew, so that stored data cannot break its bounds.
impl From<Vec<Cookie>> for CookieJar {
    fn from(mut cookies: Vec<Cookie>) -> Self {
        cookies.retain(|cookie| cookie.is_sendable() && cookie.is_small());
        cookies.sort_by_key(|cookie| cookie.created);
        for (rank, cookie) in (0..).zip(&mut cookies) {
            cookie.created = rank;
        }
        cookies.sort_by_key(|cookie| cookie.used);
        let mut jar = Self {
            next: cookies.len() as u64,
            ..Self::default()
        };
        for mut cookie in cookies {
            jar.take(host::site(&cookie.domain), |other| other.is_same(&cookie));
            cookie.used = jar.next;
            jar.next += 1;
            jar.place(cookie);
        }
        jar
    }
}

impl From<CookieJar> for Vec<Cookie> {
    fn from(jar: CookieJar) -> Self {
        jar.sites.into_values().flatten().collect()
    }
}
