//! What a body claims to be, and what it looks like.
//!
//! Owns which media types are read and the short form of sniffing for bodies that claim nothing
//! (MIME Sniffing section 7.1). Refuses to overrule a claim: `text/plain` is
//! not HTML, whatever it holds.

use clewline_warc::MediaType;
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
pub(super) enum ContentKind {
    Html,
    Xml,
    Css,
    /// A script or JSON.
    Script,
    /// No claim, or one that means nothing.
    Unknown,
    /// Nothing to be read here.
    Other,
}

/// The claim of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) media: ContentKind,
    pub(super) encoding: Option<&'static Encoding>,
}

/// Reads Content-Type; of several fields the last counts, as in Fetch section 2.2.2.
pub(super) fn claim(headers: &Headers) -> Claim {
    let value = headers.all("content-type").last().unwrap_or_default();
    let media_type = MediaType::parse(value);
    Claim {
        media: media(&media_type.essence().unwrap_or_default()),
        encoding: media_type.charset().and_then(Encoding::for_label),
    }
}

fn media(essence: &str) -> ContentKind {
    match essence {
        "text/html" => ContentKind::Html,
        "text/css" => ContentKind::Css,
        "text/xml" | "application/xml" => ContentKind::Xml,
        "" | "unknown/unknown" | "application/unknown" | "*/*" => ContentKind::Unknown,
        "text/javascript"
        | "text/ecmascript"
        | "application/javascript"
        | "application/ecmascript"
        | "application/x-javascript"
        | "application/json"
        | "text/json" => ContentKind::Script,
        _ if essence.ends_with("+xml") => ContentKind::Xml,
        _ if essence.ends_with("+json") => ContentKind::Script,
        _ => ContentKind::Other,
    }
}

/// What an unlabelled body looks like.
pub(super) fn sniff(bytes: &[u8]) -> ContentKind {
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
        ContentKind::Html
    } else if begins(b"<?xml") {
        ContentKind::Xml
    } else {
        ContentKind::Other
    }
}
