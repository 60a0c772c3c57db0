//! The verb `diff`: what changed between two crawls.
//!
//! Owns its flags, the crawl of `--live`, where each form goes and what fails a run. It refuses to
//! know how pages are compared; the crate `clewline-diff` does.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use clewline::{AnswerReader, StoredJob};
use clewline_diff::{
    DiffError, DiffForm, DiffHead, DiffKind, DiffOptions, DiffProgress, DiffStage, Difference,
    RedirectForm, UrlMap, compare,
};
use clewline_job::Job;
use clewline_job::previous::IndexedArchive;
use clewline_job::report::figures;
use regex::Regex;

use crate::browser_page::open_page;
use crate::exit::ExitStatus;
use crate::job::resume::{missing, over_stored};
use crate::message::{Colour, Speaker};
use crate::progress::PassingLine;
use crate::settings::layer::Layer;
use crate::settings::problem::Problem;
use crate::{Failure, crawl};

pub(crate) const DIFF_HELP: &str = "\
OLD and NEW are job folders, WARC or WACZ files, or folders of WARC files. Nothing is
fetched without --live, which crawls the roots of OLD now with the settings of OLD.

A failure is not a change: time-outs, 5xx, 429, empty pages and challenges are counted
as unreadable. What differs between any two captures (times, counters, tokens) is
learnt and masked; --show-noise prints it. Equal edits on many pages are one entry.

Examples:
  clewline diff monday.crawl tuesday.crawl
  clewline diff site.crawl --live --fail-on gone
  clewline diff live.crawl staging.crawl --map https://staging.example=https://example.com
  clewline diff old.crawl new.crawl --redirects nginx=moved.conf

Exit codes: 0 compared; 1 what --fail-on names occurred; 2 usage; 3 not compared.";

/// What is compared, and how it is shown.
#[derive(Args)]
pub(crate) struct DiffArguments {
    /// The earlier crawl
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The later one
    #[arg(
        value_name = "NEW",
        required_unless_present = "live",
        conflicts_with = "live"
    )]
    new: Option<PathBuf>,
    /// Crawl the site of OLD now, and compare with that
    #[arg(long)]
    live: bool,
    /// Keep the crawl of --live in this folder
    #[arg(short, long, value_name = "DIR", requires = "live")]
    output: Option<PathBuf>,
    /// Take addresses that begin with FROM for those that begin with TO; repeatable
    #[arg(long, value_name = "FROM=TO")]
    map: Vec<String>,
    /// Leave out elements that this CSS selector matches; repeatable
    #[arg(long, value_name = "CSS")]
    ignore_selector: Vec<String>,
    /// Leave out text that this regular expression matches; repeatable
    #[arg(long, value_name = "REGEX")]
    ignore_text: Vec<String>,
    /// Show what was masked as noise
    #[arg(long)]
    show_noise: bool,
    /// What to print
    #[arg(long, value_name = "FORM", default_value = "text",
          value_parser = ["text", "markdown", "html", "jsonl"])]
    format: String,
    /// Write a form (markdown, html, jsonl, text) to a file as well; repeatable
    #[arg(long, value_name = "FORM=FILE")]
    report: Vec<String>,
    /// Print the map from old addresses to new ones instead, or write it to a file: nginx, netlify
    /// or csv
    #[arg(long, value_name = "FORM[=FILE]")]
    redirects: Vec<String>,
    /// Exit with 1 if there are entries of these kinds: changed, gone, new, moved, status, redirect,
    /// file or any
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    fail_on: Vec<String>,
    /// Open the comparison in a browser
    #[arg(long)]
    open: bool,
}

/// A form, and the file that it goes to; standard output without one.
type FormPlace<F> = (F, Option<PathBuf>);

/// What the flags say, checked before anything is read.
struct DiffPlan {
    options: DiffOptions,
    form: DiffForm,
    reports: Vec<FormPlace<DiffForm>>,
    redirects: Vec<FormPlace<RedirectForm>>,
    fails_on: Vec<DiffKind>,
}

/// Compares: 0 if it did, 1 if what `--fail-on` names occurred.
pub(crate) fn diff(arguments: &DiffArguments) -> Result<ExitStatus, Failure> {
    let plan = DiffPlan::new(arguments).map_err(Failure::Usage)?;
    let old = opened(&arguments.old)?;
    let live = match live(arguments)? {
        Ok(live) => live,
        Err(status) => return Ok(status),
    };
    let new_path = live
        .as_ref()
        .map_or(arguments.new.as_deref(), |live| Some(&live.folder));
    let new_path = new_path.expect("the grammar asks for one of the two");
    let new = opened(new_path)?;
    let reader = AnswerReader::default();
    let found = {
        let mut passing = PassingLine::on_stderr("comparing");
        let mut tell = |progress: DiffProgress| show_progress(&mut passing, progress);
        compare([&old, &new], &reader.reader(), &plan.options, &mut tell)
    };
    let difference = found.map_err(failure)?;
    let names = [
        arguments.old.to_string_lossy(),
        if arguments.live {
            "live".into()
        } else {
            new_path.to_string_lossy()
        },
    ];
    let head = DiffHead {
        names: [&names[0], &names[1]],
        shows_noise: arguments.show_noise,
        in_colour: Colour::Auto.decide(stdout().is_terminal()),
    };
    plan.write(&difference, head)?;
    if arguments.open {
        plan.show(&difference, head)?;
    }
    Ok(plan.status(&difference))
}

impl DiffPlan {
    fn new(arguments: &DiffArguments) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let all = |flag: &'static str, texts: &[String]| Flagged {
            texts: texts.to_vec(),
            flag,
        };
        let maps = all("--map", &arguments.map).parsed(UrlMap::parse, &mut problems);
        let ignored_text = all("--ignore-text", &arguments.ignore_text);
        let ignored_text = ignored_text.parsed(Regex::new, &mut problems);
        let reports = all("--report", &arguments.report).parsed(report_place, &mut problems);
        let redirects =
            all("--redirects", &arguments.redirects).parsed(redirect_place, &mut problems);
        let kinds = all("--fail-on", &arguments.fail_on).parsed(kinds_named, &mut problems);
        let options = DiffOptions {
            maps,
            ignored_elements: arguments.ignore_selector.clone(),
            ignored_text,
            threads: None,
        };
        if let Err(error) = options.validate() {
            problems.push(Problem::new("--ignore-selector", error.to_string()));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            options,
            form: DiffForm::from_name(&arguments.format).unwrap_or_default(),
            reports,
            redirects,
            fails_on: kinds.concat(),
        })
    }

    fn write(&self, difference: &Difference, head: DiffHead<'_>) -> Result<(), Failure> {
        let plain = DiffHead {
            in_colour: false,
            ..head
        };
        for (form, path) in &self.reports {
            to_place(path.as_deref(), |out| form.write(difference, &plain, out))?;
        }
        for (form, path) in &self.redirects {
            to_place(path.as_deref(), |out| form.write(&difference.moves, out))?;
        }
        let is_taken = self.redirects.iter().any(|(_, path)| path.is_none());
        if !is_taken {
            to_place(None, |out| self.form.write(difference, &head, out))?;
        }
        Ok(())
    }

    /// Shows the page that was written, or one that is made for it.
    fn show(&self, difference: &Difference, head: DiffHead<'_>) -> Result<(), Failure> {
        let mut reports = self.reports.iter();
        let page = reports.find(|(form, _)| *form == DiffForm::Html);
        let make = || {
            let mut page = Vec::new();
            DiffForm::Html.write(difference, &head, &mut page)?;
            Ok(page)
        };
        let page = page.and_then(|(_, path)| path.as_deref());
        Ok(open_page(page, make, &Speaker::new(Colour::Auto))?)
    }

    fn status(&self, difference: &Difference) -> ExitStatus {
        let mut entries = difference.entries.iter();
        if entries.any(|entry| self.fails_on.contains(&entry.kind)) {
            return ExitStatus::Threshold;
        }
        ExitStatus::Done
    }
}

/// What was given for a flag.
struct Flagged {
    flag: &'static str,
    texts: Vec<String>,
}

impl Flagged {
    fn parsed<T, E: std::fmt::Display>(
        self,
        parse: impl Fn(&str) -> Result<T, E>,
        problems: &mut Vec<Problem>,
    ) -> Vec<T> {
        let mut parsed = Vec::new();
        for text in &self.texts {
            match parse(text) {
                Ok(value) => parsed.push(value),
                Err(error) => problems.push(Problem::new(self.flag, error.to_string())),
            }
        }
        parsed
    }
}

fn report_place(text: &str) -> Result<FormPlace<DiffForm>, String> {
    let named = text.split_once('=').filter(|(_, file)| !file.is_empty());
    let (name, file) = named.ok_or("is not FORM=FILE, such as html=diff.html")?;
    let forms = DiffForm::ALL.map(DiffForm::name).join(", ");
    let form = DiffForm::from_name(name).ok_or(format!("knows the forms {forms}"))?;
    Ok((form, Some(file.into())))
}

fn redirect_place(text: &str) -> Result<FormPlace<RedirectForm>, String> {
    let (name, file) = match text.split_once('=') {
        Some((name, file)) => (name, Some(file.into())),
        None => (text, None),
    };
    let forms = RedirectForm::ALL.map(RedirectForm::name).join(", ");
    let form = RedirectForm::from_name(name).ok_or(format!("knows the forms {forms}"))?;
    Ok((form, file))
}

fn kinds_named(text: &str) -> Result<Vec<DiffKind>, String> {
    if text == "any" {
        return Ok(DiffKind::ALL.to_vec());
    }
    let found = DiffKind::ALL.into_iter().find(|kind| kind.name() == text);
    let names = DiffKind::ALL.map(DiffKind::name).join(", ");
    found
        .map(|kind| vec![kind])
        .ok_or(format!("knows the kinds {names}, any"))
}

fn opened(path: &Path) -> Result<Job, Failure> {
    Job::open(path).map_err(|error| failure(error.into()))
}

fn failure(error: DiffError) -> Failure {
    match error {
        DiffError::Selector(error) => {
            Failure::Usage(vec![Problem::new("--ignore-selector", error.to_string())])
        }
        other => Failure::Stuck(other.into()),
    }
}

/// The crawl of `--live`; its folder goes away with it unless it has a name.
struct LiveCrawl {
    folder: PathBuf,
    _place: Option<tempfile::TempDir>,
}

/// Crawls the site of the old job now; the exit code if that went wrong.
fn live(arguments: &DiffArguments) -> Result<Result<Option<LiveCrawl>, ExitStatus>, Failure> {
    if !arguments.live {
        return Ok(Ok(None));
    }
    let stored = StoredJob::read(&arguments.old).map_err(Failure::Job)?;
    let mut resolved = over_stored(Layer::default(), &stored.config).map_err(Failure::Usage)?;
    missing(&resolved.config).map_err(Failure::Usage)?;
    let (folder, place) = if let Some(folder) = &arguments.output {
        (folder.clone(), None)
    } else {
        let place = tempfile::tempdir().context("a folder for the crawl")?;
        (place.path().join("live.crawl"), Some(place))
    };
    let output = &mut resolved.config.output;
    output.folder = Some(folder.clone());
    output.overwrite = false;
    output.views.clear();
    output.archive.write = true;
    // What did not change since then need not be sent again.
    output.archive.update_from = IndexedArchive::open(&arguments.old)
        .map(|_| std::path::absolute(&arguments.old))
        .transpose()?;
    Ok(crawl::for_verb(resolved)?.map(|_| {
        Some(LiveCrawl {
            folder,
            _place: place,
        })
    }))
}

fn to_place(
    path: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let Some(path) = path else {
        let mut out = BufWriter::new(stdout().lock());
        write(&mut out)?;
        out.flush()?;
        return Ok(());
    };
    let at = || path.display().to_string();
    let mut out = BufWriter::new(File::create(path).with_context(at)?);
    write(&mut out).with_context(at)?;
    out.flush().with_context(at)?;
    Ok(())
}

fn show_progress(line: &mut PassingLine, progress: DiffProgress) {
    line.show(progress.done, progress.of, || {
        let pages = figures::plural(progress.done, "page");
        match progress.stage {
            DiffStage::Records => format!("{pages} listed"),
            DiffStage::Moves => format!("{pages} that are new or gone"),
            DiffStage::Pages => pages,
        }
    });
}
