//! The command line: verbs, the flags that are not settings, help.
//!
//! Owns the grammar. It refuses to know what settings mean; those are defined once, in
//! `settings`, and shared by verbs and file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use clewline_core::address::Cidr;

use crate::check::flags::{CHECK_HELP, CheckArguments};
use crate::demo::{DEMO_HELP, DemoArguments};
use crate::diff::{DIFF_HELP, DiffArguments};
use crate::export::{EXPORT_HELP, ExportArguments};
use crate::fleet::{FLEET_HELP, FleetArguments, FleetFlags};
use crate::mcp::{MCP_HELP, McpArguments};
use crate::search::{INDEX_HELP, IndexArguments, SEARCH_HELP, SearchArguments};
use crate::serve::dashboard::DashboardFlags;
use crate::serve::{SERVE_HELP, ServeArguments};
use crate::settings::arguments::SettingFlags;
use crate::settings::registry::{RENDER_WORDS, SCREENSHOT_WORDS};
use crate::settings::{CRAWL, INSPECT, RESUME};
use crate::warc::WarcArguments;

/// What `clewline` alone prints.
pub(crate) const SHORT_HELP: &str = "\
A web crawler that never loses its place.

Usage: clewline [crawl] URL… [OPTIONS]

  clewline example.com                      crawl a site into example.com.crawl/
  clewline example.com/docs/ --no-parent    only below a folder
  clewline localhost:3000 --fail-on broken  find broken links of your own site
  clewline resume                           go on with the crawl that is here
  clewline status                           how the newest crawl here stands
  clewline why example.com/page             what happened to a URL, and why
  clewline search 'some words'              find pages of the crawl that is here
  clewline inspect example.com/page         fetch one page and show what happens
  clewline demo                             try it without a network

More: clewline -h for the usual flags, clewline --help for all of them.
";

const EXAMPLES: &str = "\
Examples:
  clewline example.com                      crawl a site into example.com.crawl/
  clewline example.com/docs/ --no-parent    only below a folder
  clewline example.com -n 100 --list        a hundred pages, one line per URL
  clewline localhost:3000 --fail-on broken  find broken links of your own site

These are the usual flags; clewline --help has all of them.";

const NOTES: &str = "\
Examples:
  clewline example.com                      crawl a site into example.com.crawl/
  clewline example.com/docs/ --no-parent    only below a folder
  clewline example.com -n 100 --list        a hundred pages, one line per URL
  clewline example.com -d 2 -p -o copy      two links deep, with images and styles
  clewline localhost:3000 --fail-on broken  find broken links of your own site
  clewline -i roots.txt --speed gentle      many sites, slowly

Notation:
  Times are written 500ms, 2s, 1m30s; sizes 512k, 32M, 1G; rates 5/s, 30/m.
  Flags that take a list or a pattern may be given more than once.

Files:
  Settings may also stand in clewline.toml, under the names of their flags. A flag
  wins over the file; --show-config tells where each value comes from.

Exit codes:
  0    done
  1    done, and what --fail-on names occurred
  2    usage or configuration
  3    could not continue: no root was fetched, the disk is full
  130  interrupted by Ctrl-C or SIGTERM: once finishes what is in flight, twice
       stops at once";

const INSPECT_HELP: &str = "\
Shows each redirect, the header, what robots.txt says and in which line, what the
page tells, what a crawl would do with each link, and where the time went.
Of a file it shows what the page says about itself. --markdown, --text and --rules
show the content of either. inspect --help has all flags; those of the scope
decide what is said of links.

Exit codes: 0 an answer was read, whatever its status; 2 usage or configuration;
3 it was not fetched.";

const RESUME_HELP: &str = "\
The configuration comes from the job folder, not from clewline.toml. Flags change
limits and politeness, for this run and later ones; another scope needs --rescope.
Passwords and values of header fields are not kept: give them again.

Exit codes: as those of a crawl; 0 also where the crawl was finished before.";

const STATUS_HELP: &str = "\
A running crawl answers itself; for any other, the stored state is read and not
changed. The time left is an estimate for what is queued now, at the pace of the last
seconds.";

const WHY_HELP: &str = "\
Shows where the URL was found, what it is known as, the verdict with the rule or the
line of robots.txt, when it was queued, each try, redirects, size and digest. A URL
that the crawl never let in is judged by the stored configuration and robots.txt.";

const CTL_HELP: &str = "\
Orders:
  pause, continue, stop
  rate 5/s, delay 2s, concurrency 50, host-concurrency 4
  max-pages 1000, max-pages-per-host 100, max-bytes 1G, max-time 2h; or `unlimited`
  add URL: one more root
  exclude PATTERN: leave out what matches, found or queued

Orders take effect immediately. Figures are saved to job.toml for later runs; a pause
ends with the run. rate and delay replace each other.

Exit codes: 0 done; 2 usage; 3 no crawl runs there, or it does not answer.";

/// A web crawler that never loses its place.
#[derive(Parser)]
#[command(
    name = "clewline",
    version = VERSION,
    long_version = LONG_VERSION,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 100,
    after_help = EXAMPLES,
    after_long_help = NOTES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) crawl: CrawlArguments,
    /// Print the version (-V), with what it was built for (--version)
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = HELP)]
    version: Option<bool>,
}

const HELP: &str = "Help";

/// The version, and the commit with its date.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("CLEWLINE_REVISION"),
    ")"
);

/// The version, and what the command was built for.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("CLEWLINE_REVISION"),
    ")\ntarget: ",
    env!("CLEWLINE_TARGET")
);

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Crawl a site (the default command)
    #[command(
        disable_help_flag = true,
        max_term_width = 100,
        after_help = EXAMPLES,
        after_long_help = NOTES
    )]
    Crawl(Box<CrawlArguments>),
    /// Fetch one page and show every step
    #[command(max_term_width = 100, after_help = INSPECT_HELP)]
    Inspect(Box<InspectArguments>),
    /// Find what is wrong with a site: dead links and more
    #[command(max_term_width = 100, after_help = CHECK_HELP)]
    Check(Box<CheckArguments>),
    /// Continue an unfinished crawl
    #[command(max_term_width = 100, after_help = RESUME_HELP)]
    Resume(Box<ResumeArguments>),
    /// Show the state of a crawl, running or not
    #[command(after_help = STATUS_HELP)]
    Status(StatusArguments),
    /// Show what happened to a URL, and why
    #[command(override_usage = "clewline why [DIR] URL [--json]", after_help = WHY_HELP)]
    Why(WhyArguments),
    /// Pause, continue, stop or change a running crawl
    #[command(override_usage = "clewline ctl [DIR] ORDER [VALUE]", after_help = CTL_HELP)]
    Ctl(CtlArguments),
    /// Search the pages of a crawl
    #[command(override_usage = "clewline search [DIR] QUERY [OPTIONS]", after_help = SEARCH_HELP)]
    Search(SearchArguments),
    /// Build or update the search index
    #[command(after_help = INDEX_HELP)]
    Index(IndexArguments),
    /// List, read and verify archives: WARC files, or the archive of a crawl
    #[command(max_term_width = 100)]
    Warc(WarcArguments),
    /// Replay an archive in the browser, or as a proxy with the exact bytes
    #[command(max_term_width = 100, after_help = SERVE_HELP)]
    Serve(ServeArguments),
    /// Serve crawls to an assistant: fetch, search, read, crawl, status and check as tools
    #[command(max_term_width = 100, after_help = MCP_HELP)]
    Mcp(McpArguments),
    /// Export a crawl as tables, Markdown, passages, a local copy or a WACZ file
    #[command(max_term_width = 100, after_help = EXPORT_HELP)]
    Export(ExportArguments),
    /// Compare two crawls: one edit is one entry, noise is none
    #[command(override_usage = "clewline diff OLD NEW [OPTIONS]\n       clewline diff OLD --live [OPTIONS]",
              max_term_width = 100, after_help = DIFF_HELP)]
    Diff(DiffArguments),
    /// Share one crawl among many machines
    #[command(max_term_width = 100, after_help = FLEET_HELP)]
    Fleet(FleetArguments),
    /// Crawl a small built-in site with faults; needs no network
    #[command(max_term_width = 100, after_help = DEMO_HELP)]
    Demo(DemoArguments),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the reference of all settings
    #[command(hide = true)]
    Reference,
    /// Write the manual pages, one per verb
    #[command(hide = true)]
    Manual {
        /// The folder to write them to
        dir: PathBuf,
    },
}

/// A crawl's settings, and where they come from.
#[derive(Args)]
pub(crate) struct CrawlArguments {
    #[command(flatten)]
    pub(crate) settings: SettingFlags<CRAWL>,
    #[command(flatten)]
    pub(crate) fleet: FleetFlags,
    #[command(flatten)]
    pub(crate) sources: SettingSources,
    #[command(flatten)]
    pub(crate) dashboard: DashboardFlags,
    /// Others wrote the roots: nothing private is asked
    #[arg(long, hide = true)]
    pub(crate) foreign_roots: bool,
    /// Always on: here only so that wget's habit gets an answer
    #[arg(short, long, hide = true)]
    pub(crate) recursive: bool,
    /// Print the common options (-h) or all of them (--help)
    #[arg(short, long, action = ArgAction::Help, help_heading = HELP)]
    help: Option<bool>,
}

/// Where settings come from.
#[derive(Args, Clone)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct SettingSources {
    /// Read this file instead of ./clewline.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Do not read a configuration file
    #[arg(long, conflicts_with = "config")]
    pub(crate) no_config: bool,
    /// Print every setting and where it comes from, then exit
    #[arg(long)]
    pub(crate) show_config: bool,
}

/// One page and the settings that concern a single request.
#[derive(Args)]
pub(crate) struct InspectArguments {
    /// A URL, or an HTML file
    #[arg(value_name = "URL|FILE")]
    pub(crate) url: String,
    /// Print the body, and the steps to standard error
    #[arg(long)]
    pub(crate) body: bool,
    #[command(flatten)]
    pub(crate) content: ContentArguments,
    /// How to print the steps [text, json] [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"],
          hide_possible_values = true)]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags<INSPECT>,
    #[command(flatten)]
    pub(crate) sources: SettingSources,
}

/// What is shown of a page's content.
#[derive(Args)]
pub(crate) struct ContentArguments {
    /// Print the main content as Markdown, and the steps to standard error
    #[arg(long, conflicts_with_all = ["body", "text", "rules"])]
    pub(crate) markdown: bool,
    /// Print the main content as plain text, and the steps to standard error
    #[arg(long, conflicts_with_all = ["body", "rules"])]
    pub(crate) text: bool,
    /// Print the items that the rules in this file find, as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    pub(crate) rules: Option<PathBuf>,
    /// With --markdown or --text, print the whole page, not only its main content
    #[arg(long, conflicts_with = "rules")]
    pub(crate) whole: bool,
}

/// A job and the flags that go over its configuration.
#[derive(Args)]
pub(crate) struct ResumeArguments {
    /// The job folder [default: the newest one here]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags<RESUME>,
    #[command(flatten)]
    pub(crate) dashboard: DashboardFlags,
}

/// A job to look at.
#[derive(Args)]
pub(crate) struct StatusArguments {
    /// The job folder [default: the newest one here], or the address of a fleet's database
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The name of the fleet's job
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print it as text or json
    #[arg(long, value_name = "FORM", value_parser = ["text", "json"], conflicts_with = "json")]
    pub(crate) format: Option<String>,
}

impl StatusArguments {
    /// Whether JSON is wanted.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.format.as_deref() == Some("json")
    }
}

/// A job and a URL of it.
#[derive(Args)]
pub(crate) struct WhyArguments {
    /// The job folder [default: the newest one here] and the URL
    #[arg(value_name = "DIR URL", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A job and what it is told.
#[derive(Args)]
pub(crate) struct CtlArguments {
    /// The name of the fleet's job, with the address of its database in place of DIR
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// The job folder [default: the newest one here], the order and its value
    #[arg(value_name = "DIR ORDER VALUE", required = true, num_args = 1..=3,
          allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
}

/// The grammar.
pub(crate) fn command() -> clap::Command {
    Cli::command().mut_subcommands(with_help)
}

/// Every verb, and every verb of a verb, explains itself.
fn with_help(verb: clap::Command) -> clap::Command {
    let verb = verb.mut_subcommands(with_help);
    if verb.get_arguments().any(|arg| arg.get_id() == "help") {
        return verb;
    }
    let help = clap::Arg::new("help").short('h').long("help");
    let help = help.action(ArgAction::Help).help("Print help");
    verb.arg(help.help_heading(HELP))
}

/// Every verb that users are told of.
pub(crate) fn verbs() -> &'static [String] {
    // A file of roots may ask for each of its lines.
    static VERBS: OnceLock<Vec<String>> = OnceLock::new();
    VERBS.get_or_init(|| {
        let command = Cli::command();
        let told = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        told.map(|verb| verb.get_name().to_owned()).collect()
    })
}

/// Reads the command line.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(join_values(arguments))?;
    Cli::from_arg_matches(&matches)
}

/// Some flags take a value or nothing. What follows is their value only if it looks like one; the
/// grammar alone would need an equals sign or swallow a URL.
fn join_values(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        match joined.last_mut() {
            Some(last) if last.to_str().is_some_and(|flag| is_value_of(flag, text)) => {
                last.push("=");
                last.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

/// Whether a text can only be the value of a flag that may stand without one.
fn is_value_of(flag: &str, text: &str) -> bool {
    match flag {
        "--allow-private" => text.parse::<Cidr>().is_ok(),
        "--render" => RENDER_WORDS.iter().any(|(word, _)| *word == text),
        "--screenshot" => SCREENSHOT_WORDS.iter().any(|(word, _)| *word == text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Cli {
        parse(line.split(' ').map(OsString::from)).unwrap()
    }

    #[test]
    fn the_grammar_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn ranges_are_optional_without_an_equals_sign() {
        let check = |line: &str, ranges: &[&str], urls: &[&str]| {
            let settings = parsed(line).crawl.settings.0;
            assert_eq!(settings.texts("allow-private"), ranges, "{line}");
            assert_eq!(settings.texts("url"), urls, "{line}");
        };
        check("clewline --allow-private a.com", &["all"], &["a.com"]);
        check(
            "clewline --allow-private 10.0.0.0/8 a.com",
            &["10.0.0.0/8"],
            &["a.com"],
        );
        check(
            "clewline --allow-private=10.0.0.0/8 --allow-private ::1 a.com",
            &["10.0.0.0/8", "::1"],
            &["a.com"],
        );
        check("clewline a.com", &[], &["a.com"]);
    }

    #[test]
    fn words_of_rendering_are_optional_without_an_equals_sign() {
        let check = |line: &str, words: [&[&str]; 2], urls: &[&str]| {
            let settings = parsed(line).crawl.settings.0;
            let found = ["render", "screenshot"].map(|name| settings.texts(name));
            assert_eq!(found, words, "{line}");
            assert_eq!(settings.texts("url"), urls, "{line}");
        };
        check("clewline --render a.com", [&["auto"], &[]], &["a.com"]);
        check(
            "clewline --render always a.com",
            [&["always"], &[]],
            &["a.com"],
        );
        check(
            "clewline --render=never a.com",
            [&["never"], &[]],
            &["a.com"],
        );
        check(
            "clewline a.com --screenshot --render",
            [&["auto"], &["window"]],
            &["a.com"],
        );
        check(
            "clewline --screenshot full a.com",
            [&[], &["full"]],
            &["a.com"],
        );
    }

    #[test]
    fn names_of_other_tools() {
        for (line, name) in [
            ("--max_redirect 3", "max-redirects"),
            ("--max_tries 3", "tries"),
            ("--max_tasks 3", "concurrency"),
            ("--level 3", "depth"),
            ("--wait 3", "delay"),
            ("--load-cookies 3", "cookies"),
        ] {
            let settings = parsed(&format!("clewline {line} a.com")).crawl.settings.0;
            assert_eq!(settings.texts(name), ["3"], "{line}");
        }
        let settings = parsed("clewline --no-check-certificate a.com")
            .crawl
            .settings
            .0;
        assert!(settings.is_given("insecure"));
    }

    #[test]
    fn the_verb_may_be_left_out() {
        assert!(matches!(
            parsed("clewline crawl -d 2 a.com").verb,
            Some(Verb::Crawl(_))
        ));
        assert!(matches!(
            parsed("clewline inspect a.com").verb,
            Some(Verb::Inspect(_))
        ));
        assert!(parsed("clewline -d 2 a.com").verb.is_none());
    }
}
