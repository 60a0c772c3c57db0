//! A search whose results suggest further searches: any words, in any order.
//!
//! Results are real: pages whose titles have one of the words, the best first, and in an order of
//! their own where they are equally good. Many searches find the same few pages, some find none.

use super::{Content, Dice, Link, Spot, without_parameters};
use crate::traps::real::own_teasers;
use crate::traps::words::ENGLISH;

const PATHS: [&str; 3] = ["/search", "/", "/search.php"];
const WORDS: [&str; 3] = ["q", "s", "keywords"];
const PLACES: [&str; 3] = ["page", "paged", "start"];
/// Results on a page.
const SHOWN: usize = 10;
/// Words that a suggested search has at most.
const LONGEST: usize = 4;

fn address(style: usize, words: &[&str], page: usize) -> String {
    let (path, name) = (PATHS[style], WORDS[style]);
    let search = format!("{path}?{name}={}", words.join("+"));
    match (page, style) {
        (0, _) => search,
        (_, 2) => format!("{search}&{}={}", PLACES[style], page * SHOWN),
        _ => format!("{search}&{}={}", PLACES[style], page + 1),
    }
}

/// The words of a search and which page of its results this is.
fn read<'a>(spot: &Spot<'a>) -> Option<(Vec<&'a str>, usize)> {
    let style = spot.site.style();
    let (path, values) = without_parameters(spot.target, &[WORDS[style], PLACES[style]]);
    let (words, place) = match values[..] {
        [(name, words)] if name == WORDS[style] => (words, None),
        [(first, words), (second, place)] if (first, second) == (WORDS[style], PLACES[style]) => {
            (words, place.parse().ok())
        }
        _ => return None,
    };
    let page = match (place, style) {
        (None, _) => 0,
        (Some(place), 2) => place / SHOWN,
        (Some(place), _) => usize::checked_sub(place, 1)?,
    };
    (path == PATHS[style]).then(|| (words.split('+').collect(), page))
}

/// A search that somebody who made this one might try next.
fn next<'a>(words: &[&'a str], dice: &mut Dice) -> Vec<&'a str> {
    let mut words = words.to_vec();
    let place = dice.below(words.len());
    match dice.below(4) {
        0 if words.len() > 1 => words.swap(0, place),
        1 if words.len() == LONGEST => {
            words.remove(place);
        }
        2 | 3 if words.len() < LONGEST => words.insert(place, ENGLISH.noun(dice)),
        _ => words[place] = ENGLISH.noun(dice),
    }
    words
}

/// What others looked for.
pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let mut link = || {
        let words = [ENGLISH.noun(&mut dice), ENGLISH.noun(&mut dice)];
        (address(spot.site.style(), &words, 0), words.join(" "))
    };
    (0..spot.site.density.of(2, 6)).map(|_| link()).collect()
}

/// All real pages with one of the words in their title.
fn results(spot: &Spot, words: &[&str]) -> Vec<Link> {
    let real = &spot.site.real;
    let mut ranked = Vec::new();
    for number in 0..real.targets().count() {
        let (href, title) = real.link(number);
        let lower = title.to_lowercase();
        let hits = words.iter().filter(|word| lower.contains(**word)).count();
        if hits > 0 {
            let key = format!("{} {number}", words.join(" "));
            let order = Dice::new(spot.site.seed, &key).bits();
            ranked.push((usize::MAX - hits, order, (href, title)));
        }
    }
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, _, link)| link).collect()
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let (words, page) = read(spot)?;
    let style = spot.site.style();
    let results = results(spot, &words);
    let (count, said) = (results.len(), words.join(" "));
    let rows: Vec<Link> = (results.into_iter().skip(page * SHOWN))
        .take(SHOWN)
        .collect();
    let shown = match rows.len() {
        0 => format!("<p>Your search for {said} did not match any page.</p>\n"),
        _ => own_teasers(spot.site.seed, &rows),
    };
    let mut dice = spot.dice();
    let mut further = || {
        let words = next(&words, &mut dice);
        (address(style, &words, 0), words.join(" "))
    };
    let mut links: Vec<Link> = (0..spot.site.density.of(4, 10))
        .map(|_| further())
        .collect();
    if (page + 1) * SHOWN < count {
        links.push((address(style, &words, page + 1), "more results".to_owned()));
    }
    let content = Content {
        title: format!("{said} – search – {}", spot.site.real.name()),
        head: String::new(),
        main: format!("<h1>Search</h1>\n<p>{count} results for {said}</p>\n{shown}"),
    };
    Some((content, links))
}
