//! One run: keys in their order, in a file that is written once and read at any place.
//!
//! Owns the file's form: blocks of keys (`block.rs`), then the first key of every block, the
//! filter, and a foot that says how much there is of everything, with sums. Index and filter are
//! in memory, so that a question reads one block, if any. It refuses to know which runs there
//! are. Invariant: what a read answers was checked against a sum; a byte that changed is damage,
//! not an answer.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clewline_core::key::Key;
use clewline_platform::file::read_exact_at;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::block::{BLOCK, Block, BlockPacker, MOST_KEYS, PackedKeys, is_sound};
use crate::filter::{KeyFilter, LINE};
use crate::hot::mark;
use crate::index::BlockIndex;
use crate::kept::{BlockTag, KeptBlocks};

/// Bytes of a key.
const KEY: usize = 16;
/// The foot: a magic word, the number of the run, how many keys, blocks, lines and probes, the
/// sums of index and filter, and its own.
const MAGIC: u64 = u64::from_be_bytes(*b"keyrun 2");
/// The magic word of runs with whole keys in their blocks, which are not read any more.
const EARLIER: u64 = u64::from_be_bytes(*b"keyrun 1");
const FOOT_WORDS: usize = 9;
pub(crate) const FOOT: usize = FOOT_WORDS * 8;
/// Bytes that are written or read in one go.
const CHUNK: usize = 64 * BLOCK;
/// Bytes after which they are sent to the disk: all at once at the end would hold up others.
const SYNC_EVERY: u64 = 16 * 1024 * 1024;

/// How the names of runs end.
pub(crate) const ENDING: &str = "keys";

/// How a run is named where it counts: by number, length and sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunListing {
    pub(crate) number: u64,
    pub(crate) keys: u64,
    sum: u64,
}

impl RunListing {
    /// Bytes of a listing.
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn to_bytes(self) -> impl Iterator<Item = u8> {
        [self.number, self.keys, self.sum]
            .into_iter()
            .flat_map(u64::to_be_bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
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
pub(crate) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.{ENDING}"))
}

pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a run of keys is damaged")
}

/// What a foot is that cannot be taken: of an earlier version, or damaged.
fn refused(foot: &[u8; FOOT]) -> io::Error {
    let [magic] = words(foot);
    if magic == EARLIER {
        let error = "a run of keys was made by an earlier version";
        return io::Error::new(io::ErrorKind::Unsupported, error);
    }
    damaged()
}

/// A run that is whole.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) listing: RunListing,
    pub(crate) path: PathBuf,
    file: File,
    index: BlockIndex,
    filter: KeyFilter,
}

/// Keys that are looked for, in their order, with what a filter knows them by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedKeys<'a> {
    pub(crate) keys: &'a [Key],
    pub(crate) marks: &'a [u64],
}

impl Run {
    /// Opens a run that was listed.
    pub(crate) fn open(folder: &Path, listing: RunListing) -> io::Result<Self> {
        let path = path(folder, listing.number);
        let file = File::open(&path)?;
        let length = file.metadata()?.len();
        let foot_at = length.checked_sub(FOOT as u64).ok_or_else(damaged)?;
        let mut foot = [0; FOOT];
        read_exact_at(&file, &mut foot, foot_at)?;
        let foot = Foot::from_bytes(&foot).ok_or_else(|| refused(&foot))?;
        let is_listed = foot.number == listing.number && foot.keys == listing.keys;
        if !is_listed || foot.sum() != listing.sum || foot.length() != Some(length) {
            return Err(damaged());
        }
        let mut rest = BufReader::with_capacity(CHUNK, &file);
        rest.seek(SeekFrom::Start(foot.blocks * BLOCK as u64))?;
        let mut summed = Summed::new(rest);
        let index = read_index(&mut summed, foot.blocks)?;
        let index_sum = summed.take_sum();
        let filter = KeyFilter::read(&mut summed, foot.lines, foot.probes)?;
        if index_sum != foot.index_sum || summed.take_sum() != foot.filter_sum {
            return Err(damaged());
        }
        Ok(Self {
            listing,
            path,
            file,
            index: BlockIndex::new(index),
            filter,
        })
    }

    /// Marks those keys that are in it; `known` says which of them need no look any more. Each
    /// step is taken for all keys before the next, so that they do not wait for memory one after
    /// the other; neighbours share what is read.
    pub(crate) fn mark_known(
        &self,
        asked: AskedKeys<'_>,
        known: &mut [bool],
        kept: &mut KeptBlocks,
    ) -> io::Result<()> {
        let mut candidates: Vec<usize> = (0..asked.keys.len()).filter(|at| !known[*at]).collect();
        let marks = candidates.iter().map(|at| asked.marks[*at]);
        self.filter.prefetch(marks);
        candidates.retain(|at| self.filter.may_have(asked.marks[*at]));
        let block_of = |at: usize| Some((self.index.block_of(asked.keys[at])?, at));
        let candidates: Vec<_> = candidates.into_iter().filter_map(block_of).collect();
        self.prefetch(asked, &candidates, kept);
        let mut buffer = [0; BLOCK];
        for neighbours in candidates.chunk_by(|(one, _), (other, _)| one == other) {
            let block = self.block(neighbours[0].0, &mut buffer, kept)?;
            let packed = PackedKeys::from_block(block).ok_or_else(damaged)?;
            for (_, at) in neighbours {
                known[*at] = packed.holds(asked.keys[*at]);
            }
        }
        Ok(())
    }

    /// Brings near what will be looked at of the blocks that are kept: the beginning of all, then
    /// the places of the keys.
    fn prefetch(&self, asked: AskedKeys<'_>, wanted: &[(usize, usize)], kept: &KeptBlocks) {
        let blocks = || {
            let wanted = wanted.iter();
            wanted.filter_map(|(number, at)| Some((kept.peek(self.tag(*number))?, *at)))
        };
        let begin = blocks().fold(0, |read, (block, _)| read ^ block[0]);
        let place = |(block, at)| Some(PackedKeys::from_block(block)?.near(asked.keys[at]));
        let places = blocks().filter_map(place).fold(0, |read, near| read ^ near);
        std::hint::black_box((begin, places));
    }

    /// A block that is kept, or was read into the buffer.
    fn block<'a>(
        &self,
        number: usize,
        buffer: &'a mut Block,
        kept: &'a mut KeptBlocks,
    ) -> io::Result<&'a Block> {
        let tag = self.tag(number);
        if let Some(place) = kept.find(tag) {
            return Ok(kept.at(place));
        }
        read_exact_at(&self.file, buffer, (number * BLOCK) as u64)?;
        self.check(number, buffer)?;
        kept.read(tag, buffer);
        Ok(buffer)
    }

    const fn tag(&self, number: usize) -> BlockTag {
        BlockTag::for_block(self.listing.number, number)
    }

    fn check(&self, number: usize, block: &Block) -> io::Result<()> {
        let is_sound = is_sound(block, self.listing.number, number);
        is_sound.then_some(()).ok_or_else(damaged)
    }

    /// What it takes in memory.
    pub(crate) fn memory(&self) -> u64 {
        self.index.bytes() + self.filter.bytes()
    }

    /// What it takes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        (self.index.blocks() * (BLOCK + KEY) + FOOT) as u64 + self.filter.bytes()
    }

    /// Removes the file; whoever still reads it may go on.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// What its index takes in memory.
    #[cfg(test)]
    pub(crate) const fn index_memory(&self) -> u64 {
        self.index.bytes()
    }

    /// How many blocks there are.
    pub(crate) const fn blocks(&self) -> usize {
        self.index.blocks()
    }

    /// The block in which the keys at or behind one begin.
    pub(crate) fn block_from(&self, key: Key) -> usize {
        self.index.block_of(key).unwrap_or(0)
    }

    /// The keys of some blocks, from one on, and the block behind them.
    pub(crate) fn read_keys(
        &self,
        from: usize,
        chunk: &mut Vec<u8>,
    ) -> io::Result<(Vec<Key>, usize)> {
        let blocks = (self.index.blocks() - from).min(CHUNK / BLOCK);
        chunk.resize(blocks * BLOCK, 0);
        read_exact_at(&self.file, chunk, (from * BLOCK) as u64)?;
        let mut keys = Vec::with_capacity(blocks * MOST_KEYS);
        for (block, number) in chunk.as_chunks().0.iter().zip(from..) {
            self.check(number, block)?;
            keys.extend(PackedKeys::from_block(block).ok_or_else(damaged)?.keys());
        }
        Ok((keys, from + blocks))
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
pub(crate) struct RunWriter {
    path: PathBuf,
    number: u64,
    file: File,
    /// Full blocks that are not written yet.
    chunk: Vec<u8>,
    /// The one that is being filled.
    packer: BlockPacker,
    /// The first key of each block.
    firsts: Vec<Key>,
    filter: KeyFilter,
    keys: u64,
    unsynced: u64,
}

impl RunWriter {
    /// Begins the run of a number, for at most so many keys, with a filter of at most so many
    /// bytes.
    pub(crate) fn begin(folder: &Path, number: u64, keys: u64, filter: u64) -> io::Result<Self> {
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
            packer: BlockPacker::default(),
            firsts: Vec::with_capacity(keys.div_ceil(MOST_KEYS as u64) as usize),
            filter: KeyFilter::new(keys, filter),
            keys: 0,
            unsynced: 0,
        })
    }

    /// Adds a key, which is behind all others.
    pub(crate) fn push(&mut self, key: Key) -> io::Result<()> {
        if !self.packer.has_room(key) {
            self.end_block()?;
        }
        if self.packer.is_empty() {
            self.firsts.push(key);
        }
        self.packer.push(key);
        self.filter.add(mark(key));
        self.keys += 1;
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        let number = self.firsts.len() - 1;
        self.packer.end(&mut self.chunk, self.number, number);
        if self.chunk.len() == CHUNK {
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
    pub(crate) fn finish(mut self) -> io::Result<Run> {
        if !self.packer.is_empty() {
            self.end_block()?;
        }
        self.write_chunk()?;
        let mut out = Summed::new(io::BufWriter::with_capacity(CHUNK, &self.file));
        for key in &self.firsts {
            out.write_all(key.as_bytes())?;
        }
        let index_sum = out.take_sum();
        self.filter.write(&mut out)?;
        let foot = Foot {
            number: self.number,
            keys: self.keys,
            blocks: self.firsts.len() as u64,
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
        Ok(Run {
            listing: RunListing {
                number: self.number,
                keys: self.keys,
                sum: foot.sum(),
            },
            path: self.path,
            file: self.file,
            index: BlockIndex::new(self.firsts),
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
