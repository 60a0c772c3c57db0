//! The documentation of a program in several versions: most pages are the same in all of them.

use super::{Draft, Linking};
use crate::traps::dice::Dice;
use crate::traps::words::{ENGLISH, slug};

const VERSIONS: [&str; 6] = ["3.8", "3.9", "3.10", "3.11", "3.12", "dev"];
const PAGES: usize = 70;

fn page(seed: u64, version: &str, number: usize) -> Draft {
    let mut dice = Dice::new(seed, &format!("page {number}"));
    let title = ENGLISH.title(&mut dice);
    let prose = ENGLISH.prose(&mut dice, 2);
    let target = format!("/{version}/{}-{number}.html", slug(&title));
    let main = format!("<h1>{title}</h1>\n<p>Version {version}</p>\n{prose}");
    Draft::new(target, format!("{title} – {version}"), main)
}

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let linking = Linking::from_seed(seed);
    let mut home = Draft::new("/", "Documentation", "<h1>Documentation</h1>\n");
    let mut drafts = Vec::new();
    for version in VERSIONS {
        let mut pages: Vec<Draft> = (0..PAGES)
            .map(|number| page(seed, version, number))
            .collect();
        let contents = format!("<h1>Contents {version}</h1>\n");
        let mut contents = Draft::new(format!("/{version}/"), version, contents);
        let shown = if linking == Linking::Next { 1 } else { PAGES };
        contents.links = pages[..shown].iter().map(Draft::link).collect();
        if linking != Linking::Index {
            let next: Vec<_> = pages[1..].iter().map(Draft::link).collect();
            for (page, next) in pages.iter_mut().zip(next) {
                page.links.push(next);
            }
        }
        home.links.push(contents.link());
        drafts.push(contents);
        drafts.extend(pages);
    }
    drafts.insert(0, home);
    drafts
}
