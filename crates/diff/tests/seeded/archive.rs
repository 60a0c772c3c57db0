//! A site written to a WARC file, as somebody else would.

use std::fs::File;
use std::path::Path;

use clewline::AnswerReader;
use clewline_diff::{DiffError, DiffOptions, Difference, compare};
use clewline_job::Job;
use clewline_warc::{Block, Digest, Effort, Encoder, Moment, RecordDraft, RecordId, WarcCompression};

/// Writes answers to a WARC file.
pub struct Archive {
    file: File,
    encoder: Encoder,
    used: u64,
}

impl Archive {
    pub fn create(path: &Path) -> Self {
        let mut archive = Self {
            file: File::create(path).unwrap(),
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
        self.encoder.encode(draft, effort, &mut self.file).unwrap();
    }

    /// An answer of any kind: its status line and fields, and its body.
    pub fn answer(&mut self, url: &str, head: &str, body: &str) {
        let head = format!("HTTP/1.1 {head}\r\n\r\n");
        let (id, block) = (self.id(), Block::message(head.as_bytes()));
        let block = block.bytes(body.as_bytes());
        let draft = RecordDraft::response(id, date(), url, block);
        self.put(&draft.payload_digest(Digest::sha1(body.as_bytes())));
    }

    /// A page that is there.
    pub fn page(&mut self, url: &str, html: &str) {
        self.answer(url, "200 OK\r\nContent-Type: text/html; charset=utf-8", html);
    }
}

fn date() -> Moment {
    Moment::from_timestamp("2026").unwrap()
}

/// Compares what lies at two paths.
pub fn compared(old: &Path, new: &Path, options: &DiffOptions) -> Result<Difference, DiffError> {
    let (old, new) = (Job::open(old)?, Job::open(new)?);
    let reader = AnswerReader::default();
    compare([&old, &new], &reader.reader(), options, &mut |_| ())
}
