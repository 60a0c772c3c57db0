//! The flags of `check`, and what they mean together.
//!
//! Owns the grammar of the verb. It refuses to know rules and files; those names are checked where they
//! are used.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::flags::SettingSources;
use crate::settings::CHECK;
use crate::settings::arguments::SettingFlags;

pub(crate) const CHECK_HELP: &str = "\
Examples:
  clewline check https://example.com        crawl the site, ask the links that lead away
  clewline check public/                    a built site; findings name files and lines
  clewline check README.md docs/            Markdown and HTML files
  clewline check example.com.crawl          what was captured; nothing is asked
  clewline check public/ --no-external --format github
  clewline check --explain links/fragment

A site's job is kept in <host>.crawl, and checking it again updates that job. A link is called
broken only after it was asked twice; what refuses to be checked is `blocked`, what proves
nothing is `unsure`, and neither fails a run.

Exit codes:
  0    nothing that --fail-on names was found
  1    findings, or too little was checked (--min-pages)
  2    usage or configuration
  3    could not continue: the site was not reached, the disk is full
  130  interrupted; what was found is told";

/// What is checked, by which rules, and how findings are told.
#[derive(Args)]
pub(crate) struct CheckArguments {
    /// A site, a folder with a built site, Markdown or HTML files, a job folder, a WARC or WACZ file,
    /// or `-` for a list of URLs
    #[arg(value_name = "INPUT", required_unless_present_any = ["list_rules", "explain"])]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) rules: RuleFlags,
    #[command(flatten)]
    pub(crate) external: ExternalFlags,
    #[command(flatten)]
    pub(crate) findings: FindingFlags,
    #[command(flatten)]
    pub(crate) settings: SettingFlags<CHECK>,
    #[command(flatten)]
    pub(crate) sources: SettingSources,
}

/// Which rules are asked.
#[derive(Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct RuleFlags {
    /// Only these rules or categories, `links,mixed/active`
    #[arg(long, value_name = "RULES", value_delimiter = ',', action = ArgAction::Append)]
    pub(crate) only: Vec<String>,
    /// Not these rules or categories
    #[arg(long, value_name = "RULES", value_delimiter = ',', action = ArgAction::Append)]
    pub(crate) skip: Vec<String>,
    /// Which fragments must exist [internal, all, none] [default: all]
    #[arg(long, value_name = "WHICH", value_parser = ["internal", "all", "none"],
          hide_possible_values = true)]
    pub(crate) fragments: Option<String>,
    /// List every rule with its severity
    #[arg(long)]
    pub(crate) list_rules: bool,
    /// Say why a rule matters, how it finds, how to mend, and what may be a false alarm
    #[arg(long, value_name = "RULE")]
    pub(crate) explain: Option<String>,
}

/// What is asked of other hosts.
#[derive(Args)]
#[command(next_help_heading = "External links")]
pub(crate) struct ExternalFlags {
    /// Ask links that lead to other hosts, also those of what was captured
    #[arg(long, conflicts_with = "no_external")]
    pub(crate) external: bool,
    /// Ask no other hosts
    #[arg(long)]
    pub(crate) no_external: bool,
    /// Keep what other hosts answered in this file instead of the job folder
    #[arg(long, value_name = "FILE")]
    pub(crate) cache: Option<PathBuf>,
    /// Leave further links to a host unchecked [default: 500]
    #[arg(long, value_name = "N")]
    pub(crate) max_external_per_host: Option<usize>,
    /// Runs in which a link must be unsure before it is broken [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) unsure_runs: Option<u32>,
    /// Time that those runs must span [default: 3d]
    #[arg(long, value_name = "TIME")]
    pub(crate) unsure_for: Option<String>,
}

/// What becomes of findings.
#[derive(Args)]
#[command(next_help_heading = "Findings")]
pub(crate) struct FindingFlags {
    /// What is printed [text, json, jsonl, csv, markdown, html, sarif, gitlab, junit, github]
    /// [default: text]
    #[arg(long, value_name = "FORM")]
    pub(crate) format: Option<String>,
    /// Also write a form to a file, `sarif=check.sarif`; repeatable
    #[arg(long, value_name = "FORM=FILE")]
    pub(crate) report: Vec<String>,
    /// Exit with 1 for findings of this severity [error, warning, never] [default: error]
    #[arg(long, value_name = "SEVERITY")]
    pub(crate) fail_on: Option<String>,
    /// Findings that are in this file, or in the job of this folder, are known and do not count
    #[arg(long, value_name = "FILE|JOB")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the findings of this run to the file of --baseline
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// Fail if fewer pages than this were checked [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) min_pages: Option<u64>,
    /// Read URLs that begin with FROM as if they began with TO; repeatable
    #[arg(long, value_name = "FROM=TO")]
    pub(crate) remap: Vec<String>,
    /// URLs that begin with this come from files in that folder; repeatable
    #[arg(long, value_name = "URL=DIR")]
    pub(crate) source: Vec<String>,
    /// File that findings name that have none of their own
    #[arg(long, value_name = "FILE")]
    pub(crate) location: Option<PathBuf>,
    /// Keep the job in this folder [default: <host>.crawl for a site]
    #[arg(short, long, value_name = "DIR", conflicts_with = "no_output")]
    pub(crate) output: Option<PathBuf>,
    /// Leave nothing on disk but reports
    #[arg(long)]
    pub(crate) no_output: bool,
    /// Open the report in a browser
    #[arg(long)]
    pub(crate) open: bool,
}
