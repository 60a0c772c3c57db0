//! Session ids in the query or in the path, a new one with each answer.
//!
//! Modelled on PHP's and Java's way to keep visitors without cookies apart: the program writes
//! the id into its navigation, and once a visitor came with an id, into all links. The server
//! does not know ids of visitors it has forgotten and gives out new ones.

use super::{Family, Link, Spot, TrapSite, with_parameter, without_parameters};

/// Names of the parameter, by style.
const PARAMETERS: [&str; 3] = ["sid", "PHPSESSID", "osCsid"];

/// A target with the session id of this answer.
pub(super) fn signed(spot: &Spot, target: &str) -> String {
    let (site, id) = (spot.site, spot.dice().hex(32));
    if site.family == Family::SessionQuery {
        let parameter = PARAMETERS[site.style()];
        return with_parameter(target, &format!("{parameter}={id}"));
    }
    match site.style() {
        0 => format!("/s/{id}{target}"),
        1 => {
            let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
            format!("{path};jsessionid={}{query}", id.to_uppercase())
        }
        _ => format!("/(S({}))/{}", &id[..24], target.trim_start_matches('/')),
    }
}

/// The target of the real page behind an address with a session id.
pub(super) fn unsigned(site: &TrapSite, target: &str) -> String {
    if site.family == Family::SessionQuery {
        return without_parameters(target, &[PARAMETERS[site.style()]]).0;
    }
    let plain = || target.to_owned();
    match site.style() {
        0 => {
            let rest = target.strip_prefix("/s/").and_then(|rest| rest.get(32..));
            rest.map_or_else(plain, str::to_owned)
        }
        1 => target
            .split_once(";jsessionid=")
            .map_or_else(plain, |(path, rest)| {
                path.to_owned() + rest.get(32..).unwrap_or_default()
            }),
        _ => {
            let rest = target.strip_prefix("/(S(").and_then(|rest| rest.get(24..));
            let rest = rest.and_then(|rest| rest.strip_prefix("))"));
            rest.map_or_else(plain, str::to_owned)
        }
    }
}

/// Links with an id: the navigation, and on dense sites what the page links to.
pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let real = &spot.site.real;
    let own = spot
        .number
        .map(|number| real.links(number))
        .unwrap_or_default();
    let links = real.navigation().into_iter().chain(own);
    let count = spot.site.density.of(3, 16);
    let signed = links
        .take(count)
        .map(|(href, label)| (signed(spot, &href), label));
    signed.collect()
}
