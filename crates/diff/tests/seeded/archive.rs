//! A site written to a WARC file, as somebody else would.

use std::fs::File;
use std::io::{BufRead, Read as _};
use std::path::Path;

use clewline_core::key::Keyer;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use clewline_diff::{DiffError, DiffOptions, Difference, compare};
use clewline_job::Job;
use clewline_job::rebuild::Derived;
use clewline_job::record::{FORMAT, OutcomeKind, PhaseMillis, Record};
use clewline_warc::http::{self, HttpHead};
use clewline_warc::read::Header;
use clewline_warc::{
    Block, Digest, Effort, Encoder, Moment, RecordDraft, RecordId, WarcCompression,
};

/// Writes answers to a WARC file.
pub(crate) struct Archive {
    file: File,
    encoder: Encoder,
    used: u64,
}

impl Archive {
    pub(crate) fn create(path: &Path) -> Self {
        let mut archive = Self {
            file: File::create(path).expect("the folder is there"),
            encoder: Encoder::new(WarcCompression::default()),
            used: 0,
        };
        let id = archive.id();
        let block = Block::plain(b"software: other\r\n");
        archive.put(&RecordDraft::warcinfo(id, date(), "a", block));
        archive
    }

    fn id(&mut self) -> RecordId {
        self.used += 1;
        RecordId::numbered([7; 16], self.used)
    }

    fn put(&mut self, draft: &RecordDraft<'_>) {
        let effort = Effort::Usual;
        self.encoder
            .encode(draft, effort, &mut self.file)
            .expect("there is room");
    }

    /// An answer of any kind: its status line and fields, and its body.
    pub(crate) fn answer(&mut self, url: &str, head: &str, body: &str) {
        let head = format!("HTTP/1.1 {head}\r\n\r\n");
        let (id, block) = (self.id(), Block::message(head.as_bytes()));
        let block = block.bytes(body.as_bytes());
        let draft = RecordDraft::response(id, date(), url, block);
        self.put(&draft.payload_digest(Digest::sha1(body.as_bytes())));
    }

    /// A page that is there.
    pub(crate) fn page(&mut self, url: &str, html: &str) {
        self.answer(
            url,
            "200 OK\r\nContent-Type: text/html; charset=utf-8",
            html,
        );
    }
}

fn date() -> Moment {
    Moment::from_timestamp("2026").expect("it is a year")
}

/// Reads an answer as the library does, as far as it matters here.
fn read_answer(keys: &Keyer, header: &Header, block: &mut dyn BufRead) -> Option<Derived> {
    let url = CrawlUrl::parse(header.target()?).ok()?;
    let (message, mut rest) = http::split(block).ok()?;
    let mut body = Vec::new();
    rest.read_to_end(&mut body).ok()?;
    let field = |name: &str| {
        let text = String::from_utf8_lossy(&message).to_ascii_lowercase();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")).map(String::from));
        line.map(|value| value.split(';').next().unwrap_or_default().to_owned())
    };
    let target = field("location").and_then(|to| url.join(&to).ok());
    let record = Record {
        v: FORMAT,
        key: keys.key(&url),
        outcome: if target.is_some() {
            OutcomeKind::Redirected
        } else {
            OutcomeKind::Fetched
        },
        status: HttpHead::parse(&message).status(),
        redirect_to: target.map(|target| target.to_string()),
        reason: None,
        failure: None,
        error: None,
        wire_bytes: 0,
        body_bytes: body.len() as u64,
        truncated: false,
        content_type: field("content-type"),
        charset: None,
        links: 0,
        new_links: 0,
        depth: 0,
        kind: LinkKind::Anchor,
        found_on: None,
        tries: 1,
        earlier: Vec::new(),
        timings: PhaseMillis::default(),
        address: None,
        title: None,
        canonical: None,
        lastmod: None,
        digest: Some(format!("{:?}", Digest::sha1(&body))),
        noindex: false,
        shell: false,
        rendered: None,
        protocol: None,
        fetched_at: String::new(),
        url,
    };
    Some(Derived {
        record,
        links: Vec::new(),
    })
}

/// Compares what lies at two paths.
pub(crate) fn compared(
    old: &Path,
    new: &Path,
    options: &DiffOptions,
) -> Result<Difference, DiffError> {
    let (old, new) = (Job::open(old)?, Job::open(new)?);
    compare([&old, &new], &read_answer, options, &mut |_| ())
}
