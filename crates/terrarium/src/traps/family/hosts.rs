//! Host names without end, all of which answer with the same site.
//!
//! Modelled on wildcard records in a name server: names made by machines, names of places that
//! are put into the text, and numbered mirrors.

use super::{Content, Link, Spot, host_of};
use crate::traps::real::capital;

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let site = spot.site;
    let port = spot
        .authority
        .strip_prefix(host_of(spot.authority))
        .unwrap_or_default();
    let mut link = |number: usize| {
        let label = match site.style() {
            0 => dice.hex(8),
            1 => dice.name(),
            _ => format!("www{}", 10 + dice.below(1_000_000)),
        };
        let target = if number % 2 == 0 { "/" } else { spot.target };
        (format!("http://{label}.{}{port}{target}", site.name), label)
    };
    (0..site.density.of(2, 6)).map(&mut link).collect()
}

/// Puts the name of the place into a page, where sites do that.
pub(super) fn localised(spot: &Spot, content: &mut Content) {
    let host = host_of(spot.authority);
    let Some(place) = host.strip_suffix(&format!(".{}", spot.site.name)) else {
        return;
    };
    if spot.site.style() == 1 {
        let place = capital(place);
        content.title = format!("{} in {place}", content.title);
        content.main = content
            .main
            .replacen("</h1>", &format!(" in {place}</h1>"), 1);
    }
}
