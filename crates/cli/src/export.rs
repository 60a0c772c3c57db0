//! The verb `export`: an archive in another form.
//!
//! Owns the list of forms and what is said of them. It refuses to know how a form is made; the
//! crate `clewline-archive` does.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clewline_archive::{Archive, Existing, mirror, wacz};

use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};

/// Forms of an archive. Whoever adds one adds it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A folder that browsers open, with links from file to file
    Mirror,
    /// One file for replayweb.page, pywb and other viewers
    Wacz,
}

/// What to export, and where to.
#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The folder of a crawl, folders of WARC files, WARC or WACZ files
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// The form
    #[arg(long = "to", value_name = "FORM")]
    form: Form,
    /// The folder or file to write
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Replace what is there
    #[arg(long)]
    overwrite: bool,
}

/// Exports: 0 if all was exported, 1 if something could not be read.
pub(crate) fn export(arguments: &ExportArguments) -> anyhow::Result<ExitStatus> {
    let archive = Archive::open(&arguments.paths)?;
    let existing = if arguments.overwrite {
        Existing::Replace
    } else {
        Existing::Keep
    };
    let speaker = Speaker::new(Colour::Auto);
    let mut has_complaints = false;
    let mut complain = |text: &str| {
        has_complaints = true;
        speaker.note(&shown(text));
    };
    archive.complaints().iter().for_each(|text| complain(text));
    let output = &arguments.output;
    let summary = match arguments.form {
        Form::Mirror => {
            let counts = mirror::export(&archive, output, existing, &mut complain)?;
            format!("{} files; open {}", counts.files, counts.entry.display())
        }
        Form::Wacz => {
            let counts = wacz::export(&archive, output, existing)?;
            format!("{} captures, {} pages", counts.captures, counts.pages)
        }
    };
    speaker.note(&shown(&summary));
    Ok(if has_complaints {
        ExitStatus::Threshold
    } else {
        ExitStatus::Done
    })
}
