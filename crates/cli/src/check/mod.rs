//! The verb `check`: what is wrong with a site.
//!
//! Owns the order of things: what is checked, the crawl of it, the asking of links that lead away, the
//! rules, the forms, the exit code. It refuses to know how any of them works. Invariant: a check that
//! could not be finished is never told as one that found nothing.

mod examine;
pub(crate) mod flags;
mod input;
mod list;
mod local_files;
mod markdown;
mod outputs;
mod plan;
mod probe;
mod site;
mod told;
mod update;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clewline_check::baseline::{Baseline, BaselineError};
use clewline_check::ignores::{CalendarDay, FindingIgnores};
use clewline_check::probe::FailurePatience;
use clewline_check::report::CheckDecisions;
use clewline_check::settings::SourceFolder;
use clewline_check::{CheckFinding, CheckOutcome, CheckReport, rules};
use clewline_job::report::StoppedBy;

use self::examine::ExaminedSite;
use self::flags::CheckArguments;
use self::input::CheckInput;
use self::local_files::ServedFiles;
use self::plan::CheckPlan;
use self::probe::{Asking, ProbeSettings};
use self::site::{CrawledSite, SiteEnd};
use self::watch::CheckWatch;
use crate::exit::ExitStatus;
use crate::message::Speaker;
use crate::resolve::ResolvedSettings;
use crate::settings::binding::SettingValue;
use crate::settings::layer::SettingOrigin;
use crate::settings::problem::Problem;
use crate::settings::{quantity, show};
use crate::{Failure, write_out};

/// URLs of one host that are asked, unless the user says otherwise.
const MOST_PER_HOST: usize = 500;
/// Where a job keeps what foreign hosts answered.
const CACHE: &str = "external.jsonl";

/// Checks what it is given.
pub(crate) fn check(arguments: &CheckArguments) -> Result<ExitStatus, Failure> {
    let usage = |problem: Problem| Failure::Usage(vec![problem]);
    if arguments.rules.list_rules {
        return write_out(&told::list());
    }
    if let Some(rule) = &arguments.rules.explain {
        return write_out(&told::explain(rule).map_err(usage)?);
    }
    let input = CheckInput::from_words(&arguments.inputs).map_err(usage)?;
    let mut layer = arguments.settings.0.clone();
    if let CheckInput::Site(urls) = &input {
        let urls = SettingValue::Texts(urls.clone());
        layer.insert("url", urls, SettingOrigin::Flag);
    }
    let mut resolved = crate::resolved(layer, &arguments.sources)?;
    if arguments.sources.show_config {
        return write_out(&show::show(&resolved));
    }
    let file = crate::configuration_text(&arguments.sources);
    let plan = CheckPlan::new(arguments, file).map_err(Failure::Usage)?;
    let patience = patience(arguments).map_err(usage)?;
    site::prepare(&mut resolved);
    let watch = CheckWatch::begin(resolved.options)?;
    if !watch.is_quiet() {
        watch.voice().say(&input.told());
        for note in &resolved.notes {
            watch.voice().note(note);
        }
    }
    let run = CheckRun {
        arguments,
        began: Instant::now(),
        resolved,
        plan,
        patience,
        watch,
    };
    run.finish(&input)
}

/// One run of the verb.
struct CheckRun<'a> {
    arguments: &'a CheckArguments,
    began: Instant,
    resolved: ResolvedSettings,
    plan: CheckPlan,
    patience: FailurePatience,
    watch: CheckWatch,
}

/// What was checked, before anybody judged it.
struct Checked {
    findings: Vec<CheckFinding>,
    facts: clewline_check::report::CheckFacts,
    site: Option<ExaminedSite>,
    /// The job folder that keeps the findings.
    keeps: Option<PathBuf>,
    crawled: Option<CrawledSite>,
}

impl CheckRun<'_> {
    fn finish(mut self, input: &CheckInput) -> Result<ExitStatus, Failure> {
        let mut served = None;
        let checked = match input {
            CheckInput::List => self.check_list()?,
            CheckInput::Captured(path) => self.check_captured(path)?,
            CheckInput::Site(_) => match self.check_site()? {
                Ok(checked) => checked,
                Err(status) => return Ok(self.ended(status)),
            },
            CheckInput::BuiltSite(folder) => {
                let files = served.insert(ServedFiles::built_site(folder)?);
                match self.check_files(files)? {
                    Ok(checked) => checked,
                    Err(status) => return Ok(self.ended(status)),
                }
            }
            CheckInput::Documents(paths) => {
                let files = served.insert(ServedFiles::documents(paths)?);
                match self.check_files(files)? {
                    Ok(checked) => checked,
                    Err(status) => return Ok(self.ended(status)),
                }
            }
        };
        self.tell(checked)
    }

    fn ended(self, status: ExitStatus) -> ExitStatus {
        self.watch.finish();
        status
    }

    /// Says what was found, and how the command ends.
    fn tell(self, checked: Checked) -> Result<ExitStatus, Failure> {
        let Checked {
            findings,
            mut facts,
            site,
            keeps,
            crawled,
        } = checked;
        facts.subject = self.arguments.inputs.join(" ");
        let is_stopped = self.watch.is_stopped();
        if is_stopped {
            facts
                .unfinished
                .push("the check was interrupted".to_owned());
        }
        if let Some(StoppedBy::Budget(flag)) = crawled.as_ref().map(|site| &site.stopped_by) {
            facts.remarks.push(format!(
                "{flag} ended the crawl before all of the site was seen"
            ));
        }
        let (known, is_new) = self.baseline()?;
        let today = CalendarDay::from_moment(probe::now());
        let decisions = CheckDecisions {
            severities: self.plan.severities.clone(),
            ignores: FindingIgnores::new(self.plan.settings.ignore.clone(), today),
            baseline: known
                .clone()
                .filter(|_| !is_new)
                .map(|known| (known, today)),
            fail_on: self.plan.settings.fail_on.unwrap_or_default(),
        };
        let mut report = CheckReport::new(facts, rules::all(), findings, decisions);
        let sources = &self.plan.settings.source;
        report.name_files(&|page| {
            let mut files = sources
                .iter()
                .filter_map(|source| source.locate(page, &|path| path.is_file()));
            files.next().map(|path| path.to_string_lossy().into_owned())
        });
        if self.plan.updates_baseline
            && let Some(path) = &self.plan.settings.baseline
        {
            write_baseline(path, &report, known.as_ref())?;
        }
        let options = self.resolved.options;
        self.watch.finish();
        let table = site.as_ref().map(|site| &site.site);
        outputs::tell(&report, &self.plan, table, keeps.as_deref(), options)?;
        Ok(if is_stopped {
            ExitStatus::Interrupted
        } else {
            match report.outcome() {
                CheckOutcome::Passed => ExitStatus::Done,
                CheckOutcome::Failed | CheckOutcome::Unfinished => ExitStatus::Threshold,
            }
        })
    }

    /// The findings that are known, and whether that file is about to be written for the first time.
    fn baseline(&self) -> anyhow::Result<(Option<Baseline>, bool)> {
        let Some(path) = &self.plan.settings.baseline else {
            return Ok((None, false));
        };
        match Baseline::open(path) {
            Ok(known) => Ok((Some(known), false)),
            Err(BaselineError::Unreadable(_, error))
                if self.plan.updates_baseline && error.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok((None, true))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn check_list(&self) -> anyhow::Result<Checked> {
        let wishes = list::read(std::io::stdin().lock())?;
        let settings = self.probe_settings(None);
        let probed = probe::probe(&wishes, &self.resolved.config, &settings, &self.watch)?;
        let (findings, facts) = list::told(&wishes, &probed, &self.plan)?;
        Ok(Checked {
            findings,
            facts,
            site: None,
            keeps: None,
            crawled: None,
        })
    }

    /// What was captured is not asked again; external links only if that is said.
    fn check_captured(&self, path: &Path) -> anyhow::Result<Checked> {
        let mut settings = self.probe_settings(Some(path));
        if self.plan.settings.external.is_none() {
            settings.asking = Asking::FromMemory;
        }
        let is_complete = clewline_job::JobFile::read(path)
            .is_ok_and(|job| job.standing == clewline_job::JobStanding::Finished);
        let site = examine::examine(
            path,
            &self.resolved.config,
            &self.plan,
            &settings,
            (&self.watch, is_complete),
        )?;
        let keeps = outputs::keeps_findings(path) && !self.arguments.findings.no_output;
        Ok(Checked::new(site, keeps.then(|| path.to_owned()), None))
    }

    fn check_site(&self) -> anyhow::Result<Result<Checked, ExitStatus>> {
        let config = self.resolved.config.clone();
        let speaker = Speaker::new(self.resolved.options.colour);
        let output = self.arguments.findings.output.clone();
        let ended = match (self.arguments.findings.no_output, output) {
            (true, _) => site::crawl_fleeting(config, &self.watch, &speaker)?,
            (false, output) => {
                let path = output.or_else(|| config.output.folder.clone());
                let path = path.context("a job has a folder")?;
                site::crawl_kept(config, &path, &self.watch, &speaker)?
            }
        };
        self.examined(ended)
    }

    /// Files are crawled into a folder that goes away, unless somebody names one.
    fn check_files(&mut self, files: &ServedFiles) -> anyhow::Result<Result<Checked, ExitStatus>> {
        let (url, folder) = files.source();
        self.plan.settings.source.push(SourceFolder { url, folder });
        let mut config = self.resolved.config.clone();
        files.lead(&mut config)?;
        let speaker = Speaker::new(self.resolved.options.colour);
        let ended = match self.arguments.findings.output.clone() {
            Some(path) => site::crawl_kept(config, &path, &self.watch, &speaker)?,
            None => site::crawl_fleeting(config, &self.watch, &speaker)?,
        };
        self.examined(ended)
    }

    fn examined(&self, ended: SiteEnd) -> anyhow::Result<Result<Checked, ExitStatus>> {
        let crawled = match ended {
            SiteEnd::Crawled(crawled) => crawled,
            SiteEnd::Failed(status) => return Ok(Err(status)),
        };
        let keeps = (!crawled.is_fleeting()).then(|| crawled.job.clone());
        let settings = self.probe_settings(keeps.as_deref());
        let is_complete = crawled.stopped_by == StoppedBy::Finished;
        let site = examine::examine(
            &crawled.job,
            &self.resolved.config,
            &self.plan,
            &settings,
            (&self.watch, is_complete),
        )?;
        Ok(Ok(Checked::new(site, keeps, Some(crawled))))
    }

    /// How external links are asked; `job` is the folder that remembers them.
    fn probe_settings(&self, job: Option<&Path>) -> ProbeSettings {
        let external = &self.arguments.external;
        let limit = self.resolved.config.limits.time;
        let job = job.filter(|job| job.is_dir());
        let kept = job.map(|job| job.join(update::FOLDER).join(CACHE));
        ProbeSettings {
            asking: match self.plan.settings.external {
                Some(false) => Asking::Nobody,
                Some(true) | None => Asking::Anew,
            },
            most_per_host: external.max_external_per_host.unwrap_or(MOST_PER_HOST),
            until: limit.map(|time| self.began + time),
            patience: self.patience,
            accept: self.plan.settings.accept.clone(),
            cache: self.plan.settings.cache.clone().or(kept),
        }
    }
}

impl Checked {
    fn new(mut site: ExaminedSite, keeps: Option<PathBuf>, crawled: Option<CrawledSite>) -> Self {
        Self {
            findings: std::mem::take(&mut site.findings),
            facts: std::mem::take(&mut site.facts),
            site: Some(site),
            keeps,
            crawled,
        }
    }
}

/// How long a link may fail before it is broken.
fn patience(arguments: &CheckArguments) -> Result<FailurePatience, Problem> {
    let external = &arguments.external;
    let mut patience = FailurePatience::default();
    if let Some(runs) = external.unsure_runs {
        patience.runs = runs;
    }
    if let Some(text) = &external.unsure_for {
        patience.span = quantity::period(text)
            .ok_or_else(|| Problem::new("--unsure-for", "is no time; write 12h or 3d"))?;
    }
    Ok(patience)
}

fn write_baseline(
    path: &Path,
    report: &CheckReport,
    before: Option<&Baseline>,
) -> anyhow::Result<()> {
    let findings = report.findings.iter().map(|one| &one.finding);
    let mut next = Baseline::from_findings(findings, before);
    if let Some(before) = before {
        let is_judged = |id: &str| report.rules.iter().any(|(rule, _)| rule.id == id);
        next.keep_unjudged(before, &is_judged);
    }
    next.write(path)
        .with_context(|| format!("{} cannot be written", path.display()))
}
