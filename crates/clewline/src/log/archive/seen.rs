//! Payloads that are in the archive already.
//!
//! Owns the bounded table from a payload's digest to the capture that holds it. Refuses to know
//! where that capture lies. Invariant: it names no capture that is not in the archive, so what
//! was added with a batch that is taken back is forgotten with it.

use std::collections::{HashMap, VecDeque};

use clewline_warc::{Digest, Moment};

use crate::exchange::Exchange;

/// Payloads that are remembered; the oldest is forgotten first. An entry takes about 250 bytes.
pub(super) const MOST: usize = 65_536;

/// The capture that holds a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) target: Box<str>,
    pub(super) date: Moment,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    holders: HashMap<Digest, Holder>,
    order: VecDeque<Digest>,
    /// Those of the batch that is not durable yet.
    fresh: Vec<Digest>,
}

/// Whether an answer brought a whole payload that is worth a look.
pub(super) const fn has_payload(exchange: &Exchange) -> bool {
    exchange.truncation.is_none() && exchange.payload_length > 0
}

impl Seen {
    /// The capture that holds this payload already; if there is none, this one does from now.
    pub(super) fn meet(&mut self, exchange: &Exchange) -> Option<Holder> {
        if !has_payload(exchange) {
            return None;
        }
        let digest = exchange.payload_digest;
        let known = self.holders.get(&digest).cloned();
        if known.is_none() {
            let holder = Holder {
                target: exchange.url.as_str().into(),
                date: exchange.started_at.into(),
            };
            self.add(digest, holder);
            self.fresh.push(digest);
        }
        known
    }

    /// Remembers a capture.
    pub(super) fn add(&mut self, digest: Digest, holder: Holder) {
        if self.holders.insert(digest, holder).is_none() {
            self.order.push_back(digest);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.holders.remove(&oldest);
        }
    }

    /// The batch is durable.
    pub(super) fn settle(&mut self) {
        self.fresh.clear();
    }

    /// The batch is taken back.
    pub(super) fn take_back(&mut self) {
        for digest in self.fresh.drain(..) {
            self.holders.remove(&digest);
        }
        // Without this the table would shrink each time a full disk makes a batch be repeated.
        self.order
            .retain(|digest| self.holders.contains_key(digest));
    }
}
