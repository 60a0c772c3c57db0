//! Other host names of the domain, which answer with the same site: names without end, or a
//! handful of mirrors.
//!
//! Modelled on wildcard records in a name server (names made by machines, names of places that
//! are put into the text, and numbered names), and on mirrors that say which one they are: servers
//! by purpose, by country, and by number behind a list that spreads visitors.

use std::fmt::Write as _;

use super::{Content, Family, Link, Spot, TrapSite, host_of};
use crate::traps::dice::Dice;
use crate::traps::real::capital;

/// The mirrors, by style.
const MIRRORS: [[&str; 7]; 3] = [
    ["www", "www2", "static", "m", "mirror", "old", "beta"],
    ["de", "fr", "nl", "us", "jp", "br", "se"],
    [
        "node1", "node2", "node3", "node4", "node5", "node6", "node7",
    ],
];

/// A link to a target at another name of the domain; the domain itself has no label.
fn elsewhere(spot: &Spot, label: &str, target: &str) -> String {
    let port = spot
        .authority
        .strip_prefix(host_of(spot.authority))
        .unwrap_or_default();
    let name = &spot.site.name;
    match label {
        "" => format!("http://{name}{port}{target}"),
        _ => format!("http://{label}.{name}{port}{target}"),
    }
}

/// The label of the name that was asked for; none for the domain itself.
fn label<'a>(site: &TrapSite, host: &'a str) -> Option<&'a str> {
    host.strip_suffix(site.name.as_str())?.strip_suffix('.')
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let site = spot.site;
    let mut link = |number: usize| {
        let label = match site.style() {
            0 => dice.hex(8),
            1 => dice.name(),
            _ => format!("www{}", 10 + dice.below(1_000_000)),
        };
        let target = if number.is_multiple_of(2) {
            "/"
        } else {
            spot.target
        };
        (elsewhere(spot, &label, target), label)
    };
    (0..site.density.of(2, 6)).map(&mut link).collect()
}

/// Puts the name of the place into a page, where sites do that.
pub(super) fn localised(spot: &Spot, content: &mut Content) {
    let Some(place) = label(spot.site, host_of(spot.authority)) else {
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

/// All names that a site has besides its own; those of a wildcard begin with a star.
pub(super) fn names(site: &TrapSite) -> Vec<String> {
    let labels: &[&str] = match site.family {
        Family::WildcardHosts => &["*"],
        Family::MirroredHosts => &MIRRORS[site.style()],
        _ => &[],
    };
    let name = &site.name;
    labels
        .iter()
        .map(|label| format!("{label}.{name}"))
        .collect()
}

/// Whether a site with mirrors has this name.
pub(super) fn is_mirror(site: &TrapSite, host: &str) -> bool {
    host == site.name
        || label(site, host).is_some_and(|label| MIRRORS[site.style()].contains(&label))
}

/// Links to this page and to the home page at other mirrors.
pub(super) fn mirror_entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let here = label(spot.site, host_of(spot.authority)).unwrap_or_default();
    let mut labels = [&[""], MIRRORS[spot.site.style()].as_slice()].concat();
    labels.retain(|label| *label != here);
    let turn = dice.below(labels.len());
    labels.rotate_left(turn);
    let mut link = |label: &str| {
        let target = match dice.below(3) {
            0 => "/",
            _ => spot.target,
        };
        let said = if label.is_empty() { "main" } else { label };
        (elsewhere(spot, label, target), format!("Server {said}"))
    };
    let count = spot.site.density.of(2, labels.len());
    labels.iter().take(count).map(|label| link(label)).collect()
}

/// A link as a mirror writes it: some spread their visitors over all of them.
pub(super) fn spread(spot: &Spot, href: &str) -> String {
    if spot.site.style() != 2 {
        return href.to_owned();
    }
    let key = format!("{}{} to {href}", host_of(spot.authority), spot.target);
    let mut dice = Dice::new(spot.site.seed, &key);
    let label: &&str = dice.pick(&MIRRORS[2]);
    elsewhere(spot, label, href)
}

/// Says on a page which mirror it came from.
pub(super) fn mirrored(spot: &Spot, content: &mut Content) {
    let host = host_of(spot.authority);
    let Some(label) = label(spot.site, host) else {
        return;
    };
    match spot.site.style() {
        0 => {}
        1 => content.title = format!("{} ({label})", content.title),
        _ => {
            let minutes = 1 + Dice::new(spot.site.seed, host).below(300);
            let note = format!("<p>This is {label}, copied {minutes} minutes ago.</p>\n");
            content.main.insert_str(0, &note);
        }
    }
    let _ = writeln!(content.main, "<p class=\"server\">Served by {host}</p>");
}
