//! One member against a bus that is told what to answer.

use super::*;

const TIMES: LeaseTimes = LeaseTimes {
    expiry: Duration::from_secs(10),
};

fn seconds(number: u64) -> Moment {
    Moment::from_secs(number)
}

fn fence(epoch: u64, head: u64) -> Fence {
    Fence { epoch, head }
}

fn claimed(shard: u16, epoch: u64, was_free: bool) -> FleetAnswer {
    FleetAnswer::Claimed {
        shard: ShardId(shard),
        fence: fence(epoch, 3),
        was_free,
    }
}

fn renewed(members: usize, free: &[u16], held: &[(u16, u64)]) -> FleetAnswer {
    FleetAnswer::Renewed(FleetView {
        members,
        before: 0,
        free: free
            .iter()
            .map(|shard| (ShardId(*shard), fence(0, 0)))
            .collect(),
        held: held
            .iter()
            .map(|(shard, epoch)| (ShardId(*shard), fence(*epoch, 3)))
            .collect(),
    })
}

/// A member that joined at zero, claimed shard 1 a second later, and owns it in epoch 5.
fn owner() -> FleetMember {
    let mut member = FleetMember::new(7, 4, TIMES);
    assert_eq!(member.poll(seconds(0)), [FleetRequest::Join]);
    assert!(
        member
            .hear(FleetAnswer::Joined, seconds(0), seconds(0))
            .is_empty()
    );
    let duties = member.hear(claimed(1, 5, true), seconds(1), seconds(1));
    let grace = Duration::ZERO;
    assert_eq!(
        duties,
        [Duty::Load {
            shard: ShardId(1),
            grace
        }]
    );
    member
}

#[test]
fn a_member_stops_when_its_last_good_renewal_was_sent_too_long_ago() {
    let mut member = owner();
    assert!(member.may_hand_out(ShardId(1), seconds(5)));
    assert!(
        !member.may_hand_out(ShardId(2), seconds(5)),
        "it is foreign"
    );
    assert!(!member.may_hand_out(ShardId(1), seconds(6)));
    assert!(!member.must_drop(seconds(7)) && member.must_drop(seconds(8)));
    // Sent at 1, heard at 5: the lease counts from 1.
    member.hear(renewed(1, &[], &[(1, 5)]), seconds(1), seconds(5));
    assert!(member.may_hand_out(ShardId(1), seconds(6)));
    assert!(!member.may_hand_out(ShardId(1), seconds(7)));
}

#[test]
fn after_a_lapse_a_shard_is_its_own_only_if_it_is_claimed_anew() {
    let mut member = owner();
    member.hear(renewed(1, &[], &[(1, 5)]), seconds(9), seconds(9));
    assert!(
        !member.may_hand_out(ShardId(1), seconds(9)),
        "a renewal is no fence"
    );
    assert_eq!(member.fence(ShardId(1)), None);
    let asks = member.poll(seconds(10));
    assert!(
        asks.contains(&FleetRequest::Reclaim(ShardId(1))),
        "{asks:?}"
    );
    // An answer to what was asked before the lapse says nothing.
    member.hear(claimed(1, 5, false), seconds(8), seconds(10));
    assert_eq!(member.fence(ShardId(1)), None);
    let duties = member.hear(claimed(1, 6, false), seconds(10), seconds(10));
    assert!(duties.is_empty(), "what it knows of the shard still counts");
    assert_eq!(member.fence(ShardId(1)), Some(fence(6, 3)));
    assert!(member.may_hand_out(ShardId(1), seconds(11)));
}

#[test]
fn a_shard_that_somebody_claimed_in_a_lapse_is_lost() {
    let mut member = owner();
    member.hear(renewed(2, &[], &[(1, 5)]), seconds(9), seconds(9));
    let refused = FleetAnswer::Refused(ShardId(1));
    let duties = member.hear(refused.clone(), seconds(10), seconds(10));
    assert_eq!(duties, [Duty::Lose(ShardId(1))]);
    assert_eq!(
        member.hear(refused, seconds(10), seconds(10)),
        [],
        "it is lost once"
    );
}

#[test]
fn what_a_renewal_does_not_show_is_lost_unless_it_is_older_than_the_claim() {
    let mut member = owner();
    member.hear(claimed(2, 9, false), seconds(1), seconds(2));
    let duties = member.hear(renewed(1, &[], &[(1, 5)]), seconds(1), seconds(3));
    assert_eq!(duties, [], "it was asked before the claim was known");
    let duties = member.hear(renewed(1, &[], &[(1, 5)]), seconds(3), seconds(3));
    assert_eq!(duties, [Duty::Lose(ShardId(2))]);
}

#[test]
fn a_bus_that_fell_behind_ends_the_member() {
    let mut member = owner();
    let duties = member.hear(renewed(1, &[], &[(1, 4)]), seconds(3), seconds(3));
    assert_eq!(duties, [Duty::End]);
    assert!(!member.may_hand_out(ShardId(1), seconds(3)));
    assert_eq!(member.poll(seconds(20)), []);
    assert_eq!(member.hear(claimed(3, 1, true), seconds(3), seconds(4)), []);
    let mut forgotten = owner();
    let duties = forgotten.hear(FleetAnswer::Unknown, seconds(3), seconds(3));
    assert_eq!(duties, [Duty::End]);
}

/// A member that owns the first `held` of so many shards, and saw so many members, of which so many
/// come before it.
fn sharer(shards: u16, held: u16, (members, before): (usize, usize)) -> FleetMember {
    let mut member = FleetMember::new(6, usize::from(shards), TIMES);
    member.hear(FleetAnswer::Joined, seconds(0), seconds(0));
    for shard in 0..held {
        member.hear(claimed(shard, 1, true), seconds(0), seconds(0));
    }
    let owned: Vec<(u16, u64)> = (0..held).map(|shard| (shard, 1)).collect();
    let free: Vec<u16> = (held..shards).collect();
    let FleetAnswer::Renewed(view) = renewed(members, &free, &owned) else {
        unreachable!("it is a view");
    };
    let answer = FleetAnswer::Renewed(FleetView { before, ..view });
    member.hear(answer, seconds(1), seconds(1));
    member
}

fn claims(asks: &[FleetRequest]) -> Vec<u16> {
    let asks = asks.iter().filter_map(|ask| match ask {
        FleetRequest::Claim(shard, _) => Some(shard.0),
        _ => None,
    });
    asks.collect()
}

#[test]
fn all_have_as_many_as_each_other_but_for_one() {
    // Shards; members and how many come before; the share.
    for (shards, place, share) in [
        (4, (1, 0), 4),
        (4, (2, 1), 2),
        (4, (3, 0), 2),
        (4, (3, 1), 1),
        (4, (4, 3), 1),
        // Fewer shards than members.
        (4, (9, 3), 1),
        (4, (9, 4), 0),
        (1, (2, 0), 1),
        (1, (2, 1), 0),
        (64, (15, 3), 5),
        (64, (15, 4), 4),
        (64, (16, 15), 4),
    ] {
        for held in 0..=shards.min(9) {
            let mut member = sharer(shards, held, place);
            let about = format!("{held} of {shards} for {place:?}");
            let surplus = usize::from(held).saturating_sub(share);
            assert_eq!(member.surplus(), surplus, "{about}");
            let wanted = share.saturating_sub(usize::from(held)).min(CLAIMS);
            assert_eq!(claims(&member.poll(seconds(1))).len(), wanted, "{about}");
        }
    }
}

#[test]
fn shares_of_all_members_make_all_shards() {
    for members in 1..=20 {
        let shares = (0..members).map(|before| sharer(16, 0, (members, before)).share());
        assert_eq!(shares.sum::<usize>(), 16, "{members} members");
    }
}

#[test]
fn a_view_that_is_older_than_a_claim_takes_no_shard_away() {
    let mut member = sharer(4, 2, (2, 1));
    member.hear(claimed(2, 1, true), seconds(2), seconds(2));
    assert_eq!(member.surplus(), 0, "nobody may have more by now");
    let view = renewed(2, &[], &[(0, 1), (1, 1), (2, 1)]);
    member.hear(view, seconds(3), seconds(3));
    assert_eq!(member.surplus(), 1);
}

#[test]
fn those_that_see_the_same_want_different_shards_and_none_twice_in_vain() {
    let mut wanted: Vec<u16> = Vec::new();
    for before in 0..4 {
        let mut member = sharer(8, 0, (4, before));
        wanted.extend(claims(&member.poll(seconds(1))));
    }
    wanted.sort_unstable();
    assert_eq!(wanted, [0, 1, 2, 3, 4, 5, 6, 7]);
    let mut late = sharer(8, 0, (4, 0));
    assert_eq!(claims(&late.poll(seconds(1))), [0, 1]);
    late.hear(FleetAnswer::Refused(ShardId(0)), seconds(1), seconds(1));
    late.hear(claimed(1, 1, true), seconds(1), seconds(1));
    assert_eq!(claims(&late.poll(seconds(2))), [2]);
}

#[test]
fn a_claim_whose_answer_got_lost_is_made_again() {
    let mut member = owner();
    member.hear(renewed(1, &[], &[(1, 5), (2, 8)]), seconds(2), seconds(2));
    let asks = member.poll(seconds(3));
    assert!(
        asks.contains(&FleetRequest::Reclaim(ShardId(2))),
        "{asks:?}"
    );
    let duties = member.hear(claimed(2, 9, false), seconds(3), seconds(3));
    let grace = seconds(2);
    assert_eq!(
        duties,
        [Duty::Load {
            shard: ShardId(2),
            grace
        }]
    );
}

#[test]
fn a_claim_that_arrived_twice_is_known_by_its_last_epoch() {
    let mut member = owner();
    let duties = member.hear(renewed(1, &[], &[(1, 6)]), seconds(2), seconds(2));
    assert_eq!(duties, []);
    assert_eq!(member.fence(ShardId(1)), Some(fence(6, 3)));
    assert!(member.may_hand_out(ShardId(1), seconds(3)));
    // The other answer comes late, and is old by now.
    assert_eq!(
        member.hear(claimed(1, 5, false), seconds(0), seconds(3)),
        []
    );
    assert_eq!(member.fence(ShardId(1)), Some(fence(6, 3)));
    // After a lapse a look is not enough.
    member.hear(renewed(1, &[], &[(1, 7)]), seconds(9), seconds(9));
    assert_eq!(member.fence(ShardId(1)), None);
}

#[test]
fn it_leaves_when_it_has_given_back_everything() {
    let mut member = owner();
    member.leave();
    assert!(!member.may_hand_out(ShardId(1), seconds(1)));
    assert_eq!(member.poll(seconds(2)), [FleetRequest::Renew]);
    let ask = FleetRequest::GiveBack(ShardId(1), fence(5, 4));
    member.committed(ShardId(1), seconds(3));
    assert_eq!(member.give_back(ShardId(1)), Some(ask.clone()));
    assert_eq!(member.give_back(ShardId(1)), None, "it is on its way");
    let asks = member.poll(seconds(4));
    assert_eq!(asks, [FleetRequest::Renew, ask], "the answer may be lost");
    member.hear(FleetAnswer::GivenBack(ShardId(1)), seconds(4), seconds(4));
    assert_eq!(member.poll(seconds(6)), [FleetRequest::Leave]);
    member.hear(FleetAnswer::Left, seconds(6), seconds(6));
    assert_eq!(member.poll(seconds(9)), []);
}

#[test]
fn it_leaves_after_a_lapse_with_what_it_claims_anew() {
    let mut member = owner();
    member.leave();
    member.hear(renewed(1, &[2], &[(1, 5)]), seconds(9), seconds(9));
    assert_eq!(member.give_back(ShardId(1)), None, "it may be another's");
    let reclaim = FleetRequest::Reclaim(ShardId(1));
    assert_eq!(member.poll(seconds(10)), [FleetRequest::Renew, reclaim]);
    member.hear(claimed(1, 6, false), seconds(10), seconds(10));
    let ask = FleetRequest::GiveBack(ShardId(1), fence(6, 3));
    assert_eq!(member.give_back(ShardId(1)), Some(ask));
}

#[test]
fn a_bus_that_forgot_a_delta_ends_the_member() {
    let mut member = owner();
    member.committed(ShardId(1), seconds(4));
    let older = member.hear(renewed(1, &[], &[(1, 5)]), seconds(3), seconds(5));
    assert_eq!(older, [], "it was shown before the delta");
    let newer = member.hear(renewed(1, &[], &[(1, 5)]), seconds(4), seconds(5));
    assert_eq!(newer, [Duty::End]);
    assert_eq!(member.fence(ShardId(1)), None);
}

#[test]
fn a_late_word_of_giving_back_takes_nothing_that_was_claimed_since() {
    let mut member = owner();
    let back = FleetAnswer::GivenBack(ShardId(1));
    member.hear(back.clone(), seconds(1), seconds(2));
    assert!(member.may_hand_out(ShardId(1), seconds(2)));
    assert!(member.give_back(ShardId(1)).is_some());
    member.hear(back, seconds(3), seconds(3));
    assert_eq!(member.shards().count(), 0);
}
