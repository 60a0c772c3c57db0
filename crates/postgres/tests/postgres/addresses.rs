//! Leave to ask addresses.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use clewline_core::fleet::Bus as _;
use clewline_core::frontier::AddressUse;
use clewline_core::politeness::{GroupPace, Rate};
use fieldwork::postgres::Server;

use super::place::Place;

const TIME: Duration = Duration::from_mins(15);

fn rule() -> GroupPace {
    GroupPace {
        rate: Rate::per_second(20.0),
        in_flight: 8,
    }
}

fn asks(last: u8, held: u64) -> AddressUse {
    AddressUse {
        address: IpAddr::from([192, 0, 2, last]),
        in_flight: 0,
        held,
    }
}

#[test]
fn what_members_hold_together_never_exceeds_the_rule() {
    let Some(place) = Place::new(None) else {
        return;
    };
    let mut buses: Vec<_> = (0..5).map(|_| place.bus.another()).collect();
    let mut held: Vec<Option<(GroupPace, u64)>> = vec![None; 5];
    for turn in 0..40_usize {
        let at = (turn * 7 + turn / 5) % 5;
        let number = held[at].map_or(0, |(_, number)| number);
        let asked = [asks(1, number), asks(2, 0)];
        let dealt = buses[at]
            .addresses(at as u64 + 1, &asked, rule(), TIME)
            .unwrap();
        assert_eq!(dealt[0].address, asked[0].address);
        // Every third answer gets lost: whoever asked still believes in the one before.
        if turn % 3 != 2 && dealt[0].pace.is_some() {
            assert!(dealt[0].pace.unwrap().1 > number, "numbers rise");
            held[at] = dealt[0].pace;
        }
        let believed = held.iter().flatten();
        let in_flight: u32 = believed.clone().map(|(pace, _)| pace.in_flight).sum();
        let rate: f64 = believed.map(|(pace, _)| pace.rate.unwrap().number()).sum();
        assert!(in_flight <= 8 && rate <= 20.000_001, "{turn}: {held:?}");
    }
    assert!(
        held.iter().all(Option::is_some),
        "everybody has a share: {held:?}"
    );
}

#[test]
fn a_grant_that_ended_is_forgotten() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    let mut deal = |worker, time| {
        let dealt = place
            .bus
            .addresses(worker, &[asks(3, 0)], rule(), time)
            .unwrap();
        dealt[0].pace
    };
    assert_eq!(deal(1, Duration::ZERO).unwrap().0, rule());
    assert_eq!(
        deal(2, TIME).unwrap().0,
        rule(),
        "the first one's has ended"
    );
    assert_eq!(deal(3, TIME), None, "the second one's has not");
}

#[test]
fn after_a_restart_nothing_new_is_granted_for_a_while() {
    let Some(mut server) = Server::start() else {
        return;
    };
    server.sql("select 1");
    let mut place = Place::on(Arc::new(server), None);
    place.join(1);
    let dealt = place.bus.addresses(1, &[asks(4, 0)], rule(), TIME).unwrap();
    assert!(dealt[0].pace.is_some(), "a new job is not quiet");
    // A restart in good order keeps the table; the server is another one all the same.
    let mut other = place.bus.another();
    let name = place.job.name.clone();
    let Place {
        server: shared,
        fleet,
        job,
        bus,
    } = place;
    drop((fleet, bus));
    server = Arc::into_inner(shared).unwrap();
    server.restart();
    let _ = other.tenures();
    let ask = |other: &mut Box<dyn clewline_core::fleet::Bus>, worker| {
        let dealt = other
            .addresses(worker, &[asks(4, 0), asks(5, 0)], rule(), TIME)
            .unwrap();
        [dealt[0].pace.is_some(), dealt[1].pace.is_some()]
    };
    assert_eq!(
        ask(&mut other, 1),
        [true, false],
        "what is held may be renewed"
    );
    other
        .ask(1, "{}", &clewline_core::fleet::FleetRequest::Renew)
        .unwrap();
    assert_eq!(ask(&mut other, 1), [true, false], "the job is quiet");
    server.sql(&format!(
        "update clewline.job set quiet_until = clock_timestamp() where name = '{name}'"
    ));
    assert_eq!(ask(&mut other, 1), [true, true]);
    drop(job);
}
