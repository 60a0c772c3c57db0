//! What helps someone whose crawl did not start, reached nothing, or ended early.
//!
//! Owns the hints and which exit code a refusal deserves. It refuses to know how they are
//! printed.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::time::SystemTime;

use clewline::{CrawlError, EngineError};
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;
use clewline_job::folder::{FolderError, MARKER, Remedy};
use clewline_job::report::{Broken, Report, StoppedBy, figures};

use crate::exit::ExitStatus;
use crate::message::shown;
use crate::{ARGUMENTS, resolve, shell};

/// A crawl that could not start: how the command ends, and what to do.
pub(crate) fn on_refusal(error: &CrawlError) -> (ExitStatus, Vec<String>) {
    let (status, hint) = match error {
        CrawlError::Folder(FolderError::Finished(folder)) => {
            let arguments = given_arguments();
            let again = to_update(folder).map(|flags| shell::update_command(&arguments, &flags));
            let mut hints: Vec<String> = again
                .map(|command| format!("to bring it up to date: {command}"))
                .into_iter()
                .collect();
            let otherwise = "name another folder with --output, or replace it with --overwrite";
            hints.push(otherwise.to_owned());
            return (ExitStatus::Usage, hints);
        }
        CrawlError::Folder(FolderError::Unfinished(_)) => (
            ExitStatus::Usage,
            "its state was kept in memory only: start afresh with --overwrite, or name another \
             folder with --output",
        ),
        CrawlError::Folder(FolderError::Rescoped { .. }) => (
            ExitStatus::Usage,
            "go on with the old scope, or say --rescope to go on with the new one",
        ),
        CrawlError::Folder(FolderError::InUse { .. }) => (
            ExitStatus::Usage,
            "wait until it ends, or name another folder with --output",
        ),
        CrawlError::Folder(FolderError::Damaged { remedy, .. }) => {
            (ExitStatus::Stuck, help_against(*remedy))
        }
        CrawlError::Store { remedy, .. } => (ExitStatus::Stuck, help_against(*remedy)),
        CrawlError::Folder(FolderError::Foreign(_)) => (
            ExitStatus::Usage,
            "name another folder with --output; what is not clewline's is never replaced",
        ),
        CrawlError::Folder(FolderError::Io { path, source })
            if source.kind() == ErrorKind::NotFound =>
        {
            return (ExitStatus::Stuck, vec![has_vanished(missing_in(path))]);
        }
        CrawlError::Folder(FolderError::Io { .. }) => (
            ExitStatus::Stuck,
            "name a folder that can be written with --output, or keep nothing with --no-output",
        ),
        CrawlError::Folder(_) => (ExitStatus::Stuck, "name another folder with --output"),
        CrawlError::Engine(_) => (
            ExitStatus::Stuck,
            "the system gave no more threads or memory; see ulimit -u and ulimit -v",
        ),
        _ => return (ExitStatus::Usage, Vec::new()),
    };
    (status, vec![hint.to_owned()])
}

/// What the command was called with, to be said again.
fn given_arguments() -> Vec<String> {
    let given = ARGUMENTS.get().map(Vec::as_slice).unwrap_or_default();
    let shown = given.iter().map(|argument| argument.to_string_lossy());
    shown.map(std::borrow::Cow::into_owned).collect()
}

/// What is missing of a path: its outermost folder that is not there.
fn missing_in(path: &Path) -> &Path {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    path.ancestors()
        .take_while(is_missing)
        .last()
        .unwrap_or(path)
}

/// A folder that was there when the crawl began.
fn has_vanished(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "{folder} was renamed or removed while the crawl ran; give it that name again, and the \
         same command goes on"
    )
}

/// The flags that bring a finished crawl up to date, if its archive says what it saw.
pub(crate) fn to_update(folder: &Path) -> Option<String> {
    let index = folder.join("archive").join("index.cdxj");
    let date = resolve::folder::date(SystemTime::now());
    index.is_file().then(|| shell::update_flags(folder, &date))
}

const fn help_against(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::GoBack => {
            "the same command with --repair goes on from the last commit that is left, and \
             fetches again what came after; what is cut off is kept in state/tails"
        }
        Remedy::GoWithout => {
            "put the file back; or the same command with --repair goes on without it and lists \
             what is lost in archive/missing.txt, which -i takes to ask it again"
        }
        Remedy::MakeAgain => "the same command with --repair makes it again from the archive",
        Remedy::RemakeState => {
            "the same command with --repair makes the state again from the archive, and fetches \
             only what is not there yet"
        }
        Remedy::PutBack => {
            "nothing was changed: put the folder's own file back, or start afresh with --overwrite"
        }
        Remedy::RemoveCheckLine => {
            "if you edited it, remove its first line and it is taken as it is; if not, start \
             afresh with --overwrite once that line is gone"
        }
        _ => "the results in the folder can still be read; start afresh with --overwrite",
    }
}

/// A crawl that could not go on.
pub(crate) fn on_error(error: &EngineError, report: &Report) -> Vec<String> {
    let mut hints = Vec::new();
    if let Some(folder) = &report.facts.folder {
        if !folder.join(MARKER).exists() {
            return vec![has_vanished(folder)];
        }
        hints.push(if !error.is_about_state() {
            let folder = folder.display();
            format!("is there room left on the disk of {folder}? --output names another place")
        } else if folder.join("archive").exists() {
            help_against(Remedy::RemakeState).to_owned()
        } else {
            let state = folder.join("state");
            format!(
                "the state in {} may be damaged: the same command tries again, --overwrite starts \
                 afresh",
                state.display()
            )
        });
    }
    hints.push("what was written until then is whole and can be read".to_owned());
    hints
}

/// A crawl that fetched none of its roots: what is wrong, and what may help.
pub(crate) fn on_unreached(
    roots: &[(CrawlUrl, String)],
    report: &Report,
) -> Option<(String, Vec<String>)> {
    // They fail in any order; the one that is told is the same each time.
    let (url, why) = roots.iter().min_by_key(|(url, _)| url)?;
    let tally = &report.tally;
    let verdict = if tally.failures.is_empty() {
        "was not fetched"
    } else {
        "was not reached"
    };
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(": {why}")
    };
    let others = match roots.len() {
        1 => String::new(),
        2 => "; neither was the other root".to_owned(),
        number => format!("; neither were the {} other roots", number - 1),
    };
    let is_root = |broken: &&Broken| roots.iter().any(|(url, _)| *url == broken.url);
    let answers: BTreeSet<u16> = report
        .broken
        .iter()
        .filter(is_root)
        .filter_map(|broken| broken.status)
        .collect();
    // Where the reason says which authentication is known, a flag for it would not help.
    let is_said = |status: &u16| *status == 401 && why.contains("authentication");
    let by_status = answers.into_iter().filter(|status| !is_said(status));
    let by_status = by_status.filter_map(help_after);
    let by_failure = tally.failures.keys().filter_map(|class| help_with(*class));
    let by_reason = tally
        .skipped
        .keys()
        .filter_map(|reason| help_around(*reason));
    let mut hints: Vec<String> = by_status
        .chain(by_failure)
        .chain(by_reason)
        .map(str::to_owned)
        .collect();
    hints.push(format!("clewline inspect {url} shows each step"));
    Some((format!("{url} {verdict}{why}{others}"), hints))
}

/// What helps after an answer that is an error.
const fn help_after(status: u16) -> Option<&'static str> {
    Some(match status {
        401 => "-u NAME:PASSWORD sends a name and a password (Basic authentication)",
        403 => "the server refuses this client; ask its owner, or look at it in a browser",
        404 | 410 => "check the path; a browser shows what is there",
        407 => "--proxy takes a name and a password: http://NAME:PASSWORD@HOST:PORT",
        429 => "the server asks for fewer requests; try again later, or slower with --delay",
        500.. => "the server has trouble; the same command tries again",
        _ => return None,
    })
}

const fn help_with(class: FailureClass) -> Option<&'static str> {
    Some(match class {
        FailureClass::DnsNotFound => "check the spelling; --resolve and --dns ask elsewhere",
        FailureClass::Dns => "check the network, or name another server with --dns",
        FailureClass::Connect => "check that a server listens there, and on that port",
        FailureClass::Certificate => {
            "--cacert trusts one more authority; --insecure accepts any certificate"
        }
        FailureClass::Tls => "a root that begins with http:// is asked without TLS",
        FailureClass::Proxy => "check --proxy and the proxy variables of the environment",
        FailureClass::Timeout | FailureClass::TooSlow => "--timeout gives it longer",
        _ => return None,
    })
}

const fn help_around(reason: SkipReason) -> Option<&'static str> {
    Some(match reason {
        SkipReason::Robots | SkipReason::RobotsUnreachable => "your own site? --ignore-robots",
        SkipReason::CrawlDelay => "your own site? --ignore-crawl-delay",
        SkipReason::PrivateAddress => "your own network? --allow-private",
        _ => return None,
    })
}

/// A crawl that ended before it was finished: what ended it, and how to go on.
pub(crate) fn on_early_end(report: &Report) -> Option<String> {
    let todo = match report.facts.todo {
        0 => return None,
        number => figures::plural(number, "URL"),
    };
    let again = if report.facts.resumable {
        "the same command with more goes on"
    } else {
        "crawl again with more"
    };
    match &report.facts.stopped_by {
        StoppedBy::Finished if report.facts.withheld > 0 => {
            let name = match &report.facts.traps[..] {
                [trap, ..] => format!(", most of them like {}", shown(&trap.template)),
                [] => String::new(),
            };
            Some(format!(
                "{todo} look like a trap without end and were withheld{name}; \
                 --no-trap-detection fetches them"
            ))
        }
        StoppedBy::Budget(flag) => Some(format!(
            "{} ended the crawl with {todo} still to do; {again}",
            shown(flag)
        )),
        StoppedBy::Interrupted if report.facts.resumable => Some(format!(
            "stopped with {todo} still to do; the same command goes on"
        )),
        StoppedBy::Interrupted => Some(format!("stopped with {todo} still to do")),
        _ => None,
    }
}

/// A root that is nothing without JavaScript: what renders it.
pub(crate) fn on_empty_root(report: &Report) -> Option<String> {
    let url = report.facts.empty_root.as_ref()?;
    let command = shell::update_command(&given_arguments(), "--render --overwrite");
    Some(format!(
        "{url} is empty without JavaScript and has no links; this renders it: {command}"
    ))
}

#[cfg(test)]
mod tests {
    use clewline_job::report::{RunFacts, Tally};

    use super::*;

    fn report(facts: RunFacts) -> Report {
        Report::build(None, Tally::default(), facts).unwrap()
    }

    #[test]
    fn an_early_end_says_how_to_go_on() {
        let check = |stopped_by: StoppedBy, todo, resumable: bool, expected: Option<&str>| {
            let facts = RunFacts {
                stopped_by,
                todo,
                resumable,
                ..RunFacts::default()
            };
            assert_eq!(on_early_end(&report(facts)).as_deref(), expected);
        };
        let budget = || StoppedBy::Budget("--max-pages".to_owned());
        check(
            budget(),
            7,
            true,
            Some(
                "--max-pages ended the crawl with 7 URLs still to do; the same command with \
                 more goes on",
            ),
        );
        check(
            budget(),
            1,
            false,
            Some("--max-pages ended the crawl with 1 URL still to do; crawl again with more"),
        );
        check(budget(), 0, true, None);
        check(StoppedBy::Finished, 0, true, None);
        check(
            StoppedBy::Interrupted,
            2,
            false,
            Some("stopped with 2 URLs still to do"),
        );
    }

    #[test]
    fn what_is_wrong_decides_what_helps() {
        let url = CrawlUrl::parse("https://a.test/").unwrap();
        let roots = vec![(url, "no such host".to_owned())];
        let mut report = report(RunFacts::default());
        report.tally.failures.insert(FailureClass::DnsNotFound, 1);
        let (reason, hints) = on_unreached(&roots, &report).unwrap();
        assert_eq!(reason, "https://a.test/ was not reached: no such host");
        assert!(hints[0].starts_with("check the spelling"), "{hints:?}");
        report.tally.failures.clear();
        report.tally.skipped.insert(SkipReason::Robots, 1);
        let two = [roots.clone(), roots].concat();
        let (reason, hints) = on_unreached(&two, &report).unwrap();
        assert_eq!(
            reason,
            "https://a.test/ was not fetched: no such host; neither was the other root"
        );
        assert_eq!(hints[0], "your own site? --ignore-robots");
        assert_eq!(on_unreached(&[], &report), None);
    }
}
