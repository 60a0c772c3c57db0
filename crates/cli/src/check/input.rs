//! What `check` is given: a site, a folder, documents, a job, an archive, a list.
//!
//! Owns the reading of the words behind the verb. It refuses to open what they name. Invariant: an
//! existing path wins over a host of the same name, and the first line of the check says which was
//! taken.

use std::path::{Path, PathBuf};

use clewline_job::folder::MARKER;
use clewline_job::log::urls;

use crate::message::shown;
use crate::settings::problem::Problem;

/// The page that a folder shows.
pub(crate) const INDEX_PAGE: &str = "index.html";
/// Endings of documents that are read as they are.
const DOCUMENTS: [&str; 4] = ["md", "markdown", "html", "htm"];
/// Endings of archives.
const ARCHIVES: [&str; 4] = [".warc", ".warc.gz", ".warc.zst", ".wacz"];

/// What is checked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CheckInput {
    /// These URLs are crawled.
    Site(Vec<String>),
    /// A folder with a built site.
    BuiltSite(PathBuf),
    /// Files, and folders of files, with links.
    Documents(Vec<PathBuf>),
    /// A job folder, a WARC file or a WACZ file: nothing of the site is asked.
    Captured(PathBuf),
    /// URLs on standard input.
    List,
}

impl CheckInput {
    /// Reads the words.
    pub(crate) fn from_words(words: &[String]) -> Result<Self, Problem> {
        let problem = |message: String, hint: &str| Problem::new("INPUT", message).with_hint(hint);
        if words.iter().any(|word| word == "-") {
            return match words {
                [_] => Ok(Self::List),
                _ => Err(problem(
                    "`-` stands alone: it reads a list of URLs".to_owned(),
                    "put the other inputs into a check of their own",
                )),
            };
        }
        let paths: Vec<&Path> = words.iter().map(Path::new).collect();
        let existing = paths.iter().filter(|path| path.exists()).count();
        if existing == 0 {
            if let Some(path) = words.iter().find(|word| looks_like_path(word)) {
                return Err(problem(
                    format!("{} does not exist", shown(path)),
                    "a site is written as https://example.com or example.com",
                ));
            }
            return Ok(Self::Site(words.to_vec()));
        }
        if existing < words.len() {
            return Err(problem(
                "some of the inputs are paths and some are not".to_owned(),
                "check sites and files one after the other",
            ));
        }
        if let [path] = paths[..] {
            if is_captured(path) {
                return Ok(Self::Captured(path.to_owned()));
            }
            if path.join(INDEX_PAGE).is_file() {
                return Ok(Self::BuiltSite(path.to_owned()));
            }
        }
        let is_no_document = |path: &&&Path| path.is_file() && !is_document(path);
        if let Some(path) = paths.iter().find(is_no_document) {
            return Err(problem(
                format!(
                    "{} is no page, job or archive",
                    shown(&path.to_string_lossy())
                ),
                "Markdown and HTML files, job folders, WARC and WACZ files can be checked",
            ));
        }
        Ok(Self::Documents(
            paths.into_iter().map(Path::to_owned).collect(),
        ))
    }

    /// The first line of a check.
    pub(crate) fn told(&self) -> String {
        let path = |path: &Path| shown(&path.to_string_lossy()).into_owned();
        match self {
            Self::Site(urls) => format!("checking the site {}", shown(&urls.join(" "))),
            Self::BuiltSite(folder) => format!("checking the built site in {}", path(folder)),
            Self::Documents(paths) => {
                let names: Vec<String> = paths.iter().map(|name| path(name)).collect();
                format!("checking the documents {}", names.join(" "))
            }
            Self::Captured(job) => format!("checking what was captured in {}", path(job)),
            Self::List => "checking the URLs on standard input".to_owned(),
        }
    }
}

/// Whether a file is one whose links are read.
pub(crate) fn is_document(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| DOCUMENTS.contains(&ending.to_ascii_lowercase().as_str()))
}

fn is_captured(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(MARKER).is_file() || path.join(urls::FILE).is_file();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

/// The usual name of a job folder.
fn is_job_name(word: &str) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|end| end == "crawl")
}

/// Whether somebody who wrote this meant a path: it begins like one, or ends like a document.
fn looks_like_path(word: &str) -> bool {
    let begins_so = word.starts_with(['.', '/']) || word.contains('\\');
    let ends_so = is_job_name(word) || (!word.contains("://") && is_document(Path::new(word)));
    begins_so || ends_so
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn words_are_told_apart() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
        };
        for name in [
            "public/index.html",
            "docs/a.md",
            "README.md",
            "x.crawl/job.toml",
            "a.warc.gz",
            "photo.png",
        ] {
            make(name);
        }
        let inside = |name: &str| place.path().join(name).to_string_lossy().into_owned();
        let check = |words: &[String], expected: Option<CheckInput>| {
            let found = CheckInput::from_words(words);
            assert_eq!(found.ok(), expected, "{words:?}");
        };
        let path = |name: &str| place.path().join(name);
        let text = |word: &str| word.to_owned();
        check(
            &[text("example.com")],
            Some(CheckInput::Site(vec![text("example.com")])),
        );
        check(&[text("-")], Some(CheckInput::List));
        check(&[text("-"), text("a.test")], None);
        check(
            &[inside("public")],
            Some(CheckInput::BuiltSite(path("public"))),
        );
        check(
            &[inside("docs"), inside("README.md")],
            Some(CheckInput::Documents(vec![path("docs"), path("README.md")])),
        );
        check(
            &[inside("x.crawl")],
            Some(CheckInput::Captured(path("x.crawl"))),
        );
        check(
            &[inside("a.warc.gz")],
            Some(CheckInput::Captured(path("a.warc.gz"))),
        );
        check(&[inside("photo.png")], None);
        check(&[inside("docs"), text("example.com")], None);
        check(&[text("./nowhere")], None);
        check(&[text("NOWHERE.md")], None);
        check(
            &[text("https://a.test/x.html")],
            Some(CheckInput::Site(vec![text("https://a.test/x.html")])),
        );
    }
}
