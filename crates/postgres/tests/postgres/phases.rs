//! How a job goes on.

use clewline_core::fleet::{Bus as _, FleetCommit, JobPhase, KnownView, ShardId};

use super::place::{Place, commit, part};

fn phase(place: &mut Place) -> JobPhase {
    place.bus.view(KnownView::default()).unwrap().phase
}

/// Commits in every shard that nothing is left in a phase.
fn say_idle(place: &mut Place, batch: u64, in_phase: Option<JobPhase>) {
    let parts = (0..4).map(|shard| {
        let fence = place.row(shard).fence;
        let mut part = part(shard, fence);
        part.idle_in = in_phase;
        part
    });
    let sent = commit(1, batch, parts.collect());
    place.bus.commit(&sent).unwrap();
}

fn owned(pages: Option<u64>) -> Option<Place> {
    let mut place = Place::new(pages)?;
    place.join(1);
    for shard in 0..4 {
        place.own(1, shard);
    }
    Some(place)
}

#[test]
fn roots_last_until_all_are_claimed_begun_and_done() {
    let Some(mut place) = Place::new(None) else {
        return;
    };
    place.join(1);
    for shard in 0..4 {
        assert_eq!(phase(&mut place), JobPhase::Roots);
        let fence = place.own(1, shard);
        assert_eq!(phase(&mut place), JobPhase::Roots, "nothing was committed");
        let mut begun = part(shard, fence);
        begun.counts.roots_todo = 1;
        place
            .bus
            .commit(&commit(1, u64::from(shard) + 1, vec![begun]))
            .unwrap();
    }
    assert_eq!(phase(&mut place), JobPhase::Roots, "roots are left");
    let sent = FleetCommit {
        mail: vec![(ShardId(0), b"a root".to_vec())],
        ..commit(1, 4, Vec::new())
    };
    assert_eq!(place.bus.commit(&sent).unwrap(), []);
    say_idle(&mut place, 5, None);
    assert_eq!(phase(&mut place), JobPhase::Roots, "mail may have roots");
    let mail = place.bus.mail(&[ShardId(0)], 1).unwrap();
    let fence = place.row(0).fence;
    let read = FleetCommit {
        imported: vec![mail[0].id],
        ..commit(1, 6, vec![part(0, fence)])
    };
    place.bus.commit(&read).unwrap();
    assert_eq!(phase(&mut place), JobPhase::Run);
}

#[test]
fn idle_is_said_for_a_phase() {
    let Some(mut place) = owned(None) else {
        return;
    };
    say_idle(&mut place, 1, Some(JobPhase::Roots));
    assert_eq!(phase(&mut place), JobPhase::Run);
    assert_eq!(
        phase(&mut place),
        JobPhase::Run,
        "idle among roots is not idle now"
    );
    say_idle(&mut place, 2, Some(JobPhase::Run));
    assert_eq!(phase(&mut place), JobPhase::LastCall);
    assert_eq!(phase(&mut place), JobPhase::LastCall);
    say_idle(&mut place, 3, Some(JobPhase::Run));
    assert_eq!(phase(&mut place), JobPhase::LastCall, "said too early");
    say_idle(&mut place, 4, Some(JobPhase::LastCall));
    assert_eq!(phase(&mut place), JobPhase::Done);
    let view = place.bus.view(KnownView::default()).unwrap();
    assert_eq!(
        (view.phase, view.ended, view.members),
        (JobPhase::Done, None, 1)
    );
}

#[test]
fn a_shard_with_a_new_owner_is_not_idle() {
    let Some(mut place) = owned(None) else {
        return;
    };
    say_idle(&mut place, 1, Some(JobPhase::Roots));
    assert_eq!(phase(&mut place), JobPhase::Run);
    say_idle(&mut place, 2, Some(JobPhase::Run));
    place.join(2);
    place.bury(1);
    place.own(2, 3);
    assert_eq!(phase(&mut place), JobPhase::Run);
}

#[test]
fn who_wants_pages_is_not_done_until_all_are_spent() {
    let Some(mut place) = owned(Some(1)) else {
        return;
    };
    assert_eq!(phase(&mut place), JobPhase::Roots);
    let wants = |place: &mut Place, batch, in_phase, pages| {
        let mut part = part(0, place.row(0).fence);
        (part.wants, part.idle_in, part.pages) = (true, in_phase, pages);
        part.counts.roots_todo = 1;
        place.bus.commit(&commit(1, batch, vec![part])).unwrap()[0].grant
    };
    assert_eq!(wants(&mut place, 1, None, 0), 1);
    assert_eq!(phase(&mut place), JobPhase::Roots, "a root may be asked");
    assert_eq!(wants(&mut place, 2, None, 1), 0);
    assert_eq!(
        phase(&mut place),
        JobPhase::Run,
        "no root can be asked any more"
    );
    say_idle(&mut place, 3, Some(JobPhase::Run));
    wants(&mut place, 4, Some(JobPhase::Run), 0);
    assert_eq!(
        phase(&mut place),
        JobPhase::LastCall,
        "nothing can be granted"
    );
    let name = place.job.name.clone();
    place.server.sql(&format!(
        "update clewline.job set pages_left = 3 where name = '{name}'"
    ));
    let mut wanting = part(1, place.row(1).fence);
    (wanting.wants, wanting.idle_in) = (true, Some(JobPhase::LastCall));
    say_idle(&mut place, 5, Some(JobPhase::LastCall));
    wanting.fence = place.row(1).fence;
    place.bus.commit(&commit(1, 6, vec![wanting])).unwrap();
    assert_eq!(phase(&mut place), JobPhase::LastCall, "it has pages now");
}

#[test]
fn mail_keeps_a_job_from_ending_and_reopens_it() {
    let Some(mut place) = owned(None) else {
        return;
    };
    say_idle(&mut place, 1, Some(JobPhase::Roots));
    assert_eq!(phase(&mut place), JobPhase::Run);
    say_idle(&mut place, 2, Some(JobPhase::Run));
    let name = place.job.name.clone();
    let posted = place.fleet.post(&name, &[(ShardId(2), b"more".to_vec())]);
    assert_eq!(posted.unwrap(), JobPhase::Run);
    assert_eq!(phase(&mut place), JobPhase::Run, "there is mail");
    place.bus.end("enough").unwrap();
    place.bus.end("later").unwrap();
    let view = place.bus.view(KnownView::default()).unwrap();
    assert_eq!(
        (view.phase, view.ended.as_deref()),
        (JobPhase::Done, Some("enough"))
    );
    let two = [(ShardId(2), b"a".to_vec()), (ShardId(2), b"b".to_vec())];
    assert_eq!(place.fleet.post(&name, &two).unwrap(), JobPhase::Run);
    let view = place.bus.view(KnownView::default()).unwrap();
    assert_eq!(
        (view.phase, view.ended, view.totals.mail),
        (JobPhase::Run, None, 3)
    );
    assert!(
        place
            .fleet
            .post(&name, &[(ShardId(4), Vec::new())])
            .is_err()
    );
    let mail = place.bus.mail(&[ShardId(2)], usize::MAX).unwrap();
    let bodies: Vec<&[u8]> = mail.iter().map(|mail| mail.body.as_slice()).collect();
    assert!(bodies.contains(&b"a".as_slice()) && bodies.contains(&b"b".as_slice()));
}

/// Whoever posts holds the lock of the job while the last member finds that nothing is left.
#[test]
fn work_that_is_posted_while_a_job_ends_is_not_forgotten() {
    let Some(mut place) = owned(None) else {
        return;
    };
    say_idle(&mut place, 1, None);
    assert_eq!(phase(&mut place), JobPhase::Run);
    say_idle(&mut place, 2, Some(JobPhase::Run));
    let mut poster = super::place::Raw::connect(&place.server);
    let job = format!(
        "(select id from clewline.job where name = '{}')",
        place.job.name
    );
    poster.run(&format!(
        "begin; select from clewline.job where id = {job} for no key update;
         insert into clewline.mail (job, shard, worker, batch, body) values ({job}, 0, 5, 1, '')"
    ));
    let mut other = place.bus.another();
    let judging = std::thread::spawn(move || other.view(KnownView::default()).unwrap().phase);
    poster.wait_for_waiter();
    poster.run("commit");
    assert_eq!(judging.join().unwrap(), JobPhase::Run);
}

/// What is left of the budget, and how the job stands.
fn left(place: &mut Place) -> (i64, JobPhase) {
    let left = place.number("select pages_left from clewline.job where id = $job");
    (left, phase(place))
}

#[test]
fn a_budget_of_pages_is_changed_and_a_job_that_spent_it_goes_on() {
    let Some(mut place) = owned(Some(10)) else {
        return;
    };
    let name = place.job.name.clone();
    say_idle(&mut place, 1, Some(JobPhase::Roots));
    assert_eq!(left(&mut place), (10, JobPhase::Run));
    let wanting = |place: &mut Place, pages| {
        let mut part = part(0, place.row(0).fence);
        (part.wants, part.pages) = (true, pages);
        part.idle_in = Some(JobPhase::Run);
        part
    };
    // An eighth of what is left is dealt out at a time, one page at least.
    let sent = commit(1, 2, vec![wanting(&mut place, 0)]);
    place.bus.commit(&sent).unwrap();
    assert_eq!(left(&mut place).0, 9);
    for (pages, is_left) in [(30, 29), (4, 3), (1, 0)] {
        place.fleet.change_pages(&name, pages).unwrap();
        assert_eq!(left(&mut place).0, is_left, "a budget of {pages}");
    }
    let refused = place.fleet.change_pages(&name, 0).unwrap_err().to_string();
    assert!(refused.contains("already: 1; name"), "{refused}");
    assert_eq!(left(&mut place).0, 0);
    let all = commit(1, 3, vec![wanting(&mut place, 1)]);
    place.bus.commit(&all).unwrap();
    say_idle_but_wanting(&mut place, JobPhase::Run);
    assert_eq!(phase(&mut place), JobPhase::LastCall);
    say_idle_but_wanting(&mut place, JobPhase::LastCall);
    assert_eq!(left(&mut place), (0, JobPhase::Done));
    let ended = |place: &mut Place| place.bus.view(KnownView::default()).unwrap().ended;
    assert_eq!(ended(&mut place).as_deref(), Some("--max-pages"));
    place.fleet.change_pages(&name, 1).unwrap();
    assert_eq!(left(&mut place), (0, JobPhase::Done), "nothing more");
    place.fleet.change_pages(&name, 6).unwrap();
    assert_eq!(left(&mut place), (5, JobPhase::Run));
    assert_eq!(ended(&mut place), None);
}

/// All shards are idle in a phase, and the first waits for pages.
fn say_idle_but_wanting(place: &mut Place, in_phase: JobPhase) {
    let parts = (0..4).map(|shard| {
        let mut part = part(shard, place.row(shard).fence);
        (part.idle_in, part.wants) = (Some(in_phase), shard == 0);
        part
    });
    let batch = 10 + in_phase as u64;
    let sent = commit(1, batch, parts.collect());
    place.bus.commit(&sent).unwrap();
}

#[test]
fn a_job_without_a_budget_gets_none() {
    let Some(mut place) = owned(None) else {
        return;
    };
    let name = place.job.name.clone();
    let refused = place.fleet.change_pages(&name, 5).unwrap_err().to_string();
    assert!(refused.contains("made without --max-pages"), "{refused}");
}
