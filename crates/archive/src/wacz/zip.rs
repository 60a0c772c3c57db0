//! As much of ZIP as a package of archives needs: members stored as they are.
//!
//! Owns the layout (APPNOTE 6.3.9), with the 64-bit forms. Compressed members are listed and can't
//! be read. Invariants: what is written depends on names and contents alone; what is read is
//! bounded by [`LARGEST_DIRECTORY`], and offsets that lead nowhere are errors.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::PackageError;

/// The largest directory that is read.
const LARGEST_DIRECTORY: u64 = 64 << 20;
/// What the end of a file may hold behind the directory: the record and a comment.
const LONGEST_END: u64 = 22 + 65_535;
/// The value of a field that stands in the 64-bit part.
const ELSEWHERE: u32 = u32::MAX;
/// Version 4.5: 64-bit sizes.
const VERSION: u16 = 45;
/// 1980-01-01, the earliest day there is; the time of writing says nothing about an archive.
const DAY: u16 = 0x21;
/// Names are UTF-8.
const UTF8_NAMES: u16 = 1 << 11;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;

/// A member of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZipMember {
    pub(super) name: String,
    pub(super) is_stored: bool,
    pub(super) length: u64,
    /// Where its local header begins.
    header: u64,
}

/// Lists the members.
pub(super) fn members(file: &mut File) -> Result<Vec<ZipMember>, PackageError> {
    let length = file.metadata()?.len();
    let (offset, size) = directory(file, length)?;
    if size > LARGEST_DIRECTORY || offset.checked_add(size).is_none_or(|end| end > length) {
        return Err(PackageError::Damaged("the directory lies outside the file"));
    }
    let bytes = read_at(file, offset, size)?;
    let mut rest = &bytes[..];
    let mut members = Vec::new();
    while u32_at(rest, 0) == Some(CENTRAL) {
        let (member, used) = central(rest).ok_or(CUT)?;
        members.push(member);
        rest = rest.get(used..).ok_or(CUT)?;
    }
    Ok(members)
}

const CUT: PackageError = PackageError::Damaged("the directory is cut short");

/// Where the contents of a member begin.
pub(super) fn contents(file: &mut File, member: &ZipMember) -> Result<u64, PackageError> {
    let head = read_at(file, member.header, 30)?;
    let lengths = (u16_at(&head, 26), u16_at(&head, 28));
    match (u32_at(&head, 0), lengths) {
        (Some(LOCAL), (Some(name), Some(extra))) => {
            Ok(member.header + 30 + u64::from(name) + u64::from(extra))
        }
        _ => Err(PackageError::Damaged(
            "a member does not begin where it should",
        )),
    }
}

/// The place and the size of the directory.
fn directory(file: &mut File, length: u64) -> Result<(u64, u64), PackageError> {
    let start = length.saturating_sub(LONGEST_END);
    let tail = read_at(file, start, length - start)?;
    let mark = END.to_le_bytes();
    let at = memchr::memmem::rfind(&tail, &mark).ok_or(PackageError::Damaged("it has no end"))?;
    let end = &tail[at..];
    let (size, offset) = (u32_at(end, 12).ok_or(CUT)?, u32_at(end, 16).ok_or(CUT)?);
    if size != ELSEWHERE && offset != ELSEWHERE {
        return Ok((offset.into(), size.into()));
    }
    let locator = at.checked_sub(20).map(|at| &tail[at..]).ok_or(CUT)?;
    if u32_at(locator, 0) != Some(LOCATOR_64) {
        return Err(PackageError::Damaged("it has no 64-bit end"));
    }
    let wide = read_at(file, u64_at(locator, 8).ok_or(CUT)?, 56)?;
    if u32_at(&wide, 0) != Some(END_64) {
        return Err(PackageError::Damaged("it has no 64-bit end"));
    }
    Ok((u64_at(&wide, 48).ok_or(CUT)?, u64_at(&wide, 40).ok_or(CUT)?))
}

fn central(bytes: &[u8]) -> Option<(ZipMember, usize)> {
    let (name, extra, comment) = (
        usize::from(u16_at(bytes, 28)?),
        usize::from(u16_at(bytes, 30)?),
        usize::from(u16_at(bytes, 32)?),
    );
    let text = String::from_utf8_lossy(bytes.get(46..46 + name)?).into_owned();
    let mut wide = wide_values(bytes.get(46 + name..46 + name + extra)?);
    let mut value = |at: usize| match u32_at(bytes, at)? {
        ELSEWHERE => wide.next(),
        value => Some(u64::from(value)),
    };
    // The 64-bit part has those that are missing, in this order.
    let (length, _, header) = (value(24)?, value(20)?, value(42)?);
    let member = ZipMember {
        name: text,
        is_stored: u16_at(bytes, 10)? == 0,
        length,
        header,
    };
    Some((member, 46 + name + extra + comment))
}

/// The numbers of the 64-bit part of extra fields.
fn wide_values(extra: &[u8]) -> impl Iterator<Item = u64> {
    let mut rest = extra;
    let mut found: &[u8] = &[];
    while let (Some(id), Some(length)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let end = 4 + usize::from(length);
        let Some(data) = rest.get(4..end) else { break };
        if id == 1 {
            found = data;
        }
        rest = &rest[end..];
    }
    let numbers: Vec<u64> = (0..3).map_while(|n| u64_at(found, n * 8)).collect();
    numbers.into_iter()
}

fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(field.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(field.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}

/// Writes a package.
pub(super) struct ZipWriter<W> {
    out: W,
    at: u64,
    directory: Vec<u8>,
    count: u64,
}

impl<W: Write + Seek> ZipWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            at: 0,
            directory: Vec::new(),
            count: 0,
        }
    }

    /// Writes a member; `watch` sees its bytes go by. Answers how many they were.
    pub(super) fn add(
        &mut self,
        name: &str,
        mut contents: impl Read,
        mut watch: impl FnMut(&[u8]),
    ) -> io::Result<u64> {
        let header = self.at;
        self.put(&local(name, 0, 0)?)?;
        let (mut crc, mut length) = (flate2::Crc::new(), 0_u64);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match contents.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if count == 0 {
                break;
            }
            crc.update(&buffer[..count]);
            watch(&buffer[..count]);
            length += count as u64;
            self.put(&buffer[..count])?;
        }
        // Only now the checksum and the length are known.
        self.out.seek(SeekFrom::Start(header))?;
        self.out.write_all(&local(name, crc.sum(), length)?)?;
        self.out.seek(SeekFrom::Start(self.at))?;
        self.list(name, crc.sum(), length, header);
        Ok(length)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Adds a member to the directory. Its 64-bit part is always there, as in the local header:
    /// replayweb.page takes a member without one here for one without one there.
    fn list(&mut self, name: &str, crc: u32, length: u64, header: u64) {
        let mut wide = [length.to_le_bytes(), length.to_le_bytes()].concat();
        let narrow = u32::try_from(header).unwrap_or(ELSEWHERE);
        if narrow == ELSEWHERE {
            wide.extend(header.to_le_bytes());
        }
        let size = (wide.len() as u16).to_le_bytes();
        wide.splice(0..0, [1, 0, size[0], size[1]]);
        let out = &mut self.directory;
        out.extend(CENTRAL.to_le_bytes());
        for field in [VERSION, VERSION, UTF8_NAMES, 0, 0, DAY] {
            out.extend(field.to_le_bytes());
        }
        out.extend(crc.to_le_bytes());
        out.extend(ELSEWHERE.to_le_bytes());
        out.extend(ELSEWHERE.to_le_bytes());
        for field in [name.len() as u16, wide.len() as u16, 0, 0, 0] {
            out.extend(field.to_le_bytes());
        }
        out.extend(0_u32.to_le_bytes());
        out.extend(narrow.to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(wide);
        self.count += 1;
    }

    /// Writes the directory; answers what was written to.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let (offset, size) = (self.at, self.directory.len() as u64);
        let directory = std::mem::take(&mut self.directory);
        self.put(&directory)?;
        let end = self.at;
        let mut tail = Vec::new();
        tail.extend(END_64.to_le_bytes());
        tail.extend(44_u64.to_le_bytes());
        tail.extend(VERSION.to_le_bytes());
        tail.extend(VERSION.to_le_bytes());
        tail.extend([0; 8]);
        for field in [self.count, self.count, size, offset] {
            tail.extend(field.to_le_bytes());
        }
        tail.extend(LOCATOR_64.to_le_bytes());
        tail.extend(0_u32.to_le_bytes());
        tail.extend(end.to_le_bytes());
        tail.extend(1_u32.to_le_bytes());
        let is_wide = self.count >= 0xffff || offset + size >= u64::from(ELSEWHERE);
        if !is_wide {
            tail.clear();
        }
        let narrow = |value: u64| u32::try_from(value).unwrap_or(ELSEWHERE);
        let count = self.count.min(0xffff) as u16;
        tail.extend(END.to_le_bytes());
        tail.extend([0; 4]);
        tail.extend(count.to_le_bytes());
        tail.extend(count.to_le_bytes());
        tail.extend(narrow(size).to_le_bytes());
        // With a 64-bit end, readers are told by this field to look there.
        let offset = if is_wide { ELSEWHERE } else { narrow(offset) };
        tail.extend(offset.to_le_bytes());
        tail.extend([0; 2]);
        self.put(&tail)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A local header. The 64-bit part is always there, as the length is not known in advance.
fn local(name: &str, crc: u32, length: u64) -> io::Result<Vec<u8>> {
    let name_length = u16::try_from(name.len()).map_err(|_| io::ErrorKind::InvalidFilename)?;
    let mut out = Vec::with_capacity(50 + name.len());
    out.extend(LOCAL.to_le_bytes());
    for field in [VERSION, UTF8_NAMES, 0, 0, DAY] {
        out.extend(field.to_le_bytes());
    }
    out.extend(crc.to_le_bytes());
    out.extend([0xff; 8]);
    out.extend(name_length.to_le_bytes());
    out.extend(20_u16.to_le_bytes());
    out.extend(name.as_bytes());
    out.extend([1, 0, 16, 0]);
    out.extend(length.to_le_bytes());
    out.extend(length.to_le_bytes());
    Ok(out)
}
