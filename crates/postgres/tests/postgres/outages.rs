//! A server that is killed, restarted, replaced or too slow.

use std::time::Duration;

use clewline_core::fleet::{
    Bus, BusError, FleetAnswer, FleetJob, FleetRequest, KnownView, ShardId,
};
use clewline_postgres::FleetServer;
use fieldwork::postgres::{Replication, Server};

use super::place::{self, Raw, commit, part};

/// Asks until there is an answer; every error before it must be one that passes.
fn until_back<T>(mut ask: impl FnMut() -> Result<T, BusError>) -> T {
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(BusError::Away(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn made(server: &Server) -> (FleetJob, Box<dyn Bus>) {
    let mut fleet = FleetServer::connect(&server.url()).unwrap();
    let job = place::job(None);
    fleet.create(&job).unwrap();
    let bus = Box::new(fleet.bus(&job));
    (job, bus)
}

fn own(bus: &mut dyn Bus, worker: u64, shard: u16) -> FleetAnswer {
    let fence = bus.log(ShardId(shard)).unwrap().0.fence;
    let claim = FleetRequest::Claim(ShardId(shard), fence);
    bus.ask(worker, "{}", &claim).unwrap()
}

#[test]
fn a_server_that_was_killed_is_away_and_comes_back_quiet() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let (job, mut bus) = made(&server);
    bus.ask(1, "{}", &FleetRequest::Join).unwrap();
    let FleetAnswer::Claimed { fence, .. } = own(&mut *bus, 1, 0) else {
        panic!("a new job is not quiet");
    };
    bus.commit(&commit(1, 1, vec![part(0, fence)])).unwrap();
    server.kill();
    // The process behind the connection lives until it notices.
    while bus.tenures().is_ok() {}
    for _ in 0..3 {
        let away = bus.view(KnownView::default());
        assert!(matches!(away, Err(BusError::Away(_))), "{away:?}");
    }
    server.restart();
    let row = until_back(|| bus.log(ShardId(0))).0;
    assert_eq!(
        (row.worker, row.batch),
        (Some(1), 1),
        "what was confirmed is there"
    );
    assert_eq!(
        own(&mut *bus, 1, 1),
        FleetAnswer::Refused(ShardId(1)),
        "the server is another"
    );
    let renewed = bus.ask(1, "{}", &FleetRequest::Renew).unwrap();
    assert!(matches!(renewed, FleetAnswer::Renewed(_)), "{renewed:?}");
    assert_eq!(
        own(&mut *bus, 1, 1),
        FleetAnswer::Refused(ShardId(1)),
        "it is quiet"
    );
    let quiet = FleetServer::connect(&server.url())
        .unwrap()
        .status(&job.name)
        .unwrap()
        .quiet;
    let least = job.expiry * 16 / 10;
    assert!(quiet > least && quiet <= job.expiry * 17 / 10, "{quiet:?}");
    let own_again = bus
        .ask(1, "{}", &FleetRequest::Reclaim(ShardId(0)))
        .unwrap();
    assert!(
        matches!(own_again, FleetAnswer::Claimed { .. }),
        "{own_again:?}"
    );
    server.sql("update clewline.job set quiet_until = clock_timestamp()");
    let claimed = own(&mut *bus, 1, 1);
    assert!(
        matches!(claimed, FleetAnswer::Claimed { .. }),
        "{claimed:?}"
    );
}

/// One process that dies takes the others along, and tables that are not logged; the first process
/// stays.
#[test]
fn a_crash_of_one_process_makes_the_server_another_one() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_, mut bus) = made(&server);
    bus.ask(1, "{}", &FleetRequest::Join).unwrap();
    let life = "select number from clewline.life";
    let before = server.sql(life);
    server.crash();
    while bus.tenures().is_ok() {}
    let renewed = until_back(|| bus.ask(1, "{}", &FleetRequest::Renew));
    assert!(matches!(renewed, FleetAnswer::Renewed(_)), "{renewed:?}");
    assert_ne!(server.sql(life), before);
    assert_eq!(
        own(&mut *bus, 1, 1),
        FleetAnswer::Refused(ShardId(1)),
        "it is quiet"
    );
}

#[test]
fn a_replica_is_away_until_it_is_promoted_and_then_quiet() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let (job, mut bus) = made(&server);
    bus.ask(1, "{}", &FleetRequest::Join).unwrap();
    let replica = server.replica(Replication::Synchronous);
    let FleetAnswer::Claimed { fence, .. } = own(&mut *bus, 1, 0) else {
        panic!("it is free");
    };
    bus.commit(&commit(1, 1, vec![part(0, fence)])).unwrap();
    let refused = FleetServer::connect(&replica.url()).err();
    assert!(matches!(refused, Some(BusError::Away(_))), "{refused:?}");
    server.kill();
    replica.promote();
    let fleet = until_back(|| FleetServer::connect(&replica.url()));
    let mut bus: Box<dyn Bus> = Box::new(fleet.bus(&job));
    assert_eq!(bus.log(ShardId(0)).unwrap().0.batch, 1);
    assert_eq!(own(&mut *bus, 1, 1), FleetAnswer::Refused(ShardId(1)));
    bus.ask(1, "{}", &FleetRequest::Renew).unwrap();
    assert_eq!(own(&mut *bus, 1, 1), FleetAnswer::Refused(ShardId(1)));
}

#[test]
fn of_two_hosts_the_one_that_writes_is_asked() {
    let Some(server) = Server::start() else {
        return;
    };
    server.sql("alter user clewline password 'open'");
    let replica = server.replica(Replication::Asynchronous);
    let place = tempfile::tempdir().unwrap();
    let file = super::security::password_file(place.path(), "*:*:*:*:open\n", 0o600);
    let (first, second) = (replica.port(), server.port());
    let url = format!(
        "postgres://clewline@127.0.0.1:{first},127.0.0.1:{second}/clewline?passfile={}",
        file.display()
    );
    let mut fleet = FleetServer::connect(&url).unwrap();
    fleet.create(&place::job(None)).unwrap();
}

#[test]
fn a_call_that_takes_too_long_is_away_and_does_not_happen_later() {
    let Some(server) = Server::shared() else {
        return;
    };
    let mut fleet = FleetServer::connect(&server.url()).unwrap();
    let job = FleetJob {
        expiry: Duration::from_secs(2),
        ..place::job(None)
    };
    fleet.create(&job).unwrap();
    let mut bus = fleet.bus(&job);
    bus.ask(1, "{}", &FleetRequest::Join).unwrap();
    let mut holder = Raw::connect(&server);
    let id = format!("(select id from clewline.job where name = '{}')", job.name);
    holder.run(&format!(
        "begin; select from clewline.member where job = {id} for update"
    ));
    let late = bus.ask(1, "{}", &FleetRequest::Renew);
    assert!(matches!(late, Err(BusError::Away(_))), "{late:?}");
    holder.wait_until(&format!(
        "select not exists (select from pg_locks
         where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) and {id} is not null"
    ));
    holder.run("rollback");
    let renewed = until_back(|| bus.ask(1, "{}", &FleetRequest::Renew));
    assert!(matches!(renewed, FleetAnswer::Renewed(_)), "{renewed:?}");
}

#[test]
fn nobody_there_is_away() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let refused = FleetServer::connect(&format!("postgres://x@127.0.0.1:{port}/x")).err();
    assert!(matches!(refused, Some(BusError::Away(_))), "{refused:?}");
}
