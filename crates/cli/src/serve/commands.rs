//! How the app starts crawls.
//!
//! Owns the command line of a crawl that a request asked for, and the process that runs it. Refuses to
//! know requests: names of settings were chosen from a short list before. Invariants: the process is
//! the same program and outlives the server; settings are judged as flags are, before anything is
//! started; a crawl that a request asked for asks no private address, unless the server was started so.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clewline::StoredJob;
use clewline_serve::{JobCommands, NewJob};

use crate::flags::{self, Verb};
use crate::job::ctl;
use crate::resolve::{Environment, resolve};
use crate::settings::file::FileSettings;

/// How long a crawl may take until it works in its folder.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two looks whether it does.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Bytes of a message that are told.
const LONGEST_MESSAGE: u64 = 2_000;

/// The commands that a server lends to its app.
pub(super) fn job_commands(allow_private: bool) -> JobCommands {
    JobCommands {
        start: Box::new(move |new| start(new, allow_private)),
        resume: Box::new(resume),
        figure: Box::new(ctl::change),
    }
}

fn start(new: &NewJob, allow_private: bool) -> Result<(), String> {
    let arguments = arguments(new, allow_private);
    judge(&arguments)?;
    let name = new.folder.file_name().unwrap_or_default();
    // The folder is the crawl's to make, so that its messages lie beside it.
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".messages");
    run(&arguments, &new.folder, &new.folder.with_file_name(hidden))
}

fn resume(folder: &Path) -> Result<(), String> {
    let arguments = ["resume".into(), folder.into()];
    run(&arguments, folder, &folder.join("state").join("messages"))
}

fn arguments(new: &NewJob, allow_private: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["crawl".into(), "--no-config".into()];
    if !allow_private {
        words.push("--foreign-roots".into());
    }
    for (name, value) in &new.settings {
        match value.as_str() {
            "true" => words.push(format!("--{name}").into()),
            "false" => {}
            value => words.push(format!("--{name}={value}").into()),
        }
    }
    words.push("-o".into());
    words.push(new.folder.clone().into());
    words.push("--".into());
    words.extend(new.urls.iter().map(OsString::from));
    words
}

/// Reads the words as the process will, so that what is wrong is told at once.
fn judge(arguments: &[OsString]) -> Result<(), String> {
    let words = [OsString::from("clewline")]
        .into_iter()
        .chain(arguments.iter().cloned());
    let parsed = flags::parse(words).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        line.trim_start_matches("error: ").to_owned()
    })?;
    let Some(Verb::Crawl(crawl)) = parsed.verb else {
        return Err("this is no crawl".to_owned());
    };
    let settings = crawl.settings.0;
    let resolved = resolve(
        settings,
        FileSettings::default(),
        &Environment::from_process(),
    );
    match resolved {
        Ok(_) => Ok(()),
        Err(problems) => {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(lines.join("; "))
        }
    }
}

/// Starts the program and waits until it works in the folder and answers, or has ended.
fn run(arguments: &[OsString], folder: &Path, messages: &Path) -> Result<(), String> {
    let told = |error: io::Error| format!("the crawl cannot be started: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(told)?);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command.stderr(File::create(messages).map_err(told)?);
    // Secrets of the server are none of the crawl's.
    command.env_remove(super::dashboard::TOKEN_VARIABLE);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // What a terminal sends to the server is not meant for the crawl.
        command.process_group(0);
    }
    let child = command.spawn().map_err(told)?;
    await_work(child, folder, messages)
}

fn await_work(mut child: Child, folder: &Path, messages: &Path) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            // A small crawl may be over already.
            if status.success() || StoredJob::read(folder).is_ok() {
                return Ok(());
            }
            let said = last_words(messages);
            fs::remove_file(messages).ok();
            return Err(said.unwrap_or_else(|| format!("the crawl ended with {status}")));
        }
        // It works as soon as it can be asked; its lock is there a little earlier.
        let works = StoredJob::read(folder)
            .is_ok_and(|job| matches!(job.owner(), Ok(Some(_))) && job.status().is_ok());
        if works || Instant::now() >= end {
            break;
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    // Somebody has to ask how the process ended, or the system keeps it.
    let waiting = thread::Builder::new().name("clewline-child".to_owned());
    waiting.spawn(move || child.wait().ok()).ok();
    Ok(())
}

fn last_words(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_MESSAGE)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST_MESSAGE).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().find(|line| line.starts_with("error"))?;
    Some(
        line.trim_start_matches("error")
            .trim_start_matches(':')
            .trim()
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(settings: &[(&str, &str)]) -> NewJob {
        let settings = settings.iter();
        NewJob {
            urls: vec!["--proxy=http://x".to_owned(), "a.test".to_owned()],
            settings: settings
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                .collect(),
            folder: "/place/a.test.crawl".into(),
        }
    }

    #[test]
    fn a_request_becomes_flags_and_no_more() {
        let words = arguments(
            &new(&[
                ("max-pages", "5"),
                ("no-parent", "true"),
                ("no-sitemaps", "false"),
            ]),
            false,
        );
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let expected = "crawl --no-config --foreign-roots --max-pages=5 --no-parent \
            -o /place/a.test.crawl -- --proxy=http://x a.test";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn settings_are_judged_before_anything_starts() {
        let judged = |settings: &[(&str, &str)]| {
            let new = NewJob {
                urls: vec!["a.test".to_owned()],
                ..new(settings)
            };
            judge(&arguments(&new, false))
        };
        assert_eq!(judged(&[("max-pages", "5"), ("rate", "5/s")]), Ok(()));
        for name in clewline_serve::STARTABLE {
            let error = judged(&[(name, "!")]).err();
            assert!(
                !error.is_some_and(
                    |error| error.contains("unexpected argument '--") && !error.contains('!')
                ),
                "{name} is no flag"
            );
        }
        assert!(
            judged(&[("max-pages", "many")])
                .unwrap_err()
                .contains("max-pages")
        );
        assert!(judged(&[("depth", "-1")]).is_err());
    }
}
