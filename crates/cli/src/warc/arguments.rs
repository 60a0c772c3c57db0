//! The grammar of `warc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clewline_job::rebuild::Existing;

const PATHS: &str = "WARC files, folders of them, or the folder of a crawl";

const CODES: &str = "Exit codes: 0 all is sound; 1 something is wrong with a file; 2 usage; \
    3 it could not be read.";

/// What to do with archives.
#[derive(Args)]
pub(crate) struct WarcArguments {
    #[command(subcommand)]
    pub(super) verb: WarcVerb,
}

#[derive(Subcommand)]
pub(super) enum WarcVerb {
    /// List the records
    #[command(after_help = CODES)]
    Ls(LsArguments),
    /// Print what was at a URL, or what stands at an offset
    #[command(override_usage = "clewline warc get [PATH]... URL [OPTIONS]", after_help = CODES)]
    Get(GetArguments),
    /// Print the records themselves, decompressed
    #[command(after_help = CODES)]
    Cat(CatArguments),
    /// Check lengths, digests, identifiers and form of every record
    #[command(after_help = CODES)]
    Verify(VerifyArguments),
    /// Make urls.jsonl, links/, index.cdxj and report.html again from the archive alone
    #[command(after_help = CODES)]
    Rebuild(RebuildArguments),
}

#[derive(Args)]
pub(super) struct LsArguments {
    #[arg(value_name = "PATH", required = true, help = PATHS)]
    pub(super) paths: Vec<PathBuf>,
    /// One JSON object for each record
    #[arg(long)]
    json: bool,
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListFormat {
    Text,
    Json,
}

impl LsArguments {
    pub(super) fn form(&self) -> ListFormat {
        if self.json {
            ListFormat::Json
        } else {
            ListFormat::Text
        }
    }
}

#[derive(Args)]
pub(super) struct GetArguments {
    /// WARC files, folders of them, or the folder of a crawl, without which it is the newest one
    /// here; and the URL
    #[arg(value_name = "PATH URL", required = true)]
    words: Vec<String>,
    /// What was at this URL; the same as the URL behind the paths
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The capture closest to this time, such as 2026, 20261115 or 2026-11-15T12:00:00Z; the
    /// latest if there is none
    #[arg(long, value_name = "TIME", conflicts_with = "offset")]
    pub(super) at: Option<String>,
    /// The record that begins here, in the one file that is named
    #[arg(long, value_name = "BYTES", conflicts_with = "url")]
    pub(super) offset: Option<u64>,
    /// Print the head of the message instead of its body
    #[arg(long)]
    headers: bool,
    /// Print the body with its content coding, as it came
    #[arg(long, conflicts_with = "headers")]
    raw: bool,
}

/// What of a capture is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CapturePart {
    Head,
    Payload,
    Body,
}

impl GetArguments {
    /// The paths, and the URL unless an offset stands for it: the last word, if no flag says it.
    pub(super) fn paths_and_url(&self) -> (Vec<PathBuf>, Option<&str>) {
        let (paths, url) = match (&self.url, self.words.split_last()) {
            (None, Some((url, paths))) if self.offset.is_none() => (paths, Some(url.as_str())),
            (url, _) => (&self.words[..], url.as_deref()),
        };
        (paths.iter().map(PathBuf::from).collect(), url)
    }

    pub(super) fn part(&self) -> CapturePart {
        match (self.headers, self.raw) {
            (true, _) => CapturePart::Head,
            (_, true) => CapturePart::Payload,
            _ => CapturePart::Body,
        }
    }
}

#[derive(Args)]
pub(super) struct CatArguments {
    #[arg(value_name = "PATH", required = true, help = PATHS)]
    pub(super) paths: Vec<PathBuf>,
    /// Only records of this kind
    #[arg(long = "type", value_name = "TYPE", value_parser = [
        "warcinfo", "request", "response", "revisit", "metadata", "resource", "conversion",
        "continuation",
    ])]
    pub(super) kind: Option<String>,
}

#[derive(Args)]
pub(super) struct VerifyArguments {
    #[arg(value_name = "PATH", required = true, help = PATHS)]
    pub(super) paths: Vec<PathBuf>,
    /// Say whether the quotes in this file stand in their captures: JSON lines as assistants and
    /// `export --to chunks` carry them, or a URL and below it the text; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(super) quote: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct RebuildArguments {
    #[arg(value_name = "PATH", required = true, help = PATHS)]
    pub(super) paths: Vec<PathBuf>,
    /// Where they go; the folder itself if one is named
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// Replace those that are there
    #[arg(long)]
    overwrite: bool,
}

impl RebuildArguments {
    pub(super) fn existing(&self) -> Existing {
        if self.overwrite {
            Existing::Replaced
        } else {
            Existing::Kept
        }
    }
}
