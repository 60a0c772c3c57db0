//! One run: keys in their order, in a file that is written once and read at any place.
//!
//! Owns the file's form: blocks of keys with a check sum each, then the first key of every block,
//! the filter, and a foot that says how much there is of everything, with sums. The last two
//! parts are in memory, so that a question reads one block, if any. It refuses to know which
//! runs there are. Invariant: what a read answers was checked against a sum; a byte that changed
//! is damage, not an answer.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use clewline_core::key::Key;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use super::filter::{Filter, LINE};
use crate::store::hot::mark;

/// Bytes of a key, of a sum and of a block.
const KEY: usize = 16;
const SUM: usize = 8;
pub(super) const BLOCK: usize = 4096;
/// Keys of a full block; between them and the sum some bytes are zero.
pub(super) const BLOCK_KEYS: usize = (BLOCK - SUM) / KEY;
/// The foot: a magic word, the number of the run, how many keys, blocks, lines and probes, the
/// sums of index and filter, and its own.
const MAGIC: u64 = u64::from_be_bytes(*b"keyrun 1");
const FOOT_WORDS: usize = 9;
const FOOT: usize = FOOT_WORDS * 8;
/// Bytes that are written or read in one go.
const CHUNK: usize = 32 * BLOCK;
/// Bytes after which they are sent to the disk: all at once at the end would hold up others.
const SYNC_EVERY: u64 = 16 * 1024 * 1024;

/// How the names of runs end.
pub(super) const ENDING: &str = "keys";

/// How a run is named where it counts: by number, length and sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) number: u64,
    pub(super) keys: u64,
    sum: u64,
}

impl Listing {
    /// Bytes of a listing.
    pub(super) const BYTES: usize = 24;

    pub(super) fn to_bytes(self) -> impl Iterator<Item = u8> {
        [self.number, self.keys, self.sum]
            .into_iter()
            .flat_map(u64::to_be_bytes)
    }

    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let [number, keys, sum] = words(bytes);
        Self { number, keys, sum }
    }
}

/// As many numbers as are asked for, and as bytes must hold.
fn words<const COUNT: usize>(bytes: &[u8]) -> [u64; COUNT] {
    let words = bytes.as_chunks().0;
    std::array::from_fn(|at| u64::from_be_bytes(words[at]))
}

/// Where the run of a number is.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.{ENDING}"))
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a run of keys is damaged")
}

/// The sum of a block says where it belongs, too.
fn block_sum(block: &[u8], run: u64, number: usize) -> u64 {
    xxh3_64_with_seed(&block[..BLOCK - SUM], run.rotate_left(32) ^ number as u64)
}

/// A run that is whole.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) listing: Listing,
    path: PathBuf,
    file: File,
    /// The first key of each block.
    index: Vec<Key>,
    filter: Filter,
}

impl Run {
    /// Opens a run that was listed.
    pub(super) fn open(folder: &Path, listing: Listing) -> io::Result<Self> {
        let path = path(folder, listing.number);
        let file = File::open(&path)?;
        let length = file.metadata()?.len();
        let foot_at = length.checked_sub(FOOT as u64).ok_or_else(damaged)?;
        let mut foot = [0; FOOT];
        file.read_exact_at(&mut foot, foot_at)?;
        let foot = Foot::from_bytes(&foot).ok_or_else(damaged)?;
        let is_listed = foot.number == listing.number && foot.keys == listing.keys;
        if !is_listed || foot.sum() != listing.sum || foot.length() != Some(length) {
            return Err(damaged());
        }
        let mut rest = BufReader::with_capacity(CHUNK, &file);
        rest.seek(SeekFrom::Start(foot.blocks * BLOCK as u64))?;
        let mut summed = Summed::new(rest);
        let index = read_index(&mut summed, foot.blocks)?;
        let index_sum = summed.take_sum();
        let filter = Filter::read(&mut summed, foot.lines, foot.probes)?;
        if index_sum != foot.index_sum || summed.take_sum() != foot.filter_sum {
            return Err(damaged());
        }
        Ok(Self {
            listing,
            path,
            file,
            index,
            filter,
        })
    }

    /// Marks those keys that are in it. They come in their order, so that neighbours share what
    /// is read; `known` says which of them need no look any more.
    pub(super) fn mark_known(
        &self,
        keys: &[Key],
        marks: &[u64],
        known: &mut [bool],
    ) -> io::Result<()> {
        // Apart from the reads, so that looks at the filter do not wait for each other.
        let may_be = |at: &usize| !known[*at] && self.filter.may_have(marks[*at]);
        let candidates: Vec<usize> = (0..keys.len()).filter(may_be).collect();
        let (mut block, mut read) = ([0; BLOCK], None);
        for at in candidates {
            let key = keys[at];
            let blocks = self.index.partition_point(|first| *first <= key);
            let Some(number) = blocks.checked_sub(1) else {
                continue;
            };
            if read != Some(number) {
                self.read_block(number, &mut block)?;
                read = Some(number);
            }
            let keys = &block.as_chunks::<KEY>().0[..self.keys_of(number)];
            let found = keys.binary_search_by(|other| Key::from_bytes(*other).cmp(&key));
            known[at] = found.is_ok();
        }
        Ok(())
    }

    fn read_block(&self, number: usize, block: &mut [u8; BLOCK]) -> io::Result<()> {
        self.file.read_exact_at(block, (number * BLOCK) as u64)?;
        self.check(number, block)
    }

    fn check(&self, number: usize, block: &[u8]) -> io::Result<()> {
        let (_, sum) = block.split_at(BLOCK - SUM);
        let is_sound = block_sum(block, self.listing.number, number).to_le_bytes() == *sum;
        is_sound.then_some(()).ok_or_else(damaged)
    }

    /// How many keys a block holds.
    fn keys_of(&self, number: usize) -> usize {
        let before = number * BLOCK_KEYS;
        BLOCK_KEYS.min((self.listing.keys as usize).saturating_sub(before))
    }

    /// What it takes in memory.
    pub(super) fn memory(&self) -> u64 {
        (self.index.len() * KEY) as u64 + self.filter.bytes()
    }

    /// What it takes on disk.
    pub(super) fn bytes(&self) -> u64 {
        (self.index.len() * (BLOCK + KEY) + FOOT) as u64 + self.filter.bytes()
    }

    /// Removes the file; whoever still reads it may go on.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// All keys, from the first on.
    pub(super) fn keys(&self) -> Keys<'_> {
        Keys {
            run: self,
            next: 0,
            chunk: Vec::new(),
            first: 0,
        }
    }
}

/// All keys of a run, read many blocks at a time.
pub(super) struct Keys<'a> {
    run: &'a Run,
    /// The place of the next key in the run.
    next: usize,
    chunk: Vec<u8>,
    /// The block that the chunk begins with.
    first: usize,
}

impl Keys<'_> {
    /// The next key, while there is one.
    pub(super) fn next(&mut self) -> io::Result<Option<Key>> {
        if self.next as u64 == self.run.listing.keys {
            return Ok(None);
        }
        let (block, place) = (self.next / BLOCK_KEYS, self.next % BLOCK_KEYS);
        if self.chunk.len() < (block + 1 - self.first) * BLOCK {
            self.read(block)?;
        }
        let block = &self.chunk[(block - self.first) * BLOCK..];
        self.next += 1;
        Ok(Some(Key::from_bytes(block.as_chunks::<KEY>().0[place])))
    }

    fn read(&mut self, first: usize) -> io::Result<()> {
        let blocks = (self.run.index.len() - first).min(CHUNK / BLOCK);
        self.chunk.resize(blocks * BLOCK, 0);
        self.first = first;
        let offset = (first * BLOCK) as u64;
        self.run.file.read_exact_at(&mut self.chunk, offset)?;
        for (at, block) in self.chunk.chunks_exact(BLOCK).enumerate() {
            self.run.check(first + at, block)?;
        }
        Ok(())
    }
}

fn read_index(from: &mut impl Read, blocks: u64) -> io::Result<Vec<Key>> {
    let mut index = Vec::with_capacity(blocks as usize);
    for _ in 0..blocks {
        let mut key = [0; KEY];
        from.read_exact(&mut key)?;
        index.push(Key::from_bytes(key));
    }
    Ok(index)
}

/// Writes a run, key by key.
pub(super) struct RunWriter {
    path: PathBuf,
    number: u64,
    file: File,
    /// Full blocks that are not written yet, and the one that is being filled.
    chunk: Vec<u8>,
    in_block: usize,
    index: Vec<Key>,
    filter: Filter,
    keys: u64,
    unsynced: u64,
}

impl RunWriter {
    /// Begins the run of a number, for at most so many keys, with a filter of at most so many
    /// bytes.
    pub(super) fn begin(folder: &Path, number: u64, keys: u64, filter: u64) -> io::Result<Self> {
        let path = path(folder, number);
        Ok(Self {
            file: File::options()
                .create(true)
                .truncate(true)
                .read(true)
                .write(true)
                .open(&path)?,
            path,
            number,
            chunk: Vec::with_capacity(CHUNK),
            in_block: 0,
            index: Vec::with_capacity(keys.div_ceil(BLOCK_KEYS as u64) as usize),
            filter: Filter::new(keys, filter),
            keys: 0,
            unsynced: 0,
        })
    }

    /// Adds a key, which is behind all others.
    pub(super) fn push(&mut self, key: Key) -> io::Result<()> {
        if self.in_block == BLOCK_KEYS {
            self.end_block()?;
        }
        if self.in_block == 0 {
            self.index.push(key);
        }
        self.chunk.extend_from_slice(key.as_bytes());
        self.filter.add(mark(key));
        self.in_block += 1;
        self.keys += 1;
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        let end = self.chunk.len().next_multiple_of(BLOCK);
        self.chunk.resize(end, 0);
        let block = &mut self.chunk[end - BLOCK..];
        let sum = block_sum(block, self.number, self.index.len() - 1);
        block[BLOCK - SUM..].copy_from_slice(&sum.to_le_bytes());
        self.in_block = 0;
        if end == CHUNK {
            self.write_chunk()?;
        }
        Ok(())
    }

    fn write_chunk(&mut self) -> io::Result<()> {
        self.file.write_all(&self.chunk)?;
        self.unsynced += self.chunk.len() as u64;
        self.chunk.clear();
        if self.unsynced >= SYNC_EVERY {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(())
    }

    /// Makes the run durable, but for its name in the folder.
    pub(super) fn finish(mut self) -> io::Result<Run> {
        if self.in_block > 0 {
            self.end_block()?;
        }
        self.write_chunk()?;
        let mut out = Summed::new(io::BufWriter::with_capacity(CHUNK, &self.file));
        for key in &self.index {
            out.write_all(key.as_bytes())?;
        }
        let index_sum = out.take_sum();
        self.filter.write(&mut out)?;
        let foot = Foot {
            number: self.number,
            keys: self.keys,
            blocks: self.index.len() as u64,
            lines: self.filter.bytes() / LINE,
            probes: u64::from(self.filter.probes()),
            index_sum,
            filter_sum: out.take_sum(),
        };
        for word in foot.words().into_iter().chain([foot.sum()]) {
            out.write_all(&word.to_be_bytes())?;
        }
        out.flush()?;
        drop(out);
        self.file.sync_all()?;
        self.index.shrink_to_fit();
        Ok(Run {
            listing: Listing {
                number: self.number,
                keys: self.keys,
                sum: foot.sum(),
            },
            path: self.path,
            file: self.file,
            index: self.index,
            filter: self.filter,
        })
    }
}

/// What stands at the end of a run.
struct Foot {
    number: u64,
    keys: u64,
    blocks: u64,
    lines: u64,
    probes: u64,
    index_sum: u64,
    filter_sum: u64,
}

impl Foot {
    const fn words(&self) -> [u64; FOOT_WORDS - 1] {
        [
            MAGIC,
            self.number,
            self.keys,
            self.blocks,
            self.lines,
            self.probes,
            self.index_sum,
            self.filter_sum,
        ]
    }

    fn sum(&self) -> u64 {
        xxh3_64(self.words().map(u64::to_be_bytes).as_flattened())
    }

    /// Nothing where it is no foot, or its sum is another.
    fn from_bytes(bytes: &[u8; FOOT]) -> Option<Self> {
        let [
            magic,
            number,
            keys,
            blocks,
            lines,
            probes,
            index_sum,
            filter_sum,
            sum,
        ]: [u64; FOOT_WORDS] = words(bytes);
        let foot = Self {
            number,
            keys,
            blocks,
            lines,
            probes,
            index_sum,
            filter_sum,
        };
        (magic == MAGIC && sum == foot.sum()).then_some(foot)
    }

    /// How long the whole file must be.
    fn length(&self) -> Option<u64> {
        let blocks = self.blocks.checked_mul((BLOCK + KEY) as u64)?;
        let lines = self.lines.checked_mul(LINE)?;
        blocks.checked_add(lines)?.checked_add(FOOT as u64)
    }
}

/// Reads or writes through a sum.
struct Summed<T> {
    inner: T,
    sum: Xxh3,
}

impl<T> Summed<T> {
    fn new(inner: T) -> Self {
        Self {
            inner,
            sum: Xxh3::new(),
        }
    }

    /// The sum since the last time.
    fn take_sum(&mut self) -> u64 {
        std::mem::take(&mut self.sum).digest()
    }
}

impl<T: Read> Read for Summed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.sum.update(&buffer[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
