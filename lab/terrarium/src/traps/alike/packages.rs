//! An index of packages: one page each, and one for each release, with hardly any text.

use super::{Draft, Linking};
use crate::traps::dice::Dice;

const PACKAGES: usize = 130;

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let mut rows = Vec::new();
    let mut releases = Vec::new();
    for number in 0..PACKAGES {
        let mut dice = Dice::new(seed, &format!("package {number}"));
        let name = format!("lib{}{number}", dice.name());
        let main = format!("<h1>{name}</h1>\n<pre>install {name}</pre>\n");
        let mut package = Draft::new(format!("/project/{name}/"), &name, main);
        for minor in 0..=dice.below(4) {
            let version = format!("{}.{minor}.{}", number % 4, dice.below(9));
            let digest = dice.hex(64);
            let main = format!(
                "<h1>{name} {version}</h1>\n<pre>install {name}=={version}</pre>\n\
                 <p>sha256: {digest}</p>\n"
            );
            let target = format!("/project/{name}/{version}/");
            let release = Draft::new(target, format!("{name} {version}"), main);
            package.links.push(release.link());
            releases.push(release);
        }
        rows.push(package);
    }
    let mut drafts =
        Linking::from_seed(seed).weave(rows, "Packages", |page| format!("/search?page={page}"));
    drafts.extend(releases);
    drafts
}
