//! What a page costs a whole crawl when very many URLs are known.
//!
//! Owns a crawl of the library with its state in memory: engine, frontier and extractor are those of
//! every crawl, and only the network is made up. So the figure is what a page costs apart from
//! sockets. Invariant: every page brings one new page as long as the clock runs, and the crawl
//! ends by itself after exactly the pages that were named.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clewline::Crawl;
use clewline::measuring::knowing;
use clewline_core::url::CrawlUrl;
use clewline_job::config::{Config, Reach, Speed};
use clewline_job::report::StoppedBy;
use serde_json::Value;

use super::answers::{Answers, Plan};
use super::known::Known;
use super::pages::{ROOTS, figures};

/// Pages before the clock runs, so that all hosts are met and caches are warm.
const WARM_UP: usize = 2000;
/// Crawls of as many pages, one after the other, so that little more is known at the end of each than
/// at its beginning; the median counts.
const ROUNDS: usize = 5;

/// Crawls pages while so many URLs are known.
pub(crate) fn measure(known: u64, pages: usize) -> Result<Value> {
    ensure!(pages > 0, "a round has a page at the least: --pages 1");
    let plan = Plan {
        warm_up: WARM_UP,
        pages,
    };
    let round = |_| crawl(Known::new(known).everything(), Known::new(known), plan);
    let costs: Vec<Duration> = (0..ROUNDS).map(round).collect::<Result<_>>()?;
    Ok(figures("memory", known, pages, &costs))
}

/// Crawls all pages of a plan from a few roots on; answers the processor time while the clock ran.
fn crawl(
    known: impl Iterator<Item = CrawlUrl> + Send + 'static,
    mut web: Known,
    plan: Plan,
) -> Result<Duration> {
    let roots: Vec<CrawlUrl> = (0..ROOTS).map(|_| web.fresh()).collect();
    let all = (ROOTS + plan.with_new()) as u64;
    let answers = Answers::new(plan, web);
    let crawl = Crawl::from_config(Config::default())
        .scope(Reach::Any)
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
    answers.cost().context("the clock has not stopped")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: u64 = 3000;
    const SMALL: Plan = Plan {
        warm_up: 50,
        pages: 150,
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
        let all = ROOTS + SMALL.with_new();
        let check = |known: Vec<CrawlUrl>, pages: usize| {
            let cost = crawl(known.into_iter(), Known::new(KNOWN), SMALL);
            let problem = cost.err().map(|error| error.to_string());
            let expected = format!("{pages} pages were found, not {all}");
            match &problem {
                Some(problem) => assert!(problem.starts_with(&expected), "{problem}"),
                None => assert_eq!(pages, all, "nothing was noticed"),
            }
        };
        let mut known: Vec<CrawlUrl> = Known::new(KNOWN).everything().collect();
        check(known.clone(), all);
        // What is not known is fetched, until the bound ends it.
        check(known[..1000].to_vec(), all + 1);
        // The first page that is to be found, after the roots, is known already.
        let mut web = Known::new(KNOWN);
        known.extend((0..=ROOTS).map(|_| web.fresh()).last());
        check(known, all - 1);
    }
}
