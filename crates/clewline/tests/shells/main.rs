//! How well pages are told that are empty without JavaScript.
//!
//! The rule was fixed on one half of the pages; the other half is judged here. Real pages are those
//! of documentation that is installed, or in the folder that `CLEWLINE_STATIC_PAGES` names, one folder
//! per generator; without enough of them that half of the test is skipped, which is said.
#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails its test"
)]

mod tool_chains;

use std::fs;
use std::path::{Path, PathBuf};

use clewline::Headers;
use clewline::extract::{Extractor, PageExtractor, PageHead};
use clewline_core::url::CrawlUrl;
use clewline_job::config::ExtractConfig;

/// Real pages of one generator, at the most.
const PER_GENERATOR: usize = 60;
/// Real pages and generators that make a judgement.
const FEWEST_PAGES: usize = 300;
const FEWEST_GENERATORS: usize = 10;

fn looks_empty(html: &[u8]) -> bool {
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let mut headers = Headers::default();
    headers.push("Content-Type", b"text/html; charset=utf-8");
    let extractor = PageExtractor::new(&ExtractConfig::default(), "clewline");
    let mut page = extractor.begin(PageHead {
        url: &url,
        status: 200,
        headers: &headers,
        sitemap: false,
    });
    for piece in html.chunks(16 * 1024) {
        page.feed(piece);
    }
    page.finish().is_shell
}

#[test]
fn beginnings_of_applications_are_told() {
    let shells = tool_chains::shells();
    assert!(shells.len() >= 60);
    let halves = [0, 1].map(|half| {
        let ours = shells.iter().skip(half).step_by(2);
        let missed = ours
            .clone()
            .filter(|(_, html)| !looks_empty(html.as_bytes()));
        let names: Vec<&str> = missed.map(|(name, _)| &**name).collect();
        (ours.count(), names)
    });
    for (half, (count, missed)) in ["fixed on", "judged by"].iter().zip(&halves) {
        let told = count - missed.len();
        eprintln!("shells, the half the rule is {half}: {told} of {count}, missed {missed:?}");
    }
    let (count, missed) = &halves[1];
    assert!(missed.len() * 20 <= *count, "{missed:?}");
}

#[test]
fn pages_of_documentation_are_not_mistaken_for_them() {
    let generators = real_pages();
    let count: usize = generators.iter().map(|(_, pages)| pages.len()).sum();
    if count < FEWEST_PAGES || generators.len() < FEWEST_GENERATORS {
        let found = generators.len();
        eprintln!("SKIPPED: {count} real pages of {found} generators are too few to judge by");
        return;
    }
    let mut wrong = Vec::new();
    let mut judged = 0;
    for (_, pages) in &generators {
        for page in pages.iter().step_by(2) {
            judged += 1;
            if looks_empty(&fs::read(page).unwrap()) {
                wrong.push(page);
            }
        }
    }
    let found = generators.len();
    eprintln!(
        "real pages: {} of {judged} mistaken ({found} generators): {wrong:?}",
        wrong.len()
    );
    assert!(wrong.len() * 50 <= judged, "{wrong:?}");
}

/// Pages by the folder of their generator.
fn real_pages() -> Vec<(PathBuf, Vec<PathBuf>)> {
    let named = std::env::var_os("CLEWLINE_STATIC_PAGES").map(PathBuf::from);
    let root = named.unwrap_or_else(|| PathBuf::from("/usr/share/doc"));
    let mut generators = Vec::new();
    for folder in folders(&root) {
        let mut pages = Vec::new();
        gather(&folder, &mut pages);
        pages.sort();
        let step = pages.len().div_ceil(PER_GENERATOR).max(1);
        let some: Vec<PathBuf> = pages.into_iter().step_by(step).collect();
        if some.len() >= 10 {
            generators.push((folder, some));
        }
    }
    generators
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir() && !path.is_symlink());
    folders.sort();
    folders
}

fn gather(folder: &Path, pages: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_symlink() {
            continue;
        }
        // What Doxygen shows in a frame while somebody types is made by scripts alone, and so is what the
        // examples of a script library show: these are no documentation, and do look empty without scripts.
        let is_made_by_scripts = path.ends_with("search") || path.ends_with("examples");
        if path.is_dir() && !is_made_by_scripts {
            gather(&path, pages);
        } else if path.extension().is_some_and(|kind| kind == "html") {
            pages.push(path);
        }
    }
}
