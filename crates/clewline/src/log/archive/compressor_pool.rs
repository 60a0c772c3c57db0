//! Compression on threads of its own.
//!
//! Owns the threads, what comes out of them, and the order: groups are compressed in parallel
//! and handed on one after the other as they were given. Refuses to know where they go.
//! Invariant: no more than a strip of groups is in memory beside what was given.

use std::io;
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clewline_warc::{Dictionary, Encoder, WarcCompression};

use super::group::Group;

/// More threads than that would wait for the one that writes.
const MOST_THREADS: usize = 4;
/// Bytes that are compressed together before they are handed on.
const STRIP: usize = 4 << 20;
/// So few bytes are compressed sooner than a thread begins.
const LEAST: usize = 128 << 10;

/// What a group became.
pub(super) enum Compressed<'a> {
    /// Its records, and the length of the first one if it is a capture.
    Ready {
        bytes: &'a [u8],
        capture: Option<u64>,
    },
    /// It is too large for memory: encode it where it goes.
    Large(&'a mut Encoder),
}

/// Takes groups, one after the other.
pub(super) type Taker<'a> = &'a mut dyn FnMut(&Group<'_>, Compressed<'_>) -> io::Result<()>;

/// The compressors; at least one.
#[derive(Debug)]
pub(super) struct CompressorPool {
    workers: Vec<Worker>,
}

/// A compressor, and the place for what it makes, which is kept from strip to strip: memory
/// that is given back and asked for again costs more than to fill it.
#[derive(Debug)]
struct Worker {
    encoder: Encoder,
    made: Vec<u8>,
    pieces: Vec<Piece>,
}

/// A group in what a worker made.
#[derive(Debug)]
struct Piece {
    /// Which group of the strip.
    index: usize,
    bytes: Range<usize>,
    capture: Option<u64>,
}

impl Worker {
    fn new(coding: WarcCompression) -> Self {
        Self {
            encoder: Encoder::new(coding),
            made: Vec::new(),
            pieces: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.pieces.clear();
        self.made.clear();
        // Links beyond measure, or bytes that do not compress.
        self.made.shrink_to(STRIP);
    }

    fn compressors(&mut self, index: usize, group: &Group<'_>) -> io::Result<()> {
        let start = self.made.len();
        let capture = group.encode(&mut self.encoder, &mut self.made)?;
        self.pieces.push(Piece {
            index,
            bytes: start..self.made.len(),
            capture,
        });
        Ok(())
    }

    /// What it made of this strip, piece by piece.
    fn made(&self) -> impl Iterator<Item = (&Piece, &[u8])> {
        let pieces = self.pieces.iter();
        pieces.map(|piece| (piece, &self.made[piece.bytes.clone()]))
    }

    /// Compresses a group and hands it on at once.
    fn hand_on(&mut self, group: &Group<'_>, take: Taker<'_>) -> io::Result<()> {
        self.clear();
        let capture = group.encode(&mut self.encoder, &mut self.made)?;
        let bytes = &self.made;
        take(group, Compressed::Ready { bytes, capture })
    }
}

impl CompressorPool {
    pub(super) fn new(coding: WarcCompression) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let workers = (0..cores.min(MOST_THREADS)).map(|_| Worker::new(coding));
        Self {
            workers: workers.collect(),
        }
    }

    /// Compresses all later groups with a dictionary.
    pub(super) fn use_dictionary(&mut self, dictionary: &Dictionary) {
        for worker in &mut self.workers {
            worker.encoder = Encoder::with_dictionary(dictionary.clone());
        }
    }

    /// Compresses groups and hands them on in their order.
    pub(super) fn run(&mut self, mut groups: &[Group<'_>], take: Taker<'_>) -> io::Result<()> {
        while let Some(first) = groups.first() {
            let (count, size) = strip(groups);
            let (now, later) = groups.split_at(count.max(1));
            groups = later;
            match &mut self.workers[..] {
                [worker, ..] if count == 0 => take(first, Compressed::Large(&mut worker.encoder))?,
                [worker, others @ ..] if count == 1 || size < LEAST || others.is_empty() => {
                    for group in now {
                        worker.hand_on(group, take)?;
                    }
                }
                workers => compress_together(workers, now, take)?,
            }
        }
        Ok(())
    }
}

/// How many groups are taken together, and their size; none if the first is too large.
fn strip(groups: &[Group<'_>]) -> (usize, usize) {
    let (mut count, mut total) = (0, 0);
    for size in groups.iter().map_while(Group::size) {
        count += 1;
        total += size;
        if total >= STRIP {
            break;
        }
    }
    (count, total)
}

fn compress_together(
    workers: &mut [Worker],
    groups: &[Group<'_>],
    take: Taker<'_>,
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = |worker: &mut Worker| -> io::Result<()> {
        worker.clear();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(group) = groups.get(index) else {
                return Ok(());
            };
            worker.compressors(index, group)?;
        }
    };
    thread::scope(|scope| {
        let work = &work;
        let (own, others) = workers.split_first_mut().expect("a press has a worker");
        // A system that gives no thread leaves more to this one.
        let threads = others.iter_mut().filter_map(|worker| {
            worker.clear();
            let name = "clewline-archive".into();
            let thread = thread::Builder::new().name(name);
            thread.spawn_scoped(scope, move || work(worker)).ok()
        });
        let threads: Vec<_> = threads.collect();
        let done = work(own);
        threads.into_iter().fold(done, |done, thread| {
            done.and(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    })?;
    let mut made: Vec<_> = workers.iter().flat_map(Worker::made).collect();
    made.sort_unstable_by_key(|(piece, _)| piece.index);
    for (group, (piece, bytes)) in groups.iter().zip(made) {
        let capture = piece.capture;
        take(group, Compressed::Ready { bytes, capture })?;
    }
    Ok(())
}
