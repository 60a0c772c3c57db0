//! What is ordered of all members, and told to all of them.
//!
//! Owns the orders: figures that somebody changes, URLs to begin with, and deaths of members. They are
//! written down by the bus, so whoever joins later hears them, too. Invariant: to hear an order twice
//! changes nothing more, since after a fail-over all of them may come again.

use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

use super::asker::LongQuestion;
use super::deaths::{FoundDeath, MemberDeath};
use super::driver::FleetDriver;
use super::journal::JournalStore;
use super::membership::AtWork;
use crate::control::Change;

/// What is told to all members of a job, in its order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FleetOrder {
    /// Another figure.
    Change(Change),
    /// One more URL to begin with.
    Root(String),
    /// A member died with pages in hand.
    Death(MemberDeath),
}

impl FleetDriver {
    pub(super) fn hear_order(&mut self, order: &str, at: &mut AtWork<'_, JournalStore>) {
        match serde_json::from_str(order) {
            // These budgets are counted for all members together.
            Ok(FleetOrder::Change(Change::MaxBytes(most))) => self.max_bytes = most,
            Ok(FleetOrder::Change(Change::MaxTime(most))) => self.max_time = most,
            Ok(FleetOrder::Change(change)) => self.turn.changes.push(change),
            Ok(FleetOrder::Root(root)) => {
                if let Ok(root) = CrawlUrl::parse(&root) {
                    at.frontier.know_root(&root);
                }
            }
            Ok(FleetOrder::Death(death)) => {
                self.deaths.hear(&death);
                self.deaths.suspect_in(at.frontier);
            }
            Err(_) => {
                let told = format!("an order that this version does not know: {order}");
                self.turn.told.push(told);
            }
        }
    }

    /// Tells everybody of members that died here, and counts them at once: this member must not ask
    /// for their pages before it hears of its own order.
    pub(super) fn tell_deaths(&mut self, found: Vec<FoundDeath>) {
        for found in found {
            self.deaths.hear(&found.death);
            self.asker.ask_long(LongQuestion::Tell(found));
        }
    }
}
