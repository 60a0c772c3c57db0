//! Views that are made of a crawl as it goes, or when a run ends: `--to markdown,parquet,index`.
//!
//! Owns which views can be asked for, which of them grow with the crawl, and what is said while
//! they are made. It refuses to know
//! how; `clewline-export` and `clewline-search` do. Invariant: a view that cannot be made
//! changes nothing about the crawl.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clewline_export::{Form, ViewRules};
use clewline_job::config::{Config, OutputConfig};
use clewline_job::report::figures;
use clewline_search::{Index, SearchError};

use crate::exit::ExitStatus;
use crate::feeder::Feeder;
use crate::message::{Speaker, shown};
use crate::progress::PassingLine;
use crate::resolve::{CommandOptions, Talk};
use crate::{export, search};

/// The name of the index among the views.
const INDEX: &str = "index";

/// Checks the name of a view.
pub(crate) fn named(text: &str) -> Result<String, String> {
    if text == INDEX || Form::from_name(text).is_some() {
        return Ok(text.to_owned());
    }
    let forms = Form::ALL.map(Form::name).join(", ");
    Err(format!("is no view; there are {INDEX}, {forms}"))
}

/// Checks a file of rules; it is named from where the command was given.
pub(crate) fn rules_file(text: &str) -> Result<PathBuf, String> {
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    rules_in(&path).map_err(|error| format!("cannot be used: {error:#}"))?;
    Ok(path)
}

/// The rules in a file.
pub(crate) fn rules_in(path: &Path) -> anyhow::Result<ViewRules> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    ViewRules::parse(&text).with_context(|| path.display().to_string())
}

/// The first view that needs the bodies of pages.
pub(crate) fn of_bodies(config: &Config) -> Option<&str> {
    let mut views = config.output.views.iter().map(String::as_str);
    let is_of_bodies = |name: &&str| {
        !matches!(
            Form::from_name(name),
            Some(Form::Csv | Form::Sitemap | Form::Graph)
        )
    };
    views.find(is_of_bodies)
}

/// Begins to feed the views that grow with a crawl, if one is asked for: the index, which others
/// can search meanwhile.
pub(crate) fn feeder(output: &OutputConfig) -> Option<Feeder> {
    let folder = output.folder.clone()?;
    let is_wanted = output.views.iter().any(|name| name == INDEX);
    is_wanted.then(|| Feeder::start(folder)).flatten()
}

/// Brings the views of a job up to date. The first that fails is told, and the others are made
/// all the same.
pub(crate) fn update(job: &Path, output: &OutputConfig, options: CommandOptions) -> ExitStatus {
    let speaker = Speaker::new(options.colour);
    let mut status = ExitStatus::Done;
    for name in &output.views {
        match made(job, name, output.rules.as_deref(), options.talk) {
            Ok(text) => {
                if let Some(text) = text.filter(|_| options.talk != Talk::Quiet) {
                    speaker.note(&shown(&text));
                }
            }
            Err(error) => {
                let hint =
                    format!("clewline resume tries again; so does clewline export --to {name}");
                let error = error.context(format!("the view {name} cannot be made"));
                speaker.error(&error, &[hint]);
                status = ExitStatus::Stuck;
            }
        }
    }
    status
}

/// Makes a view; answers what there is to say.
fn made(
    job: &Path,
    name: &str,
    rules: Option<&Path>,
    talk: Talk,
) -> anyhow::Result<Option<String>> {
    let Some(form) = Form::from_name(name) else {
        return index(job, talk);
    };
    let doing = format!("making {name}");
    let rules = rules.map(rules_in).transpose()?;
    let mut tell = export::event_printer(PassingLine::for_talk(&doing, talk));
    let done = clewline_export::update(job, form, rules.as_ref(), &mut tell)?;
    let place = clewline_export::view_path(job, form);
    Ok(done.map(|done| format!("{}; {}", export::told(form, &done), place.display())))
}

/// Brings the index up to date. Whoever has it in hand at this moment, such as a search, brings
/// it up to date as well, and so does the next one.
fn index(job: &Path, talk: Talk) -> anyhow::Result<Option<String>> {
    match clewline_search::update(job, &mut search::event_printer(talk)) {
        Ok(_) => {
            let pages = figures::plural(Index::open(job)?.pages(), "page");
            Ok(Some(format!("{INDEX}: {pages}")))
        }
        Err(SearchError::Busy(_)) => Ok(Some(format!(
            "{INDEX}: another process writes to it; clewline search brings it up to date"
        ))),
        Err(error) => Err(error.into()),
    }
}
