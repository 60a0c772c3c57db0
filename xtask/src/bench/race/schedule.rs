//! The ideal schedule: how soon a site could be crawled if only its answers took time.
//!
//! Owns a simulation and the judgement by it. So many requests are in flight at the most, every
//! answer takes the same time, and a page can be asked for as soon as the first page that names
//! it is there, in the order in which pages were found. Nothing else takes any time: no crawler
//! that begins at the root and keeps to its number of requests can be faster.

use std::collections::VecDeque;
use std::time::Duration;

use super::checks::Check;
use super::contestant::Party;
use super::round::Row;

/// The part of the ideal rate that a crawl must reach.
const OF_IDEAL: f64 = 0.95;

/// How long a crawl takes at the least. `links` has, for each page, the pages that it names; the
/// root is the first.
pub(super) fn ideal(links: &[Vec<u32>], in_flight: usize, answer: Duration) -> Duration {
    let mut known = vec![false; links.len()];
    let mut ready: VecDeque<u32> = VecDeque::new();
    // All answers take as long, so that they end in the order in which they were asked for.
    let mut asked: VecDeque<(Duration, u32)> = VecDeque::new();
    let mut now = Duration::ZERO;
    if let Some(root) = known.first_mut() {
        *root = true;
        ready.push_back(0);
    }
    loop {
        while asked.len() < in_flight.max(1)
            && let Some(page) = ready.pop_front()
        {
            asked.push_back((now + answer, page));
        }
        let Some((end, page)) = asked.pop_front() else {
            return now;
        };
        now = end;
        for &link in &links[page as usize] {
            if !std::mem::replace(&mut known[link as usize], true) {
                ready.push_back(link);
            }
        }
    }
}

/// Judges the rows of sites whose ideal rate is known.
pub(super) fn checks(rows: &[Row]) -> Vec<Check> {
    let clewline = rows.iter().filter(|row| row.party == Party::Clewline);
    clewline.filter_map(check).collect()
}

fn check(row: &Row) -> Option<Check> {
    let part = row.of_ideal()?;
    let rate = row.pages_per_second()?.median;
    Some(Check {
        name: "latency is hidden",
        seen: format!(
            "{}: {rate:.0} pages/s, {:.1} % of the ideal schedule",
            row.name,
            part * 100.0
        ),
        wanted: format!("at least {:.0} %", OF_IDEAL * 100.0),
        kept: (part >= OF_IDEAL).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: Duration = Duration::from_millis(100);

    /// Answers that follow each other in the ideal schedule.
    fn steps(links: &[&[u32]], in_flight: usize) -> u32 {
        let links: Vec<Vec<u32>> = links.iter().map(|page| page.to_vec()).collect();
        let time = ideal(&links, in_flight, ANSWER);
        assert_eq!(time.as_millis() % ANSWER.as_millis(), 0);
        (time.as_millis() / ANSWER.as_millis()) as u32
    }

    #[test]
    fn pages_wait_for_the_first_that_names_them_and_for_room() {
        let star: &[&[u32]] = &[&[1, 2, 3, 4, 5, 6], &[], &[], &[], &[], &[], &[]];
        let chain: &[&[u32]] = &[&[1], &[2], &[3], &[0]];
        for (links, in_flight, expected) in [
            (&[][..], 4, 0),
            (&[&[][..]][..], 4, 1),
            (&[&[0][..]][..], 4, 1),
            // All at once after the root, two by two, one by one.
            (star, 6, 2),
            (star, 2, 4),
            (star, 1, 7),
            // A chain has no use for more than one.
            (chain, 1, 4),
            (chain, 100, 4),
            // The third page is named by the root already: the long way does not count.
            (&[&[1, 3][..], &[2], &[3], &[4], &[]][..], 9, 3),
            // A page that nothing names is never asked for.
            (&[&[1][..], &[], &[0]][..], 9, 2),
        ] {
            assert_eq!(steps(links, in_flight), expected, "{links:?}, {in_flight}");
        }
    }

    #[test]
    fn order_matters_where_room_is_short() {
        // Two at a time, and behind page 1 a chain: the later it is found, the longer it takes.
        let early: &[&[u32]] = &[&[1, 2, 3, 4, 7], &[5], &[], &[], &[], &[6], &[], &[]];
        let late: &[&[u32]] = &[&[2, 3, 4, 7, 1], &[5], &[], &[], &[], &[6], &[], &[]];
        assert_eq!((steps(early, 2), steps(late, 2)), (5, 6));
    }
}
