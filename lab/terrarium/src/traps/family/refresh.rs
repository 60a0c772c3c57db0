//! Pages that lead on by themselves, each to a new one.
//!
//! Modelled on waiting rooms that count, on counted ways out, and on slide shows that run for ever.

use super::{Content, Link, Spot};
use crate::traps::words::ENGLISH;

const PREFIXES: [&str; 3] = ["/wait/", "/out?token=", "/show?slide="];
/// Slides that a show repeats.
const SLIDES: u64 = 7;

fn address(style: usize, number: u64) -> String {
    let prefix = PREFIXES[style];
    match style {
        0 => format!("{prefix}{number}/"),
        1 => format!("{prefix}{number:016x}"),
        _ => format!("{prefix}{number}"),
    }
}

fn read(target: &str, style: usize) -> Option<u64> {
    let rest = target.strip_prefix(PREFIXES[style])?.trim_end_matches('/');
    match style {
        1 => u64::from_str_radix(rest, 16).ok(),
        _ => rest.parse().ok(),
    }
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let style = spot.site.style();
    let count = spot.site.density.of(1, 4);
    let mut link = || {
        let start = dice.bits() >> if style == 1 { 0 } else { 44 };
        (address(style, start), "continue".to_owned())
    };
    (0..count).map(|_| link()).collect()
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let style = spot.site.style();
    let number = read(spot.target, style)?;
    let next = match style {
        1 => spot.dice().bits(),
        _ => number.checked_add(1)?,
    };
    let next = address(style, next);
    let (title, main) = match style {
        2 => {
            let slide = number % SLIDES;
            let mut dice = crate::traps::dice::Dice::new(spot.site.seed, &format!("slide {slide}"));
            let title = ENGLISH.title(&mut dice);
            (
                title.clone(),
                format!("<h1>{title}</h1>\n<img src=\"/slides/{slide}.jpg\" alt=\"\">\n"),
            )
        }
        0 => (
            "One moment".to_owned(),
            format!("<p>You are number {number} in the queue. One moment please.</p>\n"),
        ),
        _ => (
            "You are leaving".to_owned(),
            "<p>You will be taken to the page you asked for.</p>\n".to_owned(),
        ),
    };
    let head = format!("<meta http-equiv=\"refresh\" content=\"1; url={next}\">");
    let by_hand = (next, "Go on".to_owned());
    // Some pages offer the way on as a link, too.
    let mut links: Vec<Link> = Some(by_hand).filter(|_| style == 1).into_iter().collect();
    links.extend(entries(spot).into_iter().take(spot.site.density.of(0, 2)));
    Some((Content { title, head, main }, links))
}
