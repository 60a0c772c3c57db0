//! WARC files (ISO 28500, WARC/1.1): written deterministically, read leniently.
//!
//! Owns the format and nothing above it: records and their members, digests, the HTTP message in
//! a block, the CDXJ index, the verification of a file. It refuses to know crawls, job folders,
//! clocks and chance: dates and the seed of identifiers are arguments. Everything that is read
//! is foreign; every size is bounded, and damage is reported where it lies.
#![warn(missing_docs)]

pub mod cdxj;
mod chunked;
mod dictionary;
mod digest;
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
mod id;
mod kind;
mod media_type;
mod moment;
pub mod read;
mod surt;
mod text;
pub mod verify;
mod write;

pub use chunked::{ChunkError, ChunkReader, ChunkRun, Dechunker, Framing};
pub use dictionary::{Dictionary, samples};
pub use digest::{Algorithm, Digest, Hasher};
pub use id::RecordId;
pub use kind::{Profile, RecordKind, Truncation};
pub use media_type::MediaType;
pub use moment::Moment;
pub use surt::surt;
pub use write::{
    Block, Effort, Encoder, Examined, Level, Payload, RecordDraft, RevisitOriginal,
    WarcCompression, WriteError, warc_fields,
};
