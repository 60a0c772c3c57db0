//! The records of one exchange or one settled URL.
//!
//! Owns which records there are, how they refer to each other and what a metadata record says.
//! Refuses to know files and order.

use std::io::{self, Write};

use clewline_job::archive::LINE_FIELD;
use clewline_warc::{
    Block, Digest, Effort, Encoder, Moment, Profile, RecordDraft, RecordId, RevisitOriginal,
    Truncation, WriteError,
};

use super::seen::Holder;
use crate::entry::Entry;
use crate::exchange::{BytesLocation, Exchange};
use crate::log::urls;

/// Media types whose bodies are compressed by themselves; a trailing `/` stands for all.
const COMPRESSED: [&str; 12] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "image/avif",
    "video/",
    "audio/",
    "font/woff",
    "font/woff2",
    "application/zip",
    "application/gzip",
    "application/x-gzip",
];

/// Views of a page: its DOM and its picture.
const MOST_VIEWS: usize = 3;

/// Identifiers, handed out in order.
#[derive(Debug)]
pub(super) struct Numbers {
    seed: [u8; 16],
    used: u64,
}

impl Numbers {
    pub(super) const fn new(seed: [u8; 16]) -> Self {
        Self { seed, used: 0 }
    }

    pub(super) fn one(&mut self) -> RecordId {
        self.used += 1;
        RecordId::numbered(self.seed, self.used)
    }

    /// The identifiers of a group with so many views.
    pub(super) fn next(&mut self, views: usize) -> Ids {
        Ids {
            answer: self.one(),
            request: self.one(),
            metadata: self.one(),
            views: std::array::from_fn(|view| (view < views).then(|| self.one())),
        }
    }
}

/// The identifiers of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids {
    answer: RecordId,
    request: RecordId,
    metadata: RecordId,
    views: [Option<RecordId>; MOST_VIEWS],
}

/// What stands together: an exchange, what is known about its URL, or both.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) exchange: Option<&'a Exchange>,
    pub(super) entry: Option<&'a Entry>,
    /// The capture that holds the same payload.
    pub(super) original: Option<Holder>,
    pub(super) ids: Ids,
}

impl Group<'_> {
    /// About how many bytes it has; nothing if they are not in memory.
    pub(super) fn size(&self) -> Option<usize> {
        let outlinks = self.entry.map_or(0, |entry| {
            let views = entry.views.iter().map(|view| view.bytes.len());
            entry.outlinks.len() + views.sum::<usize>()
        });
        match self.exchange.map(|exchange| exchange.response.place()) {
            Some(BytesLocation::File(_)) => None,
            Some(BytesLocation::Memory(bytes)) => Some(bytes.len() + outlinks),
            None => Some(outlinks),
        }
    }

    /// How many records it becomes.
    pub(super) fn records(&self) -> usize {
        let of_entry = self.entry.map_or(0, |entry| 1 + entry.views.len());
        2 * usize::from(self.exchange.is_some()) + of_entry
    }

    /// Writes the records; answers the length of the first one if that is a capture.
    pub(super) fn encode(
        &self,
        encoder: &mut Encoder,
        out: &mut dyn Write,
    ) -> io::Result<Option<u64>> {
        let mut capture = None;
        if let Some(exchange) = self.exchange {
            capture = Some(self.answer(exchange, encoder, out)?);
            let block = Block::plain(&exchange.request);
            let date = exchange.started_at.into();
            let target = exchange.url.as_str();
            let mut draft = RecordDraft::request(self.ids.request, date, target, block);
            if let Some(address) = exchange.address {
                draft = draft.address(address);
            }
            let draft = draft.concurrent_to(self.ids.answer);
            write(encoder, &draft, Effort::Usual, out)?;
        }
        if let Some(entry) = self.entry {
            self.metadata(entry, encoder, out)?;
            self.views(entry, encoder, out)?;
        }
        Ok(capture)
    }

    fn answer(
        &self,
        exchange: &Exchange,
        encoder: &mut Encoder,
        out: &mut dyn Write,
    ) -> io::Result<u64> {
        let (head_length, length) = (exchange.head_length, exchange.response.len());
        let read_head;
        let (head, whole) = match exchange.response.place() {
            BytesLocation::Memory(bytes) => {
                let (head, body) = bytes.split_at(bytes.len().min(head_length as usize));
                (head, Block::message(head).bytes(body))
            }
            BytesLocation::File(file) => {
                read_head = exchange.response.first(head_length as usize)?;
                let block = Block::message(&read_head);
                (
                    &read_head[..],
                    block.file(file, head_length, length - head_length),
                )
            }
        };
        let (target, date) = (exchange.url.as_str(), exchange.started_at.into());
        let mut draft = match self.revisited() {
            None => {
                let whole = whole.digested(exchange.block_digest);
                RecordDraft::response(self.ids.answer, date, target, whole)
            }
            Some((profile, original)) => {
                let alone = Block::message(head);
                RecordDraft::revisit(self.ids.answer, date, target, profile, alone)
                    .refers_to(original)
            }
        };
        if let Some(address) = exchange.address {
            draft = draft.address(address);
        }
        for protocol in exchange.protocols {
            draft = draft.value("WARC-Protocol", protocol);
        }
        // Where the framing broke or nobody read on, others would make another payload of it.
        let is_whole = exchange.truncation != Some(Truncation::Unspecified);
        if let Some(digest) = payload_digest(exchange).filter(|_| is_whole) {
            draft = draft.payload_digest(digest);
        }
        if let Some(reason) = exchange.truncation {
            draft = draft.truncated(reason);
        }
        write(encoder, &draft, effort(exchange), out)
    }

    /// Why the payload is not here, and the capture that has it.
    pub(super) fn revisited(&self) -> Option<(Profile, RevisitOriginal<'_>)> {
        let unmodified = self.exchange.and_then(|it| it.unmodified.as_ref());
        let unmodified = unmodified.map(|it| (Profile::ServerNotModified, &it.target, it.date));
        let holder = self.original.as_ref();
        let holder = holder.map(|it| (Profile::IdenticalPayloadDigest, &it.target, it.date));
        let (profile, target, date) = unmodified.or(holder)?;
        let id = None;
        Some((profile, RevisitOriginal { id, target, date }))
    }

    /// What a browser made of the page.
    fn views(&self, entry: &Entry, encoder: &mut Encoder, out: &mut dyn Write) -> io::Result<()> {
        for (view, id) in entry.views.iter().zip(self.ids.views) {
            let Some(id) = id else { break };
            let target = format!("{}{}", view.prefix, entry.record.url);
            let block = Block::plain(&view.bytes);
            let mut draft = RecordDraft::resource(id, self.date(entry), &target, block)
                .content_type(view.media_type);
            if self.exchange.is_some() {
                draft = draft.concurrent_to(self.ids.answer);
            }
            let effort = if is_compressed(view.media_type) {
                Effort::Cheapest
            } else {
                Effort::Usual
            };
            write(encoder, &draft, effort, out)?;
        }
        Ok(())
    }

    /// When the exchange began, or the URL was settled.
    fn date(&self, entry: &Entry) -> Moment {
        let settled = Moment::parse(&entry.record.fetched_at);
        let began = self.exchange.map(|exchange| exchange.started_at.into());
        began
            .or(settled)
            .unwrap_or(Moment::since_1970(std::time::Duration::ZERO))
    }

    /// The URL's line and its links. Both are free of line ends by the time they get here: JSON
    /// has none, and a URL is encoded.
    fn metadata(
        &self,
        entry: &Entry,
        encoder: &mut Encoder,
        out: &mut dyn Write,
    ) -> io::Result<u64> {
        let mut made = Vec::new();
        let line = if let Some(line) = entry.line.get() {
            line
        } else {
            urls::write_line(&entry.record, &mut made)?;
            &made[..]
        };
        // The line's own end becomes that of the field.
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let block = Block::plain(LINE_FIELD.as_bytes())
            .bytes(b": ")
            .bytes(line)
            .bytes(b"\r\n")
            .bytes(&entry.outlinks);
        let date = self.date(entry);
        let target = entry.record.url.as_str();
        let mut draft = RecordDraft::metadata(self.ids.metadata, date, target, block)
            .content_type("application/warc-fields");
        if self.exchange.is_some() {
            draft = draft.concurrent_to(self.ids.answer);
        }
        write(encoder, &draft, Effort::Usual, out)
    }
}

/// The digest of what stands for the answer; one that is as it was has that of then.
pub(super) fn payload_digest(exchange: &Exchange) -> Option<Digest> {
    match &exchange.unmodified {
        Some(unmodified) => unmodified.digest,
        None => Some(exchange.payload_digest),
    }
}

fn write(
    encoder: &mut Encoder,
    draft: &RecordDraft<'_>,
    effort: Effort,
    out: &mut dyn Write,
) -> io::Result<u64> {
    encoder
        .encode(draft, effort, out)
        .map_err(|error| match error {
            // A full disk must be seen as one.
            WriteError::Output { source, .. } | WriteError::Block { source, .. } => source,
            other => io::Error::other(other),
        })
}

/// Whether bodies of a media type are compressed by themselves.
fn is_compressed(kind: &str) -> bool {
    COMPRESSED
        .iter()
        .any(|known| kind == *known || (known.ends_with('/') && kind.starts_with(known)))
}

fn effort(exchange: &Exchange) -> Effort {
    // A body with a content coding is compressed already.
    let is_coded = !exchange.codings.starts_with("-/");
    if is_coded || exchange.media_type.as_deref().is_some_and(is_compressed) {
        Effort::Cheapest
    } else {
        Effort::Usual
    }
}
