//! Pages at their time.
//!
//! Owns the paths (`/web/<time>/<url>`, `/web/<time>id_/<url>` for the untouched payload,
//! `/web/<time>dom_/<url>` for what a browser made of the page, `/web/<time>thumb_/<url>` for its small picture,
//! `/web/*/<url>` for all captures of a URL), what of a recorded head is shown again, and the
//! policy under which a page is shown. Invariants: a page can ask this server only; cookies and
//! other orders to the browser that were recorded are not repeated.

use std::fmt::Write as _;
use std::io;

use clewline_archive::rewrite::{self, Banner, DocumentBody, Guide, Rewritten, Unchanged, Use};
use clewline_archive::{Archive, ArchivedCapture, CaptureContent};
use clewline_warc::Moment;
use clewline_warc::cdxj::Capture;
use url::Url;

use super::Scripts;
use super::answer::{AnswerBody, ServerAnswer};
use super::page::{self, CaptureListing};
use super::range;
use super::request::ServerRequest;

/// Captures on one page of the list.
const PAGE: usize = 100;

const POLICY: &str = "default-src 'none'; img-src 'self' data: blob:; \
    style-src 'self' 'unsafe-inline' data:; font-src 'self' data:; \
    media-src 'self' data: blob:; frame-src 'self'; object-src 'self'; manifest-src 'self'; \
    form-action 'self'; base-uri 'self'; frame-ancestors 'self'";

const SCRIPTS: &str = "; script-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; \
    connect-src 'self' data: blob:; worker-src 'self' blob:";

/// What is replayed, and how.
pub(super) struct ReplaySite<'a> {
    pub(super) archive: &'a Archive,
    pub(super) scripts: Scripts,
    pub(super) forms: ArchivedForms,
    /// Where a guest's first page is, and its name.
    pub(super) guest: Option<(&'static str, &'static str)>,
}

/// Whether forms of archived pages are sent. Where the server takes orders, a form of a page that was
/// crawled could be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArchivedForms {
    Sent,
    Blocked,
}

/// What of a capture is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaptureView {
    /// The answer, with its references led to the archive.
    Shown,
    /// The payload as it was sent.
    Untouched,
    /// What a browser made of the page, shown as the answer is.
    Rendered,
    /// The small picture that the browser took.
    Thumbnail,
}

impl CaptureView {
    fn from_modifier(modifier: &str) -> Self {
        match modifier {
            "id_" => Self::Untouched,
            "dom_" => Self::Rendered,
            "thumb_" => Self::Thumbnail,
            _ => Self::Shown,
        }
    }

    const fn modifier(self) -> &'static str {
        match self {
            Self::Shown => "",
            Self::Untouched => "id_",
            Self::Rendered => "dom_",
            Self::Thumbnail => "thumb_",
        }
    }

    /// The path of this view of the capture of a URL that is closest to a time.
    pub(super) fn path_of(self, time: &str, url: &str) -> String {
        path_of(&format!("{time}{}", self.modifier()), url)
    }
}

/// A path that names a capture.
#[derive(Debug, PartialEq, Eq)]
struct Wanted<'a> {
    /// Digits, `*`, or nothing for the latest.
    time: &'a str,
    view: CaptureView,
    url: String,
}

impl<'a> Wanted<'a> {
    fn from_target(target: &'a str) -> Option<Self> {
        let rest = target.strip_prefix("/web/")?;
        let (first, url) = rest.split_once('/').unwrap_or((rest, ""));
        let digits = first.trim_end_matches(|c: char| c == '_' || c.is_ascii_lowercase());
        let is_time =
            first == "*" || (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
        let (time, modifier, url) = if is_time && first == "*" {
            ("*", "", url)
        } else if is_time {
            (digits, &first[digits.len()..], url)
        } else {
            ("", "", rest)
        };
        // Some collapse the slashes of a URL within a path, some leave the scheme out.
        let url = match url.split_once(":/") {
            Some((scheme @ ("http" | "https"), rest)) => {
                format!("{scheme}://{}", rest.trim_start_matches('/'))
            }
            _ => format!("http://{url}"),
        };
        Some(Self {
            time,
            view: CaptureView::from_modifier(modifier),
            url,
        })
    }
}

/// The path of the capture of a URL that is closest to a time (of up to fourteen digits).
pub(crate) fn path_of(time: &str, url: &str) -> String {
    format!("/web/{time}/{}", safe(url))
}

/// The path of the small picture of a capture.
pub(crate) fn thumbnail_path_of(capture: &Capture) -> String {
    CaptureView::Thumbnail.path_of(&capture.timestamp, &capture.url)
}

/// A URL that fits into a path and a header field, without its fragment.
pub(super) fn safe(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let mut text = String::with_capacity(url.len());
    for byte in url.bytes() {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>') {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("a string takes all text");
        }
    }
    text
}

/// Leads references to the captures closest to a time. Whoever looks at what a browser made goes on so.
struct Replay<'a> {
    time: &'a str,
    view: CaptureView,
}

impl Guide for Replay<'_> {
    fn lead(&self, url: &Url, purpose: Use) -> String {
        let fragment = url.fragment().map(|fragment| format!("#{fragment}"));
        let view = match purpose {
            Use::Navigation => self.view,
            Use::Requisite => CaptureView::Shown,
        };
        view.path_of(self.time, url.as_str()) + &fragment.unwrap_or_default()
    }
}

pub(super) fn answer(request: &ServerRequest, site: &ReplaySite<'_>) -> ServerAnswer {
    let (path, query) = (request.path(), request.query());
    match path {
        page::STYLE_PATH => return sheet(page::style()),
        page::PAGE_STYLE_PATH => return sheet(page::page_style()),
        "/" => return list(query, site),
        _ => {}
    }
    match Wanted::from_target(&request.target) {
        Some(wanted) => capture(&wanted, request, site),
        None => astray(request),
    }
}

fn sheet(style: &str) -> ServerAnswer {
    ServerAnswer::new(200, AnswerBody::Bytes(style.into()))
        .with("Content-Type", "text/css; charset=utf-8")
}

/// A page asked for a path of its own site that nobody could rewrite: its referrer tells which.
fn astray(request: &ServerRequest) -> ServerAnswer {
    let from = referrer(request).and_then(|wanted| {
        let url = Url::parse(&wanted.url).ok()?.join(&request.target).ok()?;
        Some(path_of(wanted.time, url.as_str()))
    });
    match from {
        Some(path) => found_at(&path),
        None => page::missing(&request.target),
    }
}

/// The capture that a request comes from.
fn referrer(request: &ServerRequest) -> Option<Wanted<'_>> {
    let address = request.field("referer")?.strip_prefix("http://")?;
    Wanted::from_target(&address[address.find('/')?..])
}

/// Whether a request comes from a page of the archive.
pub(super) fn is_from_capture(request: &ServerRequest) -> bool {
    referrer(request).is_some()
}

pub(super) fn found_at(path: &str) -> ServerAnswer {
    ServerAnswer::new(302, AnswerBody::Bytes(Vec::new())).with("Location", path)
}

fn list(query: &str, site: &ReplaySite<'_>) -> ServerAnswer {
    let (mut prefix, mut from) = (String::new(), String::new());
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "url" => prefix = value.into_owned(),
            "from" => from = value.into_owned(),
            _ => {}
        }
    }
    let key = Archive::key_prefix(&prefix);
    let mut rows = match site.archive.list(&from, &key, PAGE + 1) {
        Ok(rows) => rows,
        Err(error) => return page::broken(&prefix, &error),
    };
    let next = rows.split_off(PAGE.min(rows.len()));
    let next = next.first();
    let next = next.map(|(key, held)| format!("{key} {}", held.capture.timestamp));
    page::listing(&CaptureListing {
        prefix: &prefix,
        rows: &rows,
        // More captures of one moment than a page holds would lead here again.
        next: next.filter(|next| *next != from),
        files: site.archive.file_count(),
        guest: site.guest,
    })
}

fn capture(wanted: &Wanted<'_>, request: &ServerRequest, site: &ReplaySite<'_>) -> ServerAnswer {
    let archive = site.archive;
    let url = wanted.url.as_str();
    let all = match archive.captures(url) {
        Ok(all) => all,
        Err(error) => return page::broken(url, &error),
    };
    if wanted.time == "*" {
        return page::calendar(url, &all);
    }
    let held = match archive.closest(url, Moment::from_timestamp(wanted.time)) {
        Ok(Some(held)) => held,
        Ok(None) => return page::missing(url),
        Err(error) => return page::broken(url, &error),
    };
    let is_exact = held.capture.timestamp == wanted.time && safe(&held.capture.url) == safe(url);
    if !is_exact {
        let path = wanted
            .view
            .path_of(&held.capture.timestamp, &held.capture.url);
        return found_at(&path);
    }
    if wanted.view == CaptureView::Rendered {
        return rendered(&held, &all, request, site);
    }
    if wanted.view == CaptureView::Thumbnail {
        return match archive.thumbnail(&held) {
            Ok(Some(jpeg)) => ServerAnswer::new(200, AnswerBody::Bytes(jpeg))
                .with("Content-Type", "image/jpeg")
                .with("Content-Security-Policy", POLICY),
            Ok(None) => page::missing(url),
            Err(error) => page::broken(url, &error),
        };
    }
    let content = match archive.read(&held) {
        Ok(content) => content,
        Err(error) => return page::broken(url, &error),
    };
    let answer = if wanted.view == CaptureView::Untouched {
        untouched(content)
    } else {
        shown(content, &held, &all, request, archive)
    };
    answer.with("Content-Security-Policy", &policy(site.scripts, site.forms))
}

fn policy(scripts: Scripts, forms: ArchivedForms) -> String {
    let policy = match scripts {
        Scripts::Blocked => POLICY.to_owned(),
        Scripts::Allowed => format!("{POLICY}{SCRIPTS}"),
    };
    match forms {
        ArchivedForms::Sent => policy,
        ArchivedForms::Blocked => policy.replace("form-action 'self'", "form-action 'none'"),
    }
}

/// What a browser made of a page; its answer where there is no such thing. The scripts have run, and
/// do not run again.
fn rendered(
    held: &ArchivedCapture,
    all: &[ArchivedCapture],
    request: &ServerRequest,
    site: &ReplaySite<'_>,
) -> ServerAnswer {
    let (time, url) = (&held.capture.timestamp, &held.capture.url);
    let dom = match DocumentBody::rendered(site.archive, held) {
        Ok(Some(dom)) => dom,
        Ok(None) => return found_at(&path_of(time, url)),
        Err(error) => return page::broken(url, &error),
    };
    let Ok(page) = Url::parse(url) else {
        return found_at(&path_of(time, url));
    };
    let view = CaptureView::Rendered;
    let banner = banner(held, all, request, Some(view));
    let (body, kind) = match dom.rewritten(&page, Banner(&banner), &Replay { time, view }) {
        Ok(Rewritten { kind, bytes }) => (AnswerBody::Bytes(bytes), kind),
        Err(Unchanged { kind, stream }) => (AnswerBody::Stream(stream), kind),
    };
    ServerAnswer::new(200, body)
        .with("Content-Type", &kind)
        .with(
            "Content-Security-Policy",
            &policy(Scripts::Blocked, site.forms),
        )
}

/// What stands over a page; frames need no banner. Where there are two views of the capture, it leads
/// from the one that is shown to the other one.
fn banner(
    held: &ArchivedCapture,
    all: &[ArchivedCapture],
    request: &ServerRequest,
    view: Option<CaptureView>,
) -> String {
    let destination = request.field("sec-fetch-dest");
    if destination.is_some_and(|to| to != "document") {
        return String::new();
    }
    page::banner(&held.capture, all, view)
}

/// The payload in its content coding, for whoever wants what was sent.
fn untouched(content: CaptureContent) -> ServerAnswer {
    let coding = content.head().text("content-encoding");
    let kind = content.content_type();
    let status = shown_status(content.status());
    let mut answer = ServerAnswer::new(status, AnswerBody::Stream(content.payload()));
    if let Some(kind) = kind {
        answer = answer.with("Content-Type", &kind);
    }
    match coding {
        Some(coding) => answer.with("Content-Encoding", &coding),
        None => answer,
    }
}

/// Statuses that mean something else to a browser are not repeated.
fn shown_status(status: u16) -> u16 {
    match status {
        200..=203 | 400..=599 => status,
        _ => 200,
    }
}

fn shown(
    content: CaptureContent,
    held: &ArchivedCapture,
    all: &[ArchivedCapture],
    request: &ServerRequest,
    archive: &Archive,
) -> ServerAnswer {
    let url = &held.capture.url;
    let Ok(page) = Url::parse(url) else {
        return untouched(content);
    };
    let guide = Replay {
        time: &held.capture.timestamp,
        view: CaptureView::Shown,
    };
    let status = content.status();
    if let (300..=399, Some(location)) = (status, content.head().text("location"))
        && let Ok(target) = page.join(location.trim())
        && matches!(target.scheme(), "http" | "https")
    {
        return found_at(&guide.lead(&target, Use::Navigation));
    }
    let status = shown_status(status);
    let told = content.content_type();
    let refresh = content.head().text("refresh");
    let refresh = refresh.and_then(|value| rewrite::refresh(&value, &page, &guide));
    let body = match content
        .decoded()
        .and_then(|stream| DocumentBody::read(stream, told))
    {
        Ok(body) => body,
        Err(error) => return page::broken(url, &error),
    };
    let is_rendered = archive.rendered(held, 0).is_ok_and(|dom| dom.is_some());
    let view = is_rendered.then_some(CaptureView::Shown);
    let banner = banner(held, all, request, view);
    let (answer, kind) = match body.rewritten(&page, Banner(&banner), &guide) {
        Ok(Rewritten { kind, bytes }) => {
            (ServerAnswer::new(status, AnswerBody::Bytes(bytes)), kind)
        }
        Err(Unchanged { kind, stream }) if status == 200 => {
            let length = || {
                let again = archive.read(held).map_err(io::Error::other)?;
                again.decoded_length()
            };
            match range::answer(stream, request, length) {
                Ok(answer) => (answer, kind),
                Err(error) => return page::broken(url, &error),
            }
        }
        Err(Unchanged { kind, stream }) => {
            (ServerAnswer::new(status, AnswerBody::Stream(stream)), kind)
        }
    };
    let answer = answer.with("Content-Type", &kind);
    match refresh {
        Some(refresh) => answer.with("Refresh", &refresh),
        None => answer,
    }
}
