//! Segments: the bytes of a log from one offset to another, as the name of an object.
//!
//! Owns that name, both ways. Names sort as the bytes follow each other. It refuses to know stores.

use std::ops::Range;

/// The name of a segment: its log, and both offsets with leading zeros.
pub(crate) fn name_of(log: &str, bytes: &Range<u64>) -> String {
    format!("{log}/{:020}-{:020}", bytes.start, bytes.end)
}

/// The log and the bytes that a name stands for.
pub(crate) fn parse(name: &str) -> Option<(&str, Range<u64>)> {
    let (log, offsets) = name.rsplit_once('/')?;
    let (from, to) = offsets.split_once('-')?;
    let number = |digits: &str| match digits.len() {
        20 => digits.parse::<u64>().ok(),
        _ => None,
    };
    let bytes = number(from)?..number(to)?;
    (!bytes.is_empty()).then_some((log, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_the_bytes_follow_each_other() {
        let first = name_of("urls", &(9..10));
        let second = name_of("urls", &(10..1_000));
        assert!(first < second);
        assert_eq!(parse(&second), Some(("urls", 10..1_000)));
        assert_eq!(
            parse(&name_of("archive/a.warc.gz", &(0..5))),
            Some(("archive/a.warc.gz", 0..5))
        );
        for other in ["urls", "urls/1-2", "fleet.json", &name_of("urls", &(5..5))] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
