//! A view of a repository: commits, trees and files, all told apart by hexadecimal numbers.

use super::{Draft, Linking};
use crate::traps::answer::Link;
use crate::traps::dice::Dice;
use crate::traps::words::ENGLISH;

const COMMITS: usize = 120;
const PER_LOG: usize = 20;
const FILES: usize = 30;

fn address(action: &str, id: &str) -> String {
    format!("/project.git/{action}/?h=main&id={id}")
}

/// What a commit changed, what it said, and the tree it left.
fn commit(seed: u64, number: usize) -> [Draft; 3] {
    let mut dice = Dice::new(seed, &format!("commit {number}"));
    let (id, tree, blob) = (dice.hex(40), dice.hex(40), dice.hex(40));
    let subject = ENGLISH.sentence(&mut dice);
    let author = dice.name();
    let file = format!("src/{}.c", ENGLISH.noun(&mut dice));
    let mut patch = Draft::new(
        address("diff", &id),
        format!("diff – {file}"),
        format!("<pre>--- a/{file}\n+++ b/{file}\n+{}</pre>\n", dice.hex(24)),
    );
    let mut commit = Draft::new(
        address("commit", &id),
        "project.git – commit",
        format!(
            "<table><tr><td>author</td><td>{author}</td></tr><tr><td>tree</td><td>{tree}</td></tr></table>\n<p>{subject}</p>\n"
        ),
    );
    let listing = Draft::new(
        address("tree", &tree),
        "project.git – tree",
        format!("<table><tr><td>100644 blob {blob}</td><td>{file}</td></tr></table>\n"),
    );
    commit.links = vec![patch.link(), listing.link()];
    patch.links = vec![commit.link()];
    [commit, patch, listing]
}

fn file(seed: u64, number: usize) -> Draft {
    let mut dice = Dice::new(seed, &format!("file {number}"));
    let path = format!(
        "{}/{}{number}.c",
        ENGLISH.noun(&mut dice),
        ENGLISH.noun(&mut dice)
    );
    let lines: Vec<String> = (0..12)
        .map(|_| format!("int {}(void);", dice.name()))
        .collect();
    let lines = lines.join("\n");
    let target = format!("/project.git/blob/{path}?h=main");
    Draft::new(
        target,
        format!("{path} – project.git"),
        format!("<pre>{lines}</pre>\n"),
    )
}

/// The log, in pages of twenty commits.
fn logs(commits: &[Link]) -> Vec<Draft> {
    let target = |page: usize| match page {
        0 => "/project.git/log/?h=main".to_owned(),
        _ => format!("/project.git/log/?h=main&ofs={}", page * PER_LOG),
    };
    let count = commits.len().div_ceil(PER_LOG);
    let page = |(page, part): (usize, &[Link])| {
        let mut draft = Draft::new(target(page), "project.git – log", "<h1>log</h1>\n");
        draft.links = part.to_vec();
        if page + 1 < count {
            draft.links.push((target(page + 1), "next".to_owned()));
        }
        draft
    };
    commits.chunks(PER_LOG).enumerate().map(page).collect()
}

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let mut commits: Vec<[Draft; 3]> = (0..COMMITS).map(|number| commit(seed, number)).collect();
    let links: Vec<Link> = commits.iter().map(|drafts| drafts[0].link()).collect();
    let is_chain = Linking::from_seed(seed) == Linking::Next;
    if is_chain {
        for (commit, parent) in commits.iter_mut().zip(&links[1..]) {
            commit[0]
                .links
                .push((parent.0.clone(), "parent".to_owned()));
        }
    }
    let files: Vec<Draft> = (0..FILES).map(|number| file(seed, number)).collect();
    let mut tree = Draft::new(
        "/project.git/tree/?h=main",
        "project.git – tree",
        "<h1>tree</h1>\n",
    );
    tree.links = files.iter().map(Draft::link).collect();
    let logs = logs(if is_chain { &links[..PER_LOG] } else { &links });
    let mut home = Draft::new("/", "project.git", "<h1>project.git</h1>\n");
    home.links = vec![logs[0].link(), tree.link()];
    let mut drafts = vec![home, tree];
    drafts.extend(logs);
    drafts.extend(files);
    drafts.extend(commits.into_iter().flatten());
    drafts
}
