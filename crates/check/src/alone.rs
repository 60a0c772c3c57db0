//! A job, checked by what it holds.
//!
//! Owns a check without settings in which nobody is asked: the rules as they are, and links to other
//! sites unchecked. It refuses to know who wants it. Invariant: nothing leaves the machine.

use std::io;
use std::num::NonZero;
use std::path::Path;

use clewline_job::Job;
use clewline_job::pages::PagesError;
use clewline_job::rebuild::ReadAnswer;

use crate::ProbeTable;
use crate::facts::{GatherOptions, gather};
use crate::report::{CheckDecisions, CheckFacts, CheckReport};
use crate::rules::{self, JudgeOptions, own_verdict};
use crate::settings::{AcceptedStatus, CheckSettings, RuleSeverities};
use crate::site::{RowFlags, SiteTable};

/// Checks a job. `is_complete` says that its crawl came to its end; `threads` is how many read pages,
/// as many as there are cores if nothing is said.
pub fn check_alone(
    job: &Job,
    read_answer: &ReadAnswer<'_>,
    is_complete: bool,
    threads: Option<NonZero<usize>>,
) -> Result<CheckReport, PagesError> {
    let options = GatherOptions {
        threads,
        read_answer: Some(read_answer),
    };
    let gathered = gather(job, &options, &mut |_| {})?;
    let options = JudgeOptions {
        is_complete,
        accept: Vec::new(),
    };
    let asked = ProbeTable::default();
    let at = at(job.path());
    let findings = rules::judge(&gathered.site, &asked, &options).map_err(&at)?;
    let mut facts = CheckFacts::from_site(&gathered.site, &asked, &options.accept).map_err(&at)?;
    facts.remarks.extend(gathered.damage);
    if !is_complete {
        let why = "the crawl has not come to its end";
        facts.unfinished.push(why.to_owned());
    }
    let rules = rules::all();
    let severities = RuleSeverities::new(&CheckSettings::default(), rules);
    let decisions = CheckDecisions {
        severities: severities.expect("no settings name no unknown rule"),
        ..CheckDecisions::default()
    };
    Ok(CheckReport::new(facts, rules, findings, decisions))
}

impl CheckFacts {
    /// What the URLs of a site say of it, before links to other sites are counted.
    pub fn from_site(
        site: &SiteTable,
        asked: &ProbeTable,
        accept: &[AcceptedStatus],
    ) -> io::Result<Self> {
        let mut facts = Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            urls: site.rows().len() as u64,
            hosts: site.hosts().len() as u64,
            min_pages: 1,
            ..Self::default()
        };
        for row in site.rows() {
            let own = own_verdict(site, asked, accept, row.key)?;
            *facts.verdicts.entry(own.verdict).or_default() += 1;
            facts.pages += u64::from(row.is_good() && row.is(RowFlags::HTML));
            if let Some(reason) = row.skipped {
                *facts.skipped.entry(reason.about().to_owned()).or_default() += 1;
            }
        }
        Ok(facts)
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> PagesError {
    let path = path.to_owned();
    move |source| PagesError::Io {
        path: path.clone(),
        source,
    }
}
