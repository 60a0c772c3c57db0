//! Trails of URLs over a real crawl are tested with the command; here are the parts.

use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;

use super::judge::dropped;

#[test]
fn dropped_parameters_are_named_as_they_were_written() {
    let keyer = Keyer::new(1, &["utm_*".into(), "sid".into()]);
    let check = |url: &str, expected: &[&str]| {
        let url = CrawlUrl::parse(url).unwrap();
        assert_eq!(dropped(&url, &keyer), expected, "{url}");
    };
    check("http://a.test/", &[]);
    check(
        "http://a.test/?a=1&utm_source=x&%73id=2&b",
        &["utm_source=x", "%73id=2"],
    );
    check("http://a.test/?utm=1", &[]);
}
