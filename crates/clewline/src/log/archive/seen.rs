//! Payloads that are in the archive already.
//!
//! Owns the bounded table from a payload's digest to the captures that hold it, one for each way
//! of coding, and the rule which of them a capture may refer to. Refuses to know where they lie.
//! Invariant: it names no capture that is not in the archive, so what was added with a batch
//! that is taken back is forgotten with it.

use std::collections::{HashMap, VecDeque};

use clewline_warc::cdxj::Capture;
use clewline_warc::{Digest, Moment, surt};

use crate::exchange::Exchange;

/// Payloads that are remembered; the oldest is forgotten first. An entry takes about 300 bytes.
pub(super) const MOST: usize = 65_536;
/// Captures that are remembered for a payload, each coded in another way.
const MOST_CODINGS: usize = 4;

/// The capture that holds a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) target: Box<str>,
    pub(super) date: Moment,
    /// How its body is coded; empty if that is not known.
    pub(super) codings: Box<str>,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    holders: HashMap<Digest, Vec<Holder>>,
    order: VecDeque<Digest>,
    /// Those of the batch that is not durable yet.
    fresh: Vec<Digest>,
}

/// Whether an answer brought a whole payload that is worth a look. The body of a redirect is
/// small, and a replay server that knows it as a revisit does not look for it.
pub(super) const fn has_payload(exchange: &Exchange) -> bool {
    let is_redirect = exchange.status >= 300 && exchange.status < 400;
    exchange.truncation.is_none() && exchange.payload_length > 0 && !is_redirect
}

/// Whether an index tells of a capture that others may refer to.
pub(super) fn is_holder(capture: &Capture) -> bool {
    !capture.is_revisit() && !capture.status.starts_with('3')
}

/// Whether a head that codes a body so can stand before a body that is coded so. Replay servers
/// put the head of a revisit before the body of its original.
pub(super) fn are_alike(head: &str, body: &str) -> bool {
    !head.is_empty() && head == body
}

impl Seen {
    /// The capture that holds this payload already; if there is none, this one does from now.
    pub(super) fn meet(&mut self, exchange: &Exchange) -> Option<Holder> {
        if !has_payload(exchange) {
            return None;
        }
        let digest = exchange.payload_digest;
        let known = self.holders.get(&digest).map_or(&[][..], Vec::as_slice);
        let alike = |holder: &Holder| are_alike(&exchange.codings, &holder.codings);
        if let Some(holder) = known.iter().find(|holder| alike(holder)) {
            // Replay servers look for the payload under the same key first, whatever capture
            // the revisit names; there it must not be coded otherwise.
            let key = (known.len() > 1).then(|| surt(exchange.url.as_str()));
            let is_mistaken = key.is_some_and(|key| {
                let mut others = known.iter().filter(|holder| !alike(holder));
                others.any(|other| surt(&other.target) == key)
            });
            return (!is_mistaken).then(|| holder.clone());
        }
        if known.len() < MOST_CODINGS {
            let holder = Holder {
                target: exchange.url.as_str().into(),
                date: exchange.started_at.into(),
                codings: exchange.codings.as_str().into(),
            };
            self.add(digest, holder);
            self.fresh.push(digest);
        }
        None
    }

    /// Remembers a capture.
    pub(super) fn add(&mut self, digest: Digest, holder: Holder) {
        let holders = self.holders.entry(digest).or_default();
        if holders.is_empty() {
            self.order.push_back(digest);
        }
        let is_known = holders
            .iter()
            .any(|known| are_alike(&holder.codings, &known.codings));
        if holders.len() < MOST_CODINGS && !is_known {
            holders.push(holder);
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
            if let Some(holders) = self.holders.get_mut(&digest) {
                holders.pop();
            }
        }
        self.holders.retain(|_, holders| !holders.is_empty());
        // Without this the table would shrink each time a full disk makes a batch be repeated.
        self.order
            .retain(|digest| self.holders.contains_key(digest));
    }
}
