//! In which order a crawl asked: good pages, failing ones, and tries again.
//!
//! Owns the counting. It speaks of numbers of requests and not of time, so that a busy machine
//! changes nothing.

use std::collections::{HashMap, HashSet};

use super::{Place, Trouble};
use crate::referee::Log;

/// When good pages were asked for, in numbers of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Order {
    /// Requests for pages, good or failing, tries again included.
    pub requests: usize,
    /// Different good pages that were answered with 200.
    pub good: usize,
    /// The number of the request with which the last of them was answered first.
    pub last_good: usize,
    /// Requests for a page that had been asked for before.
    pub retries: usize,
    /// The number of the last of these.
    pub last_retry: Option<usize>,
    /// The most requests in a row that were all tries again, while a good page had not been
    /// asked for.
    pub longest_bundle: usize,
    /// The most tries that any page had.
    pub most_tries: usize,
}

impl Order {
    /// What the log says about the pages of this trouble.
    pub fn from_log(trouble: &Trouble, log: &Log) -> Self {
        let good: HashSet<Place> = trouble.good().into_iter().collect();
        let failing: HashSet<Place> = trouble.failing().into_iter().collect();
        let mut order = Self::default();
        let mut tries: HashMap<Place, usize> = HashMap::new();
        let (mut answered, mut bundle) = (HashSet::new(), 0);
        for hit in log {
            let place = (hit.host.clone(), hit.target.clone());
            if !good.contains(&place) && !failing.contains(&place) {
                continue;
            }
            order.requests += 1;
            let count = tries.entry(place.clone()).or_default();
            *count += 1;
            order.most_tries = order.most_tries.max(*count);
            let is_retry = *count > 1;
            bundle = if is_retry { bundle + 1 } else { 0 };
            if is_retry {
                order.retries += 1;
                order.last_retry = Some(order.requests);
            }
            if good.contains(&place) && hit.status == Some(200) && answered.insert(place) {
                order.last_good = order.requests;
            }
            if answered.len() < good.len() {
                order.longest_bundle = order.longest_bundle.max(bundle);
            }
        }
        order.good = answered.len();
        order
    }
}
