//! What a page asked for and where it wanted to go.
//!
//! Owns the lists of URLs, their bounds and what counts as incomplete. It refuses to know the protocol.
//! Invariant: each URL stands in a list once, and no list is longer than its bound.

use std::collections::{HashMap, HashSet};

use crate::part::{PartAnswer, PartRefusal};
use crate::rendering::{RequestFate, RequestedUrl};

/// URLs longer than this are neither noted nor fetched; no crawl would ask for them.
pub(super) const LONGEST_URL: usize = 4096;

/// Requests whose method is longer than this are not noted; no standard has such a method.
pub(super) const LONGEST_METHOD: usize = 64;

/// What a page asked for and where it wanted to go.
#[derive(Debug)]
pub(super) struct PageNotes {
    most: usize,
    pub(super) requested: Vec<RequestedUrl>,
    places: HashMap<(String, String), usize>,
    pub(super) navigated: Vec<String>,
    /// The page itself is no place that it goes to.
    known: HashSet<String>,
    pub(super) unsent: u32,
    pub(super) refused: u32,
    pub(super) over_limit: u32,
}

impl PageNotes {
    /// For the page at this URL.
    pub(super) fn new(url: &str, most: usize) -> Self {
        Self {
            most,
            requested: Vec::new(),
            places: HashMap::new(),
            navigated: Vec::new(),
            known: HashSet::from([url.to_owned()]),
            unsent: 0,
            refused: 0,
            over_limit: 0,
        }
    }

    /// A script, a form or a click wanted to go there.
    pub(super) fn navigate(&mut self, url: &str) {
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        let fits = url.len() <= LONGEST_URL && self.navigated.len() < self.most;
        if is_web && fits && self.known.insert(url.to_owned()) {
            self.navigated.push(url.to_owned());
        }
    }

    /// The page asked for this. An answer that was given stays, whatever a later request met.
    pub(super) fn request(&mut self, request: RequestedUrl) {
        if request.url.len() > LONGEST_URL || request.method.len() > LONGEST_METHOD {
            return;
        }
        let key = (request.method.clone(), request.url.clone());
        match self.places.get(&key) {
            Some(&at) if request.fate == RequestFate::Answered => {
                self.requested[at].fate = RequestFate::Answered;
            }
            Some(_) => {}
            None if self.requested.len() >= self.most => {}
            None => {
                self.places.insert(key, self.requested.len());
                self.requested.push(request);
            }
        }
    }

    /// Counts what an answer leaves out of the page.
    pub(super) fn count(&mut self, answer: &PartAnswer) -> RequestFate {
        match answer {
            PartAnswer::Response { .. } => RequestFate::Answered,
            PartAnswer::Failed(_) => RequestFate::Failed,
            PartAnswer::Refused(PartRefusal::Robots | PartRefusal::Address) => {
                self.refused += 1;
                RequestFate::Refused
            }
            PartAnswer::Refused(PartRefusal::Limit | PartRefusal::Stopping) => {
                self.over_limit += 1;
                RequestFate::Refused
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::PartKind;

    fn requested(url: &str, fate: RequestFate) -> RequestedUrl {
        RequestedUrl {
            url: url.to_owned(),
            method: "GET".to_owned(),
            kind: PartKind::Fetch,
            fate,
        }
    }

    #[test]
    fn lists_hold_each_url_once_and_end() {
        let mut notes = PageNotes::new("https://a.test/", 2);
        for url in [
            "https://a.test/",
            "mailto:a@a.test",
            "https://a.test/1",
            "https://a.test/1",
            "https://a.test/2",
            "https://a.test/3",
        ] {
            notes.navigate(url);
            notes.request(requested(url, RequestFate::Answered));
        }
        assert_eq!(notes.navigated, ["https://a.test/1", "https://a.test/2"]);
        assert_eq!(notes.requested.len(), 2);
    }

    #[test]
    fn an_answer_stays() {
        let mut notes = PageNotes::new("https://a.test/", 9);
        for fate in [
            RequestFate::Failed,
            RequestFate::Answered,
            RequestFate::Refused,
        ] {
            notes.request(requested("https://a.test/x", fate));
        }
        assert_eq!(notes.requested[0].fate, RequestFate::Answered);
        assert_eq!(notes.requested.len(), 1);
    }
}
