//! `PageRank` over a crawl's own links.
//!
//! Owns the sum and nothing else: numbers in, numbers out. It refuses to know which links count.
//! Invariant: the ranks of all pages add up to their number, so 1 is the average.

/// The share of rank that follows links.
const DAMPING: f64 = 0.85;

/// The ranks of so many pages after some rounds, given their links as pairs of source and
/// target, each once. Forty rounds change no rank by a thousandth any more; twenty settle their order.
///
/// ```
/// let ranks = clewline_core::rank::page_rank(3, &[(0, 2), (1, 2)], 40);
/// assert!(ranks[2] > ranks[0] && ranks[0] == ranks[1]);
/// ```
pub fn page_rank(count: usize, links: &[(u32, u32)], rounds: usize) -> Vec<f64> {
    let mut outlinks = vec![0_u32; count];
    for (source, _) in links {
        outlinks[*source as usize] += 1;
    }
    let mut ranks = vec![1.0; count];
    for _ in 0..rounds {
        // What pages without links hold goes to all.
        let stuck: f64 = ranks
            .iter()
            .zip(&outlinks)
            .filter(|(_, links)| **links == 0)
            .map(|(rank, _)| rank)
            .sum();
        let base = 1.0 - DAMPING + DAMPING * stuck / count.max(1) as f64;
        let mut next = vec![base; count];
        for (source, target) in links {
            let source = *source as usize;
            next[*target as usize] += DAMPING * ranks[source] / f64::from(outlinks[source]);
        }
        ranks = next;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_follows_links_and_is_not_lost() {
        let ranks = page_rank(4, &[(0, 3), (1, 3), (2, 3), (3, 0), (2, 1)], 20);
        assert!(ranks[3] > ranks[0] && ranks[0] > ranks[1] && ranks[1] > ranks[2]);
        assert!((ranks.iter().sum::<f64>() - 4.0).abs() < 1e-9);
        assert!(page_rank(0, &[], 20).is_empty());
    }

    #[test]
    fn what_a_page_without_links_holds_goes_to_all() {
        let ranks = page_rank(3, &[(0, 2), (1, 2)], 1);
        // The third page held 1, of which 0.85 are shared by three.
        let base = 0.15 + 0.85 / 3.0;
        let expected = [base, base, base + 2.0 * 0.85];
        for (rank, expected) in ranks.iter().zip(expected) {
            assert!((rank - expected).abs() < 1e-12, "{ranks:?}");
        }
    }

    #[test]
    fn two_pages_that_link_to_each_other_are_average() {
        let ranks = page_rank(2, &[(0, 1), (1, 0)], 20);
        assert!(ranks.iter().all(|rank| (rank - 1.0).abs() < 1e-12));
    }
}
