//! Parts of pages that others of the crawl need as well.
//!
//! Owns the answers that are kept, so that the second page of a site asks only for its data. It
//! refuses to know who asks. Invariants: what is kept is at most an eighth of what answers may take of
//! the memory, and is counted there; nothing is kept that asks not to be.

use std::collections::{HashMap, VecDeque};

use clewline_render::PartKind;

use super::super::memory_budget::Share;
use super::super::runner::GivenAnswer;

/// Parts that are kept at the most.
const MOST: usize = 1024;
/// The share of the memory for answers under way that is for parts.
const SHARE: u64 = 8;

/// The kept answers by URL, the oldest first.
#[derive(Debug)]
pub(super) struct PartCache {
    kept: HashMap<String, GivenAnswer>,
    order: VecDeque<String>,
    bytes: u64,
    most: u64,
    share: Share,
}

impl PartCache {
    /// A cache whose bytes are counted as this share.
    pub(super) fn new(share: Share) -> Self {
        Self {
            kept: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            most: share.bound() / SHARE,
            share,
        }
    }

    pub(super) fn find(&self, url: &str) -> Option<&GivenAnswer> {
        self.kept.get(url)
    }

    /// Keeps an answer, if it may be kept and is likely to be asked for again.
    pub(super) fn keep(&mut self, url: &str, kind: PartKind, answer: GivenAnswer) {
        let size = weight(url, &answer);
        if !may_be_kept(kind, &answer) || size > self.most / 4 || self.kept.contains_key(url) {
            return;
        }
        while self.bytes + size > self.most || self.order.len() >= MOST {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if let Some(answer) = self.kept.remove(&oldest) {
                self.bytes -= weight(&oldest, &answer);
            }
        }
        self.bytes += size;
        self.order.push_back(url.to_owned());
        self.kept.insert(url.to_owned(), answer);
        // Where others need the memory, they go first.
        if self.share.hold(self.bytes).is_err() {
            self.kept.clear();
            self.order.clear();
            self.bytes = 0;
            self.share.hold(0).ok();
        }
    }
}

fn weight(url: &str, answer: &GivenAnswer) -> u64 {
    let fields = answer.headers.iter();
    let fields = fields.map(|(name, value)| name.len() + value.len());
    (url.len() + fields.sum::<usize>() + answer.body.len()) as u64
}

/// Whether an answer serves other pages as well (RFC 9111). Scripts, styles and the like belong to a
/// version of the site; what else is there must say for how long it holds.
fn may_be_kept(kind: PartKind, answer: &GivenAnswer) -> bool {
    if answer.status != 200 {
        return false;
    }
    let named = |wanted: &'static str| {
        let fields = answer.headers.all(wanted);
        fields.map(|value| String::from_utf8_lossy(value).to_ascii_lowercase())
    };
    let rules: Vec<String> = named("cache-control").collect();
    let says = |word: &str| {
        let words = rules.iter().flat_map(|rule| rule.split(','));
        words.map(str::trim).any(|rule| rule.starts_with(word))
    };
    if says("no-store") || named("vary").any(|vary| vary.trim() == "*") {
        return false;
    }
    match kind {
        PartKind::Style | PartKind::Script | PartKind::Image | PartKind::Font => true,
        PartKind::Document | PartKind::Fetch | PartKind::Media | PartKind::Other => {
            says("max-age") && !says("max-age=0") && !says("no-cache")
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::super::super::memory_budget::MemoryBudget;
    use super::*;
    use crate::headers::Headers;

    fn answer(control: &str, size: usize) -> GivenAnswer {
        let mut headers = Headers::default();
        headers.push("Cache-Control", control.as_bytes());
        GivenAnswer {
            status: 200,
            headers,
            body: Bytes::from(vec![b'x'; size]),
            ..GivenAnswer::default()
        }
    }

    #[test]
    fn what_is_kept_follows_its_kind_and_its_own_words() {
        for (kind, control, is_kept) in [
            (PartKind::Script, "", true),
            (PartKind::Script, "no-cache", true),
            (PartKind::Style, "private, No-Store", false),
            (PartKind::Fetch, "", false),
            (PartKind::Fetch, "max-age=60", true),
            (PartKind::Fetch, "max-age=0", false),
            (PartKind::Fetch, "no-cache, max-age=60", false),
        ] {
            assert_eq!(
                may_be_kept(kind, &answer(control, 1)),
                is_kept,
                "{kind:?} {control}"
            );
        }
        let gone = GivenAnswer {
            status: 410,
            ..answer("", 1)
        };
        assert!(!may_be_kept(PartKind::Script, &gone));
    }

    fn fields() -> impl Strategy<Value = Vec<(usize, String)>> {
        let value = prop_oneof![
            Just("no-store".to_owned()),
            Just("max-age=60, No-Store".to_owned()),
            Just("max-age=1".to_owned()),
            Just("*".to_owned()),
            ".{0,20}",
        ];
        proptest::collection::vec((0_usize..3, value), 0..5)
    }

    proptest! {
        #[test]
        fn bytes_are_counted_whatever_servers_say_and_nothing_is_kept_against_their_word(
            answers in proptest::collection::vec((0_u8..12, 0_usize..20_000, fields()), 0..40)
        ) {
            let budget = MemoryBudget::within(1 << 20);
            let mut cache = PartCache::new(budget.share());
            for (number, size, fields) in answers {
                let mut answer = answer("", size);
                for (name, value) in &fields {
                    let name = ["Cache-Control", "Vary", "X-Other"][*name];
                    answer.headers.push(name, value.as_bytes());
                }
                let url = format!("http://a.test/{number}");
                let was_kept = cache.find(&url).is_some();
                cache.keep(&url, PartKind::Script, answer);
                let is_forbidden = fields.iter().any(|(name, value)| match name {
                    0 => value == "no-store" || value == "max-age=60, No-Store",
                    1 => value == "*",
                    _ => false,
                });
                prop_assert!(was_kept || !is_forbidden || cache.find(&url).is_none());
                let weights = cache.kept.iter().map(|(url, answer)| weight(url, answer));
                prop_assert_eq!(cache.bytes, weights.sum::<u64>());
                prop_assert_eq!(cache.order.len(), cache.kept.len());
                prop_assert!(cache.bytes <= cache.most && budget.bytes() == cache.bytes);
            }
        }
    }

    #[test]
    fn the_oldest_gives_way_and_the_bytes_are_counted() {
        let budget = MemoryBudget::within(1 << 20);
        let mut cache = PartCache::new(budget.share());
        let size = cache.most as usize / 5;
        for number in 0..8 {
            let url = format!("http://a.test/{number}.js");
            cache.keep(&url, PartKind::Script, answer("", size));
        }
        assert!(cache.find("http://a.test/0.js").is_none());
        assert_eq!(cache.find("http://a.test/7.js"), Some(&answer("", size)));
        assert!(cache.bytes <= cache.most);
        assert_eq!(budget.bytes(), cache.bytes);
        let whole = answer("", cache.most as usize);
        cache.keep("http://a.test/large.js", PartKind::Script, whole);
        assert!(cache.find("http://a.test/large.js").is_none());
    }
}
