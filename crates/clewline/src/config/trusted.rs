//! Whom a crawl shows its credentials: the origins of its roots, and nobody else.
//!
//! Owns that rule for the crawl and for `inspect` alike. A set, because a crawl may have as many
//! roots as hosts and asks for every request.

use std::collections::HashSet;

use clewline_core::url::CrawlUrl;

use super::Root;

/// The origins that get the password of `-u` and the credentials among the headers of `-H`.
#[derive(Debug, Clone)]
pub(crate) struct Trusted(HashSet<Box<str>>);

impl Trusted {
    pub(crate) fn by(roots: &[Root]) -> Self {
        Self(roots.iter().map(|root| root.url.origin().into()).collect())
    }

    pub(crate) fn includes(&self, url: &CrawlUrl) -> bool {
        self.0.contains(url.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_scheme_host_or_port_is_another_origin() {
        let trusted = Trusted::by(&[Root::parse("http://a.test/deep").expect("a URL")]);
        let check = |url: &str, included: bool| {
            let url = CrawlUrl::parse(url).expect("a URL");
            assert_eq!(trusted.includes(&url), included, "{url:?}");
        };
        check("http://a.test/", true);
        check("https://a.test/deep", false);
        check("http://a.test:81/deep", false);
        check("http://www.a.test/deep", false);
    }
}
