//! `warc rebuild`: the way from the command to the library and back to people.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use clewline::AnswerReader;
use clewline_job::rebuild::RebuildError;
use clewline_job::report::figures::plural;

use super::arguments::RebuildArguments;
use super::{FileProgress, files};
use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};

/// Makes everything again: 0 if every record could be read, 1 if not.
pub(super) fn rebuild(arguments: &RebuildArguments) -> anyhow::Result<ExitStatus> {
    let files = files(&arguments.paths)?;
    let folder = target(arguments)?;
    let mut progress = FileProgress::new("rebuilding", &files);
    let rebuilt =
        AnswerReader::default().rebuild(&files, &folder, arguments.existing(), &mut |count| {
            progress.add(count);
        });
    drop(progress);
    let rebuilt = rebuilt.map_err(advised)?;
    let speaker = Speaker::new(Colour::Auto);
    for text in &rebuilt.told {
        speaker.note(text);
    }
    let mut text = format!(
        "{}: {} and {} from {}",
        shown(&folder.to_string_lossy()),
        plural(rebuilt.lines + rebuilt.derived, "line"),
        plural(rebuilt.captures, "capture"),
        plural(files.len() as u64, "file")
    );
    for (count, what) in [
        (
            rebuilt.derived,
            "of the lines made from answers alone, because their files hold no lines of \
             clewline: depth, tries, times and referrers are not known",
        ),
        (rebuilt.faults, "records could not be read"),
    ] {
        if count > 0 {
            text = format!("{text}; {count} {what}");
        }
    }
    speaker.note(&text);
    Ok(if rebuilt.faults == 0 {
        ExitStatus::Done
    } else {
        ExitStatus::Threshold
    })
}

fn target(arguments: &RebuildArguments) -> anyhow::Result<PathBuf> {
    match (&arguments.output, &arguments.paths[..]) {
        (Some(folder), _) => Ok(folder.clone()),
        (None, [folder]) if folder.is_dir() => Ok(folder.clone()),
        (None, _) => bail!("say where it goes: --output DIR"),
    }
}

/// What to do about it.
fn advised(error: RebuildError) -> anyhow::Error {
    let advice = match &error {
        RebuildError::Exists(_) => "--overwrite replaces it, --output DIR writes elsewhere",
        RebuildError::Unfinished(_) => {
            "`clewline resume` continues it; --output DIR writes elsewhere"
        }
        _ => return error.into(),
    };
    anyhow!("{error}: {advice}")
}
