//! The header of a record on its way.
//!
//! Owns the names of the fields, their order and what a value may hold (`text`). Fields stand in
//! the order in which they were given, between kind, identifier and date at the top and digest
//! and length at the end.

use std::io::{self, Write as _};
use std::net::IpAddr;

use super::block::Block;
use crate::digest::Digest;
use crate::id::RecordId;
use crate::kind::{Profile, RecordKind, Truncation};
use crate::moment::Moment;
use crate::text::{push_name, push_uri, push_value};

/// Room for the header of most records.
const USUAL_HEADER: usize = 1024;

/// A record before it is written.
#[derive(Debug, Clone)]
pub struct RecordDraft<'a> {
    id: RecordId,
    header: Vec<u8>,
    block: Block<'a>,
}

/// The capture that a revisit stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisitOriginal<'a> {
    /// Its record, if known.
    pub id: Option<RecordId>,
    /// Its URL.
    pub target: &'a str,
    /// Its date.
    pub date: Moment,
}

impl<'a> RecordDraft<'a> {
    /// A record of any kind, with nothing but what every record has.
    pub fn new(kind: RecordKind, id: RecordId, date: Moment, block: Block<'a>) -> Self {
        let mut header = Vec::with_capacity(USUAL_HEADER);
        for part in [
            &b"WARC/1.1\r\nWARC-Type: "[..],
            kind.name().as_bytes(),
            b"\r\nWARC-Record-ID: <",
            &id.text(),
            b">\r\nWARC-Date: ",
            &date.text(),
            b"\r\n",
        ] {
            header.extend_from_slice(part);
        }
        Self { id, header, block }
    }

    /// What a file holds; the block is made by [`warc_fields`].
    pub fn warcinfo(id: RecordId, date: Moment, filename: &str, block: Block<'a>) -> Self {
        Self::new(RecordKind::WarcInfo, id, date, block)
            .value("WARC-Filename", filename)
            .content_type("application/warc-fields")
    }

    /// What was asked.
    pub fn request(id: RecordId, date: Moment, target: &str, block: Block<'a>) -> Self {
        Self::new(RecordKind::Request, id, date, block)
            .uri("WARC-Target-URI", target)
            .content_type("application/http; msgtype=request")
    }

    /// What was answered.
    pub fn response(id: RecordId, date: Moment, target: &str, block: Block<'a>) -> Self {
        Self::new(RecordKind::Response, id, date, block)
            .uri("WARC-Target-URI", target)
            .content_type("application/http; msgtype=response")
    }

    /// What was answered, without the payload: the block is the head alone. What it is a revisit
    /// of is told by [`refers_to`](Self::refers_to).
    pub fn revisit(
        id: RecordId,
        date: Moment,
        target: &str,
        profile: Profile,
        block: Block<'a>,
    ) -> Self {
        Self::new(RecordKind::Revisit, id, date, block)
            .uri("WARC-Target-URI", target)
            .value("WARC-Profile", profile.uri())
            .content_type("application/http; msgtype=response")
    }

    /// Facts about a URL.
    pub fn metadata(id: RecordId, date: Moment, target: &str, block: Block<'a>) -> Self {
        Self::new(RecordKind::Metadata, id, date, block).uri("WARC-Target-URI", target)
    }

    /// A thing without a protocol.
    pub fn resource(id: RecordId, date: Moment, target: &str, block: Block<'a>) -> Self {
        Self::new(RecordKind::Resource, id, date, block).uri("WARC-Target-URI", target)
    }

    /// What the block is.
    #[must_use]
    pub fn content_type(self, media_type: &str) -> Self {
        self.value("Content-Type", media_type)
    }

    /// The address that was asked.
    #[must_use]
    pub fn address(self, address: IpAddr) -> Self {
        self.value("WARC-IP-Address", &address.to_string())
    }

    /// Another record of the same exchange; may be given more than once.
    #[must_use]
    pub fn concurrent_to(self, id: RecordId) -> Self {
        self.identifier("WARC-Concurrent-To", id)
    }

    /// The warcinfo record that this one stands under.
    #[must_use]
    pub fn info(self, id: RecordId) -> Self {
        self.identifier("WARC-Warcinfo-ID", id)
    }

    /// The record that a metadata record is about.
    #[must_use]
    pub fn about(self, id: RecordId) -> Self {
        self.identifier("WARC-Refers-To", id)
    }

    /// The capture that a revisit stands for.
    #[must_use]
    pub fn refers_to(self, original: RevisitOriginal<'_>) -> Self {
        let this = match original.id {
            Some(id) => self.about(id),
            None => self,
        };
        this.uri("WARC-Refers-To-Target-URI", original.target)
            .value("WARC-Refers-To-Date", &original.date.to_string())
    }

    /// The digest of the payload, for a revisit that of the original.
    #[must_use]
    pub fn payload_digest(self, digest: Digest) -> Self {
        self.value("WARC-Payload-Digest", &digest.to_string())
    }

    /// The block is cut short.
    #[must_use]
    pub fn truncated(self, why: Truncation) -> Self {
        self.value("WARC-Truncated", why.name())
    }

    /// What the payload was found to be, whatever the server says.
    #[must_use]
    pub fn payload_type(self, media_type: &str) -> Self {
        self.value("WARC-Identified-Payload-Type", media_type)
    }

    /// Any other field. Controls in its value become spaces.
    #[must_use]
    pub fn value(mut self, name: &str, value: &str) -> Self {
        self.begin(name);
        push_value(value, &mut self.header);
        self.header.extend_from_slice(b"\r\n");
        self
    }

    /// Any other field whose value is a URI. What is not printable ASCII is percent-encoded.
    #[must_use]
    pub fn uri(mut self, name: &str, uri: &str) -> Self {
        self.begin(name);
        push_uri(uri, &mut self.header);
        self.header.extend_from_slice(b"\r\n");
        self
    }

    fn identifier(mut self, name: &str, id: RecordId) -> Self {
        self.begin(name);
        self.header.push(b'<');
        self.header.extend_from_slice(&id.text());
        self.header.extend_from_slice(b">\r\n");
        self
    }

    fn begin(&mut self, name: &str) {
        push_name(name, &mut self.header);
        self.header.extend_from_slice(b": ");
    }

    /// The identifier.
    pub fn id(&self) -> RecordId {
        self.id
    }

    /// The block.
    pub fn block(&self) -> &Block<'a> {
        &self.block
    }

    /// The whole header with its empty line.
    pub(super) fn header(&self, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(&self.header);
        let (digest, length) = (self.block.digest()?, self.block.length());
        write!(
            out,
            "WARC-Block-Digest: {digest}\r\nContent-Length: {length}\r\n\r\n"
        )
    }
}

/// A block of the type `application/warc-fields`, as warcinfo and metadata records have it.
/// Names and values are kept from breaking out of their line, as in a header.
pub fn warc_fields<'t>(fields: impl IntoIterator<Item = (&'t str, &'t str)>) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        push_name(name, &mut block);
        block.extend_from_slice(b": ");
        push_value(value, &mut block);
        block.extend_from_slice(b"\r\n");
    }
    block
}
