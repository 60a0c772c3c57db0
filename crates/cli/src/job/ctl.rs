//! The verb `ctl`: words to a running crawl.
//!
//! Owns the words and how their values are read: as those of the flags of the same names.

use std::path::{Path, PathBuf};

use clewline::{Change, StoredJob};

use crate::exit::ExitStatus;
use crate::flags::CtlArguments;
use crate::nearest::nearest;
use crate::resolve::{Environment, resolve};
use crate::settings::binding::SettingValue;
use crate::settings::file::FileSettings;
use crate::settings::layer::{Layer, SettingOrigin};
use crate::settings::problem::Problem;
use crate::{Failure, fleet, write_out};

const PLAIN: [&str; 3] = ["pause", "continue", "stop"];
/// What takes a URL.
const ADD: &str = "add";
/// What takes a pattern.
const EXCLUDE: &str = "exclude";
const FIGURES: [&str; 8] = [
    "rate",
    "delay",
    "concurrency",
    "host-concurrency",
    "max-pages",
    "max-pages-per-host",
    "max-bytes",
    "max-time",
];
/// What takes a budget away.
const UNLIMITED: &str = "unlimited";

/// What a crawl is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    Pause,
    Continue,
    Stop,
    Change(Change),
    /// One more root.
    Add(String),
    /// One more pattern.
    Exclude(String),
}

/// Tells the crawl, and says what comes of it.
pub(crate) fn ctl(arguments: &CtlArguments) -> Result<ExitStatus, Failure> {
    let (named, words) = split(&arguments.words);
    if let Some(address) = fleet::address(named.as_deref()) {
        let order = read(words).map_err(Failure::Usage)?;
        let told = fleet::order(address, arguments.job.as_deref(), &order)?;
        return write_out(&format!("{told}\n"));
    }
    let order = read(words).map_err(Failure::Usage)?;
    let job = super::open(named)?;
    let told = obeyed(&order, &job)?;
    write_out(&format!("{told}\n"))
}

/// A first word that is none of ours is the folder, if it looks like one or one of ours follows.
/// Otherwise it was meant as one of ours, and must not be hidden by the complaint about a value.
fn split(words: &[String]) -> (Option<PathBuf>, &[String]) {
    match words {
        [first, rest @ ..] if !is_word(first) && is_folder(first, rest) => {
            (Some(PathBuf::from(first)), rest)
        }
        words => (None, words),
    }
}

fn is_folder(first: &str, rest: &[String]) -> bool {
    first.contains(['/', '.'])
        || rest.first().is_some_and(|word| is_word(word))
        || (!rest.is_empty() && Path::new(first).is_dir())
}

fn is_word(text: &str) -> bool {
    PLAIN.contains(&text) || FIGURES.contains(&text) || [ADD, EXCLUDE].contains(&text)
}

fn read(words: &[String]) -> Result<Order, Vec<Problem>> {
    let problem = |message: String| vec![Problem::new("ctl", message)];
    let (word, value) = match words {
        [] => {
            return Err(problem(format!(
                "what shall it do? One of {}",
                all().join(", ")
            )));
        }
        [word] => (word.as_str(), None),
        [word, value] => (word.as_str(), Some(value.as_str())),
        [_, _, more, ..] => {
            return Err(problem(format!(
                "`{}` is one word too many",
                crate::message::shown(more)
            )));
        }
    };
    let known = FIGURES.into_iter().find(|name| *name == word);
    if let Some((word, value)) = known.zip(value) {
        return figure(word, value).map(Order::Change);
    }
    match (word, value) {
        ("pause", None) => Ok(Order::Pause),
        ("continue", None) => Ok(Order::Continue),
        ("stop", None) => Ok(Order::Stop),
        (ADD, Some(url)) => Ok(Order::Add(url.to_owned())),
        (EXCLUDE, Some(pattern)) => Ok(Order::Exclude(pattern.to_owned())),
        (EXCLUDE, None) => Err(problem("exclude needs a pattern".into())),
        (ADD, None) => Err(problem("add needs a URL".into())),
        (word, Some(_)) if PLAIN.contains(&word) => Err(problem(format!("{word} takes no value"))),
        (word, None) if known.is_some() => {
            Err(problem(format!("{word} needs a value, as --{word} does")))
        }
        (word, _) => {
            let name = crate::message::shown(word).into_owned();
            let mut unknown = problem(format!("`{name}` is not one of {}", all().join(", ")));
            unknown[0].hint =
                nearest(word, all().into_iter()).map(|near| format!("did you mean `{near}`?"));
            Err(unknown)
        }
    }
}

fn all() -> Vec<&'static str> {
    PLAIN
        .into_iter()
        .chain(FIGURES)
        .chain([ADD, EXCLUDE])
        .collect()
}

/// Reads a value as the flag of the same name does, with its range.
fn figure(word: &'static str, value: &str) -> Result<Change, Vec<Problem>> {
    let mut flags = Layer::default();
    if value != UNLIMITED || !word.starts_with("max-") {
        let value = SettingValue::Text(value.to_owned());
        flags.insert(word, value, SettingOrigin::Flag);
    }
    let resolved = resolve(flags, FileSettings::default(), &Environment::from_process())?;
    let (pace, limits) = (resolved.config.politeness, resolved.config.limits);
    let change = match word {
        "rate" => pace.rate.map(Change::Rate),
        "delay" => pace.delay.map(Change::Delay),
        "concurrency" => Some(Change::Concurrency(limits.concurrency)),
        "host-concurrency" => pace.host_concurrency.map(Change::HostConcurrency),
        "max-pages" => Some(Change::MaxPages(limits.pages)),
        "max-pages-per-host" => Some(Change::MaxPagesPerHost(limits.pages_per_host)),
        "max-bytes" => Some(Change::MaxBytes(limits.bytes)),
        _ => Some(Change::MaxTime(limits.time)),
    };
    change.ok_or_else(|| vec![Problem::new("ctl", format!("{word} needs a value"))])
}

/// Reads a figure by its name, for others than the command line.
pub(crate) fn change(name: &str, value: &str) -> Result<Change, String> {
    let known = FIGURES.into_iter().find(|known| *known == name);
    let Some(known) = known else {
        return Err(format!(
            "`{name}` is none of the figures: {}",
            FIGURES.join(", ")
        ));
    };
    figure(known, value).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("; ")
    })
}

fn obeyed(order: &Order, job: &StoredJob) -> Result<String, Failure> {
    let done = match order {
        Order::Pause => job
            .pause()
            .map(|()| "paused until `clewline ctl continue`".to_owned()),
        Order::Continue => job.go_on().map(|()| "going on".to_owned()),
        Order::Stop => job.stop().map(|()| {
            "stopping: requests in flight may finish; `clewline resume` continues later".into()
        }),
        Order::Change(change) => job
            .change(*change)
            .map(|()| format!("{change}, from now on and in later runs (job.toml)")),
        Order::Exclude(pattern) => job.exclude(pattern).map(|()| {
            let pattern = crate::message::shown(pattern);
            format!("URLs that match {pattern} are left out, now and in later runs (job.toml)")
        }),
        Order::Add(url) => job
            .add(url)
            .map(|()| format!("{} is queued, for this run", crate::message::shown(url))),
    };
    done.map_err(Failure::Job)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_become_orders() {
        let check = |line: &str, expected: Result<Order, &str>| {
            let words = words(line);
            let read = read(split(&words).1).map_err(|problems| problems[0].to_string());
            assert_eq!(read, expected.map_err(str::to_owned), "{line}");
        };
        check("pause", Ok(Order::Pause));
        check("a.crawl continue", Ok(Order::Continue));
        check("a.crawl rate 30/m", Ok(Order::Change(Change::Rate(0.5))));
        check(
            "delay 2s",
            Ok(Order::Change(Change::Delay(Duration::from_secs(2)))),
        );
        check(
            "max-pages unlimited",
            Ok(Order::Change(Change::MaxPages(None))),
        );
        check(
            "max-bytes 1k",
            Ok(Order::Change(Change::MaxBytes(Some(1024)))),
        );
        check("rate 0", Err("--rate: `0` is too small; the least is 1/d"));
        check(
            "rate unlimited",
            Err("--rate: `unlimited` is not a rate such as 5/s or 30/m"),
        );
        check(
            "concurrency 0",
            Err("--concurrency: `0` is too small; the least is 1"),
        );
        check("delay", Err("ctl: delay needs a value, as --delay does"));
        check("stop now", Err("ctl: stop takes no value"));
        let all = all().join(", ");
        let bogus = |word: &str| format!("ctl: `{word}` is not one of {all}");
        check("bogus 3", Err(&bogus("bogus")));
        check("folder pause", Ok(Order::Pause));
        check("a.crawl bogus 3", Err(&bogus("bogus")));
        check("./folder puase", Err(&bogus("puase")));
        check("a.crawl rate 1 2", Err("ctl: `2` is one word too many"));
    }

    #[test]
    fn every_figure_can_be_changed() {
        for word in FIGURES {
            let value = if matches!(word, "delay" | "max-time") {
                "7s"
            } else {
                "7"
            };
            let change = figure(word, value).unwrap();
            assert!(
                change.to_string().starts_with(&format!("{word} 7")),
                "{change}"
            );
        }
    }

    #[test]
    fn a_wrong_word_gets_a_suggestion() {
        let problems = read(&words("paus")).unwrap_err();
        assert_eq!(problems[0].hint.as_deref(), Some("did you mean `pause`?"));
    }
}
