//! A database that is away for longer than a lease, and one that comes back without the last second.

use fieldwork::postgres::Replication;

use super::*;

/// Time that has to pass: nothing can be waited for while the database is away.
fn pass(time: Duration) {
    std::thread::sleep(time);
}

#[test]
fn a_database_that_is_away_for_longer_than_the_lease_delays_only() {
    let Some(mut fleet) = Fleet::new("away", 20, 20, &["--shards", "8"]) else {
        return;
    };
    let workers = fleet.two_workers();
    let status = fleet.until("some pages", |status| status.totals.pages > 50);
    fleet.database.kill();
    pass(status.job.expiry * 2);
    fleet.database.restart();
    workers.into_iter().for_each(end);
    fleet.check_whole(&fleet.merged());
    fleet.judge();
}

impl Fleet {
    /// A replica of the database that workers find if the database is gone.
    fn replicate(&mut self, replication: Replication) -> Server {
        self.database.sql("alter user clewline password 'open'");
        let replica = self.database.replica(replication);
        let passwords = self.place.path().join("pgpass");
        std::fs::write(&passwords, "*:*:*:*:open\n").unwrap();
        let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&passwords, only_owner).unwrap();
        self.address = Some(format!(
            "postgres://clewline@127.0.0.1:{},127.0.0.1:{}/clewline?passfile={}",
            self.database.port(),
            replica.port(),
            passwords.display()
        ));
        replica
    }
}

fn batches(server: &Server) -> u64 {
    let heads = server.sql("select coalesce(sum(head), 0) from clewline.shard");
    heads.parse().unwrap()
}

#[test]
fn a_replica_that_lacks_the_last_second_heals_itself() {
    let Some(mut fleet) = Fleet::new("behind", 20, 20, &["--shards", "8"]) else {
        return;
    };
    let replica = fleet.replicate(Replication::Asynchronous);
    let workers = fleet.two_workers();
    fleet.until("some pages", |status| status.totals.pages > 50);
    // It hears of nothing more from here on.
    replica.sql("alter system set primary_conninfo = ''");
    replica.sql("select pg_reload_conf()");
    fleet.until("the replica alone", |_| {
        replica.sql("select count(*) from pg_stat_wal_receiver") == "0"
    });
    let known = batches(&replica);
    fleet.until("a second later", |_| batches(&fleet.database) > known + 20);
    fleet.database.kill();
    replica.promote();
    assert!(batches(&replica) < known + 20, "something is lost");
    // Everybody asks the replica from now on.
    fleet.database = replica;
    workers.into_iter().for_each(end);
    let status = fleet.status().unwrap();
    assert_eq!(status.phase, JobPhase::Done);
    let records = fleet.merged();
    assert_eq!(records.len() as u64, status.totals.settled);
    fleet.check_whole(&records);
    fleet.judge();
}

#[test]
fn a_synchronous_replica_takes_over_in_mid_crawl_and_nothing_is_lost() {
    let Some(mut fleet) = Fleet::new("beside", 20, 20, &["--shards", "8"]) else {
        return;
    };
    let replica = fleet.replicate(Replication::Synchronous);
    let workers = fleet.two_workers();
    fleet.until("some pages", |status| status.totals.pages > 50);
    fleet.database.kill();
    replica.promote();
    fleet.database = replica;
    workers.into_iter().for_each(end);
    fleet.check_whole(&fleet.merged());
    fleet.judge();
}
