//! Where findings go: stdout, files, the job folder, and what GitHub shows.
//!
//! Owns which form goes where. It refuses to know what the forms look like. Invariant: stdout has one
//! form and nothing else.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::path::Path;

use anyhow::Context as _;
use clewline_check::CheckReport;
use clewline_check::baseline::FINDINGS;
use clewline_check::forms::html::{SitePage, SiteRedirect, SiteView};
use clewline_check::forms::{self, CheckForm, FormContext, github_summary, html};
use clewline_check::report::CheckPointers;
use clewline_check::site::{RowFlags, SiteTable, UrlRow};
use clewline_job::durable;
use clewline_job::record::OutcomeKind;
use clewline_job::report::TextStyle;

use super::plan::CheckPlan;
use crate::browser_page::open_page;
use crate::message::Speaker;
use crate::resolve::CommandOptions;

/// Columns where stdout is no terminal.
const USUAL_WIDTH: usize = 100;
/// Wider lines are hard to read.
const WIDEST: usize = 120;
/// The page in a job folder that shows the findings.
const REPORT: &str = "report.html";

/// Tells findings everywhere they are wanted.
pub(crate) fn tell(
    report: &CheckReport,
    plan: &CheckPlan,
    site: Option<&SiteTable>,
    folder: Option<&Path>,
    options: CommandOptions,
) -> anyhow::Result<()> {
    let out = stdout();
    let width = terminal_size::terminal_size_of(&out)
        .map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0));
    let pointers = CheckPointers {
        report: folder.map(|folder| folder.join(REPORT)),
        next: None,
        location: plan.location.clone(),
    };
    let context = FormContext {
        pointers,
        style: TextStyle {
            colour: options.colour.decide(out.is_terminal()),
            width: width.min(WIDEST),
        },
    };
    if let Some(folder) = folder {
        keep(report, site, folder, &context)?;
    }
    for (form, path) in &plan.reports {
        let bytes = written(*form, report, site, &context)?;
        durable::make_folder(durable::parent(path))
            .and_then(|()| durable::write(path, &bytes))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let mut out = BufWriter::new(out.lock());
    let printed = write_form(plan.form, report, site, &context, &mut out);
    match printed.and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other.with_context(|| format!("the form {} cannot be printed", plan.form))?,
    }
    drop(out);
    if plan.opens {
        let kept = folder.map(|folder| folder.join(REPORT));
        let mut reports = plan.reports.iter();
        let page = reports.find(|(form, _)| *form == CheckForm::Html);
        let page = kept.or_else(|| page.map(|(_, path)| path.clone()));
        let make = || written(CheckForm::Html, report, site, &context);
        open_page(page.as_deref(), make, &Speaker::new(options.colour))?;
    }
    on_github(report, plan, &context)
}

/// Keeps the findings in the job folder: for the next `--baseline`, and as a page.
fn keep(
    report: &CheckReport,
    site: Option<&SiteTable>,
    folder: &Path,
    context: &FormContext,
) -> anyhow::Result<()> {
    let lines = written(CheckForm::Jsonl, report, site, context)?;
    let plain = FormContext {
        style: TextStyle {
            colour: false,
            ..context.style
        },
        ..context.clone()
    };
    let page = written(CheckForm::Html, report, site, &plain)?;
    for (name, bytes) in [(FINDINGS, lines), (REPORT, page)] {
        let path = folder.join(name);
        durable::make_folder(durable::parent(&path))
            .and_then(|()| durable::write(&path, &bytes))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

fn written(
    form: CheckForm,
    report: &CheckReport,
    site: Option<&SiteTable>,
    context: &FormContext,
) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let made = write_form(form, report, site, context, &mut bytes);
    made.with_context(|| format!("the form {form} cannot be made"))?;
    Ok(bytes)
}

fn write_form(
    form: CheckForm,
    report: &CheckReport,
    site: Option<&SiteTable>,
    context: &FormContext,
    out: &mut dyn Write,
) -> io::Result<()> {
    match (form, site) {
        (CheckForm::Html, Some(site)) => html::write(report, view(site)?, out),
        _ => forms::write(form, report, context, out),
    }
}

/// What the page shows beside findings.
fn view(site: &SiteTable) -> io::Result<SiteView<'_>> {
    let is_page = |page: &io::Result<(&UrlRow, _)>| {
        let row = page.as_ref();
        row.map_or(true, |(row, _)| row.is(RowFlags::HTML))
    };
    let pages = site.records()?.filter(is_page).map(|page| {
        page.map(|(row, record)| SitePage {
            status: record.status,
            title: record.title.unwrap_or_default(),
            depth: row.depth,
            bytes: row.body_bytes,
            millis: record.timings.first_byte,
            links_in: u64::from(row.links_in),
            links_out: u64::from(row.links_out),
            url: record.url,
        })
    });
    let mut redirects = Vec::new();
    for row in site.rows() {
        if row.outcome != OutcomeKind::Redirected {
            continue;
        }
        if let Some(record) = site.record(row.key)? {
            redirects.push(SiteRedirect {
                from: record.url,
                to: record.redirect_to.unwrap_or_default(),
                status: record.status.unwrap_or_default(),
                links_in: u64::from(row.links_in),
            });
        }
    }
    redirects.sort_by_key(|redirect| std::cmp::Reverse(redirect.links_in));
    Ok(SiteView {
        pages: Box::new(pages),
        redirects,
        crawl: Vec::new(),
    })
}

/// Annotations and a summary, where a workflow of GitHub runs us. Its runner reads both streams.
fn on_github(report: &CheckReport, plan: &CheckPlan, context: &FormContext) -> anyhow::Result<()> {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return Ok(());
    }
    if plan.form != CheckForm::Github {
        let lines = written(CheckForm::Github, report, None, context)?;
        // A closed stderr leaves nobody to tell.
        let _ = io::stderr().write_all(&lines);
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let summary = github_summary(report, &context.pointers);
    let file = OpenOptions::new().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(summary.as_bytes()))
        .with_context(|| format!("{} cannot be written", path.to_string_lossy()))
}

/// Whether a path names a job folder that can keep findings.
pub(crate) fn keeps_findings(path: &Path) -> bool {
    path.is_dir() && !fs::metadata(path).is_ok_and(|facts| facts.permissions().readonly())
}
