//! A server that never says 404: whatever is not there answers 200, says that nothing is here, and
//! suggests similar addresses, which are not there either.
//!
//! Modelled on sites that were moved and still link to addresses of the old program, and that
//! make suggestions from the words of the address. Most of these look like the old addresses, one
//! in four like an article of today. robots.txt and the sitemap are answered by the server itself,
//! which knows 404.

use super::{Content, Dice, Link, Spot};
use crate::traps::real::{capital, teasers};
use crate::traps::words::ENGLISH;

/// Numbers of articles that were never written begin here.
const UNWRITTEN: usize = 1_000;

/// An address as the old program wrote them.
fn retired(style: usize, slug: &str, dice: &mut Dice) -> String {
    let (year, month) = (2004 + dice.below(12), 1 + dice.below(12));
    match style {
        0 => format!("/archive/{year}/{month:02}/{slug}.html"),
        1 => format!("/blog/{year}/{slug}/"),
        _ => {
            let id = dice.below(5_000);
            format!("/index.php?option=com_content&view=article&id={id}:{slug}")
        }
    }
}

/// The words of an address, without numbers and what every address has.
fn words(target: &str) -> Vec<&str> {
    let last = target.trim_end_matches('/').rsplit(['/', ':']).next();
    let last = last.unwrap_or_default().trim_end_matches(".html");
    let is_word =
        |word: &&str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    last.split('-').filter(is_word).collect()
}

/// Three words, one of them from the address that was asked for, if it had any.
fn similar_slug(asked: &[&str], dice: &mut Dice) -> String {
    let mut slug: Vec<&str> = (0..3).map(|_| ENGLISH.noun(dice)).collect();
    if !asked.is_empty() {
        let place = dice.below(slug.len());
        slug[place] = asked[dice.below(asked.len())];
    }
    slug.join("-")
}

/// An address of an article of today that does not exist.
fn unwritten(spot: &Spot, slug: &str, dice: &mut Dice) -> String {
    let real = &spot.site.real;
    let section = dice.below(real.sections());
    let number = UNWRITTEN + dice.below(9 * UNWRITTEN);
    real.article_target(section, number, slug)
}

/// Links of real pages that died when the site was moved.
pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let mut link = || {
        let slug = similar_slug(&[], &mut dice);
        let href = retired(spot.site.style(), &slug, &mut dice);
        (href, capital(&slug.replace('-', " ")))
    };
    (0..spot.site.density.of(2, 5)).map(|_| link()).collect()
}

fn suggestions(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let asked = words(spot.target);
    let mut link = |place: usize| {
        let slug = similar_slug(&asked, &mut dice);
        let href = match place % 4 {
            3 => unwritten(spot, &slug, &mut dice),
            _ => retired(spot.site.style(), &slug, &mut dice),
        };
        (href, capital(&slug.replace('-', " ")))
    };
    (0..spot.site.density.of(4, 8)).map(&mut link).collect()
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    if matches!(spot.target, "/robots.txt" | "/sitemap.xml") {
        return None;
    }
    let name = spot.site.real.name();
    let (title, main) = match spot.site.style() {
        0 => (
            format!("Page not found – {name}"),
            format!(
                "<h1>Nothing here</h1>\n<p>There is no page {}. Did you mean one of these?</p>\n",
                spot.target.replace('&', "&amp;")
            ),
        ),
        1 => {
            let mut dice = Dice::new(spot.site.seed, "popular");
            let popular = spot.site.real.some_articles(0, &mut dice, 3);
            let popular = teasers(&popular, &mut dice);
            (
                name,
                format!("<h1>Oops!</h1>\n<p>Nothing here.</p>\n{popular}<h2>Or perhaps</h2>\n"),
            )
        }
        _ => {
            let words = words(spot.target).join(" ");
            (
                format!("{} – {name}", capital(&words)),
                format!(
                    "<h1>{}</h1>\n<p>Nothing here about {words} yet. See also:</p>\n",
                    capital(&words)
                ),
            )
        }
    };
    let head = String::new();
    Some((Content { title, head, main }, suggestions(spot)))
}
