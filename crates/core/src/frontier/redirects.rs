//! Redirects that lead in a circle.
//!
//! Owns where the redirects of this run led, as far as there is room; it refuses to know why.
//! A chain of redirects knows its own hops, but pages may link to several URLs of one circle, and
//! then each is the beginning of a chain. Invariant: memory is bounded, whatever sites answer.

use super::Frontier;
use super::entry::QueueEntry;
use super::job::Settled;
use super::pace::Moment;
use super::store::{KeyMap, Store};
use crate::key::{HostId, Key};
use crate::url::CrawlUrl;

/// Redirects that are remembered; a circle is closed soon after it was begun.
const MOST: usize = 1 << 14;

/// Steps that a circle has at most.
const LONGEST: usize = 64;

/// Where redirects led.
#[derive(Debug, Default)]
pub(super) struct Redirects(KeyMap<Key, Key>);

impl Redirects {
    /// Takes note of a redirect; answers whether it closes a circle.
    pub(super) fn close_circle(&mut self, from: Key, to: Key) -> bool {
        let mut at = to;
        for _ in 0..LONGEST {
            if at == from {
                return true;
            }
            match self.0.get(&at) {
                Some(next) => at = *next,
                None => break,
            }
        }
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(from, to);
        false
    }

    /// A URL is asked again, and may answer otherwise.
    pub(super) fn forget(&mut self, from: Key) {
        self.0.remove(&from);
    }
}

impl<S: Store> Frontier<S> {
    /// Whether a page only sets a cookie and leads to itself. Once that is a wall, and more often
    /// a loop.
    pub(super) fn returns_with_cookie(
        &self,
        entry: &QueueEntry,
        target: &CrawlUrl,
        cookie: bool,
    ) -> bool {
        let was_asked_again = entry.chain.as_ref().is_some_and(|chain| chain.revisited);
        cookie && !was_asked_again && self.rules.keyer.key(target) == entry.key
    }

    /// The same entry once more, with its cookie: its URL has one record, that of the last answer.
    pub(super) fn ask_again(
        &mut self,
        host: HostId,
        mut entry: QueueEntry,
        status: u16,
        now: Moment,
    ) -> Settled {
        let mut chain = entry.chain.take().unwrap_or_default();
        chain.cookie = true;
        chain.revisited = true;
        entry.chain = Some(chain);
        entry.remember(self.rules.wall(now), Ok(status));
        let lane = self.lane(host);
        let due = now.max(lane.pace.next_at());
        lane.delay(entry, due);
        Settled::Again(due)
    }

    /// Whether a redirect leads, over others, back to where it comes from.
    pub(super) fn closes_circle(&mut self, entry: &QueueEntry, target: &CrawlUrl) -> bool {
        let key = self.rules.keyer.key(target);
        let visited = entry.chain.as_ref().map_or(&[][..], |chain| &chain.visited);
        visited.contains(&key) || self.redirects.close_circle(entry.key, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keyer;

    fn key(path: &str) -> Key {
        let url = CrawlUrl::parse(&format!("http://a.test/{path}")).expect("a URL");
        Keyer::default().key(&url)
    }

    #[test]
    fn circles_are_found_wherever_they_are_entered() {
        let mut redirects = Redirects::default();
        assert!(redirects.close_circle(key("self"), key("self")));
        assert!(!redirects.close_circle(key("a"), key("b")));
        assert!(!redirects.close_circle(key("x"), key("b")));
        assert!(!redirects.close_circle(key("b"), key("c")));
        assert!(redirects.close_circle(key("c"), key("a")));
        redirects.forget(key("a"));
        assert!(!redirects.close_circle(key("c"), key("a")));
    }

    #[test]
    fn memory_is_bounded() {
        let mut redirects = Redirects::default();
        for number in 0..3 * MOST {
            let (from, to) = (format!("{number}"), format!("{}", number + 1));
            redirects.close_circle(key(&from), key(&to));
            assert!(redirects.0.len() <= MOST);
        }
    }
}
