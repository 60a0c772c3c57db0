//! How many names the library shows.
//!
//! Owns the count of what a user of the library can name: its public modules and, in these and at
//! the top of the crate, types, traits, functions, constants and what is re-exported. Items that
//! carry `doc(hidden)` are for the laboratory and do not count. Methods, fields and variants have
//! no path of their own and do not count either. It reads a module in a file of its own only.

use super::source::Source;

/// The folder of the library.
const LIBRARY: &str = "crates/clewline/src";

/// Names that the library may show.
const MOST_NAMES: usize = 40;

/// Words that begin a public item, after `pub` and words such as `async`.
const ITEMS: [&str; 9] = [
    "struct", "enum", "union", "trait", "type", "fn", "const", "static", "mod",
];

/// Words between `pub` and the word that says what an item is. A `const` item is the same word
/// without a function behind it.
const QUALIFIERS: [&str; 3] = ["async ", "unsafe ", "const fn "];

/// A library that shows more names than it may, or names that cannot be counted.
pub(super) fn too_many(sources: &[Source]) -> Vec<String> {
    let names = names(sources);
    let mut broken: Vec<String> = names
        .iter()
        .filter(|name| name.ends_with('*'))
        .map(|name| format!("{name} shows names that nobody counted; name each"))
        .collect();
    if names.len() > MOST_NAMES {
        let (count, names) = (names.len(), names.join(", "));
        broken.push(format!(
            "the library shows {count} names, at most {MOST_NAMES} may be: {names}"
        ));
    }
    broken
}

/// The paths of all names, without the name of the crate.
fn names(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut modules = vec![String::new()];
    while let Some(module) = modules.pop() {
        let Some(source) = file_of(sources, &module) else {
            continue;
        };
        for item in items(&source.code()) {
            let path = if module.is_empty() {
                item.name
            } else {
                format!("{module}::{}", item.name)
            };
            if item.is_module {
                modules.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}

fn file_of<'a>(sources: &'a [Source], module: &str) -> Option<&'a Source> {
    let paths = if module.is_empty() {
        [format!("{LIBRARY}/lib.rs"), String::new()]
    } else {
        let path = module.replace("::", "/");
        [
            format!("{LIBRARY}/{path}.rs"),
            format!("{LIBRARY}/{path}/mod.rs"),
        ]
    };
    sources.iter().find(|source| paths.contains(&source.path))
}

#[derive(Debug, PartialEq, Eq)]
struct Item {
    name: String,
    is_module: bool,
}

/// The public items at the top of a module.
fn items(code: &str) -> Vec<Item> {
    let mut found = Vec::new();
    let mut is_hidden = false;
    let mut rest = code;
    while let Some((line, after)) = rest
        .split_once('\n')
        .or((!rest.is_empty()).then_some((rest, "")))
    {
        let statement = rest;
        rest = after;
        if line.starts_with("#[") {
            is_hidden |= line.contains("doc(hidden)");
            continue;
        }
        if let Some(item) = line.strip_prefix("pub ")
            && !is_hidden
        {
            if item.starts_with("use ") {
                let end = statement.find(';').unwrap_or(statement.len());
                let tree = &statement["pub use ".len()..end];
                let name = |name| Item {
                    name,
                    is_module: false,
                };
                found.extend(used_names(tree).into_iter().map(name));
            } else {
                found.extend(declared(item));
            }
        }
        // An attribute belongs to the item below it, which may have comments in between.
        is_hidden &= line.trim().is_empty();
    }
    found
}

/// The item that a line declares.
fn declared(line: &str) -> Option<Item> {
    let mut line = line;
    while let Some(qualifier) = QUALIFIERS.iter().find(|it| line.starts_with(**it)) {
        line = line[qualifier.len()..].trim_start();
        if *qualifier == "const fn " {
            return Some(Item {
                name: name_at(line),
                is_module: false,
            });
        }
    }
    let (keyword, rest) = line.split_once(' ')?;
    ITEMS.contains(&keyword).then(|| Item {
        name: name_at(rest),
        is_module: keyword == "mod",
    })
}

fn name_at(text: &str) -> String {
    let is_of_name = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    text.chars().take_while(is_of_name).collect()
}

/// The names that a tree of `use` brings in: the last part of each path, or what it is called
/// instead. A star stays a star.
fn used_names(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    if let Some((path, group)) = tree.split_once('{') {
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        let module = path.trim().trim_end_matches("::");
        let named = |part: &str| match part.trim() {
            "self" => used_names(module),
            part => used_names(part),
        };
        return parts(group).into_iter().flat_map(named).collect();
    }
    let last = tree.rsplit("::").next().unwrap_or(tree);
    let name = last.rsplit(" as ").next().unwrap_or(last).trim();
    let is_named = !name.is_empty() && name != "_";
    is_named.then(|| name.to_owned()).into_iter().collect()
}

/// The parts of a group, split at the commas that are in no group within.
fn parts(group: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_comma = |letter: char| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    group.split(is_comma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(text: &str) -> Source {
        Source {
            path: format!("{LIBRARY}/lib.rs"),
            text: text.to_owned(),
        }
    }

    #[test]
    fn items_that_users_can_name_are_counted() {
        for (text, expected) in [
            ("pub struct Page {\n    pub url: Url,\n}\n", "Page"),
            ("pub enum Event<'a> {}\npub trait Log: Send {}", "Event Log"),
            ("pub async fn run() {}\npub const fn rate() {}", "rate run"),
            ("pub const MOST: u8 = 1;\npub type Rows = u8;", "MOST Rows"),
            ("pub(crate) struct Inner;\nstruct Own;\nmod own;", ""),
            ("impl Page {\n    pub fn url(&self) {}\n}\n", ""),
            (
                "pub use a::Page;\npub use b::{C, d::{E, F as G}};",
                "C E G Page",
            ),
            (
                "pub use a::{\n    self,\n    B,\n};\npub use c::D as _;",
                "B a",
            ),
            ("pub(crate) use a::Page;\nuse b::C;", ""),
            ("#[doc(hidden)]\npub mod fuzzing;\npub mod log;", "log"),
            ("#[doc(hidden)]\n// Why.\npub fn a() {}\npub fn b() {}", "b"),
            ("#[must_use]\npub fn a() {}", "a"),
        ] {
            assert_eq!(names(&[library(text)]).join(" "), expected, "{text}");
        }
    }

    /// The list is in the tree, so that a change of it is seen where changes are looked at.
    #[test]
    fn the_list_of_public_names_is_up_to_date() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = names(&super::super::source::read(&root).unwrap());
        let lines = names.iter().map(|name| format!("clewline::{name}\n"));
        let (list, path) = (lines.collect::<String>(), root.join("docs/public-api.txt"));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &list).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, list, "UPDATE_DOCS=1 cargo test -p xtask writes it");
    }

    #[test]
    fn public_modules_are_looked_into() {
        let top = library("pub mod fetch;\nmod own;\npub mod log;\n");
        let file = |path: &str, text: &str| Source {
            path: format!("{LIBRARY}/{path}"),
            text: text.to_owned(),
        };
        let sources = [
            top,
            file("fetch/mod.rs", "pub mod dns;\npub struct Request;\n"),
            file("fetch/dns.rs", "pub struct Resolver;\n"),
            file(
                "log.rs",
                "pub trait Log {}\n#[cfg(test)]\nmod tests {\npub fn a() {}\n}\n",
            ),
            file("own.rs", "pub struct Own;\n"),
        ];
        let expected = "fetch fetch::Request fetch::dns fetch::dns::Resolver log log::Log";
        assert_eq!(names(&sources).join(" "), expected);
    }

    #[test]
    fn a_library_shows_no_more_than_it_may() {
        let showing = |count: usize| {
            let items = (0..count).map(|number| format!("pub struct Name{number};\n"));
            too_many(&[library(&items.collect::<String>())]).len()
        };
        assert_eq!((showing(MOST_NAMES), showing(MOST_NAMES + 1)), (0, 1));
        assert_eq!(too_many(&[library("pub use a::*;\n")]).len(), 1);
        assert_eq!(too_many(&[library("pub use a::{b::*, C};\n")]).len(), 1);
    }
}
