//! The learner by tables, and the frontier against sites with traps, in virtual time.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::super::Rules;
use super::super::entry::Class;
use super::super::job::{End, Ending, Look, Next, Settlement, Work};
use super::super::store::MemoryStore;
use super::*;
use crate::key::Keyer;
use crate::link::{Link, LinkKind};
use crate::scope::{Reach, Scope};

pub(super) fn url(path: &str) -> CrawlUrl {
    CrawlUrl::parse(&format!("http://www.site.test{path}")).unwrap()
}

pub(super) fn shape(path: &str) -> UrlShape {
    UrlShape::new(&url(path))
}

pub(super) fn fetched<'a>(page: &'a CrawlUrl, found_on: &str, source: LinkSource) -> Fetched<'a> {
    Fetched {
        url: page,
        shape: UrlShape::new(page),
        found_on: Some(shape(found_on)),
        source,
    }
}

/// A look at pieces of text by name; a name with digits has one piece for all numbers.
pub(super) fn look(texts: &[&str]) -> Look {
    let hash = |text: &str| xxh3_64(text.as_bytes());
    let words = texts
        .iter()
        .map(|text| text.trim_end_matches(|c: char| c.is_ascii_digit()));
    let mut pieces: Vec<u32> = words
        .clone()
        .map(|text| (hash(text) >> 32) as u32)
        .collect();
    pieces.sort_unstable();
    pieces.dedup();
    Look {
        links: 0,
        text: words.map(hash).fold(0, u64::wrapping_add),
        pieces,
        cost: 1,
    }
}

fn learn(learner: &mut Learner, path: &str, found_on: &str, texts: &[&str]) -> TextVerdict {
    let page = url(path);
    let page = fetched(&page, found_on, LinkSource::Silent);
    learner.learn(&page, Some(&look(texts)))
}

/// Learns from a page that leads to so many others of its kind.
fn learn_and_grow(learner: &mut Learner, path: &str, found_on: &str, texts: &[&str], links: u32) {
    let said = learn(learner, path, found_on, texts);
    learner.brought(&shape(path), links);
    let page = url(path);
    let page = fetched(&page, found_on, LinkSource::Silent);
    learner.charge(&page, said, false);
}

#[test]
fn pages_are_new_varied_or_the_same() {
    let mut learner = Learner::default();
    assert_eq!(
        learn(&mut learner, "/a", "/", &["foot", "one"]),
        TextVerdict::New
    );
    assert_eq!(
        learn(&mut learner, "/b", "/", &["foot", "two"]),
        TextVerdict::New
    );
    assert_eq!(
        learn(&mut learner, "/c", "/", &["one", "two"]),
        TextVerdict::Varied
    );
    assert_eq!(
        learn(&mut learner, "/d", "/", &["two", "one"]),
        TextVerdict::Same
    );
    assert_eq!(
        learn(&mut learner, "/e", "/", &["foot", "two"]),
        TextVerdict::Same
    );
    assert_eq!(learn(&mut learner, "/f", "/", &[]), TextVerdict::Varied);
    assert_eq!(learn(&mut learner, "/g", "/", &[]), TextVerdict::Same);
    let page = url("/h");
    let page = Fetched {
        found_on: None,
        ..fetched(&page, "/", LinkSource::Vouches)
    };
    let unseen = learner.learn(&page, None);
    assert_eq!(unseen, TextVerdict::Unknown);
}

/// After how many months a calendar without events is given up.
fn months_until_given_up(learner: &mut Learner) -> Option<u32> {
    let month = |number: u32| format!("/calendar/{}/{}", 2026 + number / 12, number % 12);
    for number in 0..40_000 {
        let class = learner.class(&shape(&month(number)), LinkSource::Silent);
        if class == Class::Withheld {
            return Some(number);
        }
        if number > 0 {
            assert_eq!(class, Class::Suspect, "after {number} pages");
        }
        let before = month(number.saturating_sub(1));
        learn_and_grow(learner, &month(number), &before, &["no events"], 2);
    }
    None
}

#[test]
fn a_template_is_asked_last_then_given_up_when_it_grows_out_of_itself() {
    let mut learner = Learner::default();
    for first in 'a'..='z' {
        for second in ['x', 'y'] {
            let word = format!("{first}{second}");
            learn(&mut learner, &format!("/article/{word}"), "/", &[&word]);
        }
    }
    let months = months_until_given_up(&mut learner);
    assert!(
        months.is_some_and(|months| (4_000..4_400).contains(&months)),
        "{months:?}"
    );
    let trap = learner.why(&url("/calendar/1999/1")).unwrap();
    assert_eq!(&*trap.template, "/calendar/{n}/{n}");
    assert!(trap.alike > 4_000);
    assert_eq!(
        learner.class(&shape("/calendar/1/1"), LinkSource::Vouches),
        Class::Suspect
    );
}

#[test]
fn a_site_whose_pages_are_all_alike_is_crawled_for_longer() {
    let months = months_until_given_up(&mut Learner::default());
    assert!(
        months.is_some_and(|months| (16_000..17_000).contains(&months)),
        "{months:?}"
    );
}

#[test]
fn pages_that_lead_nowhere_are_never_given_up() {
    let mut learner = Learner::default();
    for number in 0..70_000 {
        let item = format!("/item/{number}");
        learn(&mut learner, &item, "/list?page=1", &["in stock: 7"]);
    }
    let class = learner.class(&shape("/item/1"), LinkSource::Silent);
    assert_eq!(class, Class::Suspect);
}

#[test]
fn what_is_found_elsewhere_or_varies_is_not_given_up_soon() {
    let mut learner = Learner::default();
    for number in 0..900 {
        let item = format!("/item/{number}");
        let price = format!("price {}", number * 7);
        learn(&mut learner, &item, "/list?page=1", &["shop", &price]);
    }
    assert_eq!(
        learner.class(&shape("/item/1"), LinkSource::Silent),
        Class::Suspect
    );
}

#[test]
fn a_wrong_suspicion_is_corrected() {
    let mut learner = Learner::default();
    for number in 0..100 {
        learn(&mut learner, &format!("/p/{number}"), "/p/0", &["same"]);
    }
    assert_eq!(
        learner.class(&shape("/p/7"), LinkSource::Silent),
        Class::Suspect
    );
    for word in ["a", "b", "c"] {
        learn(&mut learner, &format!("/p/{word}"), "/p/0", &[word]);
        learn(&mut learner, "/p/200", "/p/0", &[word, "d"]);
    }
    learn(&mut learner, "/p/201", "/p/0", &["e"]);
    learn(&mut learner, "/p/202", "/p/0", &["f"]);
    learn(&mut learner, "/p/203", "/p/0", &["g"]);
    assert_eq!(
        learner.class(&shape("/p/7"), LinkSource::Silent),
        Class::Normal
    );
}

#[test]
fn a_value_that_changes_nothing_does_not_matter() {
    let mut learner = Learner::default();
    assert_eq!(learner.reduced(&url("/p?sid=1")), None);
    for round in 0..4 {
        for page in 0..12_u8 {
            let path = format!("/p?page={page}&sid={}", 100 * round + u32::from(page));
            learn(
                &mut learner,
                &path,
                "/",
                &[&format!("{}", char::from(b'a' + page))],
            );
        }
    }
    let reduced = |path: &str| learner.reduced(&url(path));
    assert!(reduced("/p?page=1&sid=9").is_some());
    assert_eq!(reduced("/p?page=1&sid=9"), reduced("/p?sid=10&page=1"));
    assert_ne!(reduced("/p?page=1&sid=9"), reduced("/p?page=2&sid=9"));
    assert_eq!(
        reduced("/p?page=1"),
        reduced("/p?page=1&sid=9"),
        "none is like any"
    );
}

#[test]
fn a_learner_stays_small_and_comes_back_as_it_was() {
    let mut learner = Learner::default();
    for number in 0..200_000_u32 {
        let path = match number % 7 {
            0 => format!(
                "/d{}/{number}/x?a{}=1&b{number}=2",
                number % 40,
                number % 50
            ),
            1 => format!("/{number}.e{}", char::from(b'a' + (number % 20) as u8)),
            _ => format!("/cal{}/{number}?s={number}", number % 9),
        };
        let own = path.clone();
        learn_and_grow(
            &mut learner,
            &path,
            &own,
            &[&format!("w{}x", number % 3)],
            5,
        );
    }
    assert!(!learner.given_up().is_empty());
    let row = row::write(&learner);
    let bytes = row.traps.as_ref().unwrap().len();
    assert!(bytes <= Learner::BYTES, "{bytes} bytes");
    assert_eq!(row::read(&row), Some(learner));
    let damaged = LaneRow {
        traps: Some("1abc".into()),
        ..LaneRow::default()
    };
    assert_eq!(row::read(&damaged), None);
}

/// A site: what a page says, and where it leads.
type Page = fn(&CrawlUrl) -> (Vec<String>, Vec<String>);

/// What a crawl of a site did.
struct Crawl {
    frontier: Frontier<MemoryStore>,
    asked: Vec<String>,
    end: End,
}

fn rules() -> Rules {
    let scope = Scope::new(Reach::Domain, false, &[], &[]).unwrap();
    let mut rules = Rules {
        sitemaps: false,
        ..Rules::new(scope, Keyer::new(1, &[]))
    };
    let host = std::sync::Arc::make_mut(&mut rules.host);
    host.robots = false;
    host.near = None;
    rules
}

fn crawl(rules: Rules, page: Page) -> Crawl {
    let mut frontier = Frontier::new(rules, MemoryStore::default());
    frontier.admit_root(url("/"), false, Moment::ZERO).unwrap();
    go_on(frontier, page)
}

fn go_on(mut frontier: Frontier<MemoryStore>, page: Page) -> Crawl {
    let (mut now, mut asked) = (Moment::ZERO, Vec::new());
    let keyer = frontier.rules().keyer.clone();
    for _ in 0..200_000 {
        match frontier.next(now).unwrap() {
            Next::Start(job) => {
                let ending = match &job.work {
                    Work::Page { url, closely, .. } => {
                        asked.push(url.as_str().to_owned());
                        Ending::Answered(Box::new(answer(url, *closely, page, &keyer)))
                    }
                    _ => Ending::Resolved {
                        addresses: vec![[93, 0, 0, 1].into()],
                        ttl: Duration::from_hours(1000),
                        trusted: false,
                    },
                };
                let job = job.id;
                frontier
                    .settle(&mut Settlement { job, ending }, now)
                    .unwrap();
            }
            Next::WaitUntil(at) => now = at,
            Next::Done(end) => {
                return Crawl {
                    frontier,
                    asked,
                    end,
                };
            }
            Next::Settled(_) | Next::Waiting | Next::Idle => {}
        }
    }
    panic!("the crawl does not end");
}

fn answer(url: &CrawlUrl, closely: bool, page: Page, keyer: &Keyer) -> Answer {
    let (texts, links) = page(url);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut answer = Answer {
        status: 200,
        look: closely.then(|| Box::new(look(&texts))),
        ..Answer::default()
    };
    for link in links {
        let link = Link::new(url.join(&link).unwrap(), LinkKind::Anchor);
        answer.links.push(link.by_ref(), keyer.key(&link.url));
    }
    answer
}

/// Two hundred pages with texts of their own, each of which leads to three others; `more` is what
/// the template of the site puts on each of them.
fn real(number: u32, more: Vec<String>) -> (Vec<String>, Vec<String>) {
    let name = |number: u32| {
        let letter = |number: u32| char::from(b'a' + (number % 26) as u8);
        format!("p{}{}", letter(number / 26), letter(number))
    };
    let targets = (1..=3).map(|step| 3 * number + step).filter(|it| *it < 200);
    let mut links: Vec<String> = targets.map(|it| format!("/docs/{}", name(it))).collect();
    links.extend(more);
    (
        vec!["head".into(), format!("text of {}", name(number))],
        links,
    )
}

fn real_number(url: &CrawlUrl) -> Option<u32> {
    if url.path() == "/" {
        return Some(0);
    }
    let name = url.path().strip_prefix("/docs/p")?.as_bytes();
    let [first, second] = name else { return None };
    Some(u32::from(first - b'a') * 26 + u32::from(second - b'a'))
}

/// Months without end, two of them found on each.
fn calendar(url: &CrawlUrl) -> (Vec<String>, Vec<String>) {
    if let Some(number) = real_number(url) {
        return real(number, vec!["/calendar/2026/1".into()]);
    }
    let mut numbers = url
        .path()
        .rsplit('/')
        .map_while(|part| part.parse::<u32>().ok());
    let (month, year) = (numbers.next().unwrap(), numbers.next().unwrap());
    let next = (year + month / 12, month % 12 + 1);
    let links = vec![
        format!("/calendar/{}/{}", next.0, next.1),
        format!("/calendar/{}/{month}", year + 1),
    ];
    (vec!["head".into(), "no events".into()], links)
}

/// Every link has a session of its own.
fn sessions(url: &CrawlUrl) -> (Vec<String>, Vec<String>) {
    let number = real_number(url).unwrap();
    let salt = xxh3_64(url.as_str().as_bytes());
    let (texts, links) = real(
        number,
        vec!["/".into(), "/docs/pab".into(), "/docs/pac".into()],
    );
    let with_session =
        |(place, link): (usize, String)| format!("{link}?sid={}{place}", salt % 9999);
    (
        texts,
        links.into_iter().enumerate().map(with_session).collect(),
    )
}

/// Host names without end, all with the same pages.
fn wildcard(url: &CrawlUrl) -> (Vec<String>, Vec<String>) {
    let salt = xxh3_64(url.as_str().as_bytes());
    let others = (0..4).map(|place| format!("http://w{salt:x}{place}.site.test/"));
    let others = others.collect();
    if url.host() == "www.site.test" {
        real(real_number(url).unwrap(), others)
    } else {
        (vec!["head".into(), "welcome".into()], others)
    }
}

/// A catalogue whose pages differ in one number, found on pages that are lists of links.
fn catalogue(url: &CrawlUrl) -> (Vec<String>, Vec<String>) {
    if let Some(page) = url.query().and_then(|query| query.strip_prefix("page=")) {
        let page: u32 = page.parse().unwrap();
        let mut links: Vec<String> = (0..20)
            .map(|it| format!("/item/{}", 20 * page + it))
            .collect();
        if page < 40 {
            links.push(format!("/list?page={}", page + 1));
        }
        return (vec!["list".into()], links);
    }
    match url.path().strip_prefix("/item/") {
        Some(number) => (
            vec!["item".into(), format!("price {number}7")],
            vec!["/".into()],
        ),
        None => (vec!["shop".into()], vec!["/list?page=0".into()]),
    }
}

/// Requests after which all but one in twenty of the real pages were fetched.
fn requests_for_most(crawl: &Crawl) -> usize {
    let mut met = BTreeSet::new();
    for (place, asked) in crawl.asked.iter().enumerate() {
        let asked = CrawlUrl::parse(asked).unwrap();
        if asked.host() == "www.site.test" {
            met.extend(real_number(&asked));
        }
        if met.len() >= 190 {
            return place + 1;
        }
    }
    panic!("{} real pages were fetched", met.len());
}

#[test]
fn real_pages_come_before_traps_and_the_crawl_ends() {
    for (name, page) in [
        ("calendar", calendar as Page),
        ("sessions", sessions),
        ("wildcard", wildcard),
    ] {
        let crawl = crawl(rules(), page);
        let requests = requests_for_most(&crawl);
        assert!(requests <= 1000, "{name}: {requests}");
        assert_eq!(crawl.end, End::Finished, "{name}");
        let counts = crawl.frontier.counts();
        assert_eq!(counts.todo(), counts.withheld, "{name}");
        assert!(counts.withheld > 0, "{name}");
        let traps = crawl.frontier.traps();
        let named: u64 = traps.iter().map(|trap| u64::from(trap.withheld)).sum();
        assert!(named > 0 && named <= counts.withheld, "{name}: {traps:?}");
    }
}

#[test]
fn what_the_user_asked_for_by_name_is_given_more_time() {
    let usual = crawl(rules(), calendar).asked.len();
    let mut wanted = rules();
    let include = ["site".to_owned()];
    wanted.scope = Scope::new(Reach::Domain, false, &include, &[]).unwrap();
    let wanted = crawl(wanted, calendar);
    assert_eq!(wanted.end, End::Finished);
    assert!(wanted.asked.len() > 3 * usual, "{}", wanted.asked.len());
}

#[test]
fn what_is_finite_is_fetched_whole() {
    let crawl = crawl(rules(), catalogue);
    assert_eq!(crawl.end, End::Finished);
    assert_eq!(crawl.asked.len(), 1 + 41 + 820);
    assert_eq!(crawl.frontier.counts().withheld, 0);
}

#[test]
fn without_detection_everything_is_asked_even_what_was_withheld() {
    let first = crawl(rules(), calendar);
    let asked: BTreeSet<String> = first.asked.iter().cloned().collect();
    assert_eq!(asked.len(), first.asked.len());
    let (state, withheld) = (first.frontier.state(), first.frontier.counts().withheld);
    assert!(!state.traps.is_empty());
    let mut rules = rules();
    rules.traps = false;
    rules.limits.pages = Some(state.counts.pages + withheld + 100);
    let mut again = Frontier::new(rules, first.frontier.store);
    again.know_root(&url("/"));
    again.restore(state);
    let second = go_on(again, calendar);
    assert!(matches!(second.end, End::Budget(_)));
    assert_eq!(second.asked.len() as u64, withheld + 100);
    assert!(second.asked.iter().all(|url| !asked.contains(url)));
    assert_eq!(second.frontier.state().counts.withheld, 0);
}

#[test]
fn a_page_that_leads_on_by_itself_ends_where_redirects_do() {
    let mut rules = rules();
    rules.traps = false;
    rules.limits.redirects = 7;
    let keyer = rules.keyer.clone();
    let mut frontier = Frontier::new(rules, MemoryStore::default());
    frontier.admit_root(url("/0"), false, Moment::ZERO).unwrap();
    let (mut now, mut pages) = (Moment::ZERO, 0);
    loop {
        match frontier.next(now).unwrap() {
            Next::Start(job) => {
                let mut answer = Answer {
                    status: 200,
                    ..Answer::default()
                };
                let ending = if let Work::Page { url, .. } = &job.work {
                    pages += 1;
                    let next = url.join(&format!("/{pages}")).unwrap();
                    let link = Link::new(next, LinkKind::Refresh);
                    answer.links.push(link.by_ref(), keyer.key(&link.url));
                    Ending::Answered(Box::new(answer))
                } else {
                    Ending::Resolved {
                        addresses: vec![[93, 0, 0, 1].into()],
                        ttl: Duration::from_hours(1000),
                        trusted: false,
                    }
                };
                let job = job.id;
                frontier
                    .settle(&mut Settlement { job, ending }, now)
                    .unwrap();
            }
            Next::WaitUntil(at) => now = at,
            Next::Done(_) => break,
            _ => {}
        }
    }
    assert_eq!(pages, 8, "the first and seven that it led to");
    let refused: HashMap<_, _> = frontier.refused().collect();
    assert_eq!(refused[&crate::outcome::SkipReason::RedirectLimit], 1);
}
