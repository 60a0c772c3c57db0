//! Fuzz bodies: what a page and a row of facts may not do.
//!
//! Owns the claims that hold for any bytes. Refuses to know how bytes are found.

use clewline_core::key::Keyer;

use crate::facts::fuzzing;

/// Bytes as a row: nothing breaks, and what can be read is written the same again.
pub fn facts(data: &[u8]) {
    fuzzing::row(data);
}

/// Bytes as a page: nothing breaks, all places lie within it, and its row says the same.
pub fn page(data: &[u8]) {
    fuzzing::page(&Keyer::default(), data);
}

/// Bytes as the findings of a job folder: nothing breaks, and what can be read is written the same again.
pub fn kept(data: &[u8]) {
    crate::kept::fuzz(data);
}
