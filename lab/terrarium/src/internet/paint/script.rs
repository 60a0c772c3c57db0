//! Pages that are empty until their script has asked for what they say.
//!
//! Owns the page without words, and the answer that its script turns into links. Refuses to know which
//! links there are. Invariant: no link of the page stands in the page, and all stand in the answer.

use std::fmt::Write as _;

use super::simple;
use crate::internet::paint::Sheet;
use crate::internet::world::{Host, How, Link, Resource, Spot, World};

/// Writes the page.
///
/// Its script asks for something of another host first, then for something that many a robots.txt
/// forbids, and for its links at last.
pub(super) fn shell(world: &World, host: &Host, number: u32, sheet: &mut Sheet) {
    let url = |host, resource| {
        world.url(Spot {
            secure: world.is_secure(host),
            host,
            resource,
        })
    };
    let other = world.beside(host.id);
    let other = other.map(|other| url(other, Resource::Beside(host.id.0, number)));
    let private = format!("/private/a.html?page={number}");
    let first = other.into_iter().chain([private]);
    let first: Vec<String> = first.map(|url| format!("'{url}'")).collect();
    let first = first.join(", ");
    let part = url(host.id, Resource::Part(number));
    let page = format!(
        "<!DOCTYPE html><html><head><title>{number}</title></head><body><div id=\"root\"></div><script>\n\
         (async () => {{\n\
         for (const url of [{first}]) await fetch(url).catch(() => 0);\n\
         const links = await fetch('{part}');\n\
         document.getElementById('root').innerHTML = await links.text();\n\
         }})();\n</script></body></html>\n"
    );
    simple(sheet, 200, "text/html; charset=utf-8", page.as_bytes());
}

/// Writes what the script asks for: all links, whatever elements they stand in elsewhere.
pub(super) fn data(world: &World, links: &[Link], sheet: &mut Sheet) {
    let mut text = String::new();
    for link in links {
        let mark = match link.how {
            How::Nofollow => " rel=\"nofollow\"",
            _ => "",
        };
        let target = world.url(link.to);
        writeln!(text, "<a href=\"{target}\"{mark}>link</a>").expect("a string takes all text");
    }
    simple(sheet, 200, "text/html; charset=utf-8", text.as_bytes());
}
