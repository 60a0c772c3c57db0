//! Commits, logs, mail and grants of pages.

use std::thread;

use clewline_core::fleet::{
    Bus as _, Fence, FleetCommit, FleetRequest, KnownView, LogPart, MailId, MailRow,
    ShardCheckpoint, ShardId,
};
use clewline_postgres::FleetServer;

use super::place::{Place, commit, part};

/// Everything that a commit can write.
fn full(worker: u64, batch: u64, fences: [Fence; 2]) -> FleetCommit {
    FleetCommit {
        mail: vec![(ShardId(3), b"links".to_vec())],
        joined: vec!["http://joined.test/".to_owned()],
        ..commit(worker, batch, vec![part(0, fences[0]), part(1, fences[1])])
    }
}

#[test]
fn a_commit_writes_everything() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    let fences = [place.own(1, 0), place.own(1, 1)];
    let rows = place.bus.commit(&full(1, 5, fences)).unwrap();
    assert_eq!(rows.len(), 2);
    for (row, shard) in rows.iter().zip([0, 1]) {
        assert_eq!(
            (row.shard, row.worker, row.batch),
            (ShardId(shard), Some(1), 5)
        );
        assert_eq!(row.fence, Fence { epoch: 1, head: 1 });
        assert_eq!(row.counts, part(0, row.fence).counts);
        assert_eq!(row.log_bytes, (0, 9));
        assert_eq!(*row, place.row(shard));
    }
    let (row, log) = place.bus.log(ShardId(1)).unwrap();
    assert_eq!(row, rows[1]);
    let delta = LogPart {
        seq: 1,
        part: None,
        body: b"delta 1 1".to_vec(),
    };
    assert_eq!(log, [delta]);
    assert_eq!(place.bus.log(ShardId(2)).unwrap().1, []);
    let view = place.bus.view(KnownView::default()).unwrap();
    assert_eq!(view.joined, ["http://joined.test/"]);
    let totals = view.totals;
    assert_eq!(
        (totals.admitted, totals.settled, totals.withheld),
        (20, 8, 2)
    );
    assert_eq!((totals.pages, totals.bytes, totals.mail), (0, 200, 1));
    let mut tenures = place.bus.tenures().unwrap();
    tenures.retain(|tenure| tenure.batches == Some((5, 5)));
    assert_eq!(tenures.len(), 2);
}

#[test]
fn a_commit_that_is_wrong_anywhere_leaves_no_trace() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    place.join(2);
    let [first, second] = [place.own(1, 0), place.own(1, 1)];
    let before = [place.row(0), place.row(1)];
    let epoch = Fence {
        epoch: second.epoch + 1,
        ..second
    };
    let head = Fence {
        head: second.head + 1,
        ..second
    };
    for (worker, fences) in [
        (1, [first, epoch]),
        (1, [first, head]),
        (1, [epoch, second]),
        (2, [first, second]),
        (3, [first, second]),
    ] {
        let rows = place.bus.commit(&full(worker, 5, fences)).unwrap();
        assert_eq!(rows, before, "the rows are as they were");
    }
    let traces = "select (select count(*) from clewline.log where job = $job)
        + (select count(*) from clewline.mail where job = $job)
        + (select count(*) from clewline.joined where job = $job)
        + (select count(*) from clewline.tenure where job = $job and first_batch is not null)";
    assert_eq!(place.number(traces), 0);
}

#[test]
fn a_commit_whose_answer_got_lost_is_seen_by_its_rows() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    let fences = [place.own(1, 0), place.own(1, 1)];
    let once = place.bus.commit(&full(1, 5, fences)).unwrap();
    let again = place.bus.another().commit(&full(1, 5, fences)).unwrap();
    assert_eq!(once, again);
    assert_eq!(place.row(0).fence.head, 1);
    assert_eq!(
        place.number("select count(*) from clewline.mail where job = $job"),
        1
    );
}

#[test]
fn mail_is_a_set_that_is_emptied_by_commits() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    let mut fence = place.own(1, 0);
    for batch in 1..=3 {
        let sent = FleetCommit {
            mail: vec![(ShardId(0), vec![7; 100]), (ShardId(2), vec![9])],
            ..commit(1, batch, vec![part(0, fence)])
        };
        fence = place.bus.commit(&sent).unwrap()[0].fence;
    }
    let all = place.bus.mail(&[ShardId(0)], usize::MAX).unwrap();
    let names: Vec<u64> = all.iter().map(|mail| mail.id.batch).collect();
    assert_eq!(names, [1, 2, 3]);
    let expected = MailRow {
        id: MailId {
            shard: ShardId(0),
            worker: 1,
            batch: 1,
        },
        body: vec![7; 100],
    };
    assert_eq!(all[0], expected);
    assert_eq!(
        place.bus.mail(&[ShardId(0), ShardId(2)], 0).unwrap().len(),
        1,
        "at least one"
    );
    assert_eq!(place.bus.mail(&[ShardId(0)], 150).unwrap().len(), 2);
    assert_eq!(place.bus.mail(&[ShardId(1)], 150).unwrap(), []);
    let read = FleetCommit {
        imported: vec![all[0].id, all[2].id, all[2].id],
        ..commit(1, 4, vec![part(0, fence)])
    };
    place.bus.commit(&read).unwrap();
    let left = place
        .bus
        .mail(&[ShardId(0), ShardId(2)], usize::MAX)
        .unwrap();
    assert_eq!(left.len(), 4);
    assert!(
        !left
            .iter()
            .any(|mail| mail.id == all[0].id || mail.id == all[2].id)
    );
}

#[test]
fn hosts_that_join_at_once_are_counted_and_told_once() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    for shard in 0..4 {
        place.own(1, shard);
    }
    thread::scope(|scope| {
        for shard in 0..4 {
            let mut bus = place.bus.another();
            let mut fence = Fence { epoch: 1, head: 0 };
            scope.spawn(move || {
                for batch in 1..=10 {
                    let joined = vec![
                        format!("http://both{batch}.test/"),
                        format!("http://own{shard}-{batch}.test/"),
                    ];
                    let parts = vec![part(shard, fence)];
                    let sent = FleetCommit {
                        joined,
                        ..commit(1, batch, parts)
                    };
                    fence = bus.commit(&sent).unwrap()[0].fence;
                    assert_eq!(fence.head, batch);
                }
            });
        }
    });
    let told = place.bus.view(KnownView::default()).unwrap().joined;
    let mut distinct = told.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!((told.len(), distinct.len()), (50, 50));
    let known = KnownView {
        joined: 48,
        orders: 0,
    };
    assert_eq!(place.bus.view(known).unwrap().joined, told[48..]);
}

#[test]
fn pages_are_granted_exactly_and_never_below_zero() {
    const PAGES: u64 = 100;
    let Some(mut place) = Place::new(Some(PAGES)) else {
        return;
    };
    place.join(1);
    for shard in 0..4 {
        place.own(1, shard);
    }
    let fetched: u64 = thread::scope(|scope| {
        let members = (0..4).map(|shard| {
            let mut bus = place.bus.another();
            scope.spawn(move || {
                let mut row = bus.log(ShardId(shard)).unwrap().0;
                let mut fetched = 0;
                for batch in 1..=60 {
                    // Some grants are given back, as by a shard that ran out of work.
                    let returns = u64::from(batch % 7 == 0).min(row.grant);
                    let pages = row.grant - returns;
                    let mut sent = part(shard, row.fence);
                    (sent.pages, sent.returns, sent.wants) = (pages, returns, true);
                    row = bus.commit(&commit(1, batch, vec![sent])).unwrap()[0];
                    assert_eq!(row.batch, batch);
                    fetched += pages;
                }
                fetched + row.grant
            })
        });
        let members: Vec<_> = members.collect();
        members
            .into_iter()
            .map(|member| member.join().unwrap())
            .sum()
    });
    let left = place.number("select pages_left from clewline.job where id = $job");
    assert_eq!(fetched + left.cast_unsigned(), PAGES);
    assert_eq!(left, 0, "everything was wanted");
}

#[test]
fn grants_are_an_eighth_of_what_is_left() {
    let Some(mut place) = Place::new(Some(100)) else {
        return;
    };
    place.join(1);
    let fences = [place.own(1, 0), place.own(1, 1)];
    let mut parts = vec![part(0, fences[0]), part(1, fences[1])];
    for part in &mut parts {
        part.wants = true;
    }
    let rows = place.bus.commit(&commit(1, 1, parts)).unwrap();
    assert_eq!([rows[0].grant, rows[1].grant], [12, 11]);
    let mut spent = part(0, rows[0].fence);
    (spent.pages, spent.returns) = (10, 2);
    let rows = place.bus.commit(&commit(1, 2, vec![spent])).unwrap();
    assert_eq!(rows[0].grant, 0, "it wants none");
    assert_eq!(
        place.number("select pages_left from clewline.job where id = $job"),
        79
    );
    let mut too_many = part(0, rows[0].fence);
    too_many.pages = 1;
    let error = place.bus.commit(&commit(1, 3, vec![too_many])).unwrap_err();
    assert!(error.to_string().contains("granted"), "{error}");
    assert_eq!(place.row(0).fence, rows[0].fence, "nothing of it happened");
    let status = place.fleet.status(&place.job.name).unwrap();
    assert_eq!((status.pages_left, status.pages_granted), (Some(79), 11));
    assert_eq!(status.totals.pages, 10);
    assert_eq!(place.bus.tenures().unwrap()[0].pages, 10);
}

#[test]
fn without_a_budget_nothing_is_granted_or_taken() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    let fence = place.own(1, 0);
    let mut sent = part(0, fence);
    (sent.pages, sent.wants) = (50, true);
    let row = place.bus.commit(&commit(1, 1, vec![sent])).unwrap()[0];
    assert_eq!((row.grant, row.fence.head), (0, 1));
}

#[test]
fn a_checkpoint_takes_the_place_of_what_is_in_it() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    let mut fence = place.own(1, 0);
    for batch in 1..=5 {
        let sent = commit(1, batch, vec![part(0, fence)]);
        fence = place.bus.commit(&sent).unwrap()[0].fence;
    }
    let checkpoint = |seq: u64| -> ShardCheckpoint {
        let parts = 0..3_u32;
        let parts = parts.map(|part| LogPart {
            seq,
            part: Some(part),
            body: vec![part as u8; 50],
        });
        ShardCheckpoint {
            seq,
            parts: parts.collect(),
            past: vec![vec![seq as u8; 7]],
        }
    };
    let held = (ShardId(0), fence.epoch);
    assert!(
        !place.bus.compact(2, held, &checkpoint(3)).unwrap(),
        "not its own"
    );
    assert!(
        !place
            .bus
            .compact(1, (ShardId(0), 9), &checkpoint(3))
            .unwrap(),
        "another epoch"
    );
    assert!(
        !place.bus.compact(1, held, &checkpoint(6)).unwrap(),
        "more than there is"
    );
    assert_eq!(
        place.bus.log(ShardId(0)).unwrap().1.len(),
        5,
        "nothing happened"
    );
    assert!(place.bus.compact(1, held, &checkpoint(3)).unwrap());
    assert!(
        place.bus.compact(1, held, &checkpoint(3)).unwrap(),
        "the answer may get lost"
    );
    let (row, log) = place.bus.log(ShardId(0)).unwrap();
    assert_eq!(log[..3], checkpoint(3).parts);
    let rest: Vec<_> = log[3..].iter().map(|part| (part.seq, part.part)).collect();
    assert_eq!(rest, [(4, None), (5, None)]);
    assert_eq!(row.log_bytes, (150, 18));
    assert!(place.bus.compact(1, held, &checkpoint(5)).unwrap());
    assert!(
        !place.bus.compact(1, held, &checkpoint(4)).unwrap(),
        "it is late"
    );
    let history = place.fleet.history(&place.job.name, ShardId(0)).unwrap();
    assert_eq!(history.log, checkpoint(5).parts);
    assert_eq!(history.past, [[3; 7], [5; 7]], "each once");
    let sent = commit(1, 6, vec![part(0, fence)]);
    let row = place.bus.commit(&sent).unwrap()[0];
    assert_eq!(row.log_bytes, (150, 9));
}

#[test]
fn two_buses_of_a_member_do_not_wait_for_each_other() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    let fence = place.own(1, 0);
    let mut holder = super::place::Raw::connect(&place.server);
    holder.run(&format!(
        "begin; select * from clewline.shard
         where job = (select id from clewline.job where name = '{}') for update",
        place.job.name
    ));
    let mut other = place.bus.another();
    let waiting = thread::spawn(move || other.commit(&commit(1, 1, vec![part(0, fence)])));
    holder.wait_for_waiter();
    place.renew(1);
    assert_eq!(place.bus.log(ShardId(0)).unwrap().0.fence.head, 0);
    holder.run("rollback");
    assert_eq!(waiting.join().unwrap().unwrap()[0].fence.head, 1);
    let mut fleet = FleetServer::connect(&place.server.url()).unwrap();
    assert_eq!(
        fleet.tenures(&place.job.name).unwrap()[0].batches,
        Some((1, 1))
    );
    let back = FleetRequest::GiveBack(ShardId(0), Fence { epoch: 1, head: 1 });
    place.ask(1, &back);
    assert_eq!(place.row(0).worker, None);
}
