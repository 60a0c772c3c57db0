//! Gathers the roots of a crawl.
//!
//! Owns how roots are read, from arguments and from files, and what is told to someone whose
//! root cannot be one. Bounded: a file of roots has a largest size.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};

use clewline_core::url::UrlError;
use clewline_job::config::Root;

use crate::flags;
use crate::message::shown;
use crate::nearest::nearest;
use crate::settings::binding::quote;
use crate::settings::layer::Layer;
use crate::settings::problem::Problem;

/// Bytes of roots read from one file at the most.
const LARGEST_INPUT: u64 = 1024 * 1024 * 1024;
/// Further problems of one file are not collected.
const MOST_PROBLEMS: usize = 100;

/// The roots of all sources, each once.
pub(crate) struct Roots<'a> {
    layer: &'a Layer,
    seen: HashSet<String>,
    pub(crate) found: Vec<Root>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Roots<'a> {
    pub(crate) fn new(layer: &'a Layer) -> Self {
        Self {
            layer,
            seen: HashSet::new(),
            found: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Takes roots as they stand on the command line.
    pub(crate) fn take(&mut self, texts: &[String]) {
        let place = self.layer.place("url");
        for text in texts {
            if let Some(problem) = mistaken_verb(text) {
                self.problems.push(problem);
            } else {
                self.add(text, &place);
            }
        }
    }

    /// Takes roots from a file, or from standard input for `-`.
    pub(crate) fn take_file(&mut self, path: &str) {
        let source: Box<dyn Read> = if path == "-" {
            Box::new(stdin())
        } else {
            match File::open(path) {
                Ok(file) => Box::new(file),
                Err(error) => {
                    let message = format!("`{}` cannot be read: {error}", quote(path));
                    let place = self.layer.place("input-file");
                    self.problems.push(Problem::new(place, message));
                    return;
                }
            }
        };
        self.take_lines(&shown(path), source);
    }

    fn take_lines(&mut self, name: &str, source: impl Read) {
        let mut lines = BufReader::new(source.take(LARGEST_INPUT)).split(b'\n');
        for number in 1_u64.. {
            let Some(line) = lines.next() else { break };
            let place = format!("{name}:{number}");
            match line.map(String::from_utf8) {
                Ok(Ok(line)) => {
                    // A comment begins a line or follows a space: `#` is also part of URLs.
                    let text = line.split(" #").next().unwrap_or_default().trim();
                    let text = text.trim_start_matches('\u{feff}');
                    if !text.is_empty() && !text.starts_with('#') {
                        self.add(text, &place);
                    }
                }
                Ok(Err(_)) => self.problems.push(Problem::new(place, "is not UTF-8")),
                Err(error) => {
                    self.problems
                        .push(Problem::new(place, format!("cannot be read: {error}")));
                    break;
                }
            }
            if self.problems.len() >= MOST_PROBLEMS {
                break;
            }
        }
    }

    fn add(&mut self, text: &str, place: &str) {
        if has_password(text) {
            // The URL itself is not repeated: it holds a secret.
            let problem = Problem::new(place, "has a user name or password in it");
            self.problems
                .push(problem.with_hint("give them with -u user:password"));
            return;
        }
        let parsed = if is_path(text) {
            Err(UrlError::Invalid)
        } else {
            Root::parse(text)
        };
        match parsed {
            Ok(root) => {
                if self.seen.insert(root.url.as_str().to_owned()) {
                    self.found.push(root);
                }
            }
            Err(error) => self.problems.push(refusal(text, place, error)),
        }
    }
}

fn refusal(text: &str, place: &str, error: UrlError) -> Problem {
    let problem = Problem::new(place, format!("`{}` {error}", quote(text)));
    let lower = text.trim().to_ascii_lowercase();
    if lower.starts_with("file:") || is_path(text) {
        problem.with_hint(
            "clewline asks web servers, not disks; serve the folder, for example with\n      \
             `python3 -m http.server`, and crawl http://localhost:8000",
        )
    } else {
        problem
    }
}

/// `./index.html` would read as a host named `.`.
fn is_path(text: &str) -> bool {
    let text = text.trim();
    let is_rooted = text.starts_with('/') && !text.starts_with("//");
    is_rooted || text.starts_with(['.', '~', '\\'])
}

/// Whether the authority of a URL has a part for the user (RFC 3986 section 3.2.1).
fn has_password(text: &str) -> bool {
    let rest = text.split_once("//").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.contains('@')
        && !text
            .trim_start()
            .to_ascii_lowercase()
            .starts_with("mailto:")
}

/// `clewline crwl` would ask a host of that name; nobody means that.
fn mistaken_verb(text: &str) -> Option<Problem> {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_word || text.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let known = flags::verbs().iter().map(String::as_str).chain(["help"]);
    let verb = nearest(&text.to_ascii_lowercase(), known)?;
    let hint = if verb == text {
        format!("a verb comes first: clewline {verb} …")
    } else {
        format!("did you mean the verb `{verb}`? To ask a host of that name write http://{text}/")
    };
    Some(
        Problem::new(
            "URL",
            format!("`{}` is neither a URL nor a verb", quote(text)),
        )
        .with_hint(hint),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], lines: &str) -> (Vec<String>, Vec<String>) {
        let layer = Layer::default();
        let mut roots = Roots::new(&layer);
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        roots.take(&arguments);
        roots.take_lines("in", lines.as_bytes());
        (
            roots
                .found
                .iter()
                .map(|root| root.url.to_string())
                .collect(),
            roots.problems.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn lines_comments_and_repetitions() {
        let lines = "\u{feff}example.com\n# a comment\n\n  example.org/a#top  # why\r\nexample.com";
        let (found, problems) = check(&["EXAMPLE.com"], lines);
        assert_eq!(found, ["https://example.com/", "https://example.org/a"]);
        assert_eq!(problems, [""; 0]);
    }

    #[test]
    fn refusals() {
        let (found, problems) = check(
            &[
                "file:///etc/passwd",
                "crwl",
                "exprot",
                "https://u:hunter2@example.com",
                "localhost",
            ],
            "ftp://x\nhttp://[::1\n./index.html\n/etc\n",
        );
        assert_eq!(found, ["https://localhost/"]);
        let expected = [
            "URL: `file:///etc/passwd` is neither http nor https",
            "URL: `crwl` is neither a URL nor a verb",
            "URL: `exprot` is neither a URL nor a verb",
            "URL: has a user name or password in it",
            "in:1: `ftp://x` is neither http nor https",
            "in:2: `http://[::1` has an IP address that is none",
            "in:3: `./index.html` is not a valid URL",
            "in:4: `/etc` is not a valid URL",
        ];
        assert_eq!(problems, expected);
    }
}
