//! The cookies of requests and of answers, in a crawl and in an inspection.
//!
//! Owns the moment that counts for a cookie. What a cookie means is the jar's affair.

use clewline_core::cookies::{CookieChange, CookieContext, CookieJar};
use clewline_core::url::CrawlUrl;

use crate::clock::unix_seconds;

/// The cookies that a request for a URL takes along.
pub(crate) fn sent_cookies(jar: &CookieJar, url: &CrawlUrl) -> Option<String> {
    jar.header(CookieContext::for_url(url), unix_seconds())
}

/// Keeps what an answer sets; says how many cookies were accepted.
pub(crate) fn keep_cookies<'a>(
    jar: &mut CookieJar,
    url: &CrawlUrl,
    set: impl Iterator<Item = &'a [u8]>,
) -> u32 {
    let now = unix_seconds();
    let mut accepted = 0;
    for cookie in set {
        let change = jar.store(CookieContext::for_url(url), cookie, now);
        accepted += u32::from(change == CookieChange::Accepted);
    }
    accepted
}
