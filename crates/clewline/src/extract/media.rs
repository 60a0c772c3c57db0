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

/// The encoding of the first charset parameter.
fn charset(mut rest: &[u8]) -> Option<&'static Encoding> {
    while let Some(parameter) = rest.strip_prefix(b";") {
        let name_end = memchr::memchr2(b';', b'=', parameter)?;
        let name = parameter[..name_end].trim_ascii();
        rest = &parameter[name_end..];
        if let Some(raw) = rest.strip_prefix(b"=") {
            let (value, after) = parameter_value(raw);
            if name.eq_ignore_ascii_case(b"charset") {
                return Encoding::for_label(value);
            }
            rest = after;
        }
    }
    None
}

/// A parameter's value and what follows it. Single quotes quote nothing in HTTP, but are met.
fn parameter_value(raw: &[u8]) -> (&[u8], &[u8]) {
    let quote = raw.first().filter(|byte| matches!(byte, b'"' | b'\''));
    let (value, after) = match quote {
        Some(quote) => {
            let inner = &raw[1..];
            inner.split_at(memchr::memchr(*quote, inner).unwrap_or(inner.len()))
        }
        None => raw.split_at(memchr::memchr(b';', raw).unwrap_or(raw.len())),
    };
    let end = memchr::memchr(b';', after).unwrap_or(after.len());
    (value, &after[end..])
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
