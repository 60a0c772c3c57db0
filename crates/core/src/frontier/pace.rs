//! The pace of one host: when it may be asked next, and how much at once.
//!
//! Owns the adaptive part of politeness as plain arithmetic. Two starts are never closer than
//! the interval in force; every kind of trouble slows down, ten clean answers speed up again,
//! never above what was configured nor above half of a rate that the host once refused.

use std::time::Duration;

use super::latency::{Latencies, WINDOW};
use crate::politeness::{Politeness, Rate};

/// Time since the start of the crawl, monotonic.
pub type Moment = Duration;

/// No amount of trouble makes the gap longer than this; parking goes beyond.
const SLOWEST: Duration = Duration::from_mins(1);

/// The pace of one host. An interval of zero is no limit of rate.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    interval: Duration,
    shortest_interval: Duration,
    /// What both would be without trouble: the settings, and robots.txt.
    usual: (Duration, Duration),
    in_flight_limit: u32,
    one_at_a_time: bool,
    clean: u32,
    failures_in_row: u32,
    latencies: Latencies,
    next_park: Duration,
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
            usual: (interval, shortest_interval),
            in_flight_limit: host.first_in_flight,
            one_at_a_time: host.delay.is_some(),
            clean: 0,
            failures_in_row: 0,
            latencies: Latencies::default(),
            next_park: politeness.first_park,
            last_start: None,
            next_at: Moment::ZERO,
            parked_until: Moment::ZERO,
        }
    }

    /// What trouble taught, for the store; zero where it taught nothing, so that other settings
    /// count in the next run.
    pub(super) fn learnt(&self) -> (Duration, Duration) {
        let beyond = |now: Duration, usual: Duration| {
            if now > usual { now } else { Duration::ZERO }
        };
        (
            beyond(self.interval, self.usual.0),
            beyond(self.shortest_interval, self.usual.1),
        )
    }

    /// Takes up what was learnt before, never faster than it is configured now.
    pub(super) fn learn(&mut self, learnt: (Duration, Duration)) {
        self.interval = self.interval.max(learnt.0.min(SLOWEST));
        self.shortest_interval = self.shortest_interval.max(learnt.1.min(SLOWEST));
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
        self.usual = fresh.usual;
        self.in_flight_limit = fresh.in_flight_limit;
        self.one_at_a_time = fresh.one_at_a_time;
        self.next_at = Moment::ZERO;
    }

    /// Other figures in the middle of a crawl. What trouble taught stays, and so does a
    /// Crawl-delay; the gap counts from the last request.
    pub(super) fn change(&mut self, politeness: &Politeness, delay: Option<Duration>, now: Moment) {
        let (fresh, learnt) = (Self::new(politeness), self.learnt());
        self.interval = fresh.interval.max(learnt.0);
        self.shortest_interval = fresh.shortest_interval.max(learnt.1);
        self.usual = fresh.usual;
        self.in_flight_limit = fresh.in_flight_limit;
        self.one_at_a_time = fresh.one_at_a_time;
        self.next_at = match self.last_start {
            Some(last_start) => last_start + self.interval,
            None => self.next_at.min(now + self.interval),
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
            self.next_at = self.next_at.max(last_start + self.interval);
        }
    }

    /// The gap between two starts.
    pub(super) const fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether requests go one at a time, start to start.
    pub(super) const fn is_one_at_a_time(&self) -> bool {
        self.one_at_a_time
    }

    /// How many requests may be in flight.
    pub(super) fn in_flight_limit(&self) -> u32 {
        if self.one_at_a_time {
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
        self.next_at = now + self.interval;
    }

    /// The request really left at this time, later than it was handed out: a handshake took
    /// long. The gap counts from here; and so it does where a delay is only heard of in the
    /// answer to this request, as a Crawl-delay is. What is in flight beside it was spaced when
    /// it was handed out, so no second sees more than the rate and the limit in flight allow
    /// together.
    pub(super) fn sent(&mut self, at: Moment) {
        self.last_start = self.last_start.max(Some(at));
        self.next_at = self.next_at.max(at + self.interval);
    }

    /// How long a first byte may take before something seems to be wrong, if that is known.
    pub(super) fn first_byte_limit(&self) -> Option<Duration> {
        self.latencies.limit()
    }

    /// A clean answer came, after this time to the first byte.
    pub(super) fn answered(&mut self, politeness: &Politeness, first_byte: Duration) {
        self.failures_in_row = 0;
        self.next_park = politeness.first_park;
        self.latencies.add(first_byte);
        self.clean += 1;
        if self.latencies.have_slowed() {
            self.slow_down();
            self.latencies.turn_over();
        } else if self.clean as usize >= WINDOW
            && let Some(median) = self.latencies.median()
        {
            self.speed_up(politeness, median);
        }
    }

    /// A reset, a time-out or another failure: slower, and parked after several in a row.
    pub(super) fn troubled(&mut self, politeness: &Politeness, now: Moment) {
        self.slow_down();
        self.failures_in_row += 1;
        if self.failures_in_row >= politeness.failures_to_park {
            self.park_until(now + politeness.failure_park);
            self.failures_in_row = 0;
        }
    }

    /// The host said "not now": 429 or 503. Never again above half the rate that drew it.
    pub(super) fn refused(
        &mut self,
        politeness: &Politeness,
        now: Moment,
        retry_after: Option<Duration>,
    ) {
        self.slow_down();
        self.shortest_interval = self.shortest_interval.max(self.interval);
        let park = retry_after.unwrap_or(self.next_park);
        if retry_after.is_none() {
            self.next_park = (self.next_park * 2).min(politeness.longest_park);
        }
        self.park_until(now + park);
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
        let slowest = SLOWEST.max(self.shortest_interval);
        self.interval = self.interval.saturating_mul(2).min(slowest);
        self.in_flight_limit = (self.in_flight_limit / 2).max(1);
    }

    fn speed_up(&mut self, politeness: &Politeness, median: Duration) {
        self.clean = 0;
        let most = politeness.host.most_in_flight;
        let half = self.in_flight_limit.div_ceil(2);
        self.in_flight_limit = self.in_flight_limit.saturating_add(half).min(most);
        // The load rule: rate times response time stays below a number.
        let by_load = politeness
            .host
            .load
            .map_or(Duration::ZERO, |load| median.div_f64(load));
        self.interval = (self.interval * 2 / 3)
            .max(self.shortest_interval)
            .max(by_load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::politeness::Speed;

    fn interval_after(pace: &mut Pace, politeness: &Politeness, answers: &[u64]) -> Duration {
        for milliseconds in answers {
            pace.answered(politeness, Duration::from_millis(*milliseconds));
        }
        pace.interval()
    }

    #[test]
    fn grows_with_clean_answers_to_the_limit() {
        let politeness = Politeness::of(Speed::Polite);
        let mut pace = Pace::new(&politeness);
        assert_eq!(pace.interval(), Duration::from_millis(500));
        assert_eq!(pace.in_flight_limit(), 1);
        let three = interval_after(&mut pace, &politeness, &[20; 10]);
        assert_eq!(three.as_millis(), 333);
        assert_eq!(
            interval_after(&mut pace, &politeness, &[20; 200]),
            Duration::from_millis(100)
        );
        assert_eq!(pace.in_flight_limit(), 4);
    }

    #[test]
    fn the_largest_limit_does_not_grow() {
        let mut politeness = Politeness::of(Speed::Max);
        politeness.host.first_in_flight = u32::MAX;
        politeness.host.most_in_flight = u32::MAX;
        let mut pace = Pace::new(&politeness);
        interval_after(&mut pace, &politeness, &[20; 30]);
        assert_eq!(pace.in_flight_limit(), u32::MAX);
    }

    #[test]
    fn load_rule_holds_back_slow_hosts() {
        let politeness = Politeness::of(Speed::Polite);
        let mut pace = Pace::new(&politeness);
        // 1 s per answer and a load of 2 allow two a second.
        assert_eq!(
            interval_after(&mut pace, &politeness, &[1000; 200]),
            Duration::from_millis(500)
        );
    }

    #[test]
    fn rising_latency_halves() {
        let politeness = Politeness::of(Speed::Polite);
        let mut pace = Pace::new(&politeness);
        interval_after(&mut pace, &politeness, &[60; 200]);
        let slower = interval_after(&mut pace, &politeness, &[130; 10]);
        assert_eq!(slower, Duration::from_millis(200));
        assert_eq!(pace.in_flight_limit(), 2);
    }

    /// Log-normal times with a median of 200 ms, as hosts have them: for each draw the sum of
    /// twelve even ones stands for a normal one.
    fn scattered(seed: u64, sigma: f64) -> impl Iterator<Item = Duration> {
        let mut state = seed;
        let mut even = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        std::iter::repeat_with(move || {
            let normal = (0..12).map(|_| even()).sum::<f64>() - 6.0;
            Duration::from_secs_f64(0.2 * (sigma * normal).exp())
        })
    }

    #[test]
    fn scatter_is_no_trouble() {
        let mut politeness = Politeness::of(Speed::Max);
        let rate = Rate::per_second(5.0).expect("a rate");
        (politeness.host.first_rate, politeness.host.most_rate) = (Some(rate), Some(rate));
        for sigma in [0.3, 0.6, 1.0] {
            let mut spent = Duration::ZERO;
            for seed in 0..50 {
                let mut pace = Pace::new(&politeness);
                for first_byte in scattered(seed, sigma).take(400) {
                    pace.answered(&politeness, first_byte);
                    spent += pace.interval();
                }
            }
            let ideal = rate.interval() * 50 * 400;
            let share = ideal.as_secs_f64() / spent.as_secs_f64();
            assert!(share > 0.98, "sigma {sigma}: {share}");
        }
    }

    #[test]
    fn refusals_park_doubling_and_lower_the_ceiling() {
        let politeness = Politeness::of(Speed::Polite);
        let mut pace = Pace::new(&politeness);
        interval_after(&mut pace, &politeness, &[20; 200]);
        let now = Moment::from_secs(100);
        pace.refused(&politeness, now, None);
        assert_eq!(pace.next_at(), Moment::from_secs(130));
        pace.refused(&politeness, now + Duration::from_secs(30), None);
        assert_eq!(pace.next_at(), Moment::from_secs(190));
        pace.refused(&politeness, now, Some(Duration::from_secs(500)));
        assert_eq!(pace.next_at(), Moment::from_mins(10));
        let rate = 1.0 / interval_after(&mut pace, &politeness, &[20; 500]).as_secs_f64();
        assert!(
            rate <= 1.25 + 1e-9,
            "half of the lowest refused rate is the ceiling: {rate}"
        );
    }

    #[test]
    fn a_fixed_delay_is_one_at_a_time_from_the_real_start() {
        let mut politeness = Politeness::of(Speed::Fast);
        politeness.host.delay = Some(Duration::from_secs(2));
        let mut pace = Pace::new(&politeness);
        assert_eq!(
            (pace.in_flight_limit(), pace.interval()),
            (1, Duration::from_secs(2))
        );
        pace.started(Moment::from_secs(1));
        pace.sent(Moment::from_millis(1300));
        assert_eq!(pace.next_at(), Moment::from_millis(3300));
    }

    #[test]
    fn trouble_does_not_shorten_a_long_delay() {
        let politeness = Politeness::of(Speed::Polite);
        let mut pace = Pace::new(&politeness);
        let delay = Duration::from_mins(2);
        pace.obey_delay(delay);
        pace.troubled(&politeness, Moment::ZERO);
        assert_eq!(pace.interval(), delay);
    }

    #[test]
    fn a_delay_counts_from_the_request_that_told_of_it() {
        let mut pace = Pace::new(&Politeness::of(Speed::Max));
        pace.started(Moment::from_secs(1));
        pace.sent(Moment::from_millis(1300));
        pace.obey_delay(Duration::from_secs(2));
        assert_eq!(pace.next_at(), Moment::from_millis(3300));
    }

    #[test]
    fn only_trouble_is_remembered() {
        let mut politeness = Politeness::of(Speed::Polite);
        politeness.host.delay = Some(Duration::from_secs(9));
        let mut pace = Pace::new(&politeness);
        pace.obey_delay(Duration::from_secs(20));
        assert_eq!(pace.learnt(), (Duration::ZERO, Duration::ZERO));
        pace.refused(&politeness, Moment::ZERO, None);
        assert_eq!(
            pace.learnt(),
            (Duration::from_secs(40), Duration::from_secs(40))
        );
    }

    #[test]
    fn five_failures_park() {
        let politeness = Politeness::of(Speed::Max);
        let mut pace = Pace::new(&politeness);
        for _ in 0..4 {
            pace.troubled(&politeness, Moment::ZERO);
        }
        assert_eq!(pace.parked_until(Moment::ZERO), None);
        pace.troubled(&politeness, Moment::ZERO);
        assert_eq!(pace.parked_until(Moment::ZERO), Some(Moment::from_mins(1)));
    }
}
