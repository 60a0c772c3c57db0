//! The least that an archive does with a body: one SHA-1, one gzip member of the lowest level.
//!
//! Owns the work and its buffers, which are made once. It refuses to keep anything: what is
//! compressed is counted and thrown away.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use clewline_warc::Digest;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// The lowest that compresses at all. The archive's own code is measured against the library's.
const LEVEL: u32 = 1;
/// What comes out is gathered in a place of this size, as in the archive.
const BUFFER: usize = 64 * 1024;
/// Head and foot of a gzip member.
const FRAME: u64 = 18;

/// Compressors that are not at work, and what came out of all of them.
#[derive(Default)]
pub(crate) struct Packing {
    idle: Mutex<Vec<Packer>>,
    packed: AtomicU64,
}

impl Packing {
    /// Digests and compresses a body.
    pub(crate) fn pack(&self, body: &[u8]) {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut packer = taken.unwrap_or_else(Packer::new);
        black_box(Digest::sha1(body));
        self.packed.fetch_add(packer.pack(body), Ordering::Relaxed);
        idle().push(packer);
    }

    /// Bytes after compression.
    pub(crate) fn packed(&self) -> u64 {
        self.packed.load(Ordering::Relaxed)
    }
}

struct Packer {
    deflate: Compress,
    buffer: Box<[u8]>,
}

impl Packer {
    fn new() -> Self {
        Self {
            deflate: Compress::new(Compression::new(LEVEL), false),
            buffer: vec![0; BUFFER].into(),
        }
    }

    /// The length of the member that a body becomes.
    fn pack(&mut self, body: &[u8]) -> u64 {
        let mut sum = Crc::new();
        sum.update(body);
        black_box(sum.sum());
        self.deflate.reset();
        loop {
            let taken = self.deflate.total_in() as usize;
            let rest = body.get(taken..).unwrap_or_default();
            let status = self
                .deflate
                .compress(rest, &mut self.buffer, FlushCompress::Finish);
            black_box(&self.buffer);
            if !matches!(status, Ok(Status::Ok)) {
                return FRAME + self.deflate.total_out();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_compressed_to_their_ends() {
        let packing = Packing::default();
        // It does not compress, so that the buffer is filled more than once.
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(3 * BUFFER)
        .collect();
        packing.pack(&noise);
        assert!(packing.packed() >= noise.len() as u64);
        let before = packing.packed();
        packing.pack(&vec![b'a'; 3 * BUFFER]);
        assert!((1..4096).contains(&(packing.packed() - before)));
    }
}
