//! Names that nobody has heard of: every page links to new ones, and each of them answers.
//!
//! Modelled on wikis that show a page for what is not there, on lists of tags made by a program,
//! and on sites that babble to waste a robot's time.

use super::{Content, Link, Spot};
use crate::traps::real::{capital, teasers};
use crate::traps::words::ENGLISH;

fn address(style: usize, name: &str) -> String {
    match style {
        0 => format!("/wiki/{}", capital(name)),
        1 => format!("/tag/{name}/"),
        _ => format!("/library/{name}.html"),
    }
}

fn links(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let count = spot.site.density.of(3, 9);
    let mut link = || {
        let name = format!("{}-{}", dice.name(), dice.name());
        (address(spot.site.style(), &name), name.replace('-', " "))
    };
    (0..count).map(|_| link()).collect()
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    links(spot)
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let style = spot.site.style();
    let prefix = ["/wiki/", "/tag/", "/library/"][style];
    let name = spot.target.strip_prefix(prefix)?;
    let name = name
        .trim_end_matches('/')
        .trim_end_matches(".html")
        .replace('-', " ");
    let mut dice = spot.dice();
    let (title, main) = match style {
        0 => (
            format!("{name} – {}", spot.site.real.name()),
            format!(
                "<h1>{name}</h1>\n<p>There is no text on this page yet. You may look for \
                 {name} in other pages, or write it.</p>\n"
            ),
        ),
        1 => {
            let mut dice = crate::traps::dice::Dice::new(spot.site.seed, "latest");
            let latest = spot.site.real.some_articles(0, &mut dice, 5);
            let latest = teasers(&latest, &mut dice);
            (
                format!("{name} – {}", spot.site.real.name()),
                format!("<h1>Tagged {name}</h1>\n{latest}<h2>More tags</h2>\n"),
            )
        }
        _ => {
            let title = ENGLISH.title(&mut dice);
            let prose = ENGLISH.prose(&mut dice, 3);
            (
                format!("{title}: {name}"),
                format!("<h1>{title}</h1>\n{prose}"),
            )
        }
    };
    let head = String::new();
    Some((Content { title, head, main }, links(spot)))
}
