//! A crawl held against the oracle.
//!
//! Owns the comparison of what a crawler says it found with what it had to find. It reads the
//! crawler's words (`fetched`, `redirected`, `skipped`, `failed`) and needs no more than URL and
//! outcome; a status or a reason that is there is compared too.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::oracle::Expectation;

/// Of each kind of difference so many examples are kept.
const EXAMPLES: usize = 20;
/// Places that crawlers may look at unasked.
const WELL_KNOWN: [&str; 3] = ["/robots.txt", "/sitemap.xml", "/favicon.ico"];

/// What a crawl says of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The URL.
    pub url: String,
    /// `fetched`, `redirected`, `skipped` or `failed`.
    pub outcome: String,
    /// The HTTP status, if there is one.
    pub status: Option<u16>,
    /// Why it was skipped, if that is said.
    pub reason: Option<String>,
}

impl Seen {
    fn fits(&self, expected: &Expectation) -> bool {
        match expected {
            Expectation::Fetched { status } => {
                self.outcome == "fetched" && self.status.is_none_or(|seen| seen == *status)
            }
            Expectation::Redirected { .. } => self.outcome == "redirected",
            Expectation::RobotsDenied => {
                let said = self.reason.as_deref();
                self.outcome == "skipped" && said.is_none_or(|said| said.starts_with("robots"))
            }
            Expectation::NoSuchHost | Expectation::Failed(_) => self.outcome == "failed",
            // A crawler may give a host up before it has tried each of its URLs.
            Expectation::Unreachable(_) => matches!(self.outcome.as_str(), "failed" | "skipped"),
        }
    }

    fn words(&self) -> String {
        let status = self.status.map(|status| format!(" {status}"));
        let reason = self.reason.as_deref().map(|reason| format!(" ({reason})"));
        let (status, reason) = (status.unwrap_or_default(), reason.unwrap_or_default());
        format!("{}{status}{reason}", self.outcome)
    }
}

/// How a crawl compares with the oracle.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// URLs that had to be met.
    pub expected: usize,
    /// Those of them that were met, with the right verdict or not.
    pub met: usize,
    /// Those of them that have the right verdict.
    pub right: usize,
    /// URLs that the crawl has and the oracle has not.
    pub extra: usize,
    /// Examples of what is missing.
    pub missing: Vec<String>,
    /// Examples of wrong verdicts.
    pub wrong: Vec<String>,
    /// Examples of what is too much.
    pub extras: Vec<String>,
}

/// Whether redirects from here never reach a page.
fn leads_in_circle(oracle: &BTreeMap<String, Expectation>, first: &Expectation) -> bool {
    let mut expected = Some(first);
    // No chain without a circle is longer than there are URLs.
    for _ in 0..=oracle.len() {
        match expected {
            Some(Expectation::Redirected { to }) => expected = oracle.get(to),
            _ => return false,
        }
    }
    true
}

impl Comparison {
    /// Holds a crawl against the oracle. A URL that is met twice, as behind a wall of cookies,
    /// is right if it was right once.
    pub fn new(
        oracle: &BTreeMap<String, Expectation>,
        seen: impl IntoIterator<Item = Seen>,
    ) -> Self {
        let mut comparison = Self {
            expected: oracle.len(),
            ..Self::default()
        };
        let mut verdicts: HashMap<&str, Option<String>> = HashMap::new();
        for record in seen {
            let Some((url, expected)) = oracle.get_key_value(&record.url) else {
                comparison.note_extra(&record);
                continue;
            };
            // A crawler may call redirects that lead in a circle a failure.
            let is_circle = record.outcome == "failed" && leads_in_circle(oracle, expected);
            let words = (!is_circle && !record.fits(expected))
                .then(|| format!("{url}: expected {expected}, seen {}", record.words()));
            let verdict = verdicts.entry(url).or_insert(words.clone());
            if words.is_none() {
                *verdict = None;
            }
        }
        comparison.met = verdicts.len();
        let wrong = verdicts.values().flatten();
        comparison.right = comparison.met - wrong.clone().count();
        comparison.wrong = wrong.take(EXAMPLES).cloned().collect();
        let missing = oracle
            .iter()
            .filter(|(url, _)| !verdicts.contains_key(url.as_str()));
        let missing = missing.take(EXAMPLES);
        comparison.missing = missing
            .map(|(url, expected)| format!("{url}: expected {expected}"))
            .collect();
        comparison
    }

    fn note_extra(&mut self, record: &Seen) {
        let after_scheme = record.url.splitn(4, '/').nth(3).unwrap_or_default();
        let is_well_known = WELL_KNOWN.iter().any(|known| known[1..] == *after_scheme);
        // What was not asked for does no harm.
        if is_well_known || record.outcome == "skipped" {
            return;
        }
        self.extra += 1;
        if self.extras.len() < EXAMPLES {
            self.extras
                .push(format!("{}: {}", record.url, record.words()));
        }
    }

    /// The share of what had to be met that was met with the right verdict.
    pub fn recall(&self) -> f64 {
        if self.expected == 0 {
            return 1.0;
        }
        self.right as f64 / self.expected as f64
    }

    /// Whether everything was met, rightly, and nothing else.
    pub fn is_perfect(&self) -> bool {
        self.right == self.expected && self.extra == 0
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (missing, wrong) = (self.expected - self.met, self.met - self.right);
        write!(
            formatter,
            "recall {:.4} % of {} URLs: {missing} missing, {wrong} wrong, {} extra",
            self.recall() * 100.0,
            self.expected,
            self.extra
        )?;
        for (kind, examples) in [
            ("missing", &self.missing),
            ("wrong", &self.wrong),
            ("extra", &self.extras),
        ] {
            for example in examples {
                write!(formatter, "\n  {kind}: {example}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seen: &[(&str, &str, Option<u16>)], right: usize, extra: usize) {
        let fetched = Expectation::Fetched { status: 200 };
        let oracle = BTreeMap::from([
            ("http://a.test/".to_owned(), fetched),
            ("http://a.test/x".to_owned(), Expectation::RobotsDenied),
            ("http://b.test/".to_owned(), Expectation::Unreachable("dns")),
        ]);
        let records = seen.iter().map(|(url, outcome, status)| Seen {
            url: (*url).to_owned(),
            outcome: (*outcome).to_owned(),
            status: *status,
            reason: None,
        });
        let comparison = Comparison::new(&oracle, records);
        assert_eq!(
            (comparison.right, comparison.extra),
            (right, extra),
            "{comparison}"
        );
        assert_eq!(comparison.is_perfect(), right == 3 && extra == 0);
    }

    #[test]
    fn differences_are_found() {
        let whole = [
            ("http://a.test/", "fetched", Some(200)),
            ("http://a.test/x", "skipped", None),
            ("http://b.test/", "failed", None),
        ];
        check(&whole, 3, 0);
        check(&whole[..2], 2, 0);
        check(&[whole[0], ("http://a.test/x", "fetched", Some(200))], 1, 0);
        check(&[("http://a.test/", "fetched", Some(404))], 0, 0);
        check(&[("http://a.test/y", "fetched", Some(200))], 0, 1);
        check(&[("http://a.test/sitemap.xml", "fetched", Some(404))], 0, 0);
        check(
            &[("http://a.test/", "redirected", Some(302)), whole[0]],
            1,
            0,
        );
    }
}
