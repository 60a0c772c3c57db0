//! Membership and shards.

use std::sync::Barrier;
use std::thread;

use clewline_core::fleet::{Bus as _, Fence, FleetAnswer, FleetRequest, ShardId};

use super::place::{Place, commit, part};

#[test]
fn a_member_that_nobody_knows_is_told_so() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    assert_eq!(place.ask(7, &FleetRequest::Renew), FleetAnswer::Unknown);
    place.join(7);
    let view = place.renew(7);
    assert_eq!((view.members, view.free.len(), view.held.len()), (1, 4, 0));
    assert_eq!(place.ask(7, &FleetRequest::Leave), FleetAnswer::Left);
    assert_eq!(place.ask(7, &FleetRequest::Renew), FleetAnswer::Unknown);
}

#[test]
fn numbers_of_members_use_all_bits() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(u64::MAX);
    place.own(u64::MAX, 1);
    assert_eq!(place.row(1).worker, Some(u64::MAX));
    assert_eq!(place.renew(u64::MAX).held.len(), 1);
}

#[test]
fn who_has_more_shards_comes_before_and_of_as_many_the_smaller_number() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    for worker in 1..=4 {
        place.join(worker);
    }
    let before = |place: &mut Place| [1, 2, 3, 4].map(|worker| place.renew(worker).before);
    assert_eq!(before(&mut place), [0, 1, 2, 3]);
    place.own(4, 0);
    place.own(4, 1);
    place.own(2, 2);
    assert_eq!(before(&mut place), [2, 1, 3, 0]);
    place.bury(4);
    assert_eq!(
        [1, 2, 3].map(|worker| place.renew(worker).before),
        [1, 0, 2]
    );
}

#[test]
fn of_two_claims_at_once_one_wins() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    for worker in 1..=4 {
        place.join(worker);
    }
    for turn in 0..20 {
        let shard = ShardId(turn % 4);
        let fence = place.row(shard.0).fence;
        let start = Barrier::new(4);
        let won: usize = thread::scope(|scope| {
            let claims: Vec<_> = (1..=4)
                .map(|worker| {
                    let (mut bus, start) = (place.bus.another(), &start);
                    scope.spawn(move || {
                        bus.tenures().unwrap();
                        start.wait();
                        let claim = FleetRequest::Claim(shard, fence);
                        let answer = bus.ask(worker, "{}", &claim).unwrap();
                        if let FleetAnswer::Claimed { fence, .. } = answer {
                            let back = FleetRequest::GiveBack(shard, fence);
                            bus.ask(worker, "{}", &back).unwrap();
                            return 1;
                        }
                        assert_eq!(answer, FleetAnswer::Refused(shard));
                        0
                    })
                })
                .collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).sum()
        });
        assert_eq!(won, 1);
        assert_eq!(place.row(shard.0).fence.epoch, fence.epoch + 1);
    }
}

#[test]
fn a_shard_is_taken_only_from_the_dead_and_only_by_the_living() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    assert_eq!(
        place.claim(9, 0),
        FleetAnswer::Refused(ShardId(0)),
        "no member"
    );
    place.join(1);
    place.join(2);
    let first = place.claim(1, 0);
    let fence = Fence { epoch: 1, head: 0 };
    let expected = FleetAnswer::Claimed {
        shard: ShardId(0),
        fence,
        was_free: true,
    };
    assert_eq!(first, expected);
    assert_eq!(place.claim(2, 0), FleetAnswer::Refused(ShardId(0)));
    assert_eq!(place.renew(2).free.len(), 3);
    place.bury(1);
    let view = place.renew(2);
    assert_eq!((view.members, view.free.len()), (1, 4));
    assert_eq!(
        place.ask(1, &FleetRequest::Reclaim(ShardId(0))),
        FleetAnswer::Refused(ShardId(0))
    );
    let expected = FleetAnswer::Claimed {
        shard: ShardId(0),
        fence: Fence { epoch: 2, head: 0 },
        was_free: false,
    };
    assert_eq!(place.claim(2, 0), expected);
    place.renew(1);
    assert_eq!(
        place.ask(1, &FleetRequest::Reclaim(ShardId(0))),
        FleetAnswer::Refused(ShardId(0))
    );
    let stale = FleetRequest::Claim(ShardId(1), Fence { epoch: 0, head: 5 });
    assert_eq!(place.ask(2, &stale), FleetAnswer::Refused(ShardId(1)));
}

#[test]
fn a_lapsed_member_claims_its_own_anew() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    place.own(1, 2);
    let answer = place.ask(1, &FleetRequest::Reclaim(ShardId(2)));
    let expected = FleetAnswer::Claimed {
        shard: ShardId(2),
        fence: Fence { epoch: 2, head: 0 },
        was_free: false,
    };
    assert_eq!(answer, expected);
    let epochs: Vec<u64> = place
        .bus
        .tenures()
        .unwrap()
        .iter()
        .map(|held| held.epoch)
        .collect();
    assert_eq!(epochs, [1, 2]);
}

#[test]
fn a_late_word_that_a_shard_is_given_back_takes_nothing() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    let fence = place.own(1, 0);
    let late = Fence { epoch: 0, ..fence };
    for wrong in [late, Fence { head: 3, ..fence }] {
        let answer = place.ask(1, &FleetRequest::GiveBack(ShardId(0), wrong));
        assert_eq!(answer, FleetAnswer::GivenBack(ShardId(0)));
        assert_eq!(place.row(0).worker, Some(1));
    }
    place.ask(2, &FleetRequest::GiveBack(ShardId(0), fence));
    assert_eq!(place.row(0).worker, Some(1), "it is not the other's");
    place.ask(1, &FleetRequest::GiveBack(ShardId(0), fence));
    assert_eq!(place.row(0).worker, None);
}

/// A commit that is held open while another member claims: the claim must not write what it read
/// before the commit.
#[test]
fn a_claim_that_waits_for_a_commit_sees_what_it_did() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    place.join(2);
    let fence = place.own(1, 0);
    place
        .bus
        .commit(&commit(1, 10, vec![part(0, fence)]))
        .unwrap();
    let seen = place.row(0).fence;
    place.bury(1);
    let mut holder = super::place::Raw::connect(&place.server);
    // What a commit of batch 11 does, left open.
    holder.run(&format!(
        "begin; update clewline.shard set head = head + 1, batch = 11
         where id = 0 and job = (select id from clewline.job where name = '{0}');
         update clewline.tenure set last_batch = 11
         where shard = 0 and job = (select id from clewline.job where name = '{0}')",
        place.job.name
    ));
    let mut other = place.bus.another();
    let waiting = thread::spawn(move || {
        let claim = FleetRequest::Claim(ShardId(0), seen);
        other.ask(2, "{}", &claim).unwrap()
    });
    holder.wait_for_waiter();
    holder.run("commit");
    assert_eq!(
        waiting.join().unwrap(),
        FleetAnswer::Refused(ShardId(0)),
        "the log grew"
    );
    place.own(2, 0);
    let tenures = place.bus.tenures().unwrap();
    assert_eq!(tenures[0].batches, Some((10, 11)));
    assert_eq!((tenures[1].worker, tenures[1].batches), (2, None));
}
