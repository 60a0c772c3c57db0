//! The archive of a diary: pages for years, months and days, and one short entry a day.

use super::{Draft, Linking};
use crate::traps::dice::Dice;
use crate::traps::words::{ENGLISH, slug};

const ENTRIES: usize = 240;
const FIRST_YEAR: usize = 2017;

/// One entry: its date and its page.
struct Entry {
    month: (usize, usize),
    day: usize,
    draft: Draft,
}

fn entry(seed: u64, number: usize) -> Entry {
    let mut dice = Dice::new(seed, &format!("entry {number}"));
    let month = (FIRST_YEAR + number / 60, number % 60 / 5 + 1);
    let day = number % 5 * 6 + 1 + dice.below(5);
    let title = ENGLISH.title(&mut dice);
    let prose = ENGLISH.prose(&mut dice, 1);
    let (year, month_number) = month;
    let date = format!("{year}/{month_number:02}/{day:02}");
    let target = format!("/{date}/{}", slug(&title));
    let main = format!("<h1>{title}</h1>\n<p>{date}</p>\n{prose}");
    Entry {
        month,
        day,
        draft: Draft::new(target, title, main),
    }
}

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let entries: Vec<Entry> = (0..ENTRIES).map(|number| entry(seed, number)).collect();
    if Linking::from_seed(seed) == Linking::Next {
        // A diary that is read from day to day, with a page for each day before its entry.
        let days = entries
            .into_iter()
            .flat_map(|entry| [day_page(&entry), entry.draft]);
        return Linking::Next.weave(days.collect(), "A diary", |page| format!("/page/{page}"));
    }
    let mut home = Draft::new("/", "A diary", "<h1>A diary</h1>\n");
    let mut pages = Vec::new();
    for month in entries.chunk_by(|a, b| a.month == b.month) {
        let (year, number) = month[0].month;
        let target = format!("/{year}/{number:02}/");
        let title = format!("{year}/{number:02}");
        let mut page = Draft::new(target, &title, format!("<h1>{title}</h1>\n"));
        for entry in month {
            let mut day = day_page(entry);
            day.links.push(entry.draft.link());
            page.links.push(day.link());
            pages.push(day);
        }
        home.links.push(page.link());
        pages.push(page);
    }
    pages.push(home);
    pages.rotate_right(1);
    pages.extend(entries.into_iter().map(|entry| entry.draft));
    pages
}

fn day_page(entry: &Entry) -> Draft {
    let ((year, month), day) = (entry.month, entry.day);
    let title = format!("{year}/{month:02}/{day:02}");
    let main = format!("<h1>{title}</h1>\n<p>One entry on this day.</p>\n");
    Draft::new(format!("/{title}/"), title, main)
}
