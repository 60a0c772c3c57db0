//! A folder that browsers open: the latest capture of every URL, links from file to file.
//!
//! Owns which captures become files and where references lead. Refuses to know how names are made
//! (`names`), which files are whose (`list`) and how documents are rewritten. Invariants: the same
//! archive makes the same folder; nothing is written outside the folder; opening a page loads
//! nothing from the web unless a script of it does; no script runs on what scripts made of a page.

mod list;
mod names;
mod place;

pub use names::{media_type_of, name_of, safe_part, short_hash};

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use clewline_html::references::escaped_text;
use clewline_warc::cdxj::Capture;
use url::Url;

use crate::output::{ExistingOutput, OutputError};
use crate::rewrite::{self, Banner, DocumentBody, Guide, Rewritten, Unchanged, Use};
use clewline_job::archive::{Archive, ArchivedCapture, CaptureContent, ContentError};
use clewline_job::look::{FRAME_STYLE, PageFrame, TOKENS};

use list::FileList;
use place::PartialMirror;

/// The page that lists the others.
const ENTRY: &str = "index.html";
/// Pages that it lists.
const MOST_LISTED: usize = 10_000;
/// Redirects that are followed to find where a link ends.
const MOST_HOPS: usize = 10;
/// Links whose ends are remembered.
const MOST_KNOWN: usize = 100_000;
/// The style of the list, below the frame's.
const LIST_STYLE: &str = "main ul { margin: 0; padding: 0; list-style: none } \
    main li { border-bottom: 1px solid var(--line); overflow-wrap: anywhere } \
    main li a { display: flex; align-items: center; min-height: 40px; font: 13px var(--code) }";
/// Loads nothing, and is no error: what a requisite becomes that is not in the archive.
const NOTHING: &str = "data:,";
/// Forbids scripts in a page that they wrote already: they find no server here, and would empty it.
const NO_SCRIPTS: &str =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\">";
/// Says that a page is UTF-8, whatever it says of itself (HTML standard, "encoding sniffing").
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// What a browser made of a page is HTML. Its file must be taken for that, too.
const HTML: &str = "text/html";

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrored {
    /// Files that were written, without the entry.
    pub files: u64,
    /// The page to open first.
    pub entry: PathBuf,
}

/// Writes a mirror; what cannot be read is told and left out. `tell` hears the number of files so
/// far.
pub fn export(
    archive: &Archive,
    folder: &Path,
    existing: ExistingOutput,
    complain: &mut dyn FnMut(&str),
    tell: &mut dyn FnMut(u64),
) -> Result<Mirrored, OutputError> {
    let output = |source| OutputError::Write {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(output)?;
    let is_empty = place::is_empty(folder).map_err(output)?;
    if !is_empty && existing == ExistingOutput::Keep {
        let path = folder.to_owned();
        return Err(OutputError::FolderNotEmpty { path });
    }
    let part = PartialMirror::begin(folder).map_err(output)?;
    let mut mirror = Mirror {
        ends: Ends {
            archive,
            known: RefCell::default(),
        },
        list: FileList::begin(part.path()).map_err(output)?,
        folder: part.path(),
        listed: Vec::new(),
        files: 0,
    };
    archive.each(|_, held| {
        tell(mirror.files);
        mirror.take(&held, complain)
    })?;
    mirror.write_entry()?;
    let files = mirror.files;
    part.install().map_err(output)?;
    Ok(Mirrored {
        files,
        entry: folder.join(ENTRY),
    })
}

struct Mirror<'a> {
    ends: Ends<'a>,
    list: FileList,
    folder: &'a Path,
    /// Pages of the entry: name and URL.
    listed: Vec<(String, String)>,
    files: u64,
}

impl Mirror<'_> {
    fn take(
        &mut self,
        held: &ArchivedCapture,
        complain: &mut dyn FnMut(&str),
    ) -> Result<(), OutputError> {
        let is_file = is_success(&held.capture)
            && self.ends.chosen(&held.capture.url)?.as_ref() == Some(held);
        let (true, Ok(url)) = (is_file, Url::parse(&held.capture.url)) else {
            return Ok(());
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Ok(());
        }
        let read = self
            .ends
            .archive
            .read(held)
            .map_err(|error| error.to_string());
        let result = read.and_then(|content| {
            let name = self
                .ends
                .name_of(held, &url)
                .map_err(|error| error.to_string())?;
            let bytes = match self.rendered(held, &content) {
                Some(dom) => Ok(self.rendered_page(dom, &url, &name)),
                None => self.contents(content, &url, &name),
            };
            bytes
                .map(|contents| (name, contents))
                .map_err(|error| error.to_string())
        });
        let (name, contents) = match result {
            Ok(done) => done,
            Err(why) => {
                complain(&format!("{}: {why}", held.capture.url));
                return Ok(());
            }
        };
        let is_page = matches!(contents, Contents::Page(_));
        if let Err(why) = self.write(&name, contents)? {
            complain(&format!("{}: {why}", held.capture.url));
            return Ok(());
        }
        self.files += 1;
        if is_page && self.listed.len() < MOST_LISTED {
            self.listed.push((name, held.capture.url.clone()));
        }
        Ok(())
    }

    /// What a browser made of a page, if one did. A damaged one leaves the page as it was answered.
    fn rendered(&self, held: &ArchivedCapture, content: &CaptureContent) -> Option<DocumentBody> {
        let is_html = content.media_type() == HTML;
        let dom = is_html.then(|| DocumentBody::rendered(self.ends.archive, held));
        dom?.ok().flatten()
    }

    fn rendered_page(&self, dom: DocumentBody, url: &Url, name: &str) -> Contents {
        let guide = Links {
            ends: &self.ends,
            from: name,
        };
        match dom.rewritten(url, Banner(""), &guide) {
            Ok(Rewritten { bytes, .. }) => {
                let page = begun_with(NO_SCRIPTS, &bytes);
                Contents::Page([BYTE_ORDER_MARK, &page].concat())
            }
            Err(Unchanged { stream, .. }) => Contents::Stream(stream),
        }
    }

    fn contents(
        &self,
        content: CaptureContent,
        url: &Url,
        name: &str,
    ) -> Result<Contents, ContentError> {
        let told = content.content_type();
        let body = DocumentBody::read(content.decoded()?, told)?;
        let is_page = body.is_page();
        let guide = Links {
            ends: &self.ends,
            from: name,
        };
        Ok(match body.rewritten(url, Banner(""), &guide) {
            Ok(Rewritten { kind, bytes }) if is_page => Contents::Page(marked(bytes, &kind)),
            Ok(Rewritten { bytes, .. }) => Contents::Bytes(bytes),
            Err(Unchanged { stream, .. }) => Contents::Stream(stream),
        })
    }

    /// Writes a file. What went wrong with the capture is the inner error.
    fn write(&mut self, name: &str, contents: Contents) -> Result<io::Result<()>, OutputError> {
        let path = self.folder.join(name);
        let output = |source| OutputError::Write {
            path: path.clone(),
            source,
        };
        self.list.add(name).map_err(output)?;
        place::make_folders(self.folder, name).map_err(output)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(output(error)),
            _ => {}
        }
        let mut out = BufWriter::new(File::create_new(&path).map_err(output)?);
        let mut stream = match contents {
            Contents::Page(bytes) | Contents::Bytes(bytes) => {
                out.write_all(&bytes).map_err(output)?;
                return out.flush().map(Ok).map_err(output);
            }
            Contents::Stream(stream) => stream,
        };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => return out.flush().map(Ok).map_err(output),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            out.write_all(&buffer[..count]).map_err(output)?;
        }
    }

    fn write_entry(&mut self) -> Result<(), OutputError> {
        let frame = PageFrame {
            name: "Mirror",
            state: None,
            home: None,
            places: &[],
        };
        let count = match self.listed.len() {
            MOST_LISTED.. => format!("The first {MOST_LISTED} pages"),
            1 => "One page".to_owned(),
            count => format!("{count} pages"),
        };
        let mut html = format!(
            "<!doctype html><html lang=en><head><meta charset=utf-8>\
            <meta name=viewport content=\"width=device-width, initial-scale=1\">\
            <title>Mirror</title><style>{TOKENS}{FRAME_STYLE}{LIST_STYLE}</style></head><body>\
            {}<main id=main><section class=open><h1>{count}, as they were.</h1></section>\n\
            <section><ul>\n",
            frame.html()
        );
        for (name, url) in &self.listed {
            let url = escaped_text(url.as_str());
            writeln!(html, "<li><a href=\"{name}\">{url}</a>").expect("a string takes all text");
        }
        html.push_str("</ul></section></main></body></html>\n");
        self.write(ENTRY, Contents::Bytes(html.into_bytes()))??;
        Ok(())
    }
}

/// Puts the encoding of a header, which a file has not, where a browser looks for it.
fn marked(html: Vec<u8>, kind: &str) -> Vec<u8> {
    let start = &html[..html.len().min(1024)];
    let is_told = memchr::memmem::find(&start.to_ascii_lowercase(), b"charset").is_some();
    let Some(encoding) = rewrite::encoding_in(kind).filter(|_| !is_told) else {
        return html;
    };
    begun_with(&format!("<meta charset=\"{}\">", encoding.name()), &html)
}

/// A page with an element before everything but the document's type.
fn begun_with(mark: &str, html: &[u8]) -> Vec<u8> {
    let trimmed = html.trim_ascii_start();
    let is_typed = trimmed
        .get(..9)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"<!doctype"));
    let at = match memchr::memchr(b'>', trimmed) {
        Some(end) if is_typed => html.len() - trimmed.len() + end + 1,
        _ => 0,
    };
    [&html[..at], mark.as_bytes(), &html[at..]].concat()
}

enum Contents {
    Page(Vec<u8>),
    Bytes(Vec<u8>),
    Stream(Box<dyn Read>),
}

fn status(capture: &Capture) -> u16 {
    // A resource has no status, and is simply there.
    capture.status.parse().unwrap_or(200)
}

fn is_success(capture: &Capture) -> bool {
    (200..300).contains(&status(capture))
}

/// Where links end.
struct Ends<'a> {
    archive: &'a Archive,
    /// Names of files by URL; nothing for what is not in the archive.
    known: RefCell<HashMap<String, Option<String>>>,
}

impl Ends<'_> {
    /// The capture that stands for a URL: the latest that is a page or leads to one.
    fn chosen(&self, url: &str) -> io::Result<Option<ArchivedCapture>> {
        let is_fit = |capture: &Capture| (200..400).contains(&status(capture));
        self.archive.best(url, None, is_fit)
    }

    /// The name of the file where a URL leads.
    fn name(&self, url: &Url) -> Option<String> {
        let mut key = url.clone();
        key.set_fragment(None);
        if let Some(known) = self.known.borrow().get(key.as_str()) {
            return known.clone();
        }
        let name = self.followed(&key);
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key.into(), name.clone());
        name
    }

    /// The name of a capture's file.
    fn name_of(&self, held: &ArchivedCapture, url: &Url) -> Result<String, ContentError> {
        if held.capture.is_revisit() {
            let content = self.archive.read(held)?;
            return Ok(names::name_of(url, &content.media_type()));
        }
        Ok(names::name_of(url, &held.capture.mime))
    }

    fn followed(&self, url: &Url) -> Option<String> {
        let mut url = url.clone();
        for _ in 0..MOST_HOPS {
            let held = self.chosen(url.as_str()).ok()??;
            let found = Url::parse(&held.capture.url).ok()?;
            if is_success(&held.capture) {
                return self.name_of(&held, &found).ok();
            }
            let content = self.archive.read(&held).ok()?;
            url = found.join(content.head().text("location")?.trim()).ok()?;
        }
        None
    }
}

/// Leads references of one file to other files.
struct Links<'a> {
    ends: &'a Ends<'a>,
    from: &'a str,
}

impl Guide for Links<'_> {
    fn lead(&self, url: &Url, purpose: Use) -> String {
        match (self.ends.name(url), purpose) {
            (Some(name), _) => {
                let fragment = url.fragment().map(|fragment| format!("#{fragment}"));
                names::relative(self.from, &name) + &fragment.unwrap_or_default()
            }
            (None, Use::Navigation) => url.to_string(),
            (None, Use::Requisite) => NOTHING.to_owned(),
        }
    }

    fn is_for_files(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
