//! Roots that were typed without a scheme: https first, then http.
//!
//! Owns when https is given up. It refuses to know connections: a failure's class says what
//! happened. Invariant: a server that speaks https is never asked over http for being distrusted.

use super::Frontier;
use super::entry::{Origin, QueueEntry};
use super::job::{Admission, Failure, Note, Settled};
use super::pace::Moment;
use super::store::Store;
use crate::key::HostId;
use crate::outcome::FailureClass;

impl<S: Store> Frontier<S> {
    /// For a root typed without a scheme, https that cannot connect becomes http, once, after all
    /// its addresses were tried. A server that shows a certificate does speak https: whoever
    /// distrusts it must not be led to send the same request in the clear. A name that is not
    /// resolved is unknown to http, too.
    pub(super) fn fall_back_to_http(
        &mut self,
        host: HostId,
        entry: &mut QueueEntry,
        failure: &Failure,
        now: Moment,
    ) -> Result<Option<Settled>, S::Error> {
        if !entry.guesses() || failure.class == FailureClass::Dns {
            return Ok(None);
        }
        if failure.class == FailureClass::Certificate {
            entry.guessed_scheme = false;
            return Ok(None);
        }
        let is_unconnected = failure.class == FailureClass::Connect;
        if is_unconnected
            && self
                .lane(host)
                .turn_to_untried(Origin::from_url(&entry.url))
        {
            return Ok(Some(Settled::Again(now)));
        }
        entry.guessed_scheme = false;
        if self.admit_fallback(entry)? != Admission::Accepted {
            return Ok(None);
        }
        let url = entry.url.clone();
        self.note(Note::SchemeFellBack { url });
        Ok(Some(Settled::Again(now)))
    }
}
