//! A reader that tells how much was read through it.
//!
//! Owns the counting, for whoever shows how far a long reading is.

use std::io::{self, Read};

/// Tells how many bytes each read brought.
pub struct Watched<'a, R> {
    inner: R,
    tell: &'a mut dyn FnMut(u64),
}

impl<'a, R: Read> Watched<'a, R> {
    /// Reads from `inner`.
    pub fn new(inner: R, tell: &'a mut dyn FnMut(u64)) -> Self {
        Self { inner, tell }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        (self.tell)(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told() {
        let (mut told, mut bytes) = (0, Vec::new());
        let mut tell = |count| told += count;
        let mut reader = Watched::new(&b"some bytes"[..], &mut tell);
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!((told, bytes.as_slice()), (10, &b"some bytes"[..]));
    }
}
