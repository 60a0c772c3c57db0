//! Pages that are alike, shown once.
//!
//! Owns when two pages are alike and which of them stands for the others: the better one. Three
//! things make pages alike: the same bytes, nearly the same words, and an address that is the
//! same but for how it is written. What a page says of its address is a claim, so it counts only
//! within its host and where the words do not speak against it. Invariant: a page stands for those
//! that are like itself, not for those that are like these; nothing is joined by a chain.

use std::collections::HashMap;

use clewline_content::Fingerprint;
use clewline_core::url::CrawlUrl;
use xxhash_rust::xxh3::xxh3_64;

/// Words that a page has for its near fingerprint to mean something.
const LEAST_WORDS: usize = 32;
/// Bits of 64 in which near fingerprints of pages differ that say nearly the same.
const NEAR: u32 = 3;
/// Bits of 64 in which they differ where two addresses claim to be one page. The fingerprints of
/// unrelated pages differ in half of all bits.
const PLAUSIBLE: u32 = 16;

/// What likeness is told by; 0 stands for what is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Likeness {
    /// A digest of the decoded body.
    pub(crate) digest: u64,
    /// A fingerprint of the words that is near where words are nearly the same.
    pub(crate) near: u64,
    /// The address, without what differs between ways of writing it.
    pub(crate) address: u64,
}

impl Likeness {
    fn is_like(&self, other: &Self) -> bool {
        let both = |mine: u64, theirs: u64| mine != 0 && theirs != 0;
        let apart = (self.near ^ other.near).count_ones();
        let has_words = both(self.near, other.near);
        let is_same = both(self.digest, other.digest) && self.digest == other.digest;
        let is_variant = both(self.address, other.address) && self.address == other.address;
        is_same
            || (has_words && apart <= NEAR)
            || (is_variant && (!has_words || apart <= PLAUSIBLE))
    }
}

/// The near fingerprint of a page; 0 if it has too few words.
pub(crate) fn near_of(fingerprint: Fingerprint, words: usize) -> u64 {
    if words < LEAST_WORDS {
        return 0;
    }
    fingerprint.near
}

/// The address of a page: the one that it names as the canonical one, if that is on the same
/// host, else its own.
pub(crate) fn address_of(url: &CrawlUrl, canonical: Option<&CrawlUrl>) -> u64 {
    let named = canonical.filter(|named| named.site() == url.site());
    xxh3_64(named.unwrap_or(url).without_spelling().as_bytes())
}

/// A page that stands for others.
#[derive(Debug)]
pub(crate) struct FoldedPage<T> {
    pub(crate) page: T,
    /// Those that are like it, the best first.
    pub(crate) alike: Vec<T>,
}

/// Folds pages, the best first, up to so many that stand for others.
pub(crate) fn fold<T>(
    pages: impl IntoIterator<Item = (Likeness, T)>,
    most: usize,
) -> Vec<FoldedPage<T>> {
    let mut kept: Vec<(Likeness, FoldedPage<T>)> = Vec::new();
    // Most that are alike share all bytes, which need not be looked for among all.
    let mut digests: HashMap<u64, usize> = HashMap::new();
    for (likeness, page) in pages {
        let known = digests.get(&likeness.digest).copied();
        let place = known.or_else(|| kept.iter().position(|(other, _)| likeness.is_like(other)));
        match place {
            Some(place) => kept[place].1.alike.push(page),
            None if kept.len() < most => {
                if likeness.digest != 0 {
                    digests.insert(likeness.digest, kept.len());
                }
                let alike = Vec::new();
                kept.push((likeness, FoldedPage { page, alike }));
            }
            None => {}
        }
    }
    kept.into_iter().map(|(_, folded)| folded).collect()
}

/// Shows every page for itself.
pub(crate) fn unfolded<T>(pages: impl IntoIterator<Item = (Likeness, T)>) -> Vec<FoldedPage<T>> {
    let alone = |(_, page)| FoldedPage {
        page,
        alike: Vec::new(),
    };
    pages.into_iter().map(alone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str, canonical: Option<&str>) -> u64 {
        let parse = |text: &str| CrawlUrl::parse(text).unwrap();
        address_of(&parse(url), canonical.map(parse).as_ref())
    }

    #[test]
    fn addresses_are_written_in_many_ways() {
        let same = address("https://example.com/a", None);
        for (url, canonical, is_same) in [
            ("http://example.com/a", None, true),
            ("https://www.example.com/a/", None, true),
            ("https://example.com/a/index.html", None, true),
            ("https://example.com/a/Default.aspx", None, true),
            (
                "https://example.com/print?page=a",
                Some("https://www.example.com/a"),
                true,
            ),
            ("https://example.com/a", Some("https://other.test/"), true),
            ("https://evil.test/", Some("https://example.com/a"), false),
            ("https://example.com/a?b", None, false),
            ("https://example.com/a.html", None, false),
            ("https://example.com/A", None, false),
            ("https://example.com:8443/a", None, false),
            ("https://docs.example.com/a", None, false),
        ] {
            assert_eq!(address(url, canonical) == same, is_same, "{url}");
        }
        let root = address("https://example.com/", None);
        assert_eq!(address("http://www.example.com/index.php", None), root);
    }

    #[test]
    fn likeness_needs_the_same_bytes_words_or_address() {
        let page = |digest, near, address| Likeness {
            digest,
            near,
            address,
        };
        let one = page(1, 0b1111, 1);
        for (other, is_like) in [
            (page(1, 0, 0), true),
            (page(2, 0b1000, 2), true),
            (page(2, !0b1111, 2), false),
            (page(2, 0, 1), true),
            (page(2, 0xff00 | 0b1111, 1), true),
            (page(2, !0b1111, 1), false),
            (page(0, 0, 0), false),
            (page(2, 0, 2), false),
        ] {
            assert_eq!(one.is_like(&other), is_like, "{other:?}");
            assert_eq!(other.is_like(&one), is_like, "{other:?}");
        }
        assert!(!page(0, 0, 0).is_like(&page(0, 0, 0)));
        let few = Fingerprint::from_text("few words");
        assert_eq!(near_of(few, 2), 0);
        assert_eq!(near_of(few, 500), few.near);
    }

    #[test]
    fn the_best_page_stands_for_those_like_it() {
        let near = |near| Likeness {
            near,
            ..Likeness::default()
        };
        // Each is near the one before it, the last is far from the first.
        let chain = [
            near(0b1),
            near(0b1111),
            near(0b111_1111),
            near(1 << 60 | 0b1),
        ];
        let spelt = |kept: Vec<FoldedPage<usize>>| -> Vec<(usize, Vec<usize>)> {
            kept.into_iter().map(|one| (one.page, one.alike)).collect()
        };
        let pages = || chain.into_iter().zip(0..);
        assert_eq!(spelt(fold(pages(), 9)), [(0, vec![1, 3]), (2, vec![])]);
        assert_eq!(spelt(fold(pages(), 1)), [(0, vec![1, 3])]);
        assert_eq!(spelt(unfolded(pages())).len(), 4);
    }
}
