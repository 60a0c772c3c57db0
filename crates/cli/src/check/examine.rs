//! A job, examined: facts, foreign links, rules, places.
//!
//! Owns the order of these and what is told of a check beside its findings. It refuses to crawl the site
//! and to know forms. Invariant: of equal jobs and equal answers equal findings are told.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::Context as _;
use clewline::AnswerReader;
use clewline_check::facts::{Fragment, GatherOptions, gather, locate};
use clewline_check::report::CheckFacts;
use clewline_check::rules::{self, JudgeOptions};
use clewline_check::settings::AcceptedStatus;
use clewline_check::site::SiteTable;
use clewline_check::verdict::{LinkAnswer, judge_answer};
use clewline_check::{CheckFinding, CheckVerdict, FindingPlace, ProbeRow};
use clewline_core::url::CrawlUrl;
use clewline_job::Job;
use clewline_job::config::Config;
use xxhash_rust::xxh3::xxh3_64;

use super::plan::CheckPlan;
use super::probe::{self, ProbeSettings, ProbeWish, ProbeWishes, Probes};
use super::watch::CheckWatch;

/// What a job was found to be.
pub(crate) struct ExaminedSite {
    pub(crate) site: SiteTable,
    pub(crate) findings: Vec<CheckFinding>,
    pub(crate) facts: CheckFacts,
}

/// Examines a job. `is_complete` says that the crawl came to its end.
pub(crate) fn examine(
    path: &Path,
    config: &Config,
    plan: &CheckPlan,
    probes: &ProbeSettings,
    (watch, is_complete): (&CheckWatch, bool),
) -> anyhow::Result<ExaminedSite> {
    let job = Job::open(path)?;
    let answers = AnswerReader::default();
    let read_answer = answers.reader();
    let options = GatherOptions {
        read_answer: Some(&read_answer),
        ..GatherOptions::default()
    };
    let gathered = gather(&job, &options, &mut |_| {})?;
    let site = gathered.site;
    let links =
        ExternalLinks::from_site(&site, plan, probes).context("the facts cannot be read")?;
    let mut asked = probe::probe(&links.wishes, config, probes, watch)?;
    asked.unchecked += links.counted.len();
    for (url, other) in links.stand_ins {
        let known = asked.table.row(&other).cloned();
        let own = || own_row(&site, &other, plan);
        if let Some(row) = known.map_or_else(own, |row| Ok(Some(row)))? {
            asked.table.insert(url, row);
        }
    }
    let options = JudgeOptions {
        is_complete,
        accept: plan.settings.accept.clone(),
    };
    let mut findings =
        rules::judge(&site, &asked.table, &options).context("the facts cannot be read")?;
    findings
        .retain(|finding| plan.wants(finding.rule) && plan.severities.of(finding.rule).is_some());
    place(&job, &site, &mut findings)?;
    let mut facts =
        facts_of(&site, &asked, &plan.settings.accept).context("the facts cannot be read")?;
    facts.external = (links.wishes.len() + links.counted.len()) as u64;
    facts.min_pages = plan.settings.min_pages.unwrap_or(1);
    facts.remarks.clone_from(&plan.remarks);
    facts.remarks.extend(gathered.damage);
    Ok(ExaminedSite {
        site,
        findings,
        facts,
    })
}

/// URLs as they stand in pages, and those that stand for them.
type StandIns = BTreeMap<CrawlUrl, CrawlUrl>;

/// Every external link of the site, once.
#[derive(Default)]
struct ExternalLinks {
    /// With the ids that are wanted there.
    wishes: ProbeWishes,
    stand_ins: StandIns,
    /// The hashes of those of which nothing can be known: a large site has very many.
    counted: HashSet<u64>,
}

impl ExternalLinks {
    fn from_site(
        site: &SiteTable,
        plan: &CheckPlan,
        probes: &ProbeSettings,
    ) -> std::io::Result<Self> {
        let mut links = Self::default();
        let may_know = probes.may_know();
        site.foreign(|mut url, fragment| {
            if !plan.asks(url.as_str()) {
                return;
            }
            if let Some(other) = plan.remapped(&url) {
                let is_own = site.is_own(&other);
                links.stand_ins.insert(url, other.clone());
                if is_own {
                    return;
                }
                url = other;
            }
            if may_know {
                links.wish(url, fragment.as_ref().filter(|_| plan.wants_foreign_ids()));
            } else {
                links.counted.insert(xxh3_64(url.as_str().as_bytes()));
            }
        })?;
        Ok(links)
    }

    fn wish(&mut self, url: CrawlUrl, fragment: Option<&Fragment>) {
        let key = url.as_str().to_owned();
        let new = || (url, ProbeWish::default());
        let (_, wish) = self.wishes.entry(key).or_insert_with(new);
        if let Some(Fragment::Id(written, decoded)) = fragment {
            wish.ids.insert(*written);
            wish.ids.insert(*decoded);
        }
    }
}

/// What the crawl says of a URL of the site that stands for one elsewhere.
fn own_row(
    site: &SiteTable,
    url: &CrawlUrl,
    plan: &CheckPlan,
) -> std::io::Result<Option<ProbeRow>> {
    let Some(row) = site.row_of(url) else {
        return Ok(None);
    };
    let Some(record) = site.record(row.key)? else {
        return Ok(None);
    };
    let judged = judge_answer(&LinkAnswer::from_record(&record), &plan.settings.accept);
    let once = ProbeRow::new(judged, record.status, Vec::new());
    // The crawl made all its tries; that counts as having asked again.
    Ok(Some(once.clone().asked_again(once)))
}

/// Reads the few pages with findings again, for lines and words.
fn place(job: &Job, site: &SiteTable, findings: &mut [CheckFinding]) -> anyhow::Result<()> {
    let mut by_page: BTreeMap<CrawlUrl, Vec<usize>> = BTreeMap::new();
    for (number, finding) in findings.iter().enumerate() {
        if finding.place.is_some() {
            by_page
                .entry(finding.page.clone())
                .or_default()
                .push(number);
        }
    }
    if by_page.is_empty() {
        return Ok(());
    }
    let reader = job.reader()?;
    for (page, numbers) in by_page {
        let Some(row) = site.row_of(&page) else {
            continue;
        };
        let Some(record) = site.record(row.key)? else {
            continue;
        };
        let mut places: Vec<FindingPlace> = numbers
            .iter()
            .filter_map(|number| findings[*number].place.clone())
            .collect();
        // A page that cannot be read any more keeps its findings, without their lines.
        if locate(&reader, &record, &mut places).is_ok() {
            for (number, found) in numbers.into_iter().zip(places) {
                findings[number].place = Some(found);
            }
        }
    }
    Ok(())
}

fn facts_of(
    site: &SiteTable,
    probed: &Probes,
    accept: &[AcceptedStatus],
) -> std::io::Result<CheckFacts> {
    let mut facts = CheckFacts::from_site(site, &probed.table, accept)?;
    let mut count = |verdict: CheckVerdict, number: u64| {
        *facts.verdicts.entry(verdict).or_default() += number;
    };
    for (_, row) in probed.table.rows() {
        count(row.verdict(), 1);
    }
    count(CheckVerdict::Unchecked, probed.unchecked as u64);
    Ok(facts)
}
