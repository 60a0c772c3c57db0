//! What a record is: its kind, why it is cut short, what a revisit refers to.
//!
//! Owns the closed vocabularies of the format and their spelling in a file.

/// The kind of a record, its `WARC-Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// What follows in the file and who wrote it.
    WarcInfo,
    /// What was asked.
    Request,
    /// What was answered.
    Response,
    /// An answer whose payload stands elsewhere.
    Revisit,
    /// Facts about another record or a URL.
    Metadata,
    /// A thing without the protocol that brought it.
    Resource,
    /// Another form of a record.
    Conversion,
    /// The next part of a record.
    Continuation,
    /// A kind that this version of the format does not know.
    Unknown,
}

impl RecordKind {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::WarcInfo, "warcinfo"),
        (Self::Request, "request"),
        (Self::Response, "response"),
        (Self::Revisit, "revisit"),
        (Self::Metadata, "metadata"),
        (Self::Resource, "resource"),
        (Self::Conversion, "conversion"),
        (Self::Continuation, "continuation"),
    ];

    /// The name in a file.
    pub fn name(self) -> &'static str {
        let named = Self::NAMES.iter().find(|(kind, _)| *kind == self);
        named.map_or("unknown", |(_, name)| name)
    }

    /// The kind of this name; case does not matter.
    pub fn from_name(name: &str) -> Self {
        let named = Self::NAMES
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name.trim()));
        named.map_or(Self::Unknown, |(kind, _)| *kind)
    }
}

/// Why a block is shorter than what the server had, its `WARC-Truncated`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// It was longer than wanted.
    Length,
    /// It took longer than wanted.
    Time,
    /// The connection broke.
    Disconnect,
    /// Anything else.
    Unspecified,
}

impl Truncation {
    /// The name in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// Why a revisit has no payload, its `WARC-Profile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The payload has the digest of an earlier one.
    IdenticalPayloadDigest,
    /// The server answered that nothing changed.
    ServerNotModified,
}

impl Profile {
    /// The URI in a file.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::IdenticalPayloadDigest => {
                "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
            }
            Self::ServerNotModified => {
                "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (kind, name) in RecordKind::NAMES {
            assert_eq!(RecordKind::from_name(kind.name()), kind);
            assert_eq!(RecordKind::from_name(&name.to_uppercase()), kind);
        }
        assert_eq!(RecordKind::from_name("response "), RecordKind::Response);
        assert_eq!(RecordKind::from_name("responses"), RecordKind::Unknown);
    }
}
