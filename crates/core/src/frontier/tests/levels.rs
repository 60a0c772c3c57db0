//! Levels: depth is the shortest path, and silent hosts do not hold the others up.

use super::slots::{Manner, Sim};
use super::*;

const A: &str = "http://a.test/";
const B: &str = "http://b.test/";

/// A chain of pages on one host, beside a root that answers after this time, if ever.
fn chain_beside(other: Manner) -> Sim {
    let mut sim = Sim::new(100, |rules| {
        rules.limits.depth = Some(9);
        Arc::make_mut(&mut rules.host).robots = false;
    });
    sim.root(A, Manner::After(Duration::from_millis(20)));
    sim.root(B, other);
    sim.links.insert(A.into(), vec![format!("{A}1")]);
    for page in 1..6 {
        sim.links
            .insert(format!("{A}{page}"), vec![format!("{A}{}", page + 1)]);
    }
    sim.links
        .insert(B.into(), vec![format!("{B}late"), format!("{A}3")]);
    sim
}

fn depth_of(sim: &Sim, url: &str) -> u32 {
    let found = |finished: &&Finished| finished.entry.url.as_str() == url;
    sim.finished.iter().find(found).expect(url).entry.depth
}

fn started(sim: &Sim, url: &str) -> Moment {
    let starts = sim.starts.iter();
    let mut of_url = starts.filter(|(_, other)| other == url);
    of_url.next().expect(url).0
}

#[test]
fn a_silent_host_holds_up_one_level_for_a_moment() {
    let mut sim = chain_beside(Manner::Silent);
    sim.run(Duration::from_secs(10));
    let (first, last) = (
        started(&sim, &format!("{A}1")),
        started(&sim, &format!("{A}6")),
    );
    assert!(first >= Duration::from_secs(2), "it gets its time");
    assert!(last <= Duration::from_secs(3), "{last:?}");
    assert_eq!(depth_of(&sim, &format!("{A}6")), 6);
    sim.run(Duration::from_hours(9));
    assert_eq!(sim.frontier.counts().todo(), 0);
}

#[test]
fn what_comes_in_time_makes_a_path_shorter() {
    let mut sim = chain_beside(Manner::After(Duration::from_millis(1500)));
    assert_eq!(sim.run(Duration::from_hours(1)), Some(End::Finished));
    assert_eq!(depth_of(&sim, &format!("{A}3")), 1);
    assert_eq!(depth_of(&sim, &format!("{A}4")), 2);
}

#[test]
fn what_comes_late_follows_at_its_own_depth() {
    let mut sim = chain_beside(Manner::After(Duration::from_secs(8)));
    assert_eq!(sim.run(Duration::from_hours(1)), Some(End::Finished));
    assert_eq!(depth_of(&sim, &format!("{B}late")), 1);
    // Written before anybody knew of the shorter path.
    assert_eq!(depth_of(&sim, &format!("{A}3")), 3);
    assert_eq!(sim.finished.len(), 9);
}

#[test]
fn a_host_that_is_tried_again_does_not_hold_up_a_level() {
    // Retries of the silent host come every few seconds, and none of them is waited for.
    let mut sim = chain_beside(Manner::Silent);
    let far = format!("{A}far");
    sim.links.insert(format!("{A}6"), vec![far.clone()]);
    sim.run(Duration::from_secs(2));
    sim.host(A, Manner::After(Duration::from_secs(9)));
    sim.run(Duration::from_mins(10));
    // Five pages that take nine seconds each, and nothing between them.
    assert!(started(&sim, &far) <= Duration::from_secs(2 + 7 * 10));
}
