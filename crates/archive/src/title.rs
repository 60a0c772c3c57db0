//! The title of a page, for lists of pages.
//!
//! Owns how much of a page is looked at and what is made of the text. Refuses to know where the
//! list goes. Invariant: bounded by its constants, whatever the page holds; a page that cannot be
//! read has no title.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Read as _;
use std::rc::Rc;

use clewline_html::references::decoded_text;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use lol_html::html_content::{TextChunk, TextType};
use lol_html::{
    AsciiCompatibleEncoding, ElementContentHandlers, HtmlRewriter, MemorySettings, Settings,
};

use crate::content::CaptureContent;
use crate::rewrite;

/// How much of a page is looked at.
const LOOKED_AT: u64 = 128 * 1024;
/// Memory of the tokenizer.
const MEMORY_LIMIT: usize = 1024 * 1024;
/// The longest title, in characters.
const LONGEST: usize = 1000;

/// The title of a page, white space folded; nothing if it has none.
pub(crate) fn from_content(content: CaptureContent) -> Option<String> {
    let told = content.content_type();
    let told = told.as_deref().and_then(rewrite::encoding_in);
    let mut start = Vec::new();
    // What is read before an error is looked at: archives hold pages that broke off.
    let _ = content
        .decoded()
        .ok()?
        .take(LOOKED_AT)
        .read_to_end(&mut start);
    titled(&start, told)
}

fn titled(start: &[u8], told: Option<&'static Encoding>) -> Option<String> {
    let mark = Encoding::for_bom(start).map(|(encoding, _)| encoding);
    let told = mark.or(told);
    let raw = match told {
        Some(wide) if wide == UTF_16LE || wide == UTF_16BE => {
            let (text, _) = wide.decode_with_bom_removal(start);
            read(text.as_bytes(), Some(UTF_8))
        }
        _ => read(start, told),
    };
    let text = decoded_text(raw);
    let mut title = String::new();
    for word in text.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    let title: String = title.chars().take(LONGEST).collect();
    (!title.is_empty()).then_some(title)
}

/// The text of the first title as it stands.
fn read(start: &[u8], told: Option<&'static Encoding>) -> String {
    let found = Rc::new(RefCell::new((String::new(), false)));
    let shared = Rc::clone(&found);
    // That of a picture (SVG) is markup, and of another type.
    let text = move |chunk: &mut TextChunk<'_>| {
        let (title, is_whole) = &mut *shared.borrow_mut();
        if chunk.text_type() == TextType::RCData && !*is_whole && title.len() < LOOKED_AT as usize {
            title.push_str(chunk.as_str());
            *is_whole = chunk.last_in_text_node();
        }
        Ok(())
    };
    let selector = "title".parse().expect("a name is a selector");
    let handlers = ElementContentHandlers::default().text(text);
    let encoding = AsciiCompatibleEncoding::new(told.unwrap_or_else(|| guessed(start)));
    let settings = Settings::new()
        .append_element_content_handler((Cow::Owned(selector), handlers))
        .with_encoding(encoding.unwrap_or_else(AsciiCompatibleEncoding::utf_8))
        .with_adjust_charset_on_meta_tag(told.is_none())
        .with_strict(false)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MEMORY_LIMIT));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    if rewriter.write(start).is_ok() {
        // The page is cut off, so its end may be anything.
        let _ = rewriter.end();
    }
    found.take().0
}

/// UTF-8 if it is that, up to a character that was cut in two.
fn guessed(start: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_some() => WINDOWS_1252,
        _ => UTF_8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_read_as_they_are_meant() {
        for (page, told, expected) in [
            (&b"<title> A\n &amp;  B</title>x"[..], None, Some("A & B")),
            (
                b"<svg><title>s</title></svg><title>t</title>",
                None,
                Some("t"),
            ),
            (b"<title>a</title><title>b</title>", None, Some("a")),
            (b"<title>open", None, Some("open")),
            (b"<title></title>", None, None),
            (b"<p>none<textarea>x</textarea>", None, None),
            (b"<script>'<title>x</title>'</script>", None, None),
            (b"<title>\xe4</title>", None, Some("ä")),
            ("<title>ä".as_bytes(), None, Some("ä")),
            (b"<title>\xe4</title>", Some(WINDOWS_1252), Some("ä")),
            (
                b"<meta charset=windows-1251><title>\xe4</title>",
                None,
                Some("д"),
            ),
            (b"\xff\xfe<\0t\0i\0t\0l\0e\0>\0\xe4\0", None, Some("ä")),
        ] {
            let found = titled(page, told);
            assert_eq!(found.as_deref(), expected, "{}", page.escape_ascii());
        }
        let long = format!("<title>{}", "x ".repeat(5000));
        let title = titled(long.as_bytes(), None).unwrap();
        assert_eq!(title.chars().count(), LONGEST);
    }
}
