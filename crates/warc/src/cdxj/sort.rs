//! Sorting an index that is larger than memory.
//!
//! Owns runs and their merge. Lines are compared as bytes. Invariant: holds at most the memory
//! that it was given and one line of each run that is being merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Seek as _, Write};
use std::path::Path;

use super::LONGEST_LINE;

/// Runs that are merged at once; more are merged in rounds.
const MOST_RUNS: usize = 64;

/// Writes the lines of `input` to `out`, sorted, with about so many bytes of memory. Runs are kept
/// in unnamed files in `folder`.
pub fn sort(
    input: impl BufRead,
    out: &mut dyn Write,
    memory: usize,
    folder: &Path,
) -> io::Result<()> {
    let mut runs = Vec::new();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut held = 0;
    let mut input = CdxjLines(input);
    while let Some(line) = input.next_line()? {
        held += line.len() + size_of::<Vec<u8>>();
        lines.push(line);
        if held >= memory {
            runs.push(written_run(&mut lines, folder)?);
            held = 0;
        }
        if runs.len() == MOST_RUNS {
            runs = vec![merged_run(runs, folder)?];
        }
    }
    if runs.is_empty() {
        lines.sort_unstable();
        return write_lines(&lines, out);
    }
    runs.push(written_run(&mut lines, folder)?);
    merge(runs, out)
}

fn write_lines(lines: &[Vec<u8>], out: &mut dyn Write) -> io::Result<()> {
    for line in lines {
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn written_run(lines: &mut Vec<Vec<u8>>, folder: &Path) -> io::Result<File> {
    lines.sort_unstable();
    let mut out = BufWriter::new(tempfile::tempfile_in(folder)?);
    write_lines(lines, &mut out)?;
    lines.clear();
    rewound(out)
}

fn merged_run(runs: Vec<File>, folder: &Path) -> io::Result<File> {
    let mut out = BufWriter::new(tempfile::tempfile_in(folder)?);
    merge(runs, &mut out)?;
    rewound(out)
}

fn rewound(out: BufWriter<File>) -> io::Result<File> {
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

fn merge(runs: Vec<File>, out: &mut dyn Write) -> io::Result<()> {
    let mut readers: Vec<_> = runs
        .into_iter()
        .map(|run| CdxjLines(BufReader::new(run)))
        .collect();
    let mut next = BinaryHeap::new();
    for (index, reader) in readers.iter_mut().enumerate() {
        if let Some(line) = reader.next_line()? {
            next.push(Reverse((line, index)));
        }
    }
    while let Some(mut first) = next.peek_mut() {
        let Reverse((line, index)) = &mut *first;
        out.write_all(line)?;
        out.write_all(b"\n")?;
        match readers[*index].next_line()? {
            Some(following) => *line = following,
            None => {
                PeekMut::pop(first);
            }
        }
    }
    out.flush()
}

/// Lines without their ends; a last one without an end counts, empty ones don't.
pub(super) struct CdxjLines<R>(pub(super) R);

impl<R: BufRead> CdxjLines<R> {
    pub(super) fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut line = Vec::new();
            let mut limited = self.0.by_ref().take(LONGEST_LINE + 1);
            if limited.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if line.len() as u64 > LONGEST_LINE {
                let message = "the index has a line that is too long: it is no CDXJ";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            while line.last().is_some_and(u8::is_ascii_whitespace) {
                line.pop();
            }
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
    }
}
