//! What makes a template suspect, and what clears it.

use super::super::tests::{fetched, look, shape, url};
use super::*;

/// Learns from a page and the page that it was found on; without texts nobody looks at it.
fn learn(learner: &mut Learner, source: LinkSource, pages: (&str, &str), texts: Option<&[&str]>) {
    let page = url(pages.0);
    let page = fetched(&page, pages.1, source);
    learner.learn(&page, texts.map(look).as_ref());
}

fn learn_vouched(learner: &mut Learner, path: &str, found_on: &str, texts: Option<&[&str]>) {
    learn(learner, LinkSource::Vouches, (path, found_on), texts);
}

#[test]
fn a_template_is_judged_by_its_shape_before_it_is_known() {
    let mut learner = Learner::default();
    for number in 0..80_u8 {
        let directory = char::from(b'a' + number % 8);
        let below = "x/".repeat(usize::from(number / 8 % 3));
        let path = format!("/{directory}/{below}page.php?part=1");
        learn_vouched(&mut learner, &path, "/", Some(&["the same"]));
    }
    let class = |path: &str| learner.class(&shape(path), LinkSource::Vouches);
    for path in ["/a/page.php?part=2", "/h/x/page.php?part=2"] {
        assert_eq!(class(path), Class::Suspect, "{path}");
    }
    assert_eq!(class("/a/page.html"), Class::Normal);
}

#[test]
fn a_list_is_useful_as_long_as_it_leads_to_something_even_if_nobody_looks() {
    let mut learner = Learner::default();
    for number in 0..20 {
        learn_vouched(
            &mut learner,
            &format!("/list?p={number}"),
            "/",
            Some(&["list"]),
        );
    }
    let class = |learner: &Learner| learner.class(&shape("/list?p=1"), LinkSource::Vouches);
    assert_eq!(class(&learner), Class::Suspect);
    for number in 0..4 {
        learn_vouched(&mut learner, &format!("/item/{number}"), "/list?p=1", None);
    }
    assert_eq!(class(&learner), Class::Normal);
    for number in 0..8 {
        learn_vouched(&mut learner, &format!("/list?p={number}"), "/", None);
    }
    assert_eq!(class(&learner), Class::Suspect);
}

#[test]
fn kin_that_explode_do_not_take_others_with_them() {
    let mut learner = Learner::default();
    for letter in ["a", "b", "c", "d", "e"] {
        learn_vouched(
            &mut learner,
            &format!("/list?page={letter}"),
            "/",
            Some(&[letter]),
        );
    }
    learner.brought(&shape("/list?colour=red"), 64);
    let class = |learner: &Learner, path: &str| learner.class(&shape(path), LinkSource::Vouches);
    assert_eq!(class(&learner, "/list?colour=red"), Class::Suspect);
    assert_eq!(class(&learner, "/list?page=f"), Class::Normal);
    for _ in 0..64 {
        learner.await_kin(&shape("/list?page=f"));
    }
    assert_eq!(class(&learner, "/list?page=f"), Class::Suspect);
}

#[test]
fn what_nobody_vouches_for_is_tried_where_its_template_is_good() {
    let mut learner = Learner::default();
    for letter in 'a'..='j' {
        let text = letter.to_string();
        learn_vouched(
            &mut learner,
            &format!("/docs/{letter}"),
            "/",
            Some(&[&text]),
        );
    }
    let class = |learner: &Learner| learner.class(&shape("/docs/x"), LinkSource::Silent);
    assert_eq!(class(&learner), Class::Normal);
    for letter in 'a'..='h' {
        let path = format!("/docs/no-{letter}");
        learn(
            &mut learner,
            LinkSource::Silent,
            (&path, "/"),
            Some(&["nothing"]),
        );
    }
    assert_eq!(class(&learner), Class::Suspect);
}

/// How many of these pages are looked at, all of which say the same; whether they lead on.
fn looks(learner: &mut Learner, pages: std::ops::Range<u32>, lead_on: bool) -> usize {
    let wanted = pages.filter(|number| {
        let page = url(&format!("/calendar/{number}"));
        let page = fetched(&page, "/calendar/0", LinkSource::Silent);
        let is_wanted = learner.wants_look(page.url, page.source);
        let look = is_wanted.then(|| look(&["no events"]));
        let verdict = learner.learn(&page, look.as_ref());
        if lead_on {
            learner.charge(&page, verdict, false);
        }
        is_wanted
    });
    wanted.count()
}

#[test]
fn all_pages_are_looked_at_where_they_lead_on_and_a_sample_where_they_do_not() {
    let mut learner = Learner::default();
    let pages = 50 * SAMPLED;
    let (all, sample) = (usize::from(LOOKS), 50);
    let few = all + sample / 2..all + 2 * sample;
    let first = looks(&mut learner, 0..pages, false);
    assert!(few.contains(&first), "{first}");
    let leading_on = looks(&mut learner, pages..2 * pages, true);
    assert!(leading_on > pages as usize * 9 / 10, "{leading_on}");
    let last = looks(&mut learner, 2 * pages..3 * pages, false);
    assert!(few.contains(&last), "{last}");
}

#[test]
fn a_page_in_between_that_says_nothing_gives_back_little() {
    let mut learner = Learner::default();
    looks(&mut learner, 0..3200, false);
    let mut looked_at = 0;
    for number in 0..3200 {
        let address = url(&format!("/docs/{number}"));
        let page = fetched(&address, "/", LinkSource::Vouches);
        if !learner.wants_look(page.url, page.source) {
            learner.learn(&page, None);
            continue;
        }
        looked_at += 1;
        let text = format!("text {number}x");
        let says = if looked_at % 2 == 0 {
            "no events"
        } else {
            text.as_str()
        };
        let verdict = learner.learn(&page, Some(&look(&[says])));
        learner.charge(&page, verdict, false);
    }
    assert!(looked_at < 4 * 3200 / SAMPLED, "{looked_at}");
}

#[test]
fn what_was_written_before_looks_were_counted_still_reads() {
    let mut learner = Learner::default();
    looks(&mut learner, 0..100, true);
    let bytes = learner.to_bytes();
    assert_eq!(Learner::from_bytes(&bytes).as_ref(), Some(&learner));
    let before = |missing: usize| Learner::from_bytes(&bytes[..bytes.len() - missing]);
    learner.idle = 0;
    assert_eq!(before(1).as_ref(), Some(&learner));
    learner.looks = 0;
    assert_eq!(before(3), Some(learner));
}
