//! A body on its way into a view: rewritten if it is a page or a style sheet, else as it is.
//!
//! Owns telling which it is and how much is held of it. Invariant: what is too large, or cannot
//! be rewritten, passes unchanged and whole.

use std::io::{self, Cursor, Read};

use clewline_job::archive::{Archive, ArchivedCapture, ContentError};
use clewline_warc::MediaType;
use url::Url;

use super::{Banner, Guide, HtmlDocument};

/// The largest document that is rewritten; a larger one is shown as it is.
const LARGEST: u64 = 32 << 20;
/// What is looked at to tell what a body without a type is.
const SNIFFED: u64 = 512;
/// The type of what a browser made of a page, whatever the page says of itself.
const RENDERED_TYPE: &str = "text/html; charset=utf-8";

/// A body and its type.
pub struct DocumentBody {
    /// The value of `Content-Type`.
    kind: String,
    form: Form,
    held: Vec<u8>,
    rest: Box<dyn Read>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Page,
    Sheet,
    Other,
}

/// A document with other references.
pub struct Rewritten {
    /// The value of `Content-Type`.
    pub kind: String,
    /// The document.
    pub bytes: Vec<u8>,
}

/// What stays as it is.
pub struct Unchanged {
    /// The value of `Content-Type`.
    pub kind: String,
    /// All of the body.
    pub stream: Box<dyn Read>,
}

fn form(kind: &str) -> Form {
    let essence = MediaType::parse(kind.as_bytes()).essence();
    match essence.as_deref().unwrap_or_default() {
        "text/html" | "application/xhtml+xml" => Form::Page,
        "text/css" => Form::Sheet,
        _ => Form::Other,
    }
}

impl DocumentBody {
    /// Begins to read a body; of pages and style sheets all of it, if they are not too large.
    pub fn read(mut stream: Box<dyn Read>, told: Option<String>) -> io::Result<Self> {
        let mut held = Vec::new();
        stream.by_ref().take(SNIFFED).read_to_end(&mut held)?;
        let told = told.filter(|kind| !kind.trim().is_empty());
        let kind = told.unwrap_or_else(|| sniffed(&held).to_owned());
        let form = form(&kind);
        if form != Form::Other {
            let room = LARGEST - held.len() as u64;
            // What is read before an error is kept: archives hold pages that broke off.
            let _ = stream.by_ref().take(room).read_to_end(&mut held);
        }
        Ok(Self {
            kind,
            form,
            held,
            rest: stream,
        })
    }

    /// What a browser made of the page of a capture; nothing if no browser did.
    pub fn rendered(
        archive: &Archive,
        held: &ArchivedCapture,
    ) -> Result<Option<Self>, ContentError> {
        let dom = archive.rendered(held, LARGEST)?;
        Ok(dom.map(|held| Self {
            kind: RENDERED_TYPE.to_owned(),
            form: Form::Page,
            held,
            rest: Box::new(io::empty()),
        }))
    }

    /// Whether it is a page.
    pub fn is_page(&self) -> bool {
        self.form == Form::Page
    }

    /// The document with references that are led by a guide.
    pub fn rewritten(
        self,
        url: &Url,
        banner: Banner<'_>,
        guide: &dyn Guide,
    ) -> Result<Rewritten, Unchanged> {
        let is_whole = (self.held.len() as u64) < LARGEST;
        if is_whole && self.form == Form::Sheet {
            let sheet = super::sheet(&self.held, &self.kind, url, guide);
            return Ok(Rewritten {
                kind: "text/css; charset=utf-8".to_owned(),
                bytes: sheet.into_bytes(),
            });
        }
        let document = HtmlDocument {
            bytes: &self.held,
            url,
            encoding: super::encoding_in(&self.kind),
        };
        if is_whole
            && self.form == Form::Page
            && let Ok((bytes, changed)) = super::html(document, banner, guide)
        {
            let kind = changed.map_or(self.kind, |_| "text/html; charset=utf-8".to_owned());
            return Ok(Rewritten { kind, bytes });
        }
        Err(Unchanged {
            kind: self.kind,
            stream: Box::new(Cursor::new(self.held).chain(self.rest)),
        })
    }
}

/// HTML is recognised by how it begins; anything else is bytes.
fn sniffed(start: &[u8]) -> &'static str {
    let text = start.trim_ascii_start().to_ascii_lowercase();
    let marks: [&[u8]; 4] = [b"<!doctype html", b"<html", b"<head", b"<body"];
    if marks.iter().any(|mark| text.starts_with(mark)) {
        "text/html"
    } else {
        "application/octet-stream"
    }
}
