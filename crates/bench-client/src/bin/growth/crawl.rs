//! What a page costs a whole crawl when very many URLs are known.
//!
//! Owns a crawl of the library with its state in memory: engine, frontier and extractor are those of
//! every crawl, and only the network is made up. So the figure is what a page costs apart from
//! sockets. Invariant: every page brings one new page as long as the clock runs, and the crawl
//! ends by itself after exactly the pages that were named.

use std::time::Duration;

use anyhow::{Result, ensure};
use clewline::Crawl;
use clewline::config::{Config, Reach, Speed};
use clewline::core::url::CrawlUrl;
use clewline::measuring::knowing;
use clewline::report::StoppedBy;
use serde_json::Value;

use super::answers::{Answers, Plan};
use super::known::Known;
use super::pages::{ROOTS, figures};

/// Pages before the clock runs, so that all hosts are met and caches are warm.
const WARM_UP: usize = 2000;
/// Rounds of pages; the median counts.
const ROUNDS: usize = 5;

/// Crawls pages while so many URLs are known.
pub(crate) fn measure(known: u64, pages: usize) -> Result<Value> {
    ensure!(pages > 0, "a round has a page at the least: --pages 1");
    let plan = Plan {
        warm_up: WARM_UP,
        pages,
        rounds: ROUNDS,
    };
    let everything = Known::new(known).everything();
    let costs = crawl(everything, Known::new(known), plan)?;
    Ok(figures("memory", known, pages, &costs))
}

/// Crawls all pages of a plan from a few roots on; answers the processor time of each round.
fn crawl(
    known: impl Iterator<Item = CrawlUrl> + Send + 'static,
    mut web: Known,
    plan: Plan,
) -> Result<Vec<Duration>> {
    let roots: Vec<CrawlUrl> = (0..ROOTS).map(|_| web.fresh()).collect();
    let all = (ROOTS + plan.with_new()) as u64;
    let answers = Answers::new(plan, web);
    let crawl = Crawl::from_config(Config::default())
        .reach(Reach::Any)
        .speed(Speed::Max)
        // Where what is known is taken for new, there would be no end.
        .max_pages(all + 1)
        .configure(|config| {
            // Nobody is asked, but a crawl of any host needs an operator.
            config.fetch.contact = Some("https://growth.invalid/".to_owned());
            config.scope.sitemaps = false;
        })
        .fetcher(answers.clone());
    let crawl = roots
        .iter()
        .fold(crawl, |crawl, root| crawl.root(root.as_str()));
    let summary = knowing(crawl, known).run()?.wait()?;
    if let Some(error) = summary.error {
        return Err(error.into());
    }
    let report = summary.report;
    report.check()?;
    let (pages, stopped_by) = (report.tally.pages, report.facts.stopped_by);
    ensure!(
        pages == all && stopped_by == StoppedBy::Finished,
        "{pages} pages were found, not {all}; the crawl: {stopped_by}"
    );
    let costs = answers.costs();
    ensure!(costs.len() == plan.rounds, "{} rounds ended", costs.len());
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: u64 = 3000;
    const SMALL: Plan = Plan {
        warm_up: 50,
        pages: 100,
        rounds: 2,
    };

    #[test]
    fn rounds_are_measured() {
        let figures = measure(KNOWN, 100).unwrap();
        assert!(figures["micros_per_page"].as_f64() > Some(0.0), "{figures}");
        let rounds = figures["rounds"].as_array().map(Vec::len);
        assert_eq!(rounds, Some(ROUNDS), "{figures}");
        assert!(measure(KNOWN, 0).is_err());
    }

    #[test]
    fn a_store_that_knows_too_little_or_too_much_is_noticed() {
        let found = |known: Vec<CrawlUrl>| {
            let costs = crawl(known.into_iter(), Known::new(KNOWN), SMALL);
            costs
                .map(|costs| costs.len())
                .map_err(|error| error.to_string())
        };
        let everything: Vec<CrawlUrl> = Known::new(KNOWN).everything().collect();
        assert_eq!(found(everything.clone()), Ok(SMALL.rounds));

        let all = ROOTS + SMALL.with_new();
        let few = found(everything[..1000].to_vec());
        let expected = format!("{} pages were found, not {all}", all + 1);
        assert!(few.is_err_and(|error| error.starts_with(&expected)));

        // One page that is known already: whatever it would have named is not found either.
        let mut web = Known::new(KNOWN);
        let named = (0..=ROOTS).map(|_| web.fresh());
        let more = everything.into_iter().chain(named.last()).collect();
        let expected = format!("{} pages were found, not {all}", all - 1);
        let found = found(more);
        assert!(
            found
                .clone()
                .is_err_and(|error| error.starts_with(&expected)),
            "{found:?}"
        );
    }
}
