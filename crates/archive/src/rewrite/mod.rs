//! References in documents, led elsewhere.
//!
//! Owns finding them in HTML, style sheets, `srcset` and refreshes, and putting others in their
//! place; the rest of a document stays as it is, byte for byte. Refuses to know where they lead:
//! that is a [`Guide`]'s. Invariant: linear time, and what cannot be read as a URL stays.

mod document;
mod html;
mod put;

use clewline_warc::MediaType;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use url::Url;

pub use document::{DocumentBody, Rewritten, Unchanged};
pub use html::Banner;
use html::{HtmlDocument, rewrite as html};

/// What a reference is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Somebody may go there.
    Navigation,
    /// The document needs it.
    Requisite,
}

/// Says where references lead.
pub trait Guide {
    /// What to write for a URL.
    fn lead(&self, url: &Url, purpose: Use) -> String;

    /// Whether the page becomes a file: those have no base, and no origin that a server knows.
    fn is_for_files(&self) -> bool {
        false
    }
}

/// What to write for a reference as it stands in a document; nothing if it may stay: another
/// scheme, a place in the same document, no URL at all.
fn led(raw: &str, base: &Url, purpose: Use, guide: &dyn Guide) -> Option<String> {
    let raw = raw.trim_matches(|c: char| c <= ' ');
    if raw.is_empty() || raw.starts_with('#') {
        return None;
    }
    let url = base.join(raw).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| guide.lead(&url, purpose))
}

/// A style sheet in UTF-8, its references led.
fn sheet(bytes: &[u8], kind: &str, url: &Url, guide: &dyn Guide) -> String {
    let declared = || {
        let rest = bytes.strip_prefix(b"@charset \"")?;
        Encoding::for_label(&rest[..memchr::memchr(b'"', rest)?])
    };
    let guessed = || match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(_) => WINDOWS_1252,
    };
    let encoding = encoding_in(kind).or_else(declared).unwrap_or_else(guessed);
    let (text, _, _) = encoding.decode(bytes);
    put::sheet(&text, |raw| led(raw, url, Use::Requisite, guide))
}

/// The value of a Refresh field, its target led; nothing if it has none.
pub fn refresh(value: &str, url: &Url, guide: &dyn Guide) -> Option<String> {
    put::refreshed(value, |raw| led(raw, url, Use::Navigation, guide))
}

/// The encoding that a content type names.
pub(crate) fn encoding_in(kind: &str) -> Option<&'static Encoding> {
    let label = MediaType::parse(kind.as_bytes()).charset()?;
    Encoding::for_label(label)
}

#[cfg(test)]
mod tests;
