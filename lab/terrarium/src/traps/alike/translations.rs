//! The same pages in four languages, chosen by a parameter or by the first part of the path.

use super::{Draft, Linking};
use crate::traps::dice::Dice;
use crate::traps::words::LANGUAGES;

const PAGES: usize = 110;

fn target(seed: u64, language: usize, page: usize) -> String {
    let code = LANGUAGES[language].code;
    match seed % 2 {
        0 => format!("/guide/{page}?lang={code}"),
        _ => format!("/{code}/guide/{page}"),
    }
}

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let linking = Linking::from_seed(seed);
    let mut home = Draft::new("/", "The guide", "<h1>The guide</h1>\n");
    let mut drafts = Vec::new();
    for (language, words) in LANGUAGES.iter().enumerate() {
        home.links
            .push((target(seed, language, 0), words.code.to_owned()));
        for page in 0..PAGES {
            let mut dice = Dice::new(seed, &format!("{} {page}", words.code));
            let title = words.title(&mut dice);
            let main = format!("<h1>{title}</h1>\n{}", words.prose(&mut dice, 2));
            let mut draft = Draft::new(target(seed, language, page), title, main);
            draft.language = language;
            if linking != Linking::Index && page + 1 < PAGES {
                draft
                    .links
                    .push((target(seed, language, page + 1), "→".to_owned()));
            }
            if linking != Linking::Next {
                let others = (0..LANGUAGES.len()).filter(|other| *other != language);
                let others = others
                    .map(|other| (target(seed, other, page), LANGUAGES[other].code.to_owned()));
                draft.links.extend(others);
            }
            if linking == Linking::Index && page == 0 {
                let all = (1..PAGES).map(|page| (target(seed, language, page), page.to_string()));
                draft.links.extend(all);
            }
            drafts.push(draft);
        }
    }
    drafts.insert(0, home);
    drafts
}
