//! Albums of pictures: pages that have a number and an image and no text at all.

use super::Draft;
use crate::traps::answer::Link;

const ALBUMS: usize = 9;
const PICTURES: usize = 45;

fn target(seed: u64, album: usize, picture: usize) -> String {
    match seed % 3 {
        0 => format!("/album{album}/{picture:03}.html"),
        1 => format!("/photo.php?album={album}&pid={picture}"),
        _ => format!("/gallery/{album}/{picture}/"),
    }
}

fn picture(seed: u64, album: usize, picture: usize) -> Draft {
    let image = format!("<img src=\"/images/{album}/{picture:04}.jpg\" alt=\"\">\n");
    let mut draft = Draft::new(target(seed, album, picture), "Gallery", image);
    // In every second album pictures only lead to the next one.
    if album.is_multiple_of(2) && picture + 1 < PICTURES {
        draft
            .links
            .push((target(seed, album, picture + 1), "»".to_owned()));
    }
    draft
}

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let mut home = Draft::new("/", "Gallery", "");
    let mut drafts = Vec::new();
    for album in 0..ALBUMS {
        let mut page = Draft::new(format!("/albums/{album}"), "Gallery", "");
        let shown = if album.is_multiple_of(2) { 1 } else { PICTURES };
        let thumbnail = |picture: usize| -> Link {
            let image = format!("<img src=\"/small/{album}/{picture:04}.jpg\" alt=\"\">");
            (target(seed, album, picture), image)
        };
        page.links = (0..shown).map(thumbnail).collect();
        home.links.push(page.link());
        drafts.push(page);
        drafts.extend((0..PICTURES).map(|number| picture(seed, album, number)));
    }
    drafts.insert(0, home);
    drafts
}
