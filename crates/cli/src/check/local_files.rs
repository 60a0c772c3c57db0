//! Files on disk as a site that can be crawled.
//!
//! Owns which file answers which path: as static hosts do it for a built site, and as a forge shows them
//! for documents. It refuses to know findings. Invariants: nothing outside of one folder is served; the
//! site has the same address in each run, so that findings are known again; what is served says
//! nothing that does not stand in a file.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use clewline_archive::mirror::media_type_of;
use clewline_job::config::{Config, HostOverride, Root};
use clewline_serve::{LocalSite, SiteAnswer};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::input::{INDEX_PAGE, is_document};
use super::markdown::{self, MarkdownPart};

/// The host under which files are crawled. The domain exists nowhere (RFC 2606), and the crawl is led
/// to this process.
const HOST: &str = "site.invalid";
/// Files larger than this are said to be there, and not read.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;
/// More documents than this are not taken from folders.
const MOST_DOCUMENTS: usize = 100_000;
/// Folders nested deeper than this are not looked into.
const DEEPEST: usize = 64;
/// What is escaped in paths of URLs.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Files that are served while the value lives.
pub(crate) struct ServedFiles {
    site: LocalSite,
    /// The folder that answers `/`.
    folder: PathBuf,
    roots: Vec<String>,
    are_documents: bool,
}

impl ServedFiles {
    /// A built site: `index.html` for folders, `.html` where a path has no ending.
    pub(crate) fn built_site(folder: &Path) -> anyhow::Result<Self> {
        let served = folder.to_owned();
        let site = LocalSite::start(|_| move |target| built_answer(&served, target));
        Ok(Self {
            site: site.context("the folder cannot be served on 127.0.0.1")?,
            folder: folder.to_owned(),
            roots: vec![format!("http://{HOST}/")],
            are_documents: false,
        })
    }

    /// Documents: Markdown becomes a page, links to any file of the project are followed on disk.
    pub(crate) fn documents(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut checked = BTreeSet::new();
        for path in paths {
            let whole = path
                .canonicalize()
                .with_context(|| format!("{} cannot be read", path.display()))?;
            gather(&whole, 0, &mut checked)
                .with_context(|| format!("{} cannot be read", path.display()))?;
        }
        let folder = project_of(&checked).context("there is no document to check")?;
        let roots = checked.iter().filter_map(|file| url_of(&folder, file));
        let roots = roots.collect();
        let served = folder.clone();
        let site = LocalSite::start(|_| move |target| document_answer(&served, &checked, target));
        Ok(Self {
            site: site.context("the documents cannot be served on 127.0.0.1")?,
            folder,
            roots,
            are_documents: true,
        })
    }

    /// Leads a crawl to the files.
    pub(crate) fn lead(&self, config: &mut Config) -> anyhow::Result<()> {
        let roots = self.roots.iter().map(|root| Root::parse(root));
        config.roots = roots.collect::<Result<_, _>>()?;
        config.fetch.proxy = None;
        config.fetch.no_proxy = vec![HOST.to_owned()];
        let address = self.site.address();
        config.fetch.connect_to = vec![format!("{HOST}:80:{}:{}", address.ip(), address.port())];
        // Whoever checks the files owns them, whatever their robots.txt will say to others.
        config.politeness.hosts.insert(
            0,
            HostOverride {
                host: HOST.to_owned(),
                ignore_robots: Some(true),
                ..HostOverride::default()
            },
        );
        if self.are_documents {
            config.scope.sitemaps = false;
        }
        // What lies on one's own disk is no trap.
        config.scope.traps = false;
        Ok(())
    }

    /// Where URLs of the site come from: what they begin with, and the folder, named as briefly as it
    /// can be.
    pub(crate) fn source(&self) -> (String, PathBuf) {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let whole = self.folder.canonicalize();
        let brief = match (here, whole) {
            (Ok(here), Ok(whole)) => whole.strip_prefix(here).map(Path::to_owned).ok(),
            _ => None,
        };
        (
            format!("http://{HOST}/"),
            brief.unwrap_or_else(|| self.folder.clone()),
        )
    }
}

/// Whether a crawl is one of files that this process serves.
pub(crate) fn are_served(config: &Config) -> bool {
    config.roots.iter().any(|root| root.url.host() == HOST)
}

/// The file of a URL of such a site, below its folder.
pub(crate) fn file_of(folder: &Path, target: &str) -> Option<PathBuf> {
    let path = below(folder, target)?;
    if path.is_dir() {
        let index = [INDEX_PAGE, "README.md"].map(|name| path.join(name));
        return index.into_iter().find(|file| file.is_file());
    }
    if path.is_file() {
        return Some(path);
    }
    let mut name = path.file_name()?.to_owned();
    name.push(".html");
    Some(path.with_file_name(name)).filter(|file| file.is_file())
}

fn built_answer(folder: &Path, target: &str) -> SiteAnswer {
    let Some(path) = below(folder, target) else {
        return missing(folder);
    };
    if path.is_dir() && !path_of(target).ends_with('/') {
        return moved(&format!("{}/", path_of(target)));
    }
    let file = file_of(folder, target).filter(|file| !file.ends_with("README.md"));
    match file.and_then(|file| shown(&file)) {
        Some(answer) => answer,
        None => missing(folder),
    }
}

fn document_answer(folder: &Path, checked: &BTreeSet<PathBuf>, target: &str) -> SiteAnswer {
    let Some(path) = below(folder, target).filter(|path| path.exists()) else {
        return text(404, "Not found\n");
    };
    let file = file_of(folder, target).filter(|_| path.exists());
    let Some(file) = file else {
        // A forge shows the files of a folder.
        return html("<!doctype html><title>A folder</title>".to_owned());
    };
    let part = if checked.contains(&file) {
        MarkdownPart::Whole
    } else {
        MarkdownPart::Anchors
    };
    let is_markdown = is_document(&file)
        && file
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("md") || ending == "markdown");
    match (is_markdown, part) {
        (true, _) => match fs::read(&file) {
            Ok(bytes) if bytes.len() as u64 <= LARGEST_FILE => {
                let place = |link: &str| placed(folder, &file, link);
                let text = String::from_utf8_lossy(&bytes);
                html(markdown::page(&text, part, &place))
            }
            _ => text(200, ""),
        },
        (false, MarkdownPart::Whole) => shown(&file).unwrap_or_else(|| text(404, "Not found\n")),
        // It is there, and others answer for what it says.
        (false, MarkdownPart::Anchors) => text(200, ""),
    }
}

/// Where a link of a document leads; none if it leads out of the project, where a forge has pages that
/// no file stands for.
fn placed(folder: &Path, file: &Path, link: &str) -> Option<String> {
    let (path, rest) = link.split_at(link.find(['?', '#']).unwrap_or(link.len()));
    let is_relative = !path.is_empty() && !path.contains(':') && !path.starts_with("//");
    if !is_relative || path.starts_with('/') {
        return Some(link.to_owned());
    }
    let mut depth = file
        .parent()?
        .strip_prefix(folder)
        .ok()?
        .components()
        .count();
    for segment in path.split('/') {
        match segment {
            ".." => depth = depth.checked_sub(1)?,
            "." | "" => {}
            _ => depth += 1,
        }
    }
    Some(format!("{path}{rest}"))
}

/// All documents at a path.
fn gather(path: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        if found.len() < MOST_DOCUMENTS {
            found.insert(path.to_owned());
        }
        return Ok(());
    }
    if depth > DEEPEST {
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_hidden = name.to_string_lossy().starts_with('.');
        let is_foreign = name == "node_modules" || name == "target";
        let kind = entry.file_type()?;
        if is_hidden || (kind.is_dir() && is_foreign) {
            continue;
        }
        let path = entry.path();
        if kind.is_dir() || (kind.is_file() && is_document(&path)) {
            gather(&path, depth + 1, found)?;
        }
    }
    Ok(())
}

/// The folder of the project that documents belong to: that of the repository, or the one that holds
/// all of them.
fn project_of(files: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let mut common = files.first()?.parent()?.to_owned();
    for file in files {
        while !file.starts_with(&common) {
            common.pop();
        }
    }
    let repository = common
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    let here = std::env::current_dir()
        .and_then(|here| here.canonicalize())
        .ok();
    match (repository, here) {
        (Some(repository), _) => Some(repository.to_owned()),
        (None, Some(here)) if common.starts_with(&here) => Some(here),
        _ => Some(common),
    }
}

fn url_of(folder: &Path, file: &Path) -> Option<String> {
    let path = file.strip_prefix(folder).ok()?.to_string_lossy();
    let path = path.replace(std::path::MAIN_SEPARATOR, "/");
    Some(format!(
        "http://{HOST}/{}",
        utf8_percent_encode(&path, ESCAPED)
    ))
}

fn path_of(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or_default()
}

/// The path of a target below a folder; none if it would lead elsewhere.
fn below(folder: &Path, target: &str) -> Option<PathBuf> {
    let decoded = percent_decode_str(path_of(target)).decode_utf8().ok()?;
    let mut path = folder.to_owned();
    for part in Path::new(decoded.trim_start_matches('/')).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let is_hidden = decoded.split('/').any(|part| part == ".git");
    (!is_hidden && !decoded.contains('\0')).then_some(path)
}

fn shown(file: &Path) -> Option<SiteAnswer> {
    let length = fs::metadata(file).ok()?.len();
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let kind = media_type_of(&ending.to_ascii_lowercase()).unwrap_or("application/octet-stream");
    let body = if length <= LARGEST_FILE {
        fs::read(file).ok()?
    } else {
        Vec::new()
    };
    Some(answer(200, kind, body))
}

/// What a static host answers where there is no file.
fn missing(folder: &Path) -> SiteAnswer {
    let page = shown(&folder.join("404.html"));
    let page = page.map(|page| SiteAnswer {
        status: 404,
        ..page
    });
    page.unwrap_or_else(|| text(404, "Not found\n"))
}

fn moved(place: &str) -> SiteAnswer {
    SiteAnswer {
        status: 301,
        fields: vec![("Location", place.to_owned())],
        body: Vec::new(),
    }
}

fn text(status: u16, body: &str) -> SiteAnswer {
    answer(status, "text/plain; charset=utf-8", body.into())
}

fn html(body: String) -> SiteAnswer {
    answer(200, "text/html; charset=utf-8", body.into_bytes())
}

fn answer(status: u16, kind: &str, body: Vec<u8>) -> SiteAnswer {
    SiteAnswer {
        status,
        fields: vec![("Content-Type", kind.to_owned())],
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in [
            (
                "README.md",
                "# Read\n\n[d](docs/a.md#one) [up](../../issues)\n",
            ),
            ("docs/a.md", "# One\n\n[r](../README.md) [x](gone.md)\n"),
            ("site/index.html", "<a href=about>a</a>"),
            ("site/about.html", "about"),
            ("site/blog/index.html", "blog"),
            ("site/404.html", "lost"),
        ] {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    #[test]
    fn a_built_site_answers_as_static_hosts_do() {
        let place = project();
        let folder = place.path().join("site");
        let check = |target: &str, status: u16, body: &str| {
            let answer = built_answer(&folder, target);
            let found = String::from_utf8(answer.body).unwrap();
            assert_eq!((answer.status, found.as_str()), (status, body), "{target}");
        };
        check("/", 200, "<a href=about>a</a>");
        check("/about", 200, "about");
        check("/about.html?x=1", 200, "about");
        check("/blog", 301, "");
        check("/blog/", 200, "blog");
        check("/gone", 404, "lost");
        check("/../README.md", 404, "lost");
        check("/%2e%2e/README.md", 404, "lost");
        check("/.git/config", 404, "lost");
    }

    #[test]
    fn documents_are_pages_of_their_project() {
        let place = project();
        let folder = place.path().canonicalize().unwrap();
        let checked = BTreeSet::from([folder.join("README.md")]);
        let body = |target: &str| {
            let answer = document_answer(&folder, &checked, target);
            (answer.status, String::from_utf8(answer.body).unwrap())
        };
        let (status, page) = body("/README.md");
        assert_eq!(status, 200);
        assert!(page.contains("<a href=\"docs/a.md#one\">"), "{page}");
        assert!(!page.contains("issues"), "{page}");
        let (_, linked) = body("/docs/a.md");
        assert!(linked.contains("id=\"one\"") && !linked.contains("gone.md"));
        assert_eq!(body("/docs/").0, 200);
        assert_eq!(body("/docs/gone.md").0, 404);
        assert_eq!(body("/../x").0, 404);
    }

    #[test]
    fn documents_are_gathered_from_folders() {
        let place = project();
        let mut found = BTreeSet::new();
        gather(place.path(), 0, &mut found).unwrap();
        assert_eq!(found.len(), 6, "{found:?}");
    }
}
