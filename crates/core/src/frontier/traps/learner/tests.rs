//! What makes a template suspect, and what clears it.

use super::super::tests::{look, url};
use super::*;

/// Learns from a page and the page that it was found on; without texts nobody looks at it.
fn learn(learner: &mut Learner, source: Source, pages: (&str, &str), texts: Option<&[&str]>) {
    let page = Fetched {
        url: &url(pages.0),
        found_on: Some(&url(pages.1)),
        source,
    };
    learner.learn(&page, texts.map(look).as_ref());
}

fn learn_vouched(learner: &mut Learner, path: &str, found_on: &str, texts: Option<&[&str]>) {
    learn(learner, Source::Vouches, (path, found_on), texts);
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
    let class = |path: &str| learner.class(&url(path), Source::Vouches);
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
    let class = |learner: &Learner| learner.class(&url("/list?p=1"), Source::Vouches);
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
    learner.brought(&url("/list?colour=red"), 64);
    let class = |learner: &Learner, path: &str| learner.class(&url(path), Source::Vouches);
    assert_eq!(class(&learner, "/list?colour=red"), Class::Suspect);
    assert_eq!(class(&learner, "/list?page=f"), Class::Normal);
    for _ in 0..64 {
        learner.await_kin(&url("/list?page=f"));
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
    let class = |learner: &Learner| learner.class(&url("/docs/x"), Source::Silent);
    assert_eq!(class(&learner), Class::Normal);
    for letter in 'a'..='h' {
        let path = format!("/docs/no-{letter}");
        learn(
            &mut learner,
            Source::Silent,
            (&path, "/"),
            Some(&["nothing"]),
        );
    }
    assert_eq!(class(&learner), Class::Suspect);
}
