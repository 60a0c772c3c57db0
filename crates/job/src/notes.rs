//! What a crawl notes on its way, in words.
//!
//! Owns the words that a terminal and the app show alike. It refuses to know when something is noted.

use clewline_core::address::Nearness;
use clewline_core::frontier::Note;

use crate::report::figures;

/// A note as a line without its end.
pub fn note_line(note: &Note) -> String {
    match note {
        Note::SchemeFellBack { url } => format!("https does not answer; trying {url}"),
        Note::HostJoined { host } => format!("redirected to {host}, which is crawled too"),
        Note::Near {
            host,
            nearness: Nearness::Loopback,
        } => {
            format!("{host} is this machine: no rate limit (as --speed max)")
        }
        Note::Near { host, .. } => {
            format!("{host} is in a private network: 8 requests at once, 50 a second")
        }
        Note::Parked { host, why, .. } => format!("{host} is left alone for a while: {why}"),
        Note::HostEnded { host, why } => format!("{host} is given up: {why}"),
        Note::Trap {
            host,
            template,
            alike,
        } => {
            let alike = figures::plural(u64::from(*alike), "page");
            format!("given up as a trap on {host}: {template}, {alike} alike")
        }
        Note::NetworkAway { hosts } => format!(
            "paused: {hosts} hosts failed at once, so the network seems to be away; \
             the crawl continues when it is back"
        ),
        Note::NetworkBack { after } => {
            format!(
                "the crawl continues after a pause of {:.0} s",
                after.as_secs_f64()
            )
        }
        Note::Stopped { stopped } => format!(
            "this process was stopped for {:.0} s; what failed meanwhile is tried again",
            stopped.as_secs_f64()
        ),
    }
}
