//! The text of a file with its mutants in it.
//!
//! Owns the order of edits and where each site came to lie, so that an error of the compiler leads
//! back to the sites that caused it. Invariant: the text without any site is that of the file, but
//! for functions that are no longer `const`.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::site::{Edit, NUMBER, Side, Sites};

/// A file that was rewritten.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// Of each site that is in it, by its index: the bytes of its edits, in the order of the text.
    places: BTreeMap<usize, Vec<Range<usize>>>,
}

/// Writes the text with these sites, the first mutant of which has this number each.
pub(crate) fn rewrite(original: &str, found: &Sites, numbers: &[(usize, u32)]) -> Rewritten {
    let mut edits: Vec<(Option<usize>, u32, &Edit)> =
        found.freed.iter().map(|edit| (None, 0, edit)).collect();
    for (index, number) in numbers {
        let of_site = found.sites[*index].edits.iter();
        edits.extend(of_site.map(|edit| (Some(*index), *number, edit)));
    }
    edits.sort_by_key(|(site, _, edit)| {
        let outer = site.unwrap_or_default();
        let nested = match edit.side {
            Side::Behind => usize::MAX - outer,
            Side::Before | Side::Within => outer,
        };
        (edit.place.start, edit.side, nested)
    });
    let mut text = String::with_capacity(original.len() * 2);
    let mut places: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
    let mut at = 0;
    for (site, number, edit) in edits {
        text.push_str(&original[at..edit.place.start]);
        at = edit.place.end;
        let start = text.len();
        text.push_str(&edit.text.replace(NUMBER, &number.to_string()));
        if let Some(index) = site {
            places.entry(index).or_default().push(start..text.len());
        }
    }
    text.push_str(&original[at..]);
    Rewritten { text, places }
}

impl Rewritten {
    /// The sites that an error at these bytes is about: those whose edits it touches, else the
    /// innermost around it.
    pub(crate) fn blamed(&self, error: &Range<usize>) -> Vec<usize> {
        let overlaps = |range: &Range<usize>| range.start < error.end && error.start < range.end;
        let of_site = |(index, ranges): (&usize, &Vec<Range<usize>>)| {
            ranges.iter().any(overlaps).then_some(*index)
        };
        let touched: Vec<usize> = self.places.iter().filter_map(of_site).collect();
        if !touched.is_empty() {
            return touched;
        }
        let around = |(index, ranges): (&usize, &Vec<Range<usize>>)| {
            let whole = ranges.first()?.start..ranges.last()?.end;
            let is_around = whole.start <= error.start && error.end <= whole.end;
            is_around.then_some((whole.len(), *index))
        };
        let innermost = self.places.iter().filter_map(around).min();
        innermost.map(|(_, index)| index).into_iter().collect()
    }

    /// The sites of the last line up to this one that has any.
    pub(crate) fn before(&self, line: usize, found: &Sites) -> Vec<usize> {
        let line_of = |index: &usize| found.sites[*index].line;
        let lines = self.places.keys().map(line_of);
        let last = lines.filter(|of| *of <= line).max();
        let of_last = self
            .places
            .keys()
            .filter(|index| Some(line_of(index)) == last);
        of_last.copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::site::find;

    fn all(text: &str) -> (Sites, Rewritten) {
        let found = find(text, &BTreeSet::new()).unwrap();
        let numbers: Vec<(usize, u32)> = (0..found.sites.len())
            .map(|index| (index, 10 * index as u32))
            .collect();
        let rewritten = rewrite(text, &found, &numbers);
        (found, rewritten)
    }

    #[test]
    fn edits_nest_and_what_comes_out_is_code() {
        let text = "const fn f(a: u32, b: u32) -> bool {\n    a + 1 < b && !(b == 2 || a > b)\n}\n\
            fn g(x: &mut u32) { *x += 1; match x { y if *y < 2 => {}, _ => {} } }\n";
        let (found, rewritten) = all(text);
        syn::parse_file(&rewritten.text).unwrap();
        assert_eq!(rewritten.text.lines().count(), text.lines().count());
        assert!(!rewritten.text.contains("const fn"));
        let mistakes: Vec<&str> = found
            .sites
            .iter()
            .flat_map(|site| &site.mistakes)
            .map(String::as_str)
            .collect();
        for mistake in [
            "`f` answers `true`",
            "`g` does nothing",
            "`<` is `<=`",
            "`&&` is `||`",
            "`||` is `&&`",
            "`+` is `-`",
            "`!` is left out",
            "`+=` is `-=`",
            "the guard never holds",
        ] {
            assert!(mistakes.contains(&mistake), "{mistake}: {mistakes:?}");
        }
    }

    #[test]
    fn without_sites_nothing_changes_but_const() {
        let text =
            "fn f(a: u32) -> bool { a < 1 }\n#[cfg(test)]\nmod tests { fn t() -> bool { true } }\n";
        let found = find(text, &BTreeSet::new()).unwrap();
        assert_eq!(rewrite(text, &found, &[]).text, text);
        assert_eq!(found.sites.len(), 2, "tests have no sites");
    }

    #[test]
    fn an_error_leads_to_the_innermost_site() {
        let (_, rewritten) = all("fn f(a: u32) -> u32 { a + (a * 7) }\n");
        let at = rewritten.text.find("7)").unwrap();
        let product = rewritten.text.find("mutant_switch::product").unwrap();
        assert_eq!(rewritten.blamed(&(at..at + 1)), [2]);
        assert_eq!(rewritten.blamed(&(product..product + 4)), [2]);
    }
}
