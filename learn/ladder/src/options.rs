//! The command line that all rungs share.
//!
//! Owns the flags, which are those of the crawler in the book, in its spelling (`--max_tasks`)
//! and in ours (`--max-tasks`).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use regex::Regex;
use url::Url;

/// One rung of the ladder: crawls a site and says how it went
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch that users know by name"
)]
#[derive(Clone, Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Options {
    /// Where to begin; http:// may be left out
    pub roots: Vec<String>,
    /// Redirects that are followed in a row
    #[arg(long, alias = "max_redirect", default_value_t = 10)]
    pub max_redirect: u32,
    /// Tries per URL, when the network fails
    #[arg(long, alias = "max_tries", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tries: u32,
    /// Requests in flight at once [default: 1 for the rung blocking, 100 for the others]
    #[arg(long, alias = "max_tasks", value_parser = tasks)]
    pub max_tasks: Option<usize>,
    /// Do not follow links that match this regular expression
    #[arg(long, value_name = "REGEX")]
    pub exclude: Option<Regex>,
    /// Stay on the roots' hosts, with or without www. (this is the default)
    #[arg(long, overrides_with = "lenient")]
    pub strict: bool,
    /// Stay on the roots' domains: the last two labels of the host must match
    #[arg(long, overrides_with = "strict")]
    pub lenient: bool,
    /// Say more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Report as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write what became of each URL to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub urls: Option<PathBuf>,
    /// Connect to this address, whatever host the URL names
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub connect_to: Option<SocketAddr>,
    /// Seconds that one try may take
    #[arg(long, default_value = "30", value_parser = seconds)]
    pub timeout: Duration,
    /// URLs in all; a trap has no end of its own
    #[arg(long, default_value_t = 100_000)]
    pub max_urls: usize,
}

/// More tasks than this no machine of today has ports for.
const MOST_TASKS: usize = 60_000;

fn tasks(text: &str) -> Result<usize, String> {
    let number: Option<usize> = text.parse().ok();
    number
        .filter(|number| (1..=MOST_TASKS).contains(number))
        .ok_or_else(|| format!("write a number from 1 to {MOST_TASKS}"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write a number of seconds, such as 5 or 0.5".to_owned())
}

impl Options {
    /// The roots as URLs, each once.
    pub fn root_urls(&self) -> Result<Vec<Url>, String> {
        let mut urls = Vec::new();
        for root in &self.roots {
            let text = if root.contains("://") {
                root.clone()
            } else {
                format!("http://{root}")
            };
            let mut url = Url::parse(&text).map_err(|error| format!("{root:?}: {error}"))?;
            url.set_fragment(None);
            if !matches!(url.scheme(), "http" | "https") {
                return Err(format!("{root:?} is neither http nor https"));
            }
            urls.push(url);
        }
        urls.sort();
        urls.dedup();
        Ok(urls)
    }

    /// Requests in flight at once.
    pub fn tasks(&self) -> usize {
        self.max_tasks.unwrap_or(100)
    }

    /// Tells on stderr what went wrong for good.
    pub fn error(&self, text: &str) {
        eprintln!("error: {text}");
    }

    /// Tells on stderr what a person may want to know, unless `-q`.
    pub fn info(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Tells on stderr what a student may want to know, with `-v`.
    pub fn debug(&self, text: &str) {
        if self.verbose > 0 {
            eprintln!("{text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_books_spelling_is_understood_too() {
        let words = [
            "rung",
            "--max_tasks",
            "7",
            "--max_tries",
            "2",
            "--max_redirect",
            "3",
        ];
        let options = Options::parse_from(words);
        let found = (options.tasks(), options.max_tries, options.max_redirect);
        assert_eq!(found, (7, 2, 3));
        let options = Options::parse_from(["rung", "--lenient", "--strict"]);
        assert!(!options.lenient, "the last word counts");
        for words in [
            ["rung", "--max-tasks=0"],
            ["rung", "--timeout=0"],
            ["rung", "--exclude=("],
        ] {
            assert!(Options::try_parse_from(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn roots_are_a_set_of_urls() {
        let check = |roots: &[&str], expected: Option<&[&str]>| {
            let options = Options::parse_from([&["rung"], roots].concat());
            let found = options.root_urls().ok();
            let found: Option<Vec<&str>> = found
                .as_ref()
                .map(|urls| urls.iter().map(Url::as_str).collect());
            assert_eq!(found.as_deref(), expected, "{roots:?}");
        };
        check(&[], Some(&[]));
        check(&["a.test", "http://a.test/#x"], Some(&["http://a.test/"]));
        check(&["127.0.0.1:80/a"], Some(&["http://127.0.0.1/a"]));
        check(&["https://a.test"], Some(&["https://a.test/"]));
        check(&["ftp://a.test"], None);
        check(&["http://"], None);
    }
}
