//! What a body claims to be, and what it looks like.
//!
//! Owns the reading of Content-Type (MIME Sniffing section 4.4) and the short form of sniffing
//! for bodies that claim nothing (section 7.1). Refuses to overrule a claim: `text/plain` is
//! not HTML, whatever it holds.

use encoding_rs::Encoding;

use crate::headers::Headers;

/// Beginnings that make an unlabelled body HTML; a space or `>` must follow.
const HTML_BEGINNINGS: [&[u8]; 16] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
];

/// The kinds of content that hold links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Html,
    Xml,
    Css,
    /// No claim, or one that means nothing.
    Unknown,
    /// Nothing to be read here.
    Other,
}

/// The claim of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) media: Media,
    pub(super) encoding: Option<&'static Encoding>,
}

/// Reads Content-Type; of several fields the last counts, as in Fetch section 2.2.2.
pub(super) fn claim(headers: &Headers) -> Claim {
    let value = headers.all("content-type").last().unwrap_or_default();
    // A comma joins repeated fields, which are mostly equal.
    let end = memchr::memchr2(b';', b',', value).unwrap_or(value.len());
    let essence = value[..end].trim_ascii().to_ascii_lowercase();
    Claim {
        media: media(&essence),
        encoding: charset(&value[end..]),
    }
}

fn media(essence: &[u8]) -> Media {
    match essence {
        b"text/html" => Media::Html,
        b"text/css" => Media::Css,
        b"text/xml" | b"application/xml" => Media::Xml,
        b"" | b"unknown/unknown" | b"application/unknown" | b"*/*" => Media::Unknown,
        _ if essence.ends_with(b"+xml") => Media::Xml,
        _ => Media::Other,
    }
}

/// The first charset parameter, quoted or not.
fn charset(mut parameters: &[u8]) -> Option<&'static Encoding> {
    while let Some(rest) = parameters.strip_prefix(b";") {
        let name_end = rest.iter().position(|byte| matches!(byte, b';' | b'='))?;
        let name = rest[..name_end].trim_ascii();
        if rest[name_end] == b';' {
            parameters = &rest[name_end..];
            continue;
        }
        let value = &rest[name_end + 1..];
        let (value, after) = match value.strip_prefix(b"\"") {
            Some(quoted) => {
                let end = memchr::memchr(b'"', quoted).unwrap_or(quoted.len());
                (&quoted[..end], &quoted[end..])
            }
            None => (value, value),
        };
        let end = memchr::memchr(b';', after).unwrap_or(after.len());
        if name.eq_ignore_ascii_case(b"charset") {
            let value = if value.len() == after.len() {
                &after[..end]
            } else {
                value
            };
            return Encoding::for_label(
                value
                    .trim_ascii_start()
                    .strip_prefix(b"'")
                    .map_or(value, |value| value.strip_suffix(b"'").unwrap_or(value)),
            );
        }
        parameters = &after[end..];
    }
    None
}

/// What an unlabelled body looks like.
pub(super) fn sniff(bytes: &[u8]) -> Media {
    let bytes = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii_start();
    let begins = |beginning: &[u8]| {
        bytes
            .get(..beginning.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(beginning))
    };
    let is_html = HTML_BEGINNINGS.iter().any(|beginning| {
        begins(beginning) && matches!(bytes.get(beginning.len()), Some(b' ' | b'>'))
    });
    if is_html || begins(b"<!--") {
        Media::Html
    } else if begins(b"<?xml") {
        Media::Xml
    } else {
        Media::Other
    }
}
