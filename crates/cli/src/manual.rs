//! The manual pages, made from the same grammar as the help.
//!
//! Owns the files of a folder of pages: one for the command, one for each verb that users are told
//! of. It refuses to know the grammar. Invariant: the same build writes the same bytes.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::exit::ExitStatus;
use crate::flags;

/// The head line of every page.
const MANUAL: &str = "Clewline Manual";

/// What the command takes; the list of all its flags would fill a screen.
const USAGE: &str = "clewline [crawl] URL… [OPTIONS]\nclewline VERB [OPTIONS]";

/// The date of a page whose commit is not known; an empty one would shift the words after it.
const NO_DATE: &str = "undated";

/// Writes every page below a folder, which is made.
pub(crate) fn write(folder: &Path) -> Result<ExitStatus> {
    let place = || folder.display().to_string();
    fs::create_dir_all(folder).with_context(place)?;
    let mut command = with_all_flags(flags::command()).override_usage(USAGE);
    command.build();
    write_pages(&command, folder).with_context(place)?;
    Ok(ExitStatus::Done)
}

/// Only the short help hides flags that are seldom used; a page explains them all.
fn with_all_flags(command: Command) -> Command {
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    command.mut_subcommands(with_all_flags)
}

/// The page of a command, and those of its verbs.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_pages(verb, folder)?;
    }
    let source = concat!("clewline ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual(MANUAL);
    let man = man.date(date().unwrap_or(NO_DATE));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    notes(command).to_writer(&mut page)?;
    fs::write(folder.join(man.get_filename()), page)
}

/// The date of the commit, if it is known.
fn date() -> Option<&'static str> {
    let date = env!("CLEWLINE_REVISION").split_once(' ')?.1;
    date.starts_with(|first: char| first.is_ascii_digit())
        .then_some(date)
}

/// What stands below the flags in the help: examples and tables, whose lines must stay lines.
fn notes(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let help = command
        .get_after_long_help()
        .or_else(|| command.get_after_help());
    let Some(help) = help else { return roff };
    roff.control("SH", ["NOTES"]);
    roff.control("nf", []);
    for line in help.to_string().lines() {
        // An empty line would be set as a paragraph; a request keeps it a line.
        match line {
            "" => roff.control("sp", []),
            line => roff.text([roman(line)]),
        };
    }
    roff.control("fi", []);
    roff
}
