//! Parts of a list after its last one, each with a link to the next.
//!
//! Some programs say that there is nothing, some show the last part again, some count on.

use super::{Content, Link, Spot};
use crate::traps::real::{LISTS, teasers};

/// Links to parts after this one.
fn pager(spot: &Spot, section: usize, part: usize) -> Vec<Link> {
    let steps: &[usize] = spot.site.density.of(&[1, 2], &[1, 2, 3, 4, 5, 10, 100]);
    let parts = steps.iter().map(|step| part + step);
    parts
        .map(|part| {
            (
                spot.site.real.list_target(section, part),
                format!("{}", part + 1),
            )
        })
        .collect()
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let section = spot.site.real.section_beside(spot.number, &mut dice);
    pager(
        spot,
        section,
        LISTS - 1 + dice.below(spot.site.density.of(1, 12)),
    )
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let real = &spot.site.real;
    let (section, part) = real.list_at(spot.target)?;
    let number = part + 1;
    let name = real.section_name(section);
    let main = match spot.site.style() {
        0 => format!("<h1>{name}</h1>\n<p>Nothing found.</p>\n<p>Page {number}</p>\n"),
        1 => {
            let last = real.list_target(section, LISTS - 1);
            let rows = real
                .number(&last)
                .map(|last| real.links(last))
                .unwrap_or_default();
            let mut dice = crate::traps::dice::Dice::new(spot.site.seed, &last);
            let rows = teasers(&rows, &mut dice);
            format!("<h1>{name}</h1>\n{rows}<p>Page {number} of {LISTS}</p>\n")
        }
        _ => {
            let (first, last, all) = (part * 5 + 1, part * 5 + 5, LISTS * 5);
            format!("<h1>{name}</h1>\n<p>Results {first} to {last} of {all}</p>\n<ol></ol>\n")
        }
    };
    let content = Content {
        title: format!("{name}, page {number}"),
        head: String::new(),
        main,
    };
    let mut links = pager(spot, section, part);
    links.push((real.list_target(section, part - 1), "previous".to_owned()));
    Some((content, links))
}
