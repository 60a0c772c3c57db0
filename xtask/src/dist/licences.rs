//! The terms of crates of others: which are accepted, and their texts.
//!
//! Owns the list of accepted terms, the reading of SPDX expressions and the file with all texts. It
//! refuses to judge texts: what a manifest says counts. Invariant: a crate without a text of its own
//! is there with the text of terms that it offers, of ours or of a crate under the same terms, or
//! nothing is packaged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::dependencies::{Dependencies, Linked};

/// Terms that ask for no more than their own text, and those of Mozilla, which ask for the source of
/// files that were changed: none was.
const ACCEPTED: [&str; 16] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "OpenSSL",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// How names of files with terms begin, in lower case.
const NAMES: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
];

/// Terms that do not even ask for their text.
const SILENT: [&str; 3] = ["0BSD", "CC0-1.0", "Unlicense"];

/// How deep sources in other languages lie, with terms of their own.
const DEPTH: usize = 3;

/// Whether an SPDX expression leaves a choice that is accepted.
pub(super) fn permits(expression: &str) -> bool {
    // Old manifests write a slash for "or".
    let expression = expression.replace('/', " OR ");
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = TermsReader { words, at: 0 };
    let permitted = reader.any();
    permitted && reader.at == reader.words.len()
}

/// Reads an expression: "or" binds least, as SPDX 2.3, annex D has it.
struct TermsReader<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> TermsReader<'a> {
    fn any(&mut self) -> bool {
        let mut permitted = self.all();
        while self.takes("OR") {
            permitted |= self.all();
        }
        permitted
    }

    fn all(&mut self) -> bool {
        let mut permitted = self.one();
        while self.takes("AND") {
            permitted &= self.one();
        }
        permitted
    }

    fn one(&mut self) -> bool {
        if self.takes("(") {
            let permitted = self.any();
            return self.takes(")") && permitted;
        }
        let Some(terms) = self.next() else {
            return false;
        };
        if self.takes("WITH") {
            let exception = self.next().unwrap_or_default();
            let whole = format!("{terms} WITH {exception}");
            return ACCEPTED.contains(&whole.as_str());
        }
        ACCEPTED.contains(&terms)
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word
    }
}

/// The terms of all crates of others. Crates with the same text stand together.
pub(super) fn texts(root: &Path, dependencies: &Dependencies) -> Result<String> {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::from(
        "Clewline contains the crates below. Their names and terms come first, their texts follow.\n\n",
    );
    let foreign: Vec<&Linked> = dependencies.foreign().collect();
    for it in &foreign {
        let name = format!("{} {}", it.name, it.version);
        let _ = writeln!(list, "{name}: {}", it.licence);
        for text in texts_of(root, it, &foreign)? {
            users.entry(text).or_default().push(name.clone());
        }
    }
    let mut texts: Vec<(Vec<String>, String)> = users
        .into_iter()
        .map(|(text, names)| (names, text))
        .collect();
    texts.sort();
    for (names, text) in texts {
        let line = "-".repeat(80);
        let _ = write!(list, "\n{line}\n{}\n{line}\n\n{text}\n", names.join(", "));
    }
    Ok(list)
}

/// The texts that a crate brings, or those of terms that it offers.
fn texts_of(root: &Path, it: &Linked, others: &[&Linked]) -> Result<Vec<String>> {
    let own = own_texts(it)?;
    if !own.is_empty() || SILENT.contains(&it.licence.as_str()) {
        return Ok(own);
    }
    let offers = |terms: &str| {
        let mut words = it.licence.split([' ', '/', '(', ')']);
        words.any(|word| word == terms)
    };
    let ours = [("Apache-2.0", "LICENSE-APACHE"), ("MIT", "LICENSE-MIT")];
    if let Some((_, file)) = ours.iter().find(|(terms, _)| offers(terms)) {
        return Ok(vec![read(&root.join(file))?]);
    }
    for other in others.iter().filter(|other| other.licence == it.licence) {
        let texts = own_texts(other)?;
        if !texts.is_empty() {
            return Ok(texts);
        }
    }
    let (name, terms) = (&it.name, &it.licence);
    bail!("{name} brings no text of its terms, {terms:?}, and no other crate does")
}

fn own_texts(it: &Linked) -> Result<Vec<String>> {
    let mut files = Vec::new();
    collect(&it.folder, DEPTH, &mut files)?;
    let texts = files.iter().map(|file| read(file));
    let mut texts = texts.collect::<Result<Vec<_>>>()?;
    texts.sort();
    texts.dedup();
    Ok(texts)
}

fn read(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    let text = String::from_utf8_lossy(&bytes).replace('\r', "");
    Ok(text.trim().to_owned())
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_lowercase();
        if path.is_dir() && depth > 1 {
            collect(&path, depth - 1, files)?;
        } else if path.is_file() && is_terms(&name) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_terms(name: &str) -> bool {
    let code = [".rs", ".py", ".sh", ".c", ".h", ".json"];
    NAMES.iter().any(|start| name.starts_with(start)) && !code.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged() {
        for (expression, expected) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("(MIT AND GPL-3.0) OR LGPL-2.1", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
            ("GPL-2.0 WITH LLVM-exception", false),
            ("", false),
            ("MIT AND", false),
            ("MIT )", false),
        ] {
            assert_eq!(permits(expression), expected, "{expression}");
        }
    }

    #[test]
    fn cargo_deny_accepts_the_same_terms() {
        let manifest = include_str!("../../../deny.toml");
        let (_, rest) = manifest.split_once("\nallow = [\n").unwrap();
        let (list, _) = rest.split_once("]\n").unwrap();
        let allowed: Vec<&str> = list
            .lines()
            .map(|line| line.trim_matches([' ', ',', '"']))
            .collect();
        assert_eq!(allowed, ACCEPTED);
    }

    fn linked(folder: &Path, licence: &str) -> Linked {
        Linked {
            is_macro: false,
            id: "a".to_owned(),
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.to_owned(),
            source: Some("registry".to_owned()),
            folder: folder.to_owned(),
            checksum: None,
            needs: std::collections::BTreeSet::new(),
        }
    }

    #[test]
    fn texts_come_from_the_crate_or_from_us() {
        let place = tempfile::tempdir().unwrap();
        let (root, its) = (place.path(), place.path().join("its"));
        fs::create_dir_all(its.join("c/src")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        fs::write(root.join("LICENSE-APACHE"), "the Apache License").unwrap();
        let other = linked(&root.join("other"), "Zlib");
        let found = |licence: &str| texts_of(root, &linked(&its, licence), &[&other]).ok();
        let ours = Some(vec!["the Apache License".to_owned()]);
        assert_eq!(found("MIT OR Apache-2.0"), ours);
        assert_eq!(found("0BSD"), Some(Vec::new()));
        assert_eq!(found("Zlib"), None);
        fs::write(root.join("other/LICENSE"), "of Zlib").unwrap();
        assert_eq!(found("Zlib"), Some(vec!["of Zlib".to_owned()]));
        fs::write(its.join("LICENSE"), "own\r\n").unwrap();
        fs::write(its.join("c/src/COPYING"), "of C").unwrap();
        fs::write(its.join("license.rs"), "code").unwrap();
        let own = Some(vec!["of C".to_owned(), "own".to_owned()]);
        assert_eq!(found("Zlib"), own);
    }
}
