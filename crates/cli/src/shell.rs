//! Commands for people to type.
//!
//! Owns how words are quoted for a shell, and the command that brings a finished crawl up to
//! date. Invariant: what is shown can be pasted into a POSIX shell as it stands, and holds no
//! secret.

use std::path::{Path, PathBuf};

use crate::job::ENDING;
use crate::message::shown;
use crate::settings::SettingMark::Secret;
use crate::settings::all;

/// Flags that the new command gives itself.
const REPLACED: [&str; 4] = ["-o", "--output", "--update-from", "--overwrite"];

/// A word as a shell reads it back; what would steer a terminal is written out.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", shown(word).replace('\'', r"'\''"))
}

/// The same command as an update of what it made before, with the flags for that. Where a part
/// of it is a secret, only the flags are told.
pub(crate) fn update_command(arguments: &[String], flags: &str) -> String {
    match repeated(arguments) {
        Some(words) => format!("clewline {words} {flags}"),
        None => format!("the same command with {flags}"),
    }
}

/// What has to be added to the command that made a crawl, so that it is brought up to date.
pub(crate) fn update_flags(folder: &Path, date: &str) -> String {
    let next = successor(folder, date, &|path| path.exists());
    let folder = quoted(&folder.to_string_lossy());
    let next = quoted(&next.to_string_lossy());
    format!("--update-from {folder} -o {next}")
}

/// The arguments as they were given, without those that change; nothing if one is a secret.
fn repeated(arguments: &[String]) -> Option<String> {
    let mut words = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let name = argument.split('=').next().unwrap_or_default();
        if is_secret(name) {
            return None;
        }
        if REPLACED.contains(&name) {
            let takes_next = name != "--overwrite" && !argument.contains('=');
            if takes_next {
                arguments.next();
            }
            continue;
        }
        words.push(quoted(argument));
    }
    Some(words.join(" "))
}

/// Whether a flag carries a value that must not be shown, in its long or its short form.
fn is_secret(name: &str) -> bool {
    let mut secrets = all().filter(|setting| setting.is(Secret));
    secrets.any(|setting| match name.strip_prefix("--") {
        Some(long) => long == setting.name,
        None => setting
            .short
            .is_some_and(|short| name.starts_with(&format!("-{short}"))),
    })
}

/// `example.com-2026-01-31.crawl` after `example.com.crawl`; numbered where that is taken.
fn successor(folder: &Path, date: &str, is_taken: &dyn Fn(&Path) -> bool) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(ENDING).unwrap_or(&name);
    let stem = without_date(stem);
    let first = folder.with_file_name(format!("{stem}-{date}{ENDING}"));
    let numbered = (2..).map(|number| format!("{stem}-{date}-{number}{ENDING}"));
    let mut names = std::iter::once(first).chain(numbered.map(|name| folder.with_file_name(name)));
    names
        .find(|path| !is_taken(path))
        .expect("there is no end to numbers")
}

/// A name without the date and the number that [`successor`] gave it.
fn without_date(stem: &str) -> &str {
    let is_date = |text: &str| {
        text.len() == "2026-01-31".len()
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    };
    let dated = |text: &'_ str| {
        let at = text.len().checked_sub("-2026-01-31".len())?;
        let is_dated =
            text.is_char_boundary(at) && text[at..].strip_prefix('-').is_some_and(is_date);
        is_dated.then_some(at)
    };
    if let Some(at) = dated(stem) {
        return &stem[..at];
    }
    match stem.rsplit_once('-') {
        Some((front, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            dated(front).map_or(stem, |at| &front[..at])
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (word, expected) in [
            ("https://a.test/x?y=1", "'https://a.test/x?y=1'"),
            ("a.test/x", "a.test/x"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("a b", "'a b'"),
            ("\u{1b}[2J", r"'\x1b[2J'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn a_finished_crawl_is_updated_by_the_same_command() {
        let check = |line: &str, expected: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let flags = update_flags(Path::new("a.test.crawl"), "2026-01-31");
            let command = update_command(&arguments, &flags);
            assert_eq!(command, expected, "{line}");
        };
        let added = "--update-from a.test.crawl -o a.test-2026-01-31.crawl";
        check("a.test", &format!("clewline a.test {added}"));
        check(
            "crawl a.test -o a.test.crawl -n 5 --update-from=old",
            &format!("clewline crawl a.test -n 5 {added}"),
        );
        for secret in ["-u me:hunter2", "--user=me:hunter2", "-HCookie:hunter2"] {
            check(
                &format!("a.test {secret}"),
                &format!("the same command with {added}"),
            );
        }
    }

    #[test]
    fn each_update_has_a_folder_of_its_own() {
        let check = |folder: &str, taken: &[&str], expected: &str| {
            let is_taken = |path: &Path| taken.iter().any(|name| path == Path::new(name));
            let next = successor(Path::new(folder), "2026-02-01", &is_taken);
            assert_eq!(next, Path::new(expected));
        };
        check("a.test.crawl", &[], "a.test-2026-02-01.crawl");
        check("jobs/copy", &[], "jobs/copy-2026-02-01.crawl");
        check("a.test-2026-01-31.crawl", &[], "a.test-2026-02-01.crawl");
        check("a.test-2026-01-31-2.crawl", &[], "a.test-2026-02-01.crawl");
        check(
            "a.test-2026-02-01.crawl",
            &["a.test-2026-02-01.crawl"],
            "a.test-2026-02-01-2.crawl",
        );
        check(
            "localhost-3000.crawl",
            &[],
            "localhost-3000-2026-02-01.crawl",
        );
    }
}
