//! Compression on threads of its own.
//!
//! Owns the threads and the order: groups are compressed in parallel and handed on one after
//! the other as they were given. Refuses to know where they go. Invariant: no more than a strip
//! of groups is in memory beside what was given.

use std::io;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clewline_warc::{Coding, Encoder};

use super::group::Group;

/// More threads than that would wait for the one that writes.
const MOST_THREADS: usize = 4;
/// Bytes that are compressed together before they are handed on.
const STRIP: usize = 4 << 20;
/// So few bytes are compressed sooner than a thread begins.
const LEAST: usize = 128 << 10;

/// What a group became.
pub(super) enum Pressed<'a> {
    /// Its records, and the length of the first one if it is a capture.
    Ready {
        bytes: Vec<u8>,
        capture: Option<u64>,
    },
    /// It is too large for memory: encode it where it goes.
    Large(&'a mut Encoder),
}

/// Takes groups, one after the other.
pub(super) type Taker<'a> = &'a mut dyn FnMut(&Group<'_>, Pressed<'_>) -> io::Result<()>;

/// The compressors; at least one.
#[derive(Debug)]
pub(super) struct Press {
    encoders: Vec<Encoder>,
}

impl Press {
    pub(super) fn new(coding: Coding) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let encoders = (0..cores.min(MOST_THREADS)).map(|_| Encoder::new(coding));
        Self {
            encoders: encoders.collect(),
        }
    }

    /// Compresses groups and hands them on in their order.
    pub(super) fn run(&mut self, mut groups: &[Group<'_>], take: Taker<'_>) -> io::Result<()> {
        while let Some(first) = groups.first() {
            let (count, size) = strip(groups);
            let (now, later) = groups.split_at(count.max(1));
            groups = later;
            match &mut self.encoders[..] {
                [encoder, ..] if count == 0 => take(first, Pressed::Large(encoder))?,
                [encoder, ..] if count == 1 || size < LEAST => {
                    for group in now {
                        take(group, press(encoder, group)?)?;
                    }
                }
                encoders => press_together(encoders, now, take)?,
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

fn press(encoder: &mut Encoder, group: &Group<'_>) -> io::Result<Pressed<'static>> {
    let mut bytes = Vec::with_capacity(group.size().unwrap_or(0) / 3 + 1024);
    let capture = group.encode(encoder, &mut bytes)?;
    Ok(Pressed::Ready { bytes, capture })
}

fn press_together(
    encoders: &mut [Encoder],
    groups: &[Group<'_>],
    take: Taker<'_>,
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let places: Vec<OnceLock<io::Result<Pressed<'static>>>> =
        groups.iter().map(|_| OnceLock::new()).collect();
    let work = |encoder: &mut Encoder| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(group), Some(place)) = (groups.get(index), places.get(index)) else {
                return;
            };
            place.set(press(encoder, group)).ok();
        }
    };
    let work = &work;
    thread::scope(|scope| {
        let (own, others) = encoders.split_first_mut().expect("a press has an encoder");
        for encoder in others {
            let name = "clewline-archive".into();
            // A system that gives no thread leaves more to this one.
            thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, move || work(encoder))
                .ok();
        }
        work(own);
    });
    for (group, place) in groups.iter().zip(places) {
        let pressed = place.into_inner().expect("the threads took every place");
        take(group, pressed?)?;
    }
    Ok(())
}
