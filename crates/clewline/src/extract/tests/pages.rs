//! Real pages, as they are and damaged: both readers must find the same.
//!
//! Where they are is said by `CLEWLINE_PAGES`, folders as in `PATH`; `cargo xtask test pages` says it.

use std::path::{Path, PathBuf};

use encoding_rs::UTF_8;
use mutate::Dice;

use super::super::oracle;

/// Damage is done to every so manieth page, so that large sites take seconds.
const DAMAGED: usize = 8;

#[rustfmt::skip]
const DAMAGE: [&str; 20] = [
    "<", ">", "\"", "'", "</", "/>", "<!--", "-->", "<script>", "</script>", "<style>", "<title>",
    "<svg>", "</svg>", "<noscript>", "=", " ", "&", "<p", "<a href='",
];

fn gather(folder: &Path, pages: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let is_page = path
            .extension()
            .is_some_and(|extension| extension == "html" || extension == "htm");
        if path.is_dir() && !path.is_symlink() {
            gather(&path, pages);
        } else if is_page && path.is_file() {
            pages.push(path);
        }
    }
}

/// Answers whether there was anything to compare.
fn agree(body: &[u8], cut: usize, page: &Path) -> bool {
    let Ok((own, other)) = oracle::opinions(body, UTF_8, cut) else {
        return false;
    };
    assert_eq!(own, other, "{}", page.display());
    true
}

fn damage(body: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(6) {
        let at = dice.below(body.len() + 1);
        let token = DAMAGE[dice.below(DAMAGE.len())].bytes();
        match dice.below(3) {
            0 => drop(body.splice(at..at, token)),
            1 => drop(body.drain(at..(at + dice.below(40)).min(body.len()))),
            _ => drop(body.splice(at..(at + 1).min(body.len()), token)),
        }
    }
}

#[test]
fn both_readers_find_the_same() {
    let Some(folders) = std::env::var_os("CLEWLINE_PAGES") else {
        eprintln!("REAL PAGES ABSENT: CLEWLINE_PAGES names no folders");
        return;
    };
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for folder in std::env::split_paths(&folders) {
        let mut pages = Vec::new();
        gather(&folder, &mut pages);
        let (mut whole, mut damaged) = (0, 0);
        for (number, page) in pages.iter().enumerate() {
            let mut body = std::fs::read(page).unwrap();
            whole += usize::from(agree(&body, 1 + dice.below(20_000), page));
            if number % DAMAGED == 0 {
                damage(&mut body, &mut dice);
                damaged += usize::from(agree(&body, 1 + dice.below(20_000), page));
            }
        }
        let count = pages.len();
        eprintln!(
            "{}: {whole} of {count} pages agree, and {damaged} damaged ones",
            folder.display()
        );
        assert!(whole * 10 >= count * 9, "too many are doubtful");
        assert!(count > 0, "no pages in {}", folder.display());
    }
}
