//! The folders and files that settings name, and the name of a job folder that nobody named.
//!
//! Owns the way from roots to a name that every file system takes. It refuses to look at the
//! clock; the date is an argument.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clewline_job::config::Root;

/// A folder's name may have 255 bytes nearly everywhere; host names may have 253 already.
const LONGEST_NAME: usize = 200;
const SECONDS_PER_DAY: u64 = 86_400;
/// Names that Windows keeps for devices, whatever follows after a dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// `example.com.crawl`, `localhost-3000.crawl`, or `crawl-2026-01-31` for several hosts.
pub(crate) fn name(roots: &[Root], date: &str) -> PathBuf {
    let mut names = roots.iter().map(|root| of_authority(root.url.authority()));
    let first = names.next().unwrap_or_default();
    if first.is_empty() || names.any(|other| other != first) {
        PathBuf::from(format!("crawl-{date}"))
    } else {
        PathBuf::from(format!("{first}.crawl"))
    }
}

/// A folder that somebody named.
pub(crate) fn named(text: &str) -> Result<PathBuf, &'static str> {
    match text {
        "" => Err("is empty; leave the setting out for <host>.crawl"),
        "-" => Err("is not a folder; the report is printed anyway, --no-output keeps nothing else"),
        _ => Ok(PathBuf::from(text)),
    }
}

/// The folder of an earlier crawl. Kept as a whole path, because a crawl may be resumed from
/// elsewhere.
pub(crate) fn earlier(text: &str) -> Result<PathBuf, String> {
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    if path.is_dir() {
        Ok(path)
    } else {
        Err("is not a folder".to_owned())
    }
}

/// A file that must be there.
pub(crate) fn existing_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err("is a folder, not a file".to_owned()),
        Ok(_) => Ok(path),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

fn of_authority(authority: &str) -> String {
    let is_ipv6 = authority.starts_with('[');
    let plain: String = authority
        .chars()
        .filter(|c| !"[]".contains(*c))
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(LONGEST_NAME)
        .collect();
    let first_label = plain.split(['.', '-']).next().unwrap_or_default();
    let is_device = DEVICES.contains(&first_label)
        || (first_label.len() == 4
            && (first_label.starts_with("com") || first_label.starts_with("lpt")));
    if is_ipv6 {
        format!("ipv6-{plain}")
    } else if is_device || plain.starts_with(['.', '-']) {
        format!("host-{plain}")
    } else {
        plain
    }
}

/// The date in UTC, `2026-01-31`.
pub(crate) fn date(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut days = since.as_secs() / SECONDS_PER_DAY;
    let mut year = 1970;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let february = if days_of_year(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}

/// The Gregorian rule for leap years.
const fn days_of_year(year: u64) -> u64 {
    let is_leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    if is_leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn folders() {
        let check = |roots: &[&str], expected: &str| {
            let roots: Vec<Root> = roots
                .iter()
                .map(|text| Root::parse(text).unwrap())
                .collect();
            assert_eq!(name(&roots, "2026-01-31"), PathBuf::from(expected));
        };
        check(&["example.com"], "example.com.crawl");
        check(&["https://example.com/docs/"], "example.com.crawl");
        check(
            &["example.com", "http://example.com/x"],
            "example.com.crawl",
        );
        check(&["localhost:3000"], "localhost-3000.crawl");
        check(&["example.com", "example.org"], "crawl-2026-01-31");
        check(&["localhost:1", "localhost:2"], "crawl-2026-01-31");
        check(&["http://[::1]:8080/"], "ipv6---1-8080.crawl");
        check(&["http://con/"], "host-con.crawl");
        check(&["http://com1.example/"], "host-com1.example.crawl");
        check(&["http://comma.example/"], "comma.example.crawl");
        check(&["bücher.example"], "xn--bcher-kva.example.crawl");
        check(&[], "crawl-2026-01-31");
    }

    #[test]
    fn dates() {
        let check = |seconds: u64, expected: &str| {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        };
        check(0, "1970-01-01");
        check(951_782_400, "2000-02-29");
        check(951_868_800, "2000-03-01");
        check(1_735_689_599, "2024-12-31");
        check(1_735_689_600, "2025-01-01");
        check(4_107_542_400, "2100-03-01");
    }
}
