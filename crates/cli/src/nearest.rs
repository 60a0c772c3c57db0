//! "Did you mean": the known word nearest to what was typed.
//!
//! Owns how far off a word may be, in insertions, deletions, replacements and swaps of
//! neighbours. Words longer than any of ours are not compared, so the cost is bounded whatever
//! was typed.

const LONGEST_WORD: usize = 32;

/// The nearest known word, if one is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = 1 + word.chars().count() / 4;
    known
        .filter(|_| word.len() <= LONGEST_WORD)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let known = ["crawl", "inspect", "completions", "delay", "depth"];
        let check = |word: &str, expected: Option<&str>| {
            assert_eq!(nearest(word, known.into_iter()), expected, "{word}");
        };
        check("crwl", Some("crawl"));
        check("carwl", Some("crawl"));
        check("insepct", Some("inspect"));
        check("dleay", Some("delay"));
        check("completion", Some("completions"));
        check("example", None);
        check("intranet", None);
        check("", None);
        check(&"x".repeat(100_000), None);
    }
}
