//! Trails of URLs over a real crawl are tested with the command; here are the parts.

use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;

use super::judge::dropped;
use super::{Fate, fate_of_seen};

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

#[test]
fn what_waits_is_called_withheld_only_when_nothing_else_waits() {
    let trap = "given up as a trap: /cal/{n}, 4096 pages alike";
    let perhaps = format!("URLs like it were {trap}, so it may be withheld");
    for (trap, is_over, fate, rule) in [
        (None, false, Fate::Queued, None),
        (None, true, Fate::Queued, None),
        (Some(trap), false, Fate::Queued, Some(perhaps.as_str())),
        (Some(trap), true, Fate::Withheld, Some(trap)),
    ] {
        let found = fate_of_seen(trap, is_over);
        assert_eq!(found, (fate, rule.map(str::to_owned)), "{trap:?} {is_over}");
    }
}
