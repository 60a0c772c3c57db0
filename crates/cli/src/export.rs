//! The verb `export`: a crawl in another form.
//!
//! Owns the list of forms and what is said of them. It refuses to know how a form is made; the
//! crates `clewline-archive` (forms for viewers) and `clewline-export` (data) do.

use std::cell::RefCell;
use std::io::{BufWriter, stdout};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use clewline_archive::{Archive, ExistingOutput, mirror, wacz};
use clewline_export::{self as data, ExportError, Exported, Filter, Fold, Options, Output};
use clewline_job::report::figures;

use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};
use crate::progress::PassingLine;
use crate::progress::render::amount;
use crate::settings::problem::Problem;
use crate::{Failure, job, views};

/// What stands for standard output.
const STREAM: &str = "-";

pub(crate) const EXPORT_HELP: &str = "\
Filters:
  --where status=200 --where 'type~^text/'    all of them must hold
  Fields: status, depth, host, type, url, outcome, fetched; since, after, before
  Operators: = != < <= > >= and, with a regular expression, ~ !~

Output appears under its name only when it is complete. Pages that are the same under
several URLs are written once to markdown, text and sitemap; tables name them in
duplicate_of.

Exit codes: 0 done; 1 something could not be read (it is listed); 2 usage; 3 not exported.";

/// Forms of a crawl: as data, or for viewers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Data(data::Form),
    Mirror,
    Wacz,
}

impl ValueEnum for Form {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Form>> = LazyLock::new(|| {
            let data = data::Form::ALL.map(Form::Data).into_iter();
            data.chain([Form::Mirror, Form::Wacz]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = match self {
            Self::Data(form) => (form.name(), form.about()),
            Self::Mirror => (
                "mirror",
                "A local copy to open in a browser, with links between the files",
            ),
            Self::Wacz => (
                "wacz",
                "One file for replayweb.page, pywb and other viewers",
            ),
        };
        Some(PossibleValue::new(name).help(about))
    }
}

/// What to export, and where to.
#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The folder of a crawl; for mirror and wacz also WARC and WACZ files and folders of them
    #[arg(value_name = "DIR")]
    paths: Vec<PathBuf>,
    /// The form
    #[arg(long = "to", value_name = "FORM")]
    form: Form,
    /// The folder or file to write; `-` is standard output, for forms that are one text
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Only export URLs that match this filter; repeatable
    #[arg(long = "where", value_name = "FILTER")]
    filters: Vec<String>,
    /// Keep pages that are the same under several URLs
    #[arg(long)]
    no_fold: bool,
    /// Extract items with the rules in this file, for jsonl and parquet
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// For chunks: only what came and went since the crawl that --update-from named
    #[arg(long)]
    delta: bool,
    /// Replace an existing file or folder
    #[arg(long)]
    overwrite: bool,
}

/// Exports: 0 if all was exported, 1 if something could not be read.
pub(crate) fn export(arguments: &ExportArguments) -> Result<ExitStatus, Failure> {
    let existing = if arguments.overwrite {
        ExistingOutput::Replace
    } else {
        ExistingOutput::Keep
    };
    match arguments.form {
        Form::Data(form) => export_data(arguments, form, existing),
        Form::Mirror | Form::Wacz => export_archive(arguments, existing),
    }
}

fn export_data(
    arguments: &ExportArguments,
    form: data::Form,
    existing: ExistingOutput,
) -> Result<ExitStatus, Failure> {
    if arguments.delta && form != data::Form::Chunks {
        let problem = Problem::new("--delta", format!("means nothing to {form}"));
        return Err(Failure::Usage(vec![problem.with_hint("--to chunks")]));
    }
    let options = options(arguments).map_err(|problem| Failure::Usage(vec![problem]))?;
    let named = match arguments.paths.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        _ => {
            let problem = Problem::new("DIR", "is one folder of a crawl for this form");
            return Err(Failure::Usage(vec![problem]));
        }
    };
    let folder = job::folder(named)?;
    let line = PassingLine::on_stderr(&format!("exporting {form}"));
    let mut tell = event_printer(line);
    let done = if arguments.output == Path::new(STREAM) {
        let mut out = BufWriter::new(stdout().lock());
        data::export(&folder, form, Output::Stream(&mut out), &options, &mut tell)
    } else {
        let output = Output::Path(&arguments.output, existing);
        data::export(&folder, form, output, &options, &mut tell)
    };
    // What is said from here on begins on a clean line.
    drop(tell);
    let done = done.map_err(failure)?;
    let speaker = Speaker::new(Colour::Auto);
    for complaint in &done.complaints {
        speaker.note(&shown(complaint));
    }
    speaker.note(&told(form, &done));
    Ok(if done.unreadable > 0 {
        ExitStatus::Threshold
    } else {
        ExitStatus::Done
    })
}

fn options(arguments: &ExportArguments) -> Result<Options, Problem> {
    let mut options = Options {
        fold: if arguments.no_fold {
            Fold::Apart
        } else {
            Fold::Together
        },
        delta: arguments.delta,
        ..Options::default()
    };
    for filter in &arguments.filters {
        let filter = Filter::parse(filter);
        let filter = filter.map_err(|error| Problem::new("--where", error.to_string()))?;
        options.filters.push(filter);
    }
    if let Some(path) = &arguments.rules {
        let rules = views::rules_in(path);
        let rules = rules.map_err(|error| Problem::new("--rules", format!("{error:#}")))?;
        options.rules = Some(rules.into());
    }
    Ok(options)
}

/// What an error of an export means for the command.
pub(crate) fn failure(error: ExportError) -> Failure {
    match error {
        ExportError::Job(error) => Failure::Job(error.into()),
        error @ ExportError::NoEarlier(_) => {
            Failure::Usage(vec![Problem::new("--delta", error.to_string())])
        }
        ExportError::Occupied(_) | ExportError::Foreign(_) | ExportError::NotAStream(_) => {
            let problem = Problem::new("--output", error.to_string());
            Failure::Usage(vec![problem])
        }
        other => Failure::Stuck(other.into()),
    }
}

/// What came of an export, in a line.
pub(crate) fn told(form: data::Form, done: &Exported) -> String {
    let what = match form {
        data::Form::Chunks => "chunk",
        _ => "page",
    };
    let mut parts = vec![format!("{form}: {}", figures::plural(done.rows, what))];
    let mut part = |count: u64, what: &str| {
        if count > 0 {
            parts.push(format!("{} {what}", figures::count(count)));
        }
    };
    let ending = |count: u64| if count == 1 { "" } else { "s" };
    part(done.links, &format!("link{}", ending(done.links)));
    part(done.items, &format!("item{}", ending(done.items)));
    let missing = format!("required field{} of items missing", ending(done.missing));
    part(done.missing, &missing);
    part(done.duplicates, "under another URL as well");
    if let Some(near) = done.near {
        part(near.pages, "nearly the same as another one");
    }
    part(done.unreadable, "could not be read");
    parts.join(", ")
}

/// Shows a terminal how far an export is; others see the end only.
pub(crate) fn event_printer(mut line: PassingLine) -> impl FnMut(data::ExportProgress) {
    move |progress| {
        line.show(progress.read, Some(progress.length), || {
            let pages = figures::plural(progress.rows, "page");
            match progress.part {
                data::Part::Links => format!("{pages}, links"),
                _ => pages,
            }
        });
    }
}

/// What a mirror and a WACZ cannot do.
fn refuse_what_is_for_pages(arguments: &ExportArguments) -> Result<(), Failure> {
    let mut problems = Vec::new();
    for (flag, is_given) in [
        ("--where", !arguments.filters.is_empty()),
        ("--no-fold", arguments.no_fold),
        ("--rules", arguments.rules.is_some()),
        ("--delta", arguments.delta),
    ] {
        if is_given {
            let message = "means nothing to mirror and wacz, which hold all of an archive";
            problems.push(Problem::new(flag, message));
        }
    }
    if arguments.output == Path::new(STREAM) {
        let message = "`-` is standard output, and mirror and wacz cannot be written to a stream";
        let problem = Problem::new("--output", message);
        problems.push(problem.with_hint("name a folder for mirror, or a file for wacz, with -o"));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Failure::Usage(problems))
    }
}

fn export_archive(
    arguments: &ExportArguments,
    existing: ExistingOutput,
) -> Result<ExitStatus, Failure> {
    refuse_what_is_for_pages(arguments)?;
    let here = [PathBuf::from(".")];
    let paths = match arguments.paths.as_slice() {
        [] => &here[..],
        paths => paths,
    };
    let archive = Archive::open(paths)?;
    let speaker = Speaker::new(Colour::Auto);
    let mut has_complaints = false;
    let line = RefCell::new(PassingLine::on_stderr("exporting"));
    let mut complain = |text: &str| {
        has_complaints = true;
        line.borrow_mut().clear();
        speaker.note(&shown(text));
    };
    archive.complaints().iter().for_each(|text| complain(text));
    let output = &arguments.output;
    let summary = if arguments.form == Form::Mirror {
        let mut tell = |files: u64| {
            let mut line = line.borrow_mut();
            line.show(files, None, || figures::plural(files, "file"));
        };
        let counts = mirror::export(&archive, output, existing, &mut complain, &mut tell)?;
        let files = figures::plural(counts.files, "file");
        format!("{files}; open {}", counts.entry.display())
    } else {
        let mut tell = |done: u64, of: u64| {
            let mut line = line.borrow_mut();
            line.show(done, Some(of), || amount(done as f64));
        };
        let counts = wacz::export(&archive, output, existing, &mut tell)?;
        let captures = figures::plural(counts.captures, "capture");
        format!("{captures}, {}", figures::plural(counts.pages, "page"))
    };
    drop(line);
    speaker.note(&shown(&summary));
    Ok(if has_complaints {
        ExitStatus::Threshold
    } else {
        ExitStatus::Done
    })
}
