//! The verbs `search` and `index`: what a crawl read, found again.
//!
//! Owns the words on the command line and on the screen. It refuses to know how pages are
//! indexed; the crate `clewline-search` does. What pages say is foreign text.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use clewline_job::report::{Ink, figures};
use clewline_search::{
    Borrowed, Folding, Freshness, Hit, Index, IndexProgress, Query, Results, SearchError, Updated,
};

use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};
use crate::nearest::nearest;
use crate::progress::PassingLine;
use crate::resolve::Talk;
use crate::settings::problem::Problem;
use crate::{Failure, job, write_out};

pub(crate) const SEARCH_HELP: &str = "\
Query:
  hash map               pages with any of the words; those with all come first
  \"hash map\"             a phrase
  +hash -legacy          required, refused; also AND, OR, NOT and parentheses
  wor*  word~  word~2    words with this prefix; words one or two letters off
  title:x heading:x body:x url:x
  host:example.com (with its subdomains)  lang:de  type:html
  after:2026-11-01  before:2027           when the page was fetched

Case and accents are ignored; words are not stemmed. The index is updated before each
search. Put a query that starts with - after --.

Exit codes: 0 done, found or not; 2 usage; 3 it could not be searched.";

pub(crate) const INDEX_HELP: &str = "\
The index is in the job's folder index/ and is built from its archive, even while the
crawl runs. You can delete it at any time.";

/// A job and what is looked for in it.
#[derive(Args)]
pub(crate) struct SearchArguments {
    /// The job folder [default: the newest one here] and the query
    #[arg(value_name = "DIR QUERY", required = true, num_args = 1..)]
    words: Vec<String>,
    /// How to print the results [text, json, jsonl]
    #[arg(long, value_enum, default_value = "text", hide_possible_values = true)]
    format: Form,
    /// Print this many results
    #[arg(short = 'n', long, value_name = "N", default_value = "10",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Skip this many results
    #[arg(long, value_name = "N", default_value = "0",
          value_parser = clap::value_parser!(u16).range(0..=1000))]
    offset: u16,
    /// Show near duplicates, too
    #[arg(long)]
    no_fold: bool,
}

/// A job whose index is made.
#[derive(Args)]
pub(crate) struct IndexArguments {
    /// The job folder [default: the newest one here]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Rebuild it from scratch
    #[arg(long)]
    rebuild: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
    Jsonl,
}

/// Searches, after the index caught up.
pub(crate) fn search(arguments: &SearchArguments) -> Result<ExitStatus, Failure> {
    let (named, text) = split(&arguments.words);
    let query = Query::parse(&text)
        .map_err(|error| {
            let hint = "clewline search --help has the language";
            Failure::Usage(vec![
                Problem::new("QUERY", error.to_string()).with_hint(hint),
            ])
        })?
        .folding(if arguments.no_fold {
            Folding::Off
        } else {
            Folding::Alike
        })
        .limit(usize::from(arguments.limit))
        .offset(usize::from(arguments.offset));
    let folder = job::folder(named)?;
    let opened = clewline_search::open_updated(&folder, &mut event_printer(Talk::default()));
    // The folder that it lies in goes with it.
    let mut borrowed = None;
    let index = match opened {
        Ok((index, Freshness::Current)) => index,
        Ok((index, Freshness::Behind)) => {
            let text = "another process writes to the index; what is indexed already is searched";
            Speaker::new(Colour::Auto).note(text);
            index
        }
        Err(error) if error.is_read_only() => {
            let made =
                Borrowed::make(&folder, &mut event_printer(Talk::default())).map_err(failure)?;
            borrowed.insert(made).open().map_err(failure)?
        }
        Err(error) => return Err(failure(error)),
    };
    let results = index.search(&query).map_err(failure)?;
    let status = print(&results, arguments)?;
    if results.total == 0
        && arguments.format == Form::Text
        && let Some(meant) = meant(&index, &query)?
    {
        Speaker::new(Colour::Auto).note(&format!("did you mean {meant}?"));
    }
    Ok(status)
}

/// For words that no page holds, those that some do and that are spelt nearly so.
fn meant(index: &Index, query: &Query) -> Result<Option<String>, Failure> {
    let mut meant = Vec::new();
    for word in query.words() {
        let known = index.words_like(&word).map_err(failure)?;
        let near = nearest(&word, known.iter().map(String::as_str));
        if let Some(near) = near.filter(|near| *near != word) {
            meant.push(near.to_owned());
        }
    }
    Ok((!meant.is_empty()).then(|| meant.join(" ")))
}

/// Makes an index or brings it up to date.
pub(crate) fn index(arguments: &IndexArguments) -> Result<ExitStatus, Failure> {
    let folder = job::folder(arguments.dir.clone())?;
    let began = Instant::now();
    let make = if arguments.rebuild {
        clewline_search::rebuild
    } else {
        clewline_search::update
    };
    let updated = make(&folder, &mut event_printer(Talk::default())).map_err(failure)?;
    let pages = Index::open(&folder).map_err(failure)?.pages();
    Speaker::new(Colour::Auto).note(&told(&updated, pages, began.elapsed()));
    Ok(ExitStatus::Done)
}

/// The folder, if the first word is one, and the query.
fn split(words: &[String]) -> (Option<PathBuf>, String) {
    if let [first, rest @ ..] = words
        && !rest.is_empty()
        && (Path::new(first).is_dir() || first.trim_end_matches('/').ends_with(job::ENDING))
    {
        return (Some(PathBuf::from(first)), rest.join(" "));
    }
    (None, words.join(" "))
}

fn failure(error: SearchError) -> Failure {
    match error {
        SearchError::Job(error) => Failure::Job(error.into()),
        other => Failure::Stuck(other.into()),
    }
}

fn told(updated: &Updated, pages: u64, took: Duration) -> String {
    let mut text = format!(
        "{} in the index, {} of them new or changed, in {:.1} s",
        figures::plural(pages, "page"),
        figures::count(updated.pages),
        took.as_secs_f64()
    );
    if updated.left_out > 0 {
        let _ = write!(
            text,
            "; {} ask not to be indexed",
            figures::count(updated.left_out)
        );
    }
    if updated.damaged > 0 {
        let _ = write!(
            text,
            "; {} places of the archive are damaged",
            figures::count(updated.damaged)
        );
    }
    text
}

/// Shows a terminal how far the index is; others see the end only.
pub(crate) fn event_printer(talk: Talk) -> impl FnMut(IndexProgress) {
    let mut line = PassingLine::for_talk("indexing", talk);
    move |progress| {
        line.show(progress.seen, None, || {
            figures::plural(progress.pages, "page")
        });
    }
}

fn print(results: &Results, arguments: &SearchArguments) -> Result<ExitStatus, Failure> {
    match arguments.format {
        Form::Json => write_out(&(serde_json::to_string(results)? + "\n")),
        Form::Jsonl => {
            let mut lines = String::new();
            for hit in &results.hits {
                lines.push_str(&serde_json::to_string(hit)?);
                lines.push('\n');
            }
            write_out(&lines)
        }
        Form::Text => {
            let in_colour = Colour::Auto.decide(stdout().is_terminal());
            let mut text = String::new();
            for (number, hit) in results.hits.iter().enumerate() {
                let number = number + 1 + usize::from(arguments.offset);
                write_hit(number, hit, in_colour, &mut text);
            }
            let status = write_out(&text)?;
            let took = results.took.as_secs_f64() * 1000.0;
            let total = match results.total {
                1 => "1 page matches".to_owned(),
                number => format!("{} pages match", figures::count(number)),
            };
            Speaker::new(Colour::Auto).note(&format!("{total} ({took:.1} ms)"));
            Ok(status)
        }
    }
}

fn write_hit(number: usize, hit: &Hit, in_colour: bool, out: &mut String) {
    let title = if hit.title.is_empty() {
        "(no title)"
    } else {
        &hit.title
    };
    let marks = if hit.title.is_empty() {
        &[][..]
    } else {
        &hit.title_marks
    };
    let _ = writeln!(out, "{number:>3}. {}", marked(title, marks, in_colour));
    let _ = writeln!(out, "     {}", shown(&hit.url));
    if !hit.snippet.text.is_empty() {
        let piece = marked(&hit.snippet.text, &hit.snippet.marks, in_colour);
        let _ = writeln!(out, "     {piece}");
    }
    if hit.alike > 0 {
        let urls = hit.also.join(" ");
        let _ = writeln!(out, "     and {} alike: {}", hit.alike, shown(&urls));
    }
}

/// Text with its words in bold, where there is colour.
fn marked(text: &str, marks: &[(usize, usize)], in_colour: bool) -> String {
    if !in_colour {
        return shown(text).into_owned();
    }
    let mut out = String::new();
    let mut at = 0;
    for &(from, to) in marks {
        let (Some(before), Some(word)) = (text.get(at..from), text.get(from..to)) else {
            continue;
        };
        out.push_str(&shown(before));
        out.push_str(&Ink::Strong.paint(&shown(word)));
        at = to;
    }
    out.push_str(&shown(text.get(at..).unwrap_or_default()));
    out
}
