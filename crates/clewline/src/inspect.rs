//! One page as the crawler sees it, explained.
//!
//! Owns the way to an [`Inspection`], whose shape belongs to `clewline-job`. It refuses to know how
//! that is shown. Invariant: nothing in an inspection is decided or fetched here; the
//! frontier of a crawl decides, the runner of a crawl does the jobs, and an inspection only
//! watches them.

mod fields;
mod hop;
mod judge;
mod robots;
#[cfg(test)]
mod tests;
mod visit;

use clewline_job::inspection::Inspection;

use crate::config::Config;
use crate::crawl::CrawlError;

/// Fetches the first root of a configuration, politely and with its redirects, and explains
/// what happened. What robots.txt disallows is not fetched; links are judged, not followed.
pub(crate) async fn inspect(config: &Config) -> Result<Inspection, CrawlError> {
    let problems = config.validate();
    match config.roots.first() {
        Some(root) if problems.is_empty() => Ok(visit::Visit::new(config, root)?.run(root).await),
        _ => Err(CrawlError::Config(problems)),
    }
}
