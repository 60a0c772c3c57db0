//! Pages that are settled some time after their request has ended.
//!
//! Owns the two halves of such a settlement. What an answer says of its host counts at once: the
//! request is over, so its place on the host and its slot are free. What it says of the page waits,
//! as long as whoever postponed it works on it; meanwhile the page may send [errands](super::errands).
//! It refuses to know what the time is used for. Invariants: a postponed page stays in the store as
//! one that was never asked, so that a crash fetches it again; it counts against the page budgets as
//! a page in flight; a crawl does not end before it is settled.

use super::Frontier;
use super::entry::QueueEntry;
use super::flights::{Flight, JobKind};
use super::job::{Answer, Ending, Settled, Settlement};
use super::pace::Moment;
use super::page_budget::counts_as_page;
use super::store::Store;

impl<S: Store> Frontier<S> {
    /// Takes back the request of a page whose settlement follows later, and says whether it does: a
    /// page that did not come whole, or that must be alone in the crawler, is settled at once.
    pub fn postpone(&mut self, settlement: &mut Settlement, now: Moment) -> Result<bool, S::Error> {
        let job = settlement.job;
        if S::IN_FLEET || self.suspects.is_one_alone() || !self.is_whole_page(settlement) {
            return Ok(false);
        }
        let flight = self.flights.take(job);
        self.counts.in_flight -= 1;
        let host = flight.lane;
        self.release(&flight, now);
        self.weigh(job, &flight, &mut settlement.ending, now)?;
        self.give_slot_back(&flight, &settlement.ending);
        let wire = self.count_wire(host, &settlement.ending);
        let (JobKind::Page(mut entry), Ending::Answered(answer)) =
            (flight.kind, &settlement.ending)
        else {
            unreachable!("it was looked at a moment ago");
        };
        entry.wire += wire;
        entry.tries += 1;
        entry.guessed_scheme = false;
        self.answered_well(host, &entry, answer, now);
        let postponed = Flight {
            kind: JobKind::Postponed(entry),
            domain: None,
            address: None,
            ..flight
        };
        self.flights.put_back(job, postponed);
        self.errands.open(job);
        self.reschedule(host, now)?;
        self.touch(host)?;
        Ok(true)
    }

    fn is_whole_page(&self, settlement: &Settlement) -> bool {
        let is_page = |flight: &Flight| matches!(&flight.kind, JobKind::Page(entry) if counts_as_page(entry.kind));
        let is_whole = |answer: &Answer| {
            let is_sound = matches!(answer.status, 200..=299) || answer.unmodified;
            is_sound && answer.unread.is_none()
        };
        self.flights.get(settlement.job).is_some_and(is_page)
            && matches!(&settlement.ending, Ending::Answered(answer) if is_whole(answer))
    }

    /// Ends a page that was postponed.
    pub(super) fn settle_postponed(
        &mut self,
        settlement: &mut Settlement,
        entry: QueueEntry,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        let Ending::Answered(answer) = &mut settlement.ending else {
            unreachable!("only a page that was answered is postponed");
        };
        let host = entry.key.host();
        self.drop_errands(settlement.job);
        self.release_page(host, entry.kind);
        let was_spent = self.pages_spent();
        let settled = self.page_finished(host, entry, answer, now)?;
        self.look_at_budget(was_spent, now)?;
        self.note_end(host, &settled, now)?;
        Ok(settled)
    }
}
