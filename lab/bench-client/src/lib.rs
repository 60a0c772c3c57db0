//! What the programs that drive the frontier alone share.
//!
//! Owns the rules under which nothing but the frontier itself takes time, and the answer that
//! every page gets. Refuses to know which pages there are.

use std::sync::Arc;
use std::time::Duration;

use clewline_core::frontier::{
    Answer, Ending, HostRules, JobId, Moment, Offers, Rules, Settlement,
};
use clewline_core::key::Keyer;
use clewline_core::politeness::{GroupPace, Politeness, Speed};
use clewline_core::scope::{Reach, Scope};

/// Politeness is not what is measured: by then everything is due.
pub const NOW: Moment = Duration::from_secs(1);

/// The keys of every program.
pub fn keyer() -> Keyer {
    Keyer::new(7, &[])
}

/// Rules under which every page that is known could be handed out at once.
pub fn rules() -> Rules {
    let scope = Scope::new(Reach::Any, false, &[], &[]).expect("there are no patterns");
    let mut rules = Rules::new(scope, keyer());
    let mut politeness = Politeness::for_speed(Speed::Max);
    politeness.host.first_in_flight = u32::MAX;
    politeness.host.most_in_flight = u32::MAX;
    politeness.domain = GroupPace::UNLIMITED;
    politeness.address = GroupPace::UNLIMITED;
    rules.host = Arc::new(HostRules {
        politeness,
        near: None,
        robots: false,
        pages: None,
    });
    rules.limits.concurrency = u32::MAX;
    rules.sitemaps = false;
    rules
}

/// A page that was answered at [`NOW`] and brought links.
pub fn answered(job: JobId, links: Offers) -> Settlement {
    let answer = Answer {
        status: 200,
        first_byte: Duration::from_millis(1),
        sent_at: Some(NOW),
        wire: 27_000,
        links,
        ..Answer::default()
    };
    Settlement {
        job,
        ending: Ending::Answered(Box::new(answer)),
    }
}
