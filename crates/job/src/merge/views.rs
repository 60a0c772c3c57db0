//! `report.html` and `job.toml` of a merged job.
//!
//! Owns what they say of a crawl that many machines made: the configuration of its first worker, how
//! it ended, and what is missing. It refuses to know secrets: no `job.toml` holds one.

use std::path::Path;
use std::time::Duration;

use clewline_warc::Moment;

use super::log_copy::CopiedLogs;
use super::{MergeError, MergePlan, MergeSummary, Sources, named, pages_of, workers};
use crate::folder::{FORMAT, MARKER, Marker, check_line};
use crate::log::urls;
use crate::report::{Report, RunFacts, html};
use crate::{JobFile, durable};

/// The page for people.
const REPORT: &str = "report.html";

/// Writes both; answers what the report says.
pub(super) fn write(
    draft: &Path,
    plan: &MergePlan,
    sources: &Sources,
    copied: CopiedLogs,
    summary: &MergeSummary,
) -> Result<Report, MergeError> {
    let first = JobFile::read(&sources.workers[0].path)?;
    let facts = facts(plan, sources, &first, &copied, summary);
    let at = |error| MergeError::io(draft, error);
    let report = Report::build(Some(draft), copied.tally, facts).map_err(at)?;
    durable::write(&draft.join(REPORT), html(&report).as_bytes()).map_err(at)?;
    let reached = std::fs::metadata(draft.join(urls::FILE)).map_err(at)?.len();
    let ended = sources.stopped_by.to_string();
    let text =
        marker(&first, reached, ended).map_err(|what| MergeError::damaged(&first.path, &what))?;
    durable::write(&draft.join(MARKER), text.as_bytes()).map_err(at)?;
    Ok(report)
}

/// The file of the first worker, as that of a job that came to its end.
fn marker(first: &JobFile, reached: u64, ended: String) -> Result<String, String> {
    let mut table: toml::Table = toml::from_str(&first.text).map_err(|error| error.to_string())?;
    let head = Marker {
        format: FORMAT,
        finished: true,
        unreached: false,
        withholds: false,
        durable: true,
        seed: format!("{:016x}", first.seed),
        reached,
        ended: Some(ended),
    };
    let known = toml::Table::try_from(Marker {
        ended: None,
        ..Marker::SPOILT
    });
    let names = known.map_err(|error| error.to_string())?;
    for name in names
        .keys()
        .map(String::as_str)
        .chain(["unreached", "withholds", "ended"])
    {
        table.remove(name);
    }
    // Where the worker wrote is nowhere else.
    if let Some(toml::Value::Table(output)) = table.get_mut("output") {
        output.remove("folder");
    }
    let head = toml::to_string(&head).map_err(|error| error.to_string())?;
    let body = toml::to_string(&table).map_err(|error| error.to_string())?;
    Ok(check_line::add(&format!("{head}\n{body}")))
}

fn facts(
    plan: &MergePlan,
    sources: &Sources,
    first: &JobFile,
    copied: &CopiedLogs,
    summary: &MergeSummary,
) -> RunFacts {
    let (started_at, finished_at) = copied.span.clone().unwrap_or_default();
    let seconds = |text: &str| Moment::parse(text).map_or(0, Moment::seconds);
    let spent = seconds(&finished_at).saturating_sub(seconds(&started_at));
    let spent = Duration::from_secs(u64::try_from(spent).unwrap_or(0));
    let mut notes = vec![format!(
        "merged from what {} left; times and requests in flight of all together are not known",
        workers(summary.workers)
    )];
    if !summary.missing.is_empty() {
        let (pages, missing) = (pages_of(&summary.missing), workers(summary.missing.len()));
        let names = named(&summary.missing).replace('\n', "");
        notes.push(format!("{pages} pages of {missing} are missing: {names}"));
    }
    RunFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seconds: spent.as_secs_f64(),
        folder: Some(plan.output.clone()),
        roots: first.settings.roots().cloned().collect(),
        joined_hosts: sources
            .joined
            .iter()
            .map(|url| url.host().to_owned())
            .collect(),
        admitted: copied.tally.done,
        stopped_by: sources.stopped_by.clone(),
        notes,
        started_at,
        finished_at,
        ..RunFacts::default()
    }
}
