//! The pace of one host: when it may be asked next, and how much at once.
//!
//! Owns the adaptive part of politeness as plain arithmetic; whether an answer counts against the
//! host is decided in [`super::health`]. Two starts are never closer than the interval in force.
//! Three things lengthen it: answers that come later than usual halve the rate, a refused rate
//! becomes a ceiling that is approached in small steps, and a host that fails for most of what
//! it is asked is probed one request at a time. Each of them ends with good answers, and none
//! ever makes the host faster than it is configured.

use std::time::Duration;

use super::latency::{Latencies, WINDOW};
use super::traffic::Traffic;
use crate::politeness::{Politeness, Rate};

#[cfg(test)]
mod tests;

/// Time since the start of the crawl, monotonic.
pub type Moment = Duration;

/// The gap that the first step down is counted from, where the gap in force is shorter.
const FIRST_STEP: Duration = Duration::from_millis(250);
/// A host that fails for most of what it is asked is still asked this often.
const LONGEST_STEP: Duration = Duration::from_secs(10);
/// Steps down that a host takes at once when it turns out to fail.
const STEPS_AT_ONCE: u8 = 2;
/// Steps after which the gap is as long as it gets.
const MOST_STEPS: u8 = 6;

/// Time between two tries to go faster than a rate that the host refused.
const PROBE_EVERY: Duration = Duration::from_secs(30);
/// How much faster the first such try is, in percent; each one that succeeds doubles it …
const FIRST_STRIDE: u32 = 10;
/// … up to this.
const LONGEST_STRIDE: u32 = 100;
/// A connection that takes this long lost its first packet: systems send it again after a second.
const LOST_PACKET: Duration = Duration::from_millis(900);
/// Requests in flight that are not too many for any server.
const FEW: u32 = 8;
/// Gaps below this are no limit: no host is asked a thousand times a second.
const NO_GAP: Duration = Duration::from_millis(1);

/// A rate that the host refused.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    /// The gap between requests at which it refused.
    refused: Duration,
    /// The next try to go faster comes no sooner.
    probe_at: Moment,
    /// How much faster it will be, in percent.
    stride: u32,
}

impl Ceiling {
    fn new(refused: Duration, now: Moment) -> Self {
        Self {
            refused,
            probe_at: now + PROBE_EVERY,
            stride: FIRST_STRIDE,
        }
    }

    /// The shortest gap that stays clear of the refused rate.
    fn clear_of_it(&self) -> Duration {
        self.refused + self.refused / 20
    }
}

/// How fast a host was asked before it refused.
#[derive(Debug, Clone, Copy)]
struct Before {
    interval: Duration,
    in_flight_limit: u32,
    ceiling: Option<Ceiling>,
}

/// The pace of one host. An interval of zero is no limit of rate.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    interval: Duration,
    shortest_interval: Duration,
    /// No slowdown makes the gap between requests longer than this; a pause can be longer.
    longest_gap: Duration,
    /// What both would be without trouble: the settings, and robots.txt.
    usual: (Duration, Duration),
    in_flight_limit: u32,
    /// When the server last had more connections than it takes at once, if ever.
    crowded_at: Option<Moment>,
    one_at_a_time: bool,
    clean: u32,
    latencies: Latencies,
    traffic: Traffic,
    ceiling: Option<Ceiling>,
    before: Option<Before>,
    /// How far the host is slowed down because most of what it was asked failed.
    steps: u8,
    stepped_at: Moment,
    last_start: Option<Moment>,
    next_at: Moment,
    parked_until: Moment,
}

impl Pace {
    pub(super) fn new(politeness: &Politeness) -> Self {
        let host = &politeness.host;
        let gap = |rate: Option<Rate>| rate.map_or(Duration::ZERO, Rate::interval);
        let interval = host.delay.unwrap_or_else(|| gap(host.first_rate));
        let shortest_interval = host.delay.unwrap_or_else(|| gap(host.most_rate));
        Self {
            interval,
            shortest_interval,
            longest_gap: politeness.longest_gap,
            usual: (interval, shortest_interval),
            in_flight_limit: host.first_in_flight,
            crowded_at: None,
            one_at_a_time: host.delay.is_some(),
            clean: 0,
            latencies: Latencies::default(),
            traffic: Traffic::default(),
            ceiling: None,
            before: None,
            steps: 0,
            stepped_at: Moment::ZERO,
            last_start: None,
            next_at: Moment::ZERO,
            parked_until: Moment::ZERO,
        }
    }

    /// What trouble taught, for the store: the gap in force, and the gap that was refused. Each
    /// is zero where trouble taught nothing, so that other settings count in the next run.
    pub(super) fn learnt(&self) -> (Duration, Duration) {
        let gap = self.interval();
        let slower = if gap > self.usual.0 {
            gap
        } else {
            Duration::ZERO
        };
        (
            slower,
            self.ceiling
                .map_or(Duration::ZERO, |ceiling| ceiling.refused),
        )
    }

    /// Takes up what was learnt before, never faster than it is configured now.
    pub(super) fn learn(&mut self, (interval, refused): (Duration, Duration), now: Moment) {
        self.interval = self.interval.max(interval.min(self.longest_gap));
        if refused > Duration::ZERO {
            self.ceiling = Some(Ceiling::new(refused.min(self.longest_gap), now));
        }
    }

    /// Asks nothing before this moment.
    pub(super) fn hold_until(&mut self, not_before: Moment) {
        self.next_at = self.next_at.max(not_before);
    }

    /// Whether the earliest next start is the end of a pause after trouble.
    pub(super) fn is_parked(&self) -> bool {
        self.parked_until > self.next_at
    }

    /// Other figures for a host that turned out to be near; what was learnt is kept.
    pub(super) fn retune(&mut self, politeness: &Politeness) {
        let fresh = Self::new(politeness);
        self.interval = fresh.interval;
        self.shortest_interval = fresh.shortest_interval;
        self.longest_gap = fresh.longest_gap;
        self.usual = fresh.usual;
        self.in_flight_limit = fresh.in_flight_limit;
        self.one_at_a_time = fresh.one_at_a_time;
        self.next_at = Moment::ZERO;
    }

    /// Other figures in the middle of a crawl. What trouble taught stays, and so does a
    /// Crawl-delay; the gap counts from the last request.
    pub(super) fn change(&mut self, politeness: &Politeness, delay: Option<Duration>, now: Moment) {
        let fresh = Self::new(politeness);
        let slower = self.learnt().0;
        self.interval = fresh.interval.max(slower);
        self.shortest_interval = fresh.shortest_interval;
        self.longest_gap = fresh.longest_gap;
        self.usual = fresh.usual;
        self.in_flight_limit = fresh.in_flight_limit;
        self.one_at_a_time = fresh.one_at_a_time;
        self.before = None;
        self.next_at = match self.last_start {
            Some(last_start) => last_start + self.interval(),
            None => self.next_at.min(now + self.interval()),
        };
        if let Some(delay) = delay {
            self.obey_delay(delay);
        }
    }

    /// Obeys a Crawl-delay: one at a time, and never closer than this.
    pub(super) fn obey_delay(&mut self, delay: Duration) {
        self.one_at_a_time = true;
        self.interval = self.interval.max(delay);
        self.shortest_interval = self.shortest_interval.max(delay);
        self.usual = (self.usual.0.max(delay), self.usual.1.max(delay));
        if let Some(last_start) = self.last_start {
            self.next_at = self.next_at.max(last_start + self.interval());
        }
    }

    /// The gap between two starts.
    pub(super) fn interval(&self) -> Duration {
        if self.steps == 0 {
            return self.interval;
        }
        let slowed = self.interval.max(FIRST_STEP) * (1 << self.steps);
        slowed.min(LONGEST_STEP).max(self.interval)
    }

    /// Whether requests go one at a time, start to start.
    pub(super) const fn is_one_at_a_time(&self) -> bool {
        self.one_at_a_time
    }

    /// How many requests may be in flight.
    pub(super) fn in_flight_limit(&self) -> u32 {
        if self.one_at_a_time || self.steps > 0 {
            1
        } else {
            self.in_flight_limit.max(1)
        }
    }

    /// The earliest next start.
    pub(super) fn next_at(&self) -> Moment {
        self.next_at.max(self.parked_until)
    }

    /// Until when the host is left alone, if it is.
    pub(super) fn parked_until(&self, now: Moment) -> Option<Moment> {
        (self.parked_until > now).then_some(self.parked_until)
    }

    /// A request was handed out.
    pub(super) fn started(&mut self, now: Moment) {
        self.last_start = Some(now);
        self.traffic.started(now);
        self.next_at = now + self.interval();
    }

    /// The request really left at this time, later than it was handed out: a handshake took
    /// long. The gap counts from here; and so it does where a delay is only heard of in the
    /// answer to this request, as a Crawl-delay is. What is in flight beside it was spaced when
    /// it was handed out, so no second sees more than the rate and the limit in flight allow
    /// together.
    pub(super) fn sent(&mut self, at: Moment) {
        self.last_start = self.last_start.max(Some(at));
        self.next_at = self.next_at.max(at + self.interval());
    }

    /// How long a first byte may take before something seems to be wrong, if that is known.
    pub(super) fn first_byte_limit(&self) -> Option<Duration> {
        self.latencies.limit()
    }

    /// A good answer came at `now`, after this time to the first byte, to a request that was
    /// handed out at `since`.
    pub(super) fn answered(
        &mut self,
        politeness: &Politeness,
        first_byte: Duration,
        (since, now): (Moment, Moment),
    ) {
        self.latencies.add(first_byte);
        self.traffic.answered(now);
        if self.steps > 0 {
            self.step_up(since, now);
            return;
        }
        self.clean += 1;
        if self.latencies.have_slowed() {
            self.slow_down();
            self.latencies.turn_over();
        } else if self.clean as usize >= WINDOW
            && let Some(median) = self.latencies.median()
        {
            self.speed_up(politeness, median, now);
        }
    }

    /// A connection of a request that was handed out at `since` took this long. A server that is
    /// handed more of them at once than it queues drops the rest, and each waits for seconds:
    /// half of them are enough, and more come back one at a time.
    pub(super) fn connected(&mut self, took: Duration, (since, now): (Moment, Moment)) {
        let is_old = self.crowded_at.is_some_and(|at| since < at);
        if took < LOST_PACKET || is_old || self.in_flight_limit <= FEW {
            return;
        }
        self.crowded_at = Some(now);
        self.in_flight_limit = (self.in_flight_limit / 2).max(FEW);
        self.clean = 0;
    }

    /// Most of what the host is asked fails: asks it one request at a time, and each one that
    /// fails doubles the gap. Requests that were in flight at the last step count no more. Answers
    /// whether a step was taken.
    pub(super) fn step_down(&mut self, most: u8, since: Moment, now: Moment) -> bool {
        if self.steps > 0 && since < self.stepped_at {
            return false;
        }
        let steps = (self.steps + 1).clamp(STEPS_AT_ONCE, MOST_STEPS);
        self.steps = self.steps.max(steps.min(most));
        self.stepped_at = now;
        self.space();
        true
    }

    /// Whether the host is being probed, one request at a time.
    pub(super) const fn is_probing(&self) -> bool {
        self.steps > 0
    }

    /// A request that was sent since the last step was answered: one step back up.
    fn step_up(&mut self, since: Moment, now: Moment) {
        if since >= self.stepped_at {
            self.steps -= 1;
            self.stepped_at = now;
            self.space();
        }
    }

    /// Counts the gap in force from the last request.
    fn space(&mut self) {
        if let Some(last_start) = self.last_start {
            self.next_at = last_start + self.interval();
        }
    }

    /// The host refused the rate at which it was asked: half of it, or what it took of it if that
    /// is less. The refused rate is a ceiling from now on. Answers whether the rate can be the
    /// cause: hardly, if this one is far below the last that was refused.
    pub(super) fn refused(&mut self, now: Moment) -> RateMatters {
        // A gap that is asked for is kept; without one, what went out is counted.
        let gap = if self.interval > NO_GAP {
            self.interval
        } else {
            self.traffic.gap(now)
        };
        let cause = match self.ceiling {
            None => RateMatters::Perhaps,
            Some(ceiling) if gap * 4 > ceiling.refused * 5 => RateMatters::Hardly,
            Some(_) => RateMatters::Surely,
        };
        if cause != RateMatters::Hardly || self.before.is_none() {
            self.before = Some(Before {
                interval: self.interval,
                in_flight_limit: self.in_flight_limit,
                ceiling: self.ceiling,
            });
        }
        let slower = self.traffic.requests_per_answer(now).unwrap_or(0).max(2);
        let slowest = self.longest_gap.max(self.shortest_interval);
        self.ceiling = Some(Ceiling::new(gap, now));
        self.interval = (gap * slower).min(slowest).max(self.interval);
        self.in_flight_limit = (self.in_flight_limit / 2).max(1);
        self.clean = 0;
        self.space();
        cause
    }

    /// Goes back to the pace before the host refused: it was not about the rate.
    pub(super) fn take_back_refusal(&mut self) {
        if let Some(before) = self.before.take() {
            self.interval = before.interval;
            self.in_flight_limit = before.in_flight_limit;
            self.ceiling = before.ceiling;
            self.space();
        }
    }

    /// Takes back what trouble taught since `before`; no request comes sooner for it.
    pub(super) fn forgive(&mut self, before: Self) {
        let (last_start, next_at) = (self.last_start, self.next_at);
        *self = before;
        self.last_start = self.last_start.max(last_start);
        self.next_at = self.next_at.max(next_at);
    }

    /// Leaves the host alone until then.
    pub(super) fn park_until(&mut self, until: Moment) {
        self.parked_until = self.parked_until.max(until);
    }

    fn slow_down(&mut self) {
        self.clean = 0;
        // A delay that was asked for may be longer than that; trouble must not shorten it.
        let slowest = self.longest_gap.max(self.shortest_interval);
        self.interval = self.interval.saturating_mul(2).min(slowest);
        self.in_flight_limit = (self.in_flight_limit / 2).max(1);
    }

    fn speed_up(&mut self, politeness: &Politeness, median: Duration, now: Moment) {
        self.clean = 0;
        let most = politeness.host.most_in_flight;
        let more = match self.crowded_at {
            Some(_) => 1,
            None => self.in_flight_limit.div_ceil(2),
        };
        self.in_flight_limit = self.in_flight_limit.saturating_add(more).min(most);
        // The load rule: rate times response time stays below a number.
        let by_load = politeness
            .host
            .load
            .map_or(Duration::ZERO, |load| median.div_f64(load));
        let wished = if self.ceiling.is_some() {
            self.approach_ceiling(now)
        } else {
            self.interval * 2 / 3
        };
        self.interval = wished.max(self.shortest_interval).max(by_load);
    }

    /// The next gap below a refused rate: a small step up to it, and beyond it only once in a
    /// while. Each step beyond that the host takes moves the ceiling, and the next may be longer.
    fn approach_ceiling(&mut self, now: Moment) -> Duration {
        let Some(ceiling) = &mut self.ceiling else {
            return self.interval;
        };
        let step = self.interval * 10 / 11;
        let mut gap = step.max(ceiling.clear_of_it()).min(self.interval);
        if gap == self.interval && now >= ceiling.probe_at {
            gap = self.interval * 100 / (100 + ceiling.stride);
            *ceiling = Ceiling {
                refused: gap * 20 / 21,
                probe_at: now + PROBE_EVERY,
                stride: (ceiling.stride * 2).min(LONGEST_STRIDE),
            };
        }
        if gap <= self.shortest_interval.max(NO_GAP) {
            (self.ceiling, self.before) = (None, None);
            return self.shortest_interval;
        }
        gap
    }
}

/// Whether the rate can be the cause of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateMatters {
    /// Nothing is known of rates that it refused before.
    Perhaps,
    /// About the same rate was refused before.
    Surely,
    /// A much lower rate than the last one was refused, too.
    Hardly,
}
