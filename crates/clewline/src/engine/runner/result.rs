//! What a job brought back.
//!
//! Owns the one value that stands for the end of a job, from the socket to the record: the
//! frontier borrows its part of it ([`Settlement`]), the engine makes the record of the rest, an
//! inspection shows all of it. Refuses to know what follows from it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clewline_core::frontier::{Answer, Ending, JobId, Settlement};
use clewline_core::key::Key;
use clewline_core::link::{Link, LinkKind};
use clewline_core::outcome::is_redirect_status;
use clewline_core::url::{CrawlUrl, redacted};

use super::super::memory_budget::Share;
use crate::entry::ArchivedView;
use crate::exchange::{Exchange, Unmodified};
use crate::extract::Extracted;
use crate::fetch::{Response, Timings};
use crate::headers::Headers;
use crate::page::Page;
use crate::record::{Record, RenderedPage};

/// The end of a job and all that it brought to light.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the answer"
)]
#[derive(Debug)]
pub(crate) struct JobResult {
    /// What the frontier hears of; it takes of that what it keeps.
    pub(crate) settlement: Settlement,
    /// The URL of the page, if an answer came.
    pub(crate) url: Option<CrawlUrl>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) timings: Timings,
    /// The protocols of the answer; none for HTTP/1.1.
    pub(crate) protocols: &'static [&'static str],
    /// From the beginning to the head of the answer.
    pub(crate) head_after: Option<Duration>,
    /// From the beginning to the end, if something was to be sent.
    pub(crate) total: Option<Duration>,
    pub(crate) decoded: u64,
    pub(crate) truncated: bool,
    pub(crate) content_type: Option<String>,
    pub(crate) charset: Option<Cow<'static, str>>,
    pub(crate) title: Option<String>,
    pub(crate) canonical: Option<CrawlUrl>,
    pub(crate) last_modified: Option<String>,
    /// Of the body; none if it was not read.
    pub(crate) digest: Option<String>,
    pub(crate) noindex: bool,
    pub(crate) is_shell: bool,
    /// What a browser made of the page.
    pub(crate) rendered: Option<RenderedPage>,
    /// The frontier knows already that the request is over.
    pub(in crate::engine) is_postponed: bool,
    /// Where a redirect points that cannot be followed.
    pub(crate) redirect_to: Option<String>,
    pub(crate) problem: Option<String>,
    pub(crate) links: Vec<(Key, LinkKind)>,
    /// The links as the archive keeps them.
    pub(crate) outlinks: Option<Vec<u8>>,
    /// What a browser made of the page, if there is an archive.
    pub(crate) views: Vec<ArchivedView>,
    pub(crate) set_cookies: Vec<Vec<u8>>,
    pub(crate) exchange: Option<Arc<Exchange>>,
    /// The earlier capture that the answer stands for.
    pub(super) unmodified: Option<Unmodified>,
    /// The answer itself, if the runner keeps it.
    pub(crate) whole: Option<Box<WholeAnswer>>,
    /// What the job holds of the memory until it is settled.
    pub(in crate::engine) share: Option<Share>,
}

/// An answer as it came, for those who want to see more than its record. Of one that broke off
/// there is only the head.
#[derive(Debug, Default)]
pub(crate) struct WholeAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Bytes,
    /// What a browser made of it, if somebody wants to see that.
    pub(crate) rendered: Option<Bytes>,
    pub(crate) links: Vec<Link>,
    /// Links beyond the limit of one page.
    pub(crate) dropped_links: u64,
    /// References that are not http(s) or do not parse.
    pub(crate) other_references: u64,
}

impl WholeAnswer {
    /// The page for whoever reads pages.
    pub(in crate::engine) fn page(self, record: Record) -> Page {
        Page {
            record,
            headers: self.headers,
            body: self.body,
            rendered: self.rendered,
            links: self.links,
        }
    }
}

impl JobResult {
    /// A job that ended in this way and brought nothing else.
    pub(in crate::engine) fn new(job: JobId, ending: Ending) -> Self {
        Self {
            settlement: Settlement { job, ending },
            url: None,
            address: None,
            timings: Timings::default(),
            protocols: &[],
            head_after: None,
            total: None,
            decoded: 0,
            truncated: false,
            content_type: None,
            charset: None,
            title: None,
            canonical: None,
            last_modified: None,
            digest: None,
            noindex: false,
            is_shell: false,
            rendered: None,
            is_postponed: false,
            redirect_to: None,
            problem: None,
            links: Vec::new(),
            outlinks: None,
            views: Vec::new(),
            set_cookies: Vec::new(),
            exchange: None,
            unmodified: None,
            whole: None,
            share: None,
        }
    }

    /// The answer as the frontier hears of it, if one came.
    pub(crate) fn answer(&self) -> Option<&Answer> {
        match &self.settlement.ending {
            Ending::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// The same to be completed.
    pub(crate) fn answer_mut(&mut self) -> Option<&mut Answer> {
        match &mut self.settlement.ending {
            Ending::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Takes what the head of a page's answer tells beyond what the frontier wants to know.
    pub(super) fn take_head(&mut self, response: &Response) {
        let headers = &response.headers;
        let is_followed = self
            .answer()
            .is_some_and(|answer| answer.location.is_some());
        let location = headers.reference("location");
        let unusable = location.filter(|_| is_redirect_status(response.status) && !is_followed);
        self.problem = match unusable {
            Some(_) => Some("the redirect's target cannot be followed".to_owned()),
            None => unknown_authentication(response),
        };
        self.redirect_to = unusable.map(|location| redacted(&location).into_owned());
        self.address = response.address;
        self.timings = response.timings;
        self.protocols = response.protocols;
        self.content_type = headers.media_type();
        self.last_modified = headers.text("last-modified").map(Cow::into_owned);
        self.set_cookies = headers.all("set-cookie").map(<[u8]>::to_vec).collect();
    }

    /// Takes what a page tells of itself, apart from its links.
    pub(super) fn take_extracted(&mut self, extracted: &mut Extracted) {
        self.title = extracted.title.take();
        self.canonical = extracted.canonical.take();
        self.charset = extracted.charset.map(Cow::Borrowed);
        self.noindex = extracted.noindex;
        self.is_shell = extracted.is_shell;
        if self.problem.is_none() {
            self.problem = extracted.problem.map(str::to_owned);
        }
    }

    /// Counts what was read.
    pub(super) fn count(&mut self, response: &Response) {
        let tally = response.body.tally();
        self.timings = response.timings;
        self.decoded = tally.decoded;
        self.truncated = tally.truncated;
        if let Some(answer) = self.answer_mut() {
            answer.wire = tally.wire;
        }
    }
}

/// What a server asks for that takes names and passwords only in a way that is not known here
/// (RFC 9110 section 11.6.1).
fn unknown_authentication(response: &Response) -> Option<String> {
    if response.status != 401 {
        return None;
    }
    let challenges = response.headers.all("www-authenticate");
    let challenges: Vec<_> = challenges.map(String::from_utf8_lossy).collect();
    let words = challenges.iter().flat_map(|text| text.split([' ', ',']));
    let names = |scheme: &str| words.clone().any(|word| word.eq_ignore_ascii_case(scheme));
    if names("Basic") {
        return None;
    }
    let others = ["Digest", "Negotiate", "NTLM", "Bearer"];
    let scheme = others.into_iter().find(|scheme| names(scheme))?;
    Some(format!(
        "it asks for {scheme} authentication, and clewline knows only Basic (-u)"
    ))
}
