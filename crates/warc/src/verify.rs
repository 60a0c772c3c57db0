//! Verifying a file: what a reader that trusts nothing finds in it.
//!
//! Owns what counts as a fault and how each is told. Every record is read to its end: lengths by
//! where the next record begins, digests by hashing, identifiers by comparing. Refuses to repair.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};

use crate::digest::{Digest, Hasher};
use crate::http::{self, HttpHead};
use crate::kind::RecordKind;
use crate::read::{Header, ReadError, WarcReader};
use crate::write::PayloadHasher;

/// Identifiers that are compared; further ones are not, and that is told. Each costs some
/// 24 bytes.
const MOST_IDENTIFIERS: usize = 4_000_000;
/// Bytes that are hashed at once.
const STEP: usize = 32 * 1024;

/// Something that is wrong.
#[derive(Debug)]
pub struct Finding {
    /// Where in the file.
    pub offset: u64,
    /// What.
    pub fault: VerifyFault,
}

/// What can be wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum VerifyFault {
    /// A record cannot be read.
    Unreadable(ReadError),
    /// A field that every record has is missing or makes no sense.
    Field(&'static str),
    /// A digest in the header differs from that of the bytes.
    Digest {
        /// The field.
        field: &'static str,
        /// What it says.
        written: Digest,
        /// What the bytes are.
        found: Digest,
    },
    /// A record before had this identifier.
    RepeatedId(String),
    /// Two line ends do not follow the block.
    NotClosed,
}

impl fmt::Display for VerifyFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(formatter),
            Self::Field(name) => write!(formatter, "{name} is missing or makes no sense"),
            Self::Digest {
                field,
                written,
                found,
            } => write!(formatter, "{field} says {written}, the bytes are {found}"),
            Self::RepeatedId(id) => write!(formatter, "the identifier {id} occurs twice"),
            Self::NotClosed => formatter.write_str("two line ends do not follow the block"),
        }
    }
}

/// What was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerifyTally {
    /// Records.
    pub records: u64,
    /// Digests that were compared.
    pub digests: u64,
    /// Payload digests that are right only if the chunks' framing counts as payload, as some
    /// writers have it.
    pub framed: u64,
    /// Records that cannot be read alone, since they share their member.
    pub shared: u64,
    /// Identifiers that were not compared for want of memory.
    pub uncompared: u64,
}

/// Verifies files one after the other; identifiers are compared among all of them.
#[derive(Debug, Default)]
pub struct Verifier {
    identifiers: HashSet<u128>,
    tally: VerifyTally,
}

impl Verifier {
    /// Reads a file to its end and hands on what is wrong. Only an input that can't be read on is
    /// an error.
    pub fn verify(
        &mut self,
        input: impl Read,
        found: &mut dyn FnMut(Finding),
    ) -> Result<(), ReadError> {
        let mut reader = WarcReader::new(input);
        while let Some(next) = reader.next_record() {
            let offset = reader.offset();
            let verified = next.and_then(|header| {
                self.tally.records += 1;
                let mut tell = |fault| found(Finding { offset, fault });
                self.record(&header, &mut reader, &mut tell)
            });
            match verified {
                Err(error @ ReadError::Input { .. }) => return Err(error),
                Err(error) => found(Finding {
                    offset: error.offset(),
                    fault: VerifyFault::Unreadable(error),
                }),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// What was verified so far.
    pub fn tally(&self) -> VerifyTally {
        self.tally
    }

    fn record<R: Read>(
        &mut self,
        header: &Header,
        reader: &mut WarcReader<R>,
        tell: &mut dyn FnMut(VerifyFault),
    ) -> Result<(), ReadError> {
        self.fields(header, tell);
        let hashed = Hashed::from_block(header, reader.block());
        // If reading failed, the end of the record says why.
        let ending = reader.end()?;
        if let Ok(hashed) = hashed {
            self.digests(header, &hashed, tell);
        }
        if !ending.is_closed {
            tell(VerifyFault::NotClosed);
        }
        self.tally.shared += u64::from(!ending.is_alone);
        Ok(())
    }

    fn fields(&mut self, header: &Header, tell: &mut dyn FnMut(VerifyFault)) {
        let kind = header.kind();
        let needs_target = matches!(
            kind,
            RecordKind::Request
                | RecordKind::Response
                | RecordKind::Revisit
                | RecordKind::Resource
                | RecordKind::Conversion
        );
        for (field, is_sound) in [
            ("WARC-Type", header.value("WARC-Type").is_some()),
            ("WARC-Record-ID", header.id().is_some()),
            ("WARC-Date", header.date().is_some()),
            (
                "WARC-Target-URI",
                !needs_target || header.target().is_some(),
            ),
        ] {
            if !is_sound {
                tell(VerifyFault::Field(field));
            }
        }
        let Some(id) = header.id() else {
            return;
        };
        if self.identifiers.len() >= MOST_IDENTIFIERS {
            self.tally.uncompared += 1;
        } else if !self.identifiers.insert(print_of(id)) {
            tell(VerifyFault::RepeatedId(id.to_owned()));
        }
    }

    fn digests(&mut self, header: &Header, hashed: &Hashed, tell: &mut dyn FnMut(VerifyFault)) {
        if let (Some(written), Some(found)) = (header.block_digest(), hashed.block) {
            self.compare("WARC-Block-Digest", written, found, tell);
        }
        let (Some(written), Some(found)) = (header.payload_digest(), hashed.payload) else {
            return;
        };
        if hashed.body == Some(written) && found != written {
            self.tally.digests += 1;
            self.tally.framed += 1;
        } else {
            self.compare("WARC-Payload-Digest", written, found, tell);
        }
    }

    fn compare(
        &mut self,
        field: &'static str,
        written: Digest,
        found: Digest,
        tell: &mut dyn FnMut(VerifyFault),
    ) {
        self.tally.digests += 1;
        if written != found {
            tell(VerifyFault::Digest {
                field,
                written,
                found,
            });
        }
    }
}

/// A short form of an identifier of any length.
fn print_of(id: &str) -> u128 {
    let mut first = [0; 16];
    first.copy_from_slice(&Digest::sha1(id.as_bytes()).as_bytes()[..16]);
    u128::from_be_bytes(first)
}

/// The digests of a record's bytes, in the algorithms that its header names.
struct Hashed {
    block: Option<Digest>,
    payload: Option<Digest>,
    /// The body of a chunked message as it stands.
    body: Option<Digest>,
}

impl Hashed {
    fn from_block(header: &Header, block: impl BufRead) -> io::Result<Self> {
        let hasher = |digest: Option<Digest>| digest.map(|digest| Hasher::new(digest.algorithm()));
        let mut whole = hasher(header.block_digest());
        let is_here = header.kind() != RecordKind::Revisit;
        let payload = hasher(header.payload_digest().filter(|_| is_here));
        let (head, mut rest): (_, Box<dyn Read>) = if header.is_http() {
            let (head, rest) = http::split(block)?;
            (head, Box::new(rest))
        } else {
            (Vec::new(), Box::new(block))
        };
        if let Some(whole) = &mut whole {
            whole.update(&head);
        }
        let is_chunked = HttpHead::parse(&head).is_chunked();
        let mut body = payload.clone().filter(|_| is_chunked);
        let mut payload = payload.map(|hasher| PayloadHasher::with(hasher, is_chunked));
        let mut buffer = vec![0; STEP];
        loop {
            let count = rest.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            let piece = &buffer[..count];
            let hashers = whole.iter_mut().chain(&mut body);
            hashers.for_each(|hasher| hasher.update(piece));
            if let Some(payload) = &mut payload {
                payload.update(piece);
            }
        }
        Ok(Self {
            block: whole.map(Hasher::finish),
            payload: payload.map(|payload| payload.finish().digest),
            body: body.map(Hasher::finish),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Block, Effort, Encoder, Moment, RecordDraft, RecordId, WarcCompression};

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const BODY: &[u8] = b"3\r\nabc\r\n0\r\n\r\n";

    fn record(number: u64, digest: Digest) -> Vec<u8> {
        let date = Moment::since_1970(Duration::from_secs(1_700_000_000));
        let block = Block::message(HEAD).bytes(BODY);
        let id = RecordId::numbered([2; 16], number);
        let draft = RecordDraft::response(id, date, "http://a.test/", block).payload_digest(digest);
        let mut out = Vec::new();
        Encoder::new(WarcCompression::Plain)
            .encode(&draft, Effort::Usual, &mut out)
            .unwrap();
        out
    }

    fn told(file: &[u8]) -> (Vec<String>, VerifyTally) {
        let mut verifier = Verifier::default();
        let mut told = Vec::new();
        let mut tell = |one: Finding| told.push(format!("{} {}", one.offset, one.fault));
        verifier.verify(file, &mut tell).unwrap();
        (told, verifier.tally())
    }

    #[test]
    fn sound_files_have_no_findings() {
        let file = [
            record(1, Digest::sha1(b"abc")),
            record(2, Digest::sha1(BODY)),
        ]
        .concat();
        let expected = VerifyTally {
            records: 2,
            digests: 4,
            framed: 1,
            ..VerifyTally::default()
        };
        assert_eq!(told(&file), (Vec::new(), expected));
    }

    #[test]
    fn each_fault_is_found_where_it_is() {
        let sound = record(1, Digest::sha1(b"abc"));
        let second = record(2, Digest::sha1(b"abc"));
        let swap = |from: &str, to: &str| {
            let text = String::from_utf8(second.clone()).unwrap();
            assert!(text.contains(from), "{from}");
            text.replace(from, to).into_bytes()
        };
        for (damaged, expected) in [
            (
                swap("abc\r\n0", "abd\r\n0"),
                vec!["WARC-Block-Digest says", "WARC-Payload-Digest"],
            ),
            (
                record(2, Digest::sha1(b"x")),
                vec!["WARC-Payload-Digest says"],
            ),
            (sound.clone(), vec!["occurs twice"]),
            (
                swap("WARC-Date: 2", "WARC-Date: x"),
                vec!["WARC-Date is missing"],
            ),
            (
                swap("WARC-Target-URI", "X-Target-URI"),
                vec!["WARC-Target-URI is missing"],
            ),
            (
                swap("Content-Length: 6", "Content-Length: x"),
                vec!["Content-Length", "no record"],
            ),
            (second[..second.len() - 4].to_vec(), vec!["two line ends"]),
            (second[..second.len() - 9].to_vec(), vec!["cut short"]),
        ] {
            let file = [&sound[..], &damaged].concat();
            let (found, _) = told(&file);
            assert_eq!(found.len(), expected.len(), "{found:?} for {expected:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{found} for {expected}");
                let offset: usize = found.split(' ').next().unwrap().parse().unwrap();
                assert!(offset >= sound.len(), "{found}");
            }
        }
    }
}
