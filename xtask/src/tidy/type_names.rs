//! One name, one type.
//!
//! Owns the rule that a public or crate-visible type has a name of its own within the product.
//! Private types and tests are not counted: nobody meets them outside of their file.

use std::collections::BTreeMap;

use super::source::Source;

/// Types with a name that another type has.
pub(super) fn repeated(sources: &[Source]) -> Vec<String> {
    let types = types(sources);
    let repeated = types.iter().filter(|(_, files)| files.len() > 1);
    repeated
        .map(|(name, files)| {
            let (count, files) = (files.len(), files.join(", "));
            format!("{count} types are called {name}; give each a name of its own: {files}")
        })
        .collect()
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
    let is_ours = source.is_code_of("crates/") || source.is_code_of("python/");
    is_ours && path.contains("/src/") && !path.contains("/fuzzing")
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
}
