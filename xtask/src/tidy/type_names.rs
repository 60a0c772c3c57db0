//! One name, one type.
//!
//! Owns the rule that a public or crate-visible type has a name of its own within the product, and
//! the list of names that still break it. Private types and tests are not counted: nobody meets
//! them outside of their file.

use std::collections::BTreeMap;

use super::source::Source;

/// Names that more than one type has, and how many have it. The list may only shrink: give a new
/// type a name of its own, and take a name off the list when one type is left.
const REPEATED: [(&str, usize); 56] = [
    ("Answer", 2),
    ("Archive", 2),
    ("Asked", 2),
    ("Board", 2),
    ("Body", 2),
    ("Buffers", 2),
    ("Change", 4),
    ("Content", 2),
    ("Counts", 2),
    ("Draft", 2),
    ("Earlier", 3),
    ("End", 2),
    ("Ending", 2),
    ("Entry", 2),
    ("Existing", 2),
    ("Fate", 2),
    ("Filter", 3),
    ("Folded", 2),
    ("Form", 3),
    ("Found", 4),
    ("Hop", 2),
    ("Index", 3),
    ("Job", 2),
    ("Known", 2),
    ("Media", 2),
    ("Near", 2),
    ("Options", 2),
    ("Origin", 2),
    ("Outcome", 2),
    ("Pace", 2),
    ("Packer", 2),
    ("Page", 4),
    ("Pages", 2),
    ("Part", 3),
    ("Place", 4),
    ("Point", 2),
    ("Progress", 4),
    ("Reach", 2),
    ("Reader", 2),
    ("Request", 2),
    ("Resolved", 2),
    ("RobotsState", 2),
    ("Room", 3),
    ("Row", 3),
    ("Source", 3),
    ("Sources", 3),
    ("Standing", 4),
    ("StartTag", 2),
    ("Step", 2),
    ("Style", 2),
    ("Summary", 2),
    ("Target", 2),
    ("Verdict", 2),
    ("Words", 2),
    ("Work", 3),
    ("Written", 3),
];

/// Types with a name that another type has, unless they are on the list.
pub(super) fn repeated(sources: &[Source]) -> Vec<String> {
    let types = types(sources);
    let repeated = types
        .iter()
        .filter(|(name, files)| files.len() > allowed(name));
    repeated
        .map(|(name, files)| {
            let (count, most, files) = (files.len(), allowed(name), files.join(", "));
            format!("{count} types are called {name}, at most {most} may be: {files}")
        })
        .collect()
}

/// Names on the list that are repeated less often by now.
pub(super) fn stale(sources: &[Source]) -> Vec<String> {
    let types = types(sources);
    let count = |name: &str| types.get(name).map_or(0, Vec::len);
    let stale = REPEATED
        .iter()
        .filter(|(name, most)| count(name) < *most || *most < 2);
    stale
        .map(|(name, most)| {
            let count = count(name);
            format!("{name} is listed {most} times and found {count} times; correct the list")
        })
        .collect()
}

fn allowed(name: &str) -> usize {
    let listed = REPEATED.iter().find(|(listed, _)| *listed == name);
    listed.map_or(1, |(_, most)| *most)
}

/// The files in which each name is given to a type.
fn types(sources: &[Source]) -> BTreeMap<String, Vec<&str>> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| is_product(source)) {
        for line in source.code().lines() {
            if let Some(name) = type_name(line) {
                found.entry(name.to_owned()).or_default().push(&source.path);
            }
        }
    }
    found
}

/// Fuzzing is for tests alone.
fn is_product(source: &Source) -> bool {
    let path = &source.path;
    source.is_code_of("crates/") && path.contains("/src/") && !path.contains("/fuzzing")
}

/// The name of the type that a line declares for others.
fn type_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let (keyword, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    (matches!(keyword, "struct" | "enum" | "trait") && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_for_others_have_names() {
        for (line, expected) in [
            ("pub struct Page {", Some("Page")),
            ("    pub(crate) enum Tag<'a> {", Some("Tag")),
            ("pub(in crate::a) trait Log: Send {", Some("Log")),
            ("pub struct Banner(pub u8);", Some("Banner")),
            ("struct Private;", None),
            ("pub fn struct_of(x: u8) {}", None),
            ("pub type Rows = Vec<u8>;", None),
            ("pub use a::Page;", None),
            ("publish struct Page", None),
        ] {
            assert_eq!(type_name(line), expected, "{line}");
        }
    }

    #[test]
    fn types_are_counted_where_people_meet_them() {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let page = "//! A.\npub struct Twin;\nstruct Private;\n";
        let first = source("crates/cli/src/a.rs", page);
        for (second, count) in [
            (source("crates/core/src/b.rs", page), 1),
            (source("crates/core/src/tests.rs", page), 0),
            (source("crates/core/src/fuzzing/b.rs", page), 0),
            (source("crates/core/tests/b.rs", page), 0),
            (source("lab/mutate/src/b.rs", page), 0),
            (
                source("crates/core/src/b.rs", "//! B.\n// pub struct Twin;\n"),
                0,
            ),
        ] {
            let path = second.path.clone();
            let first = source(&first.path, &first.text);
            assert_eq!(repeated(&[first, second]).len(), count, "{path}");
        }
    }

    #[test]
    fn the_list_names_each_name_once_and_nothing_that_is_not_there() {
        let mut names = REPEATED.map(|(name, _)| name);
        names.sort_unstable();
        assert_eq!(names, REPEATED.map(|(name, _)| name), "in order");
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(stale(&[]).len(), REPEATED.len());
    }
}
