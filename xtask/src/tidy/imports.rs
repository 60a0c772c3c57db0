//! What a manifest or a module names.
//!
//! Owns the little reading of TOML and of paths that the rules need.

/// The dependencies of a manifest, each with its section.
pub(super) fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // A dependency may have a section of its own.
            if let Some((kind, name)) = section.rsplit_once('.')
                && kind.ends_with("dependencies")
            {
                found.push((kind.to_owned(), name.to_owned()));
            }
        } else if section.ends_with("dependencies") {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if !name.is_empty() && !name.starts_with('#') {
                found.push((section.to_owned(), name.to_owned()));
            }
        }
    }
    found
}

/// The first names of all paths that begin with `crate::`, in groups too.
pub(super) fn of_crate(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, prefix) in code.match_indices("crate::") {
        let is_longer = code[..at].ends_with(is_of_name);
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            _ if is_longer => {}
            Some(group) => found.extend(first_names(group)),
            None => found.push(name_of(rest)),
        }
    }
    found
}

/// The names at the top level of a group, which ends with its brace.
fn first_names(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut at_start = true;
    for (at, letter) in group.char_indices() {
        match letter {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => at_start = true,
            _ if at_start && is_of_name(letter) => {
                names.push(name_of(&group[at..]));
                at_start = false;
            }
            _ => {}
        }
    }
    names
}

fn name_of(text: &str) -> String {
    text.chars()
        .take_while(|letter| is_of_name(*letter))
        .collect()
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_have_sections() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\n# why\nb.workspace = true\n\
                        c = \"1\"\n[dev-dependencies]\nd = { version = \"1\" }\n\
                        [target.'cfg(unix)'.dependencies.e]\nversion = \"1\"\n";
        let found = dependencies(manifest);
        let found: Vec<_> = found
            .iter()
            .map(|(kind, name)| (&**kind, &**name))
            .collect();
        let expected = [
            ("dependencies", "b"),
            ("dependencies", "c"),
            ("dev-dependencies", "d"),
            ("target.'cfg(unix)'.dependencies", "e"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn paths_of_the_crate() {
        let check = |code: &str, expected: &[&str]| assert_eq!(of_crate(code), expected, "{code}");
        check("use crate::log::Log;", &["log"]);
        check(
            "use crate::{fetch::{self, Job}, log,\n    page};",
            &["fetch", "log", "page"],
        );
        check("let a: crate::a::B = crate::c();", &["a", "c"]);
        check("use subcrate::log; use super::log;", &[]);
    }
}
