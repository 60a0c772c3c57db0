//! What the user wants of a check: flags over `[check]` of the file over what other checkers left.
//!
//! Owns the order of the sources and everything that is wrong with them, told at once. It refuses to
//! know how a site is crawled. Invariant: after this step nobody looks at texts again.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clewline_check::forms::CheckForm;
use clewline_check::rules;
use clewline_check::settings::{
    CheckProblem, FragmentReach, LycheeSettings, RuleSeverities, lychee_ignore,
};
use clewline_check::{CheckRule, CheckSettings};
use clewline_core::url::CrawlUrl;

use super::flags::{CheckArguments, FindingFlags};
use crate::settings::problem::Problem;

/// The files of lychee that are read from the current folder.
const LYCHEE: &str = "lychee.toml";
const LYCHEE_IGNORE: &str = ".lycheeignore";
/// The rules about fragments, of the site and of others.
const FRAGMENTS: &str = "links/fragment";

/// What the user wants.
#[derive(Debug)]
pub(crate) struct CheckPlan {
    pub(crate) settings: CheckSettings,
    pub(crate) severities: RuleSeverities,
    pub(crate) form: CheckForm,
    pub(crate) reports: Vec<(CheckForm, PathBuf)>,
    /// What the user should know, such as keys that were passed over.
    pub(crate) remarks: Vec<String>,
    pub(crate) updates_baseline: bool,
    pub(crate) location: Option<String>,
    /// The report is opened in a browser.
    pub(crate) opens: bool,
}

impl CheckPlan {
    /// Combines the sources. `file` is the name and text of the configuration file.
    pub(crate) fn new(
        arguments: &CheckArguments,
        file: Option<(String, String)>,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut remarks = Vec::new();
        let flags = from_flags(arguments, &mut problems);
        let from_file = file.map(|(name, text)| CheckSettings::from_toml(&name, &text));
        let from_file = taken(from_file, &mut problems);
        let others = from_lychee(&mut remarks, &mut problems);
        let settings = flags.over(from_file).over(others);
        let severities = RuleSeverities::new(&settings, rules::all());
        let severities = taken(Some(severities), &mut problems);
        let form = match &arguments.findings.format {
            Some(text) => one(text, "--format", &mut problems),
            None => CheckForm::Text,
        };
        let reports = reports(&arguments.findings, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            settings,
            severities,
            form,
            reports,
            remarks,
            updates_baseline: arguments.findings.update_baseline,
            location: arguments
                .findings
                .location
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            opens: arguments.findings.open,
        })
    }

    /// Whether findings of a rule are wanted at all, beyond its severity.
    pub(crate) fn wants(&self, rule: &CheckRule) -> bool {
        match self.settings.fragments.unwrap_or_default() {
            FragmentReach::All => true,
            FragmentReach::Internal => rule.id != "links/fragment-external",
            FragmentReach::None => !rule.id.starts_with(FRAGMENTS),
        }
    }

    /// Whether ids of foreign pages are looked for.
    pub(crate) fn wants_foreign_ids(&self) -> bool {
        self.settings.fragments.unwrap_or_default() == FragmentReach::All
    }

    /// The URL that stands for another one, if there is one.
    pub(crate) fn remapped(&self, url: &CrawlUrl) -> Option<CrawlUrl> {
        let mut remaps = self.settings.remap.iter();
        remaps.find_map(|remap| {
            let other = remap.apply(url.as_str());
            let is_other = other != url.as_str();
            is_other.then(|| CrawlUrl::parse(&other).ok()).flatten()
        })
    }

    /// Whether an external link is asked, by the patterns.
    pub(crate) fn asks(&self, url: &str) -> bool {
        let settings = &self.settings;
        let is_included =
            settings.include.is_empty() || settings.include.iter().any(|one| one.is_in(url));
        is_included && !settings.exclude.iter().any(|one| one.is_in(url))
    }
}

fn from_flags(arguments: &CheckArguments, problems: &mut Vec<Problem>) -> CheckSettings {
    let (asked, external) = (&arguments.rules, &arguments.external);
    let findings = &arguments.findings;
    let fragments = asked.fragments.as_deref().map(|word| match word {
        "internal" => FragmentReach::Internal,
        "none" => FragmentReach::None,
        _ => FragmentReach::All,
    });
    let wants_external = match (external.external, external.no_external) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let fail_on = findings.fail_on.as_deref().and_then(|text| {
        let parsed = text.parse();
        parsed
            .map_err(|error| problems.push(refused("--fail-on", &error)))
            .ok()
    });
    CheckSettings {
        only: many(&asked.only, "--only", problems),
        skip: many(&asked.skip, "--skip", problems),
        external: wants_external,
        fragments,
        cache: external.cache.clone(),
        baseline: findings.baseline.clone(),
        remap: many(&findings.remap, "--remap", problems),
        source: many(&findings.source, "--source", problems),
        fail_on,
        min_pages: findings.min_pages,
        ..CheckSettings::default()
    }
}

fn many<T: FromStr<Err: ToString>>(
    texts: &[String],
    flag: &str,
    problems: &mut Vec<Problem>,
) -> Vec<T> {
    let mut parsed = Vec::new();
    for text in texts {
        match text.parse() {
            Ok(value) => parsed.push(value),
            Err(error) => problems.push(refused(flag, &error)),
        }
    }
    parsed
}

fn one<T: FromStr<Err: ToString> + Default>(
    text: &str,
    flag: &str,
    problems: &mut Vec<Problem>,
) -> T {
    text.parse().unwrap_or_else(|error| {
        problems.push(refused(flag, &error));
        T::default()
    })
}

fn refused(flag: &str, error: &impl ToString) -> Problem {
    Problem::new(flag, error.to_string())
}

fn taken<T: Default>(read: Option<Result<T, Vec<CheckProblem>>>, problems: &mut Vec<Problem>) -> T {
    match read {
        Some(Ok(value)) => value,
        Some(Err(wrong)) => {
            let told = wrong
                .into_iter()
                .map(|one| Problem::new(one.place, one.message));
            problems.extend(told);
            T::default()
        }
        None => T::default(),
    }
}

/// What lychee is told in this folder; keys that mean nothing here are named.
fn from_lychee(remarks: &mut Vec<String>, problems: &mut Vec<Problem>) -> CheckSettings {
    let text = |name: &str| fs::read_to_string(Path::new(name)).ok();
    let read = text(LYCHEE).map(|text| LycheeSettings::from_toml(LYCHEE, &text));
    let lychee = taken(read, problems);
    let passed_over = lychee.passed_over.iter();
    remarks.extend(passed_over.map(|key| format!("{LYCHEE}: {key}")));
    let ignored = text(LYCHEE_IGNORE).map(|text| lychee_ignore(LYCHEE_IGNORE, &text));
    let mut settings = lychee.check;
    settings.exclude.extend(taken(ignored, problems));
    settings
}

fn reports(flags: &FindingFlags, problems: &mut Vec<Problem>) -> Vec<(CheckForm, PathBuf)> {
    let mut reports = Vec::new();
    for text in &flags.report {
        match text.split_once('=') {
            Some((form, path)) if !path.is_empty() => {
                reports.push((one(form, "--report", problems), PathBuf::from(path)));
            }
            _ => {
                let message = "is a form and a file: write sarif=check.sarif";
                problems.push(Problem::new("--report", message));
            }
        }
    }
    reports
}
