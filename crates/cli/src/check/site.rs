//! A site that is crawled to be checked.
//!
//! Owns what a check changes about a crawl and where its job lies: under the name of the host, beside
//! it while an update runs, or in a folder that goes away. It refuses to know findings.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clewline::{CrawlError, Summary};
use clewline_job::config::{Compression, Config};
use clewline_job::folder::FolderError;
use clewline_job::report::StoppedBy;
use tempfile::TempDir;

use super::update::{JobPlace, KeptJob};
use super::watch::{CheckWatch, CrawlEnd};
use crate::advice;
use crate::exit::ExitStatus;
use crate::message::Speaker;
use crate::resolve::ResolvedSettings;

/// A site in a job folder, as far as it was crawled.
pub(crate) struct CrawledSite {
    /// The job, wherever it lies now.
    pub(crate) job: PathBuf,
    pub(crate) stopped_by: StoppedBy,
    /// The folder, if it goes away with the check.
    temporary: Option<TempDir>,
}

impl CrawledSite {
    /// Whether nothing of it stays.
    pub(crate) const fn is_fleeting(&self) -> bool {
        self.temporary.is_some()
    }
}

/// What a crawl for a check came to.
pub(crate) enum SiteEnd {
    Crawled(CrawledSite),
    /// It could not be crawled; why is told already.
    Failed(ExitStatus),
}

/// Makes the configuration of a crawl one of a check: pages with their parts, and an archive that is
/// read again at once.
pub(crate) fn prepare(resolved: &mut ResolvedSettings) {
    let config = &mut resolved.config;
    config.scope.page_requisites = true;
    config.output.in_memory = false;
    config.output.views = Vec::new();
    config.output.archive.write = true;
    if !resolved.origins.is_given("warc-compression") {
        config.output.archive.compression = Compression::Fast;
    }
}

/// Crawls into a folder that goes away.
pub(crate) fn crawl_fleeting(
    mut config: Config,
    watch: &CheckWatch,
    speaker: &Speaker,
) -> anyhow::Result<SiteEnd> {
    let temporary = tempfile::tempdir().context("cannot make a folder for the crawl")?;
    let job = temporary.path().join("site.crawl");
    config.output.folder = Some(job.clone());
    let summary = match run(config, watch, speaker) {
        Ok(summary) => summary,
        Err(status) => return Ok(SiteEnd::Failed(status)),
    };
    Ok(SiteEnd::Crawled(CrawledSite {
        job,
        stopped_by: summary.report.facts.stopped_by,
        temporary: Some(temporary),
    }))
}

/// Crawls into a job that is kept, or brings it up to date.
pub(crate) fn crawl_kept(
    mut config: Config,
    path: &Path,
    watch: &CheckWatch,
    speaker: &Speaker,
) -> anyhow::Result<SiteEnd> {
    let kept = KeptJob::find(path)?;
    let place = kept.prepare()?;
    // A job that is continued may have been begun with other flags.
    config.output.rescope = true;
    match &place {
        JobPlace::Itself => config.output.folder = Some(path.to_owned()),
        JobPlace::Beside {
            folder,
            update_from,
        } => {
            config.output.folder = Some(folder.clone());
            config.output.archive.update_from.clone_from(update_from);
        }
    }
    let summary = match run(config, watch, speaker) {
        Ok(summary) => summary,
        Err(status) => return Ok(SiteEnd::Failed(status)),
    };
    let stopped_by = summary.report.facts.stopped_by;
    let job = match place {
        JobPlace::Itself => path.to_owned(),
        JobPlace::Beside { folder, .. } if stopped_by == StoppedBy::Interrupted => folder,
        JobPlace::Beside { update_from, .. } => {
            kept.replace()?;
            if update_from.is_none() {
                kept.forget_earlier()
                    .with_context(|| format!("{} cannot be tidied", path.display()))?;
            }
            path.to_owned()
        }
    };
    Ok(SiteEnd::Crawled(CrawledSite {
        job,
        stopped_by,
        temporary: None,
    }))
}

/// Runs a crawl; one that does not fit what lies in its folder begins there anew.
fn run(config: Config, watch: &CheckWatch, speaker: &Speaker) -> Result<Summary, ExitStatus> {
    let ended = match watch.run(config.clone()) {
        Err(CrawlError::Folder(FolderError::Unfinished(_))) => {
            let mut anew = config;
            anew.output.overwrite = true;
            watch.run(anew)
        }
        ended => ended,
    };
    let summary = match ended {
        Ok(CrawlEnd::Ran(summary)) => *summary,
        Ok(CrawlEnd::NotBegun) => return Err(ExitStatus::Interrupted),
        Err(error) => {
            let (status, hints) = advice::on_refusal(&error);
            speaker.error(&anyhow::Error::new(error), &hints);
            return Err(status);
        }
    };
    reached(summary, speaker)
}

/// A site of which nothing was fetched cannot be checked.
fn reached(mut summary: Summary, speaker: &Speaker) -> Result<Summary, ExitStatus> {
    let report = &summary.report;
    if let Some(error) = &summary.error {
        let hints = advice::on_error(error, report);
        speaker.error(&anyhow::Error::msg(error.to_string()), &hints);
        return Err(ExitStatus::Stuck);
    }
    let unreached = advice::on_unreached(&summary.failed_roots, report);
    let Some((reason, hints)) = unreached else {
        return Ok(summary);
    };
    if report.facts.stopped_by == StoppedBy::Interrupted {
        return Err(ExitStatus::Interrupted);
    }
    speaker.error(&anyhow::Error::msg(reason), &hints);
    if let Some(empty) = summary.empty_folder.take() {
        // Nothing is in it; the next check begins anew in any case.
        empty.remove().ok();
    }
    Err(ExitStatus::Stuck)
}
