//! "Did you mean": the known word nearest to what was typed.
//!
//! Owns the measure and how far off a word may be. Words longer than any of ours are not
//! compared, so the cost is bounded whatever was typed.

const LONGEST_WORD: usize = 32;

/// The nearest known word, if one is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = 1 + word.chars().count() / 4;
    known
        .filter_map(|candidate| Some((distance(word, candidate)?, candidate)))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
fn distance(one: &str, other: &str) -> Option<usize> {
    if one.len() > LONGEST_WORD || other.len() > LONGEST_WORD {
        return None;
    }
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let width = other.len() + 1;
    let mut table: Vec<usize> = vec![0; (one.len() + 1) * width];
    for row in 0..=one.len() {
        for column in 0..width {
            let at = |row: usize, column: usize| table[row * width + column];
            table[row * width + column] = if row == 0 || column == 0 {
                row + column
            } else {
                let differs = usize::from(one[row - 1] != other[column - 1]);
                let swapped = row > 1
                    && column > 1
                    && one[row - 1] == other[column - 2]
                    && one[row - 2] == other[column - 1];
                let swap = if swapped {
                    at(row - 2, column - 2) + 1
                } else {
                    usize::MAX
                };
                (at(row - 1, column) + 1)
                    .min(at(row, column - 1) + 1)
                    .min(at(row - 1, column - 1) + differs)
                    .min(swap)
            };
        }
    }
    table.last().copied()
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
