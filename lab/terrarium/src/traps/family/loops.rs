//! Relative links that should have begun with a slash, on a server that answers them: each page
//! stands below itself again, and paths grow.
//!
//! Modelled on a router that looks at the end of a path only, so that real pages stand under ever
//! longer paths, on a manual that shows the way to where one is, and on scripts in folders. Links
//! belong to a page's text: they are written alike wherever that page is found.

use std::fmt::Write as _;

use super::{Content, Dice, Link, Spot, TrapSite};
use crate::traps::real::{LISTS, capital};
use crate::traps::words::ENGLISH;

const FOLDERS: [&str; 8] = [
    "docs", "guide", "api", "topics", "setup", "notes", "parts", "forms",
];
const FILES: [&str; 12] = [
    "intro", "install", "first", "usage", "options", "errors", "faq", "license", "upgrade",
    "themes", "export", "glossary",
];
/// Parts of a script's text.
const PARTS: usize = 4;

/// The folder of a section's real pages, where they stand in one.
fn home_folder(site: &TrapSite, section: usize) -> Option<String> {
    let list = site.real.list_target(section, 0);
    let (folder, _) = list.strip_prefix('/')?.split_once('/')?;
    Some(folder.to_owned())
}

fn is_home_folder(site: &TrapSite, name: &str) -> bool {
    let mut folders = (0..site.real.sections()).filter_map(|section| home_folder(site, section));
    folders.any(|folder| folder == name)
}

/// The real page that stands here, perhaps with other folders before its path.
pub(super) fn page_below(site: &TrapSite, target: &str) -> Option<usize> {
    if site.style() != 1 {
        return site.real.number(target);
    }
    let is_folder = |name: &str| {
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        name == "page" || is_number || is_home_folder(site, name)
    };
    target
        .match_indices('/')
        .map(|(start, _)| target.split_at(start))
        .filter(|(head, tail)| head.is_empty() || *tail != "/")
        .filter(|(head, _)| head.split('/').skip(1).all(is_folder))
        .find_map(|(_, tail)| site.real.number(tail))
}

/// Links without the slash at their beginning.
pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let (site, seed) = (spot.site, spot.site.seed);
    let count = site.density.of(3, 8);
    let text = match (site.style(), spot.number, read(spot)) {
        // The manual has one menu; other pages link to what belongs to them.
        (0, _, _) => "menu".to_owned(),
        (_, Some(number), _) => format!("menu of page {number}"),
        (_, None, part) => format!("menu of {:?}", part.map(|part| part.names)),
    };
    let mut dice = Dice::new(seed, &text);
    if site.style() == 1 {
        return (0..count).map(|_| to_real_page(spot, &mut dice)).collect();
    }
    let first = dice.below(FOLDERS.len());
    (first..first + count)
        .map(|place| to_manual(spot, place, &mut dice))
        .collect()
}

fn to_real_page(spot: &Spot, dice: &mut Dice) -> Link {
    let real = &spot.site.real;
    let section = dice.below(real.sections());
    let (target, label) = match dice.below(3) {
        0 => (
            real.list_target(section, dice.below(LISTS)),
            real.section_name(section),
        ),
        _ => real.some_articles(section, dice, 1).remove(0),
    };
    let href = target.trim_start_matches('/');
    // From the top such a link would be right; there it was copied from a page of a section.
    let is_top = spot.target.matches('/').count() == 1;
    match home_folder(spot.site, dice.below(real.sections())) {
        Some(folder) if is_top => (format!("{folder}/{href}"), label),
        _ => (href.to_owned(), label),
    }
}

/// A link of a menu, in which each folder stands once before any comes again.
fn to_manual(spot: &Spot, place: usize, dice: &mut Dice) -> Link {
    let folder = |place: usize| FOLDERS[place % FOLDERS.len()];
    let folders = match dice.below(3) {
        0 => {
            let below = place + 1 + dice.below(FOLDERS.len() - 1);
            format!("{}/{}", folder(place), folder(below))
        }
        _ => folder(place).to_owned(),
    };
    let file = dice.pick(&FILES);
    let href = match spot.site.style() {
        0 => format!("{folders}/{file}.html"),
        _ => format!("{folders}/{file}.php?part={}", 1 + dice.below(PARTS)),
    };
    (href, capital(file))
}

/// A page of the manual.
struct Part<'a> {
    folders: Vec<&'a str>,
    /// What the page is called: its file, and the part of it.
    names: (&'a str, &'a str),
}

fn read<'a>(spot: &Spot<'a>) -> Option<Part<'a>> {
    let (path, query) = spot.target.split_once('?').unwrap_or((spot.target, ""));
    let (above, last) = path.strip_prefix('/')?.rsplit_once('/')?;
    let folders: Vec<&str> = above.split('/').collect();
    let names = match spot.site.style() {
        0 => (last.strip_suffix(".html")?, ""),
        1 => return None,
        _ => (last.strip_suffix(".php")?, query.strip_prefix("part=")?),
    };
    let is_known = |name: &&str| FOLDERS.contains(name) || is_home_folder(spot.site, name);
    let is_part = FILES.contains(&names.0) && folders.iter().all(is_known);
    is_part.then_some(Part { folders, names })
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let Part { folders, names } = read(spot)?;
    let (file, part) = names;
    let mut dice = Dice::new(spot.site.seed, &format!("manual {file} {part}"));
    let prose = ENGLISH.prose(&mut dice, 2);
    let name = capital(file);
    let (title, main) = match spot.site.style() {
        0 => {
            let way = folders.join(" › ");
            (
                format!("{name} – {}", spot.site.real.name()),
                format!("<p class=\"way\">{way} › {name}</p>\n<h1>{name}</h1>\n{prose}"),
            )
        }
        _ => (
            format!("{name}, part {part}"),
            format!(
                "<h1>{name}, part {part}</h1>\n{prose}<form action=\"{}\"><input name=\"note\">\
                 </form>\n",
                spot.target
            ),
        ),
    };
    let head = String::new();
    Some((Content { title, head, main }, entries(spot)))
}

/// Puts its address at the end of a page, for those who print it.
pub(super) fn addressed(spot: &Spot, content: &mut Content) {
    if spot.site.style() == 1 {
        let target = spot.target;
        let _ = writeln!(content.main, "<p class=\"print\">Printed from {target}</p>");
    }
}
