//! Lines for answers that somebody else archived, and views made again from them.
//!
//! Owns what can be known from the answer alone; it lends the crawl's extractor to the readers and
//! the rebuilding of `clewline-job`, which know no extractor. Depth, tries, times and who linked to a page
//! are not in it, and say so by being zero. Invariant: the keys are those that a rebuild gives to
//! the links of the same files.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::outcome::is_redirect_status;
use clewline_core::url::CrawlUrl;
use clewline_job::rebuild::Derived;
pub(crate) use clewline_job::rebuild::each_line;
use clewline_job::rebuild::{Existing, RebuildError, Rebuilt};
use clewline_warc::Moment;
use clewline_warc::read::Header;

use crate::clock::rfc3339;
use crate::config::{ExtractConfig, FetchConfig};
use crate::extract::PageExtractor;
use crate::record::{FORMAT, OutcomeKind, PhaseMillis, Record};
use crate::warc_metadata::{self, Captured};

/// Reads answers that somebody else archived, with the extractor of a crawl.
pub struct AnswerReader {
    extractor: PageExtractor,
}

impl Default for AnswerReader {
    fn default() -> Self {
        let token = FetchConfig::default().robots_token();
        Self {
            extractor: PageExtractor::new(&ExtractConfig::default(), &token),
        }
    }
}

impl AnswerReader {
    /// Makes the logs and views of a crawl again from these files, into a folder, as
    /// [`clewline_job::rebuild::rebuild`] does.
    pub fn rebuild(
        &self,
        files: &[PathBuf],
        folder: &Path,
        existing: Existing,
        tell: &mut dyn FnMut(u64),
    ) -> Result<Rebuilt, RebuildError> {
        clewline_job::rebuild::rebuild(files, folder, existing, &self.reader(), tell)
    }

    /// As the readers of `clewline-job` want it.
    pub fn reader(&self) -> impl Fn(&Keyer, &Header, &mut dyn BufRead) -> Option<Derived> {
        |keys, header, block| self.read(keys, header, block)
    }

    /// What an answer says. Nothing if the block holds none, or not of a URL that can be crawled.
    pub fn read(&self, keys: &Keyer, header: &Header, block: impl BufRead) -> Option<Derived> {
        let url = CrawlUrl::parse(header.target()?).ok()?;
        let date = header.date()?;
        let limit = FetchConfig::default().max_body;
        let found = warc_metadata::answer(&url, block, &self.extractor, limit);
        let found = found.ok().flatten()?;
        Some(derived(url, date, header.length(), found, keys))
    }
}

/// Makes `urls.jsonl` and `links/` of a job again from its archive; says how many lines there are.
pub(crate) fn logs(folder: &Path, seed: u64) -> Result<usize, RebuildError> {
    let reader = AnswerReader::default();
    clewline_job::rebuild::logs(folder, seed, &reader.reader())
}

/// What an answer makes.
fn derived(url: CrawlUrl, date: Moment, wire: u64, found: Captured, keys: &Keyer) -> Derived {
    let headers = &found.headers;
    let text = |name: &str| headers.text(name).map(std::borrow::Cow::into_owned);
    let target = headers
        .reference("location")
        .filter(|_| is_redirect_status(found.status))
        .and_then(|location| url.join(&location).ok());
    let media_type = headers.media_type();
    let extracted = found.extracted;
    let links = extracted.links.to_vec();
    let seconds = u64::try_from(date.seconds()).unwrap_or(0);
    let record = Record {
        v: FORMAT,
        key: keys.key(&url),
        outcome: match (&target, found.status) {
            (Some(_), _) => OutcomeKind::Redirected,
            (None, 304) => OutcomeKind::Unmodified,
            _ => OutcomeKind::Fetched,
        },
        status: Some(found.status),
        redirect_to: target.map(|target| target.to_string()),
        reason: None,
        failure: None,
        error: extracted.problem.map(str::to_owned),
        wire_bytes: wire,
        body_bytes: found.decoded,
        truncated: found.truncated,
        content_type: media_type,
        charset: extracted.charset.map(str::to_owned),
        links: u32::try_from(links.len()).unwrap_or(u32::MAX),
        new_links: 0,
        depth: 0,
        kind: LinkKind::Anchor,
        found_on: None,
        tries: 1,
        earlier: Vec::new(),
        timings: PhaseMillis::default(),
        address: None,
        title: extracted.title,
        canonical: extracted.canonical,
        lastmod: text("last-modified"),
        digest: Some(format!("xxh3:{:032x}", found.digest)),
        noindex: extracted.noindex,
        shell: extracted.is_shell,
        rendered: None,
        protocol: None,
        fetched_at: rfc3339(Duration::from_secs(seconds)),
        url,
    };
    Derived { record, links }
}
