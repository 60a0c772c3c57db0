//! What became of the pages of an earlier crawl.
//!
//! Owns the lists and their bounds; who compares is no matter here.

use serde::{Deserialize, Serialize};

/// URLs that a list names; all are counted.
pub const MOST_LISTED: usize = 10_000;

/// URLs in a list may be long: their text stays below this, or the list is shorter.
const MOST_TEXT: usize = 8 * 1024 * 1024;

/// A crawl compared with an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// There now, and not then.
    pub new: Listed,
    /// There both times, with another payload.
    pub changed: Listed,
    /// There both times, with the same payload.
    pub unchanged: Listed,
    /// There then, and now answered with 404 or 410, or not found at all.
    pub gone: Listed,
}

impl Update {
    /// Names, lists and what they mean, in the order in which they are shown.
    pub const fn rows(&self) -> [(&'static str, &Listed, &'static str); 4] {
        [
            ("new", &self.new, "not in the earlier crawl"),
            ("changed", &self.changed, "another payload than then"),
            ("unchanged", &self.unchanged, "as it was"),
            ("gone", &self.gone, "404, 410, or not found any more"),
        ]
    }
}

/// Some URLs, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub urls: Vec<String>,
    #[serde(skip)]
    text: usize,
}

impl Listed {
    pub(crate) fn add(&mut self, url: &str) {
        self.count += 1;
        if self.urls.len() < MOST_LISTED && self.text + url.len() <= MOST_TEXT {
            self.text += url.len();
            self.urls.push(url.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_bounded_and_counts_are_not() {
        let mut many = Listed::default();
        (0..=MOST_LISTED).for_each(|_| many.add("http://a.test/"));
        assert_eq!(
            (many.count, many.urls.len()),
            (MOST_LISTED as u64 + 1, MOST_LISTED)
        );
        let mut long = Listed::default();
        let url = "x".repeat(MOST_TEXT / 2);
        (0..3).for_each(|_| long.add(&url));
        assert_eq!((long.count, long.urls.len()), (3, 2));
    }
}
