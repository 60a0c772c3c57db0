//! The header of a record as it was found.
//!
//! Owns the lenient reading of fields: any order, any case, folded lines, lines that end with a
//! line feed alone, brackets around URIs where older writers put them.

use crate::digest::Digest;
use crate::id::RecordId;
use crate::kind::RecordKind;
use crate::moment::Moment;

/// The longest header that is read, in bytes.
pub const LONGEST_HEADER: usize = 1024 * 1024;

/// A record's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    bytes: Vec<u8>,
    version: String,
    fields: Vec<(String, String)>,
    length: u64,
}

impl Header {
    /// Reads a header up to its empty line. Nothing if it does not say how long its block is.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let version = text(lines.next().unwrap_or_default());
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in lines {
            let is_folded = matches!(line.first(), Some(b' ' | b'\t'));
            if let (true, Some((_, value))) = (is_folded, fields.last_mut()) {
                let more = text(line);
                if !value.is_empty() && !more.is_empty() {
                    value.push(' ');
                }
                value.push_str(&more);
            } else if let Some(colon) = memchr::memchr(b':', line) {
                fields.push((text(&line[..colon]), text(&line[colon + 1..])));
            }
        }
        let mut header = Self {
            bytes: bytes.to_vec(),
            version,
            fields,
            length: 0,
        };
        let written = header.value("Content-Length")?;
        let is_number = written.bytes().all(|byte| byte.is_ascii_digit());
        header.length = written.parse().ok().filter(|_| is_number)?;
        Some(header)
    }

    /// The header as it stands in the file, with its empty line.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The first line, such as `WARC/1.1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// All fields in their order.
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The first field of a name; case does not matter.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The fields of a name, in order.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = move |(found, _): &&(String, String)| found.eq_ignore_ascii_case(name);
        let fields = self.fields.iter().filter(named);
        fields.map(|(_, value)| value.as_str())
    }

    /// The kind of the record.
    pub fn kind(&self) -> RecordKind {
        self.value("WARC-Type")
            .map_or(RecordKind::Unknown, RecordKind::from_name)
    }

    /// The URL that the record is about, without brackets.
    pub fn target(&self) -> Option<&str> {
        self.uri("WARC-Target-URI")
    }

    /// A field that holds a URI, without brackets.
    pub fn uri(&self, name: &str) -> Option<&str> {
        let value = self.value(name)?;
        let inner = value
            .strip_prefix('<')
            .and_then(|uri| uri.strip_suffix('>'));
        Some(inner.unwrap_or(value)).filter(|uri| !uri.is_empty())
    }

    /// The identifier as it is written, without brackets.
    pub fn id(&self) -> Option<&str> {
        self.uri("WARC-Record-ID")
    }

    /// The identifier, if it is a UUID.
    pub fn record_id(&self) -> Option<RecordId> {
        self.id().and_then(RecordId::parse)
    }

    /// When the record was made.
    pub fn date(&self) -> Option<Moment> {
        self.value("WARC-Date").and_then(Moment::parse)
    }

    /// The digest of the payload, if its algorithm is known.
    pub fn payload_digest(&self) -> Option<Digest> {
        self.value("WARC-Payload-Digest").and_then(Digest::parse)
    }

    /// The digest of the block, if its algorithm is known.
    pub fn block_digest(&self) -> Option<Digest> {
        self.value("WARC-Block-Digest").and_then(Digest::parse)
    }

    /// Whether the block is an HTTP message.
    pub fn is_http(&self) -> bool {
        let of_http = matches!(
            self.kind(),
            RecordKind::Request | RecordKind::Response | RecordKind::Revisit
        );
        let media_type = self.value("Content-Type").unwrap_or("application/http");
        let start = media_type.get(.."application/http".len());
        of_http && start.is_some_and(|start| start.eq_ignore_ascii_case("application/http"))
    }

    /// How long the block is.
    pub fn length(&self) -> u64 {
        self.length
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii()).into_owned()
}
