//! As much of ZIP as a package of archives needs, written: members stored as they are.
//!
//! Owns the layout of what is written (APPNOTE 6.3.9), with the 64-bit forms; `clewline-job` reads
//! it. Invariant: what is written depends on names and contents alone.

use std::io::{self, Read, Seek, SeekFrom, Write};

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
