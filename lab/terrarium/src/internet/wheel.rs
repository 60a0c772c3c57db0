//! A timer wheel: what is due when, for tens of thousands of waiting answers.
//!
//! Owns slots of one millisecond. To add and to expire cost the same however many wait. What is
//! due later than a turn of the wheel stays in its slot until its turn comes.

/// Slots, of one millisecond each.
const SLOTS: usize = 4096;
const WORDS: usize = SLOTS / 64;

/// Things that are due at some millisecond.
pub(crate) struct Wheel<T> {
    slots: Vec<Vec<(u64, T)>>,
    /// One bit for each slot that holds something.
    occupied: [u64; WORDS],
    /// Everything before this millisecond has expired.
    at: u64,
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: std::iter::repeat_with(Vec::new).take(SLOTS).collect(),
            occupied: [0; WORDS],
            at: 0,
        }
    }

    /// Keeps a thing until then; what is already due comes with the next expiry.
    pub(crate) fn add(&mut self, due: u64, thing: T) {
        let due = due.max(self.at);
        let slot = due as usize % SLOTS;
        self.slots[slot].push((due, thing));
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// The millisecond of the next slot that holds something; it may be a turn too early.
    pub(crate) fn next(&self) -> Option<u64> {
        let start = self.at as usize % SLOTS;
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == WORDS {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (slot + SLOTS - start) % SLOTS;
                return Some(self.at + ahead as u64);
            }
        }
        None
    }

    /// Moves on to this millisecond and takes what is due.
    pub(crate) fn expire(&mut self, now: u64, due: &mut Vec<T>) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            let slot = at as usize % SLOTS;
            let (ready, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.slots[slot])
                .into_iter()
                .partition(|(due, _)| *due <= now);
            due.extend(ready.into_iter().map(|(_, thing)| thing));
            if later.is_empty() {
                self.occupied[slot / 64] &= !(1 << (slot % 64));
            }
            self.slots[slot] = later;
            self.at = at + 1;
        }
        self.at = self.at.max(now + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_when_they_are_due_and_never_before() {
        let mut wheel = Wheel::new();
        let dues = [0, 1, 5, 63, 64, 4095, 4096, 4097, 8000, 20_000, 5];
        for due in dues {
            wheel.add(due, due);
        }
        let (mut now, mut seen) = (0, Vec::new());
        while let Some(next) = wheel.next() {
            now = next.max(now);
            let mut due = Vec::new();
            wheel.expire(now, &mut due);
            assert!(
                due.iter().all(|due| *due <= now && now - *due < 2),
                "{now} {due:?}"
            );
            seen.extend(due);
        }
        let mut expected = dues.to_vec();
        expected.sort_unstable();
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_late_look_finds_everything() {
        let mut wheel = Wheel::new();
        (0..10_000).for_each(|due| wheel.add(due * 3, due));
        let mut due = Vec::new();
        wheel.expire(30_000, &mut due);
        assert_eq!(wheel.next(), None);
        due.sort_unstable();
        assert_eq!(due, (0..10_000).collect::<Vec<u64>>());
    }
}
