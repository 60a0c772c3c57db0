//! The arithmetic of a pace, in tables.

use super::*;
use crate::politeness::Speed;

/// Handed out and answered at the very start.
const AT_START: (Moment, Moment) = (Moment::ZERO, Moment::ZERO);

fn interval_after(pace: &mut Pace, politeness: &Politeness, answers: &[u64]) -> Duration {
    for milliseconds in answers {
        pace.answered(politeness, Duration::from_millis(*milliseconds), AT_START);
    }
    pace.interval()
}

#[test]
fn grows_with_clean_answers_to_the_limit() {
    let politeness = Politeness::for_speed(Speed::Polite);
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
    let mut politeness = Politeness::for_speed(Speed::Max);
    politeness.host.first_in_flight = u32::MAX;
    politeness.host.most_in_flight = u32::MAX;
    let mut pace = Pace::new(&politeness);
    interval_after(&mut pace, &politeness, &[20; 30]);
    assert_eq!(pace.in_flight_limit(), u32::MAX);
}

#[test]
fn load_rule_holds_back_slow_hosts() {
    let politeness = Politeness::for_speed(Speed::Polite);
    let mut pace = Pace::new(&politeness);
    // 1 s per answer and a load of 2 allow two a second.
    assert_eq!(
        interval_after(&mut pace, &politeness, &[1000; 200]),
        Duration::from_millis(500)
    );
}

#[test]
fn rising_latency_halves() {
    let politeness = Politeness::for_speed(Speed::Polite);
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
    let mut politeness = Politeness::for_speed(Speed::Max);
    let rate = Rate::per_second(5.0).expect("a rate");
    (politeness.host.first_rate, politeness.host.most_rate) = (Some(rate), Some(rate));
    for sigma in [0.3, 0.6, 1.0] {
        let mut spent = Duration::ZERO;
        for seed in 0..50 {
            let mut pace = Pace::new(&politeness);
            for first_byte in scattered(seed, sigma).take(400) {
                pace.answered(&politeness, first_byte, AT_START);
                spent += pace.interval();
            }
        }
        let ideal = rate.interval() * 50 * 400;
        let share = ideal.as_secs_f64() / spent.as_secs_f64();
        assert!(share > 0.98, "sigma {sigma}: {share}");
    }
}

#[test]
fn a_fixed_delay_is_one_at_a_time_from_the_real_start() {
    let mut politeness = Politeness::for_speed(Speed::Fast);
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
    let politeness = Politeness::for_speed(Speed::Polite);
    let mut pace = Pace::new(&politeness);
    let delay = Duration::from_mins(2);
    pace.obey_delay(delay);
    pace.step_down(u8::MAX, Moment::ZERO, Moment::ZERO);
    assert_eq!(pace.interval(), delay);
    pace.refused(Moment::ZERO);
    assert_eq!(pace.interval(), delay);
}

#[test]
fn a_delay_counts_from_the_request_that_told_of_it() {
    let mut pace = Pace::new(&Politeness::for_speed(Speed::Max));
    pace.started(Moment::from_secs(1));
    pace.sent(Moment::from_millis(1300));
    pace.obey_delay(Duration::from_secs(2));
    assert_eq!(pace.next_at(), Moment::from_millis(3300));
}

#[test]
fn only_trouble_is_remembered() {
    let mut politeness = Politeness::for_speed(Speed::Polite);
    politeness.host.delay = Some(Duration::from_secs(9));
    let mut pace = Pace::new(&politeness);
    pace.obey_delay(Duration::from_secs(20));
    assert_eq!(pace.learnt(), (Duration::ZERO, Duration::ZERO));
    pace.refused(Moment::ZERO);
    assert_eq!(
        pace.learnt(),
        (Duration::from_secs(40), Duration::from_secs(20))
    );
}

#[test]
fn a_failing_host_is_probed_and_recovers_as_quickly() {
    let politeness = Politeness::for_speed(Speed::Max);
    let mut pace = Pace::new(&politeness);
    let mut now = Moment::from_secs(10);
    let mut gaps = Vec::new();
    for _ in 0..7 {
        pace.started(now);
        pace.step_down(u8::MAX, now, now);
        gaps.push(pace.interval().as_millis());
        assert_eq!(pace.in_flight_limit(), 1);
        assert_eq!(pace.next_at(), now + pace.interval());
        now = pace.next_at();
    }
    assert_eq!(gaps, [1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
    let mut answers = 0;
    while pace.is_probing() {
        pace.started(now);
        pace.answered(&politeness, Duration::from_millis(20), (now, now));
        now = pace.next_at();
        answers += 1;
    }
    assert_eq!(answers, 6, "as many answers as steps");
    assert_eq!(pace.interval(), Duration::ZERO);
    assert_eq!(pace.in_flight_limit(), 64);
}

#[test]
fn what_was_in_flight_counts_for_one_step() {
    let politeness = Politeness::for_speed(Speed::Max);
    let mut pace = Pace::new(&politeness);
    let since = Moment::from_secs(1);
    let now = Moment::from_secs(2);
    for _ in 0..64 {
        pace.step_down(u8::MAX, since, now);
    }
    assert_eq!(pace.interval(), Duration::from_secs(1));
    pace.answered(&politeness, Duration::from_millis(20), (since, now));
    assert_eq!(
        pace.interval(),
        Duration::from_secs(1),
        "sent before the step"
    );
    let later = (now, now + Duration::from_millis(20));
    pace.answered(&politeness, Duration::from_millis(20), later);
    assert_eq!(pace.interval(), Duration::from_millis(500));
}

#[test]
fn a_host_that_cannot_be_reached_takes_few_steps() {
    let mut pace = Pace::new(&Politeness::for_speed(Speed::Max));
    for second in 0..9 {
        let now = Moment::from_secs(second);
        pace.step_down(3, now, now);
    }
    assert_eq!(pace.interval(), Duration::from_secs(2));
}

/// Asks for so many seconds a host that takes so many requests a second; answers how many were
/// asked and refused in the last minute, and the rate in force.
fn against_limit(rate: f64, speed: Speed, seconds: u64) -> (u32, u32, f64) {
    let politeness = Politeness::for_speed(speed);
    let mut pace = Pace::new(&politeness);
    let latency = Duration::from_millis(20);
    let (mut tokens, mut filled) = (3.0_f64, Moment::ZERO);
    let (mut asked, mut refused) = (0, 0);
    let (mut now, end) = (Moment::ZERO, Moment::from_secs(seconds));
    let mut paused_at = None;
    while now < end {
        pace.started(now);
        tokens = (tokens + rate * now.saturating_sub(filled).as_secs_f64()).min(3.0);
        filled = now;
        let takes = tokens >= 1.0;
        tokens -= if takes { 1.0 } else { 0.0 };
        let counts = now + Duration::from_mins(1) >= end;
        asked += u32::from(counts);
        refused += u32::from(counts && !takes);
        let answered_at = now + latency;
        if takes {
            pace.answered(&politeness, latency, (now, answered_at));
        } else if paused_at.is_none_or(|at| now >= at) {
            paused_at = Some(answered_at);
            pace.refused(answered_at);
            pace.park_until(answered_at + Duration::from_secs(1));
        }
        // As an unlimited crawl of loopback would: a thousand a second.
        now = pace.next_at().max(now + Duration::from_millis(1));
    }
    (asked, refused, 1.0 / pace.interval().as_secs_f64())
}

#[test]
fn a_hidden_limit_is_learnt_and_rarely_exceeded() {
    for (rate, speed) in [
        (5.0, Speed::Polite),
        (5.0, Speed::Max),
        (20.0, Speed::Fast),
        (20.0, Speed::Max),
        (100.0, Speed::Max),
    ] {
        let (asked, refused, in_force) = against_limit(rate, speed, 600);
        let share = f64::from(refused) / f64::from(asked);
        assert!(
            share <= 0.02,
            "{rate}/s {speed:?}: {refused} of {asked} refused"
        );
        let used = f64::from(asked) / 60.0 / rate;
        assert!(
            used > 0.6,
            "{rate}/s {speed:?}: {used} of the limit, {in_force}/s"
        );
    }
}

#[test]
fn a_ceiling_decays() {
    let politeness = Politeness::for_speed(Speed::Polite);
    let mut pace = Pace::new(&politeness);
    interval_after(&mut pace, &politeness, &[20; 200]);
    let mut now = Moment::from_secs(100);
    pace.refused(now);
    assert_eq!(pace.interval(), Duration::from_millis(200));
    assert_eq!(pace.learnt().1, Duration::from_millis(100));
    while pace.ceiling.is_some() {
        pace.started(now);
        pace.answered(&politeness, Duration::from_millis(20), (now, now));
        now = pace.next_at();
        assert!(now < Moment::from_mins(10), "{:?}", pace.interval());
    }
    assert_eq!(pace.interval(), Duration::from_millis(100));
    assert!(
        now > Moment::from_secs(130),
        "no sooner than the first probe"
    );
}

#[test]
fn a_refusal_can_be_taken_back() {
    let politeness = Politeness::for_speed(Speed::Polite);
    let mut pace = Pace::new(&politeness);
    interval_after(&mut pace, &politeness, &[20; 200]);
    let now = Moment::from_secs(100);
    assert_eq!(pace.refused(now), RateMatters::Perhaps);
    assert_eq!(pace.refused(now), RateMatters::Hardly, "half the rate");
    assert_eq!(pace.interval(), Duration::from_millis(400));
    pace.take_back_refusal();
    assert_eq!(
        pace.interval(),
        Duration::from_millis(100),
        "as before both"
    );
    assert_eq!(pace.in_flight_limit(), 4);
    assert_eq!(pace.learnt(), (Duration::ZERO, Duration::ZERO));
}

#[test]
fn a_server_that_drops_connections_gets_fewer_at_once() {
    let politeness = Politeness::loopback();
    let mut pace = Pace::new(&politeness);
    let mut now = Moment::ZERO;
    let mut answers = |pace: &mut Pace, count: usize| {
        for _ in 0..count {
            now += Duration::from_millis(1);
            pace.answered(&politeness, Duration::from_millis(2), (now, now));
        }
        now
    };
    assert_eq!(pace.in_flight_limit(), FEW);
    let now = answers(&mut pace, 200);
    assert_eq!(pace.in_flight_limit(), 64);
    pace.connected(Duration::from_millis(300), (now, now));
    assert_eq!(pace.in_flight_limit(), 64, "a long way is no loss");
    let later = now + Duration::from_secs(1);
    for _ in 0..20 {
        pace.connected(Duration::from_millis(1012), (now, later));
    }
    assert_eq!(pace.in_flight_limit(), 32, "one burst counts once");
    answers(&mut pace, 5 * WINDOW);
    assert_eq!(pace.in_flight_limit(), 37);
    for second in 2..9 {
        let at = now + Duration::from_secs(second);
        pace.connected(Duration::from_millis(1012), (at, at));
    }
    assert_eq!(pace.in_flight_limit(), FEW);
}
