//! Pages of a fleet that are lost, put back into its queue.
//!
//! Owns the order of looks that makes it exact: who held what, what the folders hold, the history of
//! the shards that lack something, and who held what once more. It refuses to know how a URL is
//! queued. Invariant: what a worker did meanwhile is seen by the last look or refused by the
//! database.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clewline::Crawl;
use clewline_core::fleet::{CutTenure, ShardId, ShardRequeue};
use clewline_job::merge::{MergePlan, MergeSurvey};
use clewline_job::report::figures;
use clewline_postgres::FleetServer;

use super::{spec, stuck};
use crate::Failure;
use crate::message::shown;

/// Queues what is missing again; what came of it, in words, unless nothing is missing.
pub(super) fn requeue(
    server: &mut FleetServer,
    name: &str,
    plan: &MergePlan,
) -> Result<Option<String>, Failure> {
    let survey = MergeSurvey::new(plan).map_err(|error| Failure::Stuck(error.into()))?;
    if survey.cut().is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    for missing in survey.missing() {
        let _ = writeln!(text, "missing: {missing}");
    }
    let cut = survey.cut().to_vec();
    let shards = lost_in(server, name, survey, &cut)?;
    if server.tenures(name).map_err(stuck)? != plan.tenures.as_deref().unwrap_or_default() {
        return Err(Failure::Stuck(anyhow::anyhow!(
            "workers of the job {} are still at work: try again when they have ended",
            shown(name)
        )));
    }
    server.requeue(name, &shards, &cut).map_err(stuck)?;
    let urls = shards.iter().map(|shard| shard.urls).sum();
    let _ = writeln!(
        text,
        "{} queued again and nothing merged: `clewline fleet join` fetches them, then merge again",
        figures::plural(urls, "URL")
    );
    Ok(Some(text))
}

/// What queues the URLs that are lost. Histories are read twice, so that one is held at a time.
fn lost_in(
    server: &mut FleetServer,
    name: &str,
    mut survey: MergeSurvey,
    cut: &[CutTenure],
) -> Result<Vec<ShardRequeue>, Failure> {
    let Some(job) = server.job(name).map_err(stuck)? else {
        return Err(Failure::Stuck(anyhow::anyhow!("there is no job `{name}`")));
    };
    let crawl = Crawl::from_config(spec::read(&job.spec)?);
    let ids: BTreeSet<ShardId> = cut.iter().map(|cut| cut.was.shard).collect();
    for shard in &ids {
        let history = server.history(name, *shard).map_err(stuck)?;
        let keys = crawl.settled_in_fleet(&job, &history)?;
        survey
            .settled(keys)
            .map_err(|error| Failure::Stuck(error.into()))?;
    }
    let lost = survey
        .lost()
        .map_err(|error| Failure::Stuck(error.into()))?;
    let mut shards = Vec::new();
    for shard in &ids {
        let history = server.history(name, *shard).map_err(stuck)?;
        shards.push(crawl.requeue_in_fleet(&job, &history, &lost)?);
    }
    Ok(shards)
}
