//! A comparison as lines of JSON: a summary, each entry, each move, the noise.
//!
//! Owns the order of the lines and the name of each. Nothing is folded here.

use std::io::{self, Write};

use clewline_job::escape::json_text;
use serde::Serialize;

use super::DiffHead;
use crate::compare::Difference;
use crate::edit::NoisePlace;
use crate::entry::{DiffCounts, DiffEntry, PayloadCounts};
use crate::moves::PageMove;

/// Version of the lines.
const FORMAT: u32 = 1;

/// A line.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum DiffLine<'a> {
    Summary {
        v: u32,
        old: &'a str,
        new: &'a str,
        counts: DiffCounts,
        payload: PayloadCounts,
        is_part: bool,
        entries: usize,
    },
    Entry(&'a DiffEntry),
    Move(&'a PageMove),
    Noise(&'a NoisePlace),
}

pub(super) fn write(
    difference: &Difference,
    head: &DiffHead<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [old, new] = head.names;
    let summary = DiffLine::Summary {
        v: FORMAT,
        old,
        new,
        counts: difference.counts,
        payload: difference.payload,
        is_part: difference.is_part,
        entries: difference.entries.len(),
    };
    line(&summary, out)?;
    for entry in &difference.entries {
        line(&DiffLine::Entry(entry), out)?;
    }
    for page in &difference.moves {
        line(&DiffLine::Move(page), out)?;
    }
    if head.shows_noise {
        for place in &difference.noise {
            line(&DiffLine::Noise(place), out)?;
        }
    }
    Ok(())
}

fn line(value: &DiffLine<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    json_text(&serde_json::to_string(value)?, &mut bytes);
    bytes.push(b'\n');
    out.write_all(&bytes)
}
