//! The files that the rules read.
//!
//! Owns which files count and which of their lines are code: tests and comments are not.

use std::fs;
use std::io;
use std::path::Path;

/// Folders with sources, below the root.
const FOLDERS: [&str; 5] = ["crates", "lab", "learn", "website", "xtask"];

/// A file of the workspace.
pub(super) struct Source {
    /// Its path from the root, with slashes.
    pub(super) path: String,
    pub(super) text: String,
}

/// Reads all Rust files, manifests, style sheets, scripts and pages, in the order of their paths.
pub(super) fn read(root: &Path) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut folders: Vec<String> = FOLDERS.iter().map(|&name| name.to_owned()).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                if !path.ends_with("/target") {
                    folders.push(path);
                }
            } else if is_rust(&path) || is_look(&path) || path.ends_with("/Cargo.toml") {
                let text = fs::read_to_string(entry.path())?;
                sources.push(Source { path, text });
            }
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(sources)
}

impl Source {
    pub(super) fn is_rust(&self) -> bool {
        is_rust(&self.path)
    }

    /// Whether it is Rust below a folder, and no test.
    pub(super) fn is_code_of(&self, folder: &str) -> bool {
        let is_test = self.path.ends_with("/tests.rs") || self.path.contains("/tests/");
        self.is_rust() && !is_test && self.path.starts_with(folder)
    }

    /// The lines above the tests at the end of the file.
    fn without_tests(&self) -> impl Iterator<Item = &str> {
        let tests = self.text.find("\n#[cfg(test)]\nmod tests {");
        self.text[..tests.unwrap_or(self.text.len())].lines()
    }

    pub(super) fn lines_without_tests(&self) -> usize {
        self.without_tests().count()
    }

    /// Its code; comment lines are empty, so that lines keep their numbers.
    pub(super) fn code(&self) -> String {
        let lines = self.without_tests().map(without_comment);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Places in the code that hold one of these.
    pub(super) fn lines_with(&self, needles: &[&str]) -> Vec<String> {
        places(&self.path, self.code().lines(), needles)
    }

    /// Places in the code or in the tests that hold one of these.
    pub(super) fn all_lines_with(&self, needles: &[&str]) -> Vec<String> {
        places(&self.path, self.text.lines().map(without_comment), needles)
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs")
}

/// Whether a browser reads it.
pub(super) fn is_look(path: &str) -> bool {
    [".css", ".js", ".html"]
        .iter()
        .any(|end| path.ends_with(end))
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        ""
    } else {
        line
    }
}

fn places<'a>(path: &str, lines: impl Iterator<Item = &'a str>, needles: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(lines) {
        if needles.iter().any(|needle| line.contains(needle)) {
            found.push(format!("{path}:{number}: {}", line.trim()));
        }
    }
    found
}
