//! Bits on their way into bytes, the first one lowest.
//!
//! Owns what fills no byte yet and the place where whole bytes go. Refuses to know what bits
//! mean. Invariant: fewer than eight wait after [`Bits::write`], so that 56 more may be pushed.

/// What is written at once; there must be so much room behind what is filled.
pub(super) const WORD: usize = 8;

pub(super) struct Bits<'a> {
    waiting: PendingBits,
    room: &'a mut [u8],
    filled: usize,
}

/// Bits that fill no byte yet, between one room and the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingBits {
    pub(super) bits: u64,
    pub(super) count: u32,
}

impl<'a> Bits<'a> {
    /// Goes on with what waits, at the beginning of a room.
    pub(super) const fn new(waiting: PendingBits, room: &'a mut [u8]) -> Self {
        Self {
            waiting,
            room,
            filled: 0,
        }
    }

    /// What waits, and how many bytes were written.
    pub(super) const fn end(self) -> (PendingBits, usize) {
        (self.waiting, self.filled)
    }

    /// Pushes so many bits; those above must be zero.
    #[inline]
    pub(super) const fn push(&mut self, bits: u64, count: u32) {
        self.waiting.bits |= bits << self.waiting.count;
        self.waiting.count += count;
    }

    /// Writes all whole bytes.
    #[inline]
    pub(super) fn write(&mut self) {
        let PendingBits { bits, count } = &mut self.waiting;
        let room = &mut self.room[self.filled..self.filled + WORD];
        room.copy_from_slice(&bits.to_le_bytes());
        self.filled += (*count / 8) as usize;
        *bits >>= *count / 8 * 8;
        *count %= 8;
    }

    /// Pushes and writes so many whole bytes, which are the lowest ones of a word. Those above
    /// must be zero.
    #[inline]
    pub(super) fn write_bytes(&mut self, bytes: u64, count: usize) {
        let waiting = &mut self.waiting;
        let low = waiting.bits | bytes << waiting.count;
        self.room[self.filled..self.filled + WORD].copy_from_slice(&low.to_le_bytes());
        self.filled += count;
        waiting.bits = if count < WORD {
            low >> (8 * count)
        } else {
            bytes >> 1 >> (u64::BITS - 1 - waiting.count)
        };
    }

    /// Fills the last byte with zeros.
    pub(super) fn align(&mut self) {
        self.waiting.count = self.waiting.count.next_multiple_of(8);
        self.write();
    }
}
