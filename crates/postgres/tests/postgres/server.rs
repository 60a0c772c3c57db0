//! What people and commands ask of jobs.

use std::thread;

use clewline_core::fleet::{Bus as _, BusError, FleetRequest, JobPhase, KnownView, ShardId};
use clewline_postgres::{DropMode, FleetCreation, FleetServer};
use fieldwork::postgres::Server;

use super::place::{self, Place, commit, part};

#[test]
fn many_that_come_first_at_once_make_one_job() {
    let Some(server) = Server::start() else {
        return;
    };
    let job = place::job(Some(9));
    let made: usize = thread::scope(|scope| {
        let members: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let mut fleet = FleetServer::connect(&server.url()).unwrap();
                    match fleet.create(&job).unwrap() {
                        FleetCreation::Created => 1,
                        FleetCreation::There(there) => {
                            assert_eq!(there, job);
                            0
                        }
                    }
                })
            })
            .collect();
        members
            .into_iter()
            .map(|member| member.join().unwrap())
            .sum()
    });
    assert_eq!(made, 1);
    let mut fleet = FleetServer::connect(&server.url()).unwrap();
    assert_eq!(fleet.job(&job.name).unwrap(), Some(job.clone()));
    assert_eq!(fleet.job("another").unwrap(), None);
    assert_eq!(server.sql("select count(*) from clewline.shard"), "4");
}

#[test]
fn jobs_are_listed_and_dropped() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    let name = place.job.name.clone();
    place.join(1);
    let fence = place.own(1, 0);
    place
        .bus
        .commit(&commit(1, 1, vec![part(0, fence)]))
        .unwrap();
    place.fleet.order(&name, "faster").unwrap();
    let listed = place.fleet.list().unwrap();
    let own = listed
        .iter()
        .find(|listed| listed.job == place.job)
        .unwrap();
    assert_eq!(
        (own.phase, own.members, own.paused),
        (JobPhase::Roots, 1, false)
    );
    let text = place
        .fleet
        .drop_job(&name, DropMode::Unused)
        .unwrap_err()
        .to_string();
    assert!(text.contains("1 live members"), "{text}");
    assert!(place.fleet.job(&name).unwrap().is_some());
    place.fleet.drop_job(&name, DropMode::Forced).unwrap();
    assert_eq!(place.fleet.job(&name).unwrap(), None);
    let gone = place.bus.view(KnownView::default());
    assert!(matches!(gone, Err(BusError::Unusable(_))), "{gone:?}");
    let text = place
        .fleet
        .drop_job(&name, DropMode::Unused)
        .unwrap_err()
        .to_string();
    assert!(text.contains("there is no job"), "{text}");
    for table in [
        "log", "tenure", "orders", "shard", "member", "mail", "address",
    ] {
        let left = place.server.sql(&format!(
            "select count(*) from clewline.{table} t
             where not exists (select from clewline.job j where j.id = t.job)"
        ));
        assert_eq!(left, "0", "{table}");
    }
    let joined = place.bus.ask(1, "{}", &FleetRequest::Join);
    assert!(matches!(joined, Err(BusError::Unusable(_))), "{joined:?}");
}

#[test]
fn a_job_that_was_made_again_is_another_one() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    place.ask(1, &FleetRequest::Leave);
    place
        .fleet
        .drop_job(&place.job.name, DropMode::Unused)
        .unwrap();
    let again = clewline_core::fleet::FleetJob {
        seed: 5,
        ..place.job.clone()
    };
    assert_eq!(place.fleet.create(&again).unwrap(), FleetCreation::Created);
    let mut late = place.bus.another();
    assert!(matches!(late.log(ShardId(0)), Err(BusError::Unusable(_))));
    assert!(place.fleet.bus(&again).log(ShardId(0)).is_ok());
}

#[test]
fn orders_and_pauses_reach_members() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    let name = place.job.name.clone();
    for text in ["rate 5", "rate 6", "rate 7"] {
        place.fleet.order(&name, text).unwrap();
    }
    let known = KnownView {
        joined: 0,
        orders: 1,
    };
    assert_eq!(place.bus.view(known).unwrap().orders, ["rate 6", "rate 7"]);
    let all = KnownView {
        joined: 0,
        orders: 3,
    };
    assert!(place.bus.view(all).unwrap().orders.is_empty());
    place.fleet.pause(&name).unwrap();
    assert!(place.bus.view(all).unwrap().paused);
    place.fleet.go_on(&name).unwrap();
    assert!(!place.bus.view(all).unwrap().paused);
    place.fleet.stop(&name, "by hand").unwrap();
    let view = place.bus.view(all).unwrap();
    assert_eq!(
        (view.phase, view.ended.as_deref()),
        (JobPhase::Done, Some("by hand"))
    );
    assert!(view.clock > 1_700_000_000_000);
    assert!(place.fleet.pause("another").is_err());
}

#[test]
fn the_status_says_who_does_what() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    let name = place.job.name.clone();
    place.join(1);
    place.join(2);
    place.own(1, 0);
    place.own(2, 1);
    place
        .bus
        .ask(
            1,
            r#"{"host":"a","pages_per_second":2.5}"#,
            &FleetRequest::Renew,
        )
        .unwrap();
    place
        .bus
        .ask(
            2,
            r#"{"host":"b","pages_per_second":9}"#,
            &FleetRequest::Renew,
        )
        .unwrap();
    place.bury(2);
    place
        .fleet
        .post(&name, &[(ShardId(0), b"x".to_vec())])
        .unwrap();
    let status = place.fleet.status(&name).unwrap();
    assert_eq!(status.job, place.job);
    assert_eq!(status.pages_per_second, Some(2.5), "the dead fetch nothing");
    let members = status
        .members
        .iter()
        .map(|one| (one.worker, one.live, one.shards));
    let members: Vec<_> = members.collect();
    assert_eq!(members, [(1, true, 1), (2, false, 1)]);
    assert_eq!(status.members[0].info["host"], "a");
    let shards = status.shards;
    assert_eq!(
        (shards.all, shards.owned, shards.free, shards.never_claimed),
        (4, 1, 3, 2)
    );
    assert_eq!(status.totals.mail, 1);
    assert!(status.oldest_mail.is_some());
    let text = serde_json::to_value(&status).unwrap();
    assert_eq!(text["phase"], "roots");
}
