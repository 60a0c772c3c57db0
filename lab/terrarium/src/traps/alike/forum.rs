//! A forum: lists of threads, and threads in several pages, all by number in the query.

use std::fmt::Write as _;

use super::{Draft, Linking};
use crate::traps::answer::Link;
use crate::traps::dice::Dice;
use crate::traps::words::ENGLISH;

const FORUMS: usize = 5;
const THREADS: usize = 24;
const POSTS: usize = 4;
const PER_LIST: usize = 8;

fn thread_target(forum: usize, thread: usize, page: usize) -> String {
    let number = 1_000 + forum * THREADS + thread;
    match page {
        0 => format!("/viewtopic.php?f={forum}&t={number}"),
        _ => format!("/viewtopic.php?f={forum}&t={number}&start={}", page * 10),
    }
}

fn list_target(forum: usize, page: usize) -> String {
    match page {
        0 => format!("/viewforum.php?f={forum}"),
        _ => format!("/viewforum.php?f={forum}&start={}", page * PER_LIST),
    }
}

/// The pages of a thread, each with a link to the next.
fn thread(seed: u64, forum: usize, thread: usize) -> Vec<Draft> {
    let mut dice = Dice::new(seed, &format!("thread {forum} {thread}"));
    let title = ENGLISH.title(&mut dice);
    let pages = 2 + dice.below(3);
    let mut drafts = Vec::new();
    for page in 0..pages {
        let mut main = format!("<h1>{title}</h1>\n");
        for _ in 0..POSTS {
            let (name, text) = (dice.name(), ENGLISH.sentence(&mut dice));
            let _ = writeln!(main, "<div class=\"post\"><b>{name}</b> {text}</div>");
        }
        let heading = format!("{title} – page {} – The board", page + 1);
        let mut draft = Draft::new(thread_target(forum, thread, page), heading, main);
        if page + 1 < pages {
            let next = thread_target(forum, thread, page + 1);
            draft.links.push((next, "next".to_owned()));
        }
        drafts.push(draft);
    }
    drafts
}

/// The lists of a forum's threads.
fn lists(forum: usize, threads: &[Link]) -> Vec<Draft> {
    let count = threads.len().div_ceil(PER_LIST);
    let list = |(page, part): (usize, &[Link])| {
        let title = format!("Forum {forum}, page {} of {count}", page + 1);
        let mut draft = Draft::new(
            list_target(forum, page),
            &title,
            format!("<h1>{title}</h1>\n"),
        );
        draft.links = part.to_vec();
        if page + 1 < count {
            draft
                .links
                .push((list_target(forum, page + 1), "next".to_owned()));
        }
        draft
    };
    threads.chunks(PER_LIST).enumerate().map(list).collect()
}

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let mut home = Draft::new("/", "The board", "<h1>The board</h1>\n");
    let mut drafts = Vec::new();
    for forum in 0..FORUMS {
        let mut threads: Vec<Vec<Draft>> = (0..THREADS)
            .map(|number| thread(seed, forum, number))
            .collect();
        let mut links: Vec<Link> = threads.iter().map(|pages| pages[0].link()).collect();
        if Linking::from_seed(seed) == Linking::Next {
            // The list names one thread, and the last page of each leads to the next thread.
            for number in 0..THREADS - 1 {
                let next = links[number + 1].0.clone();
                if let Some(last) = threads[number].last_mut() {
                    last.links.push((next, "next topic".to_owned()));
                }
            }
            links.truncate(1);
        }
        home.links
            .push((list_target(forum, 0), format!("Forum {forum}")));
        drafts.extend(lists(forum, &links));
        drafts.extend(threads.into_iter().flatten());
    }
    drafts.insert(0, home);
    drafts
}
