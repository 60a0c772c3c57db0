//! The codes of sequences that every zstd reader knows (RFC 8878, section 3.1.1.3.2.2).
//!
//! Owns the predefined tables, made when this is compiled, and the numbers that lengths and
//! offsets are split into. Refuses to know where bits go.

/// What a symbol does to the state after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The state before.
    pub(super) state: u8,
    /// How many bits are written for it.
    pub(super) count: u8,
    /// These bits.
    pub(super) bits: u8,
}

/// A table for symbols of one kind: the steps from all states, for each symbol.
pub(super) struct Table<const STATES: usize, const SYMBOLS: usize>([[Step; STATES]; SYMBOLS]);

/// Bits of the state of lengths.
pub(super) const LENGTH_STATE: u32 = 6;
/// Bits of the state of offsets.
pub(super) const OFFSET_STATE: u32 = 5;

/// For the numbers of letters before a repetition.
pub(super) static LETTERS: Table<64, 36> = Table::new([
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
]);

/// For the lengths of repetitions.
pub(super) static LENGTHS: Table<64, 53> = Table::new([
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
]);

/// For the number of bits of an offset.
pub(super) static OFFSETS: Table<32, 29> = Table::new([
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
]);

impl<const STATES: usize, const SYMBOLS: usize> Table<STATES, SYMBOLS> {
    /// From the share of the states that each symbol has; −1 stands for less than one of them.
    const fn new(shares: [i8; SYMBOLS]) -> Self {
        let owners = owners::<STATES, SYMBOLS>(&shares);
        let none = Step {
            state: 0,
            count: 0,
            bits: 0,
        };
        let mut steps = [[none; STATES]; SYMBOLS];
        let mut symbol = 0;
        while symbol < SYMBOLS {
            // The states of a symbol stand for parts of all states, in their order. Their sizes
            // are powers of two, and the smaller ones come last (section 4.1.1).
            let share = shares[symbol].unsigned_abs() as usize;
            let (mut own, mut number, mut after) = (0, share, 0);
            while own < STATES {
                if owners[own] as usize == symbol {
                    let count = STATES.ilog2() - number.ilog2();
                    let first = (number << count) - STATES;
                    let mut bits = 0;
                    while bits < 1 << count {
                        steps[symbol][first + bits] = Step {
                            state: own as u8,
                            count: count as u8,
                            bits: bits as u8,
                        };
                        bits += 1;
                        after += 1;
                    }
                    number += 1;
                }
                own += 1;
            }
            assert!(after == STATES, "each state follows one of the symbol's");
            symbol += 1;
        }
        Self(steps)
    }

    /// A state to begin with, whose first symbol is this one.
    pub(super) const fn first(&self, symbol: usize) -> u8 {
        self.0[symbol][0].state
    }

    /// What a symbol does to the state after it.
    #[inline]
    pub(super) const fn step(&self, state: u8, symbol: u8) -> Step {
        self.0[symbol as usize % SYMBOLS][state as usize % STATES]
    }
}

/// Which symbol each state stands for (section 4.1.1).
const fn owners<const STATES: usize, const SYMBOLS: usize>(shares: &[i8; SYMBOLS]) -> [u8; STATES] {
    let mut owners = [0; STATES];
    let (mut symbol, mut rare) = (0, 0);
    while symbol < SYMBOLS {
        if shares[symbol] == -1 {
            rare += 1;
            owners[STATES - rare] = symbol as u8;
        }
        symbol += 1;
    }
    let mut at = 0;
    symbol = 0;
    while symbol < SYMBOLS {
        let mut left = shares[symbol];
        while left > 0 {
            owners[at] = symbol as u8;
            left -= 1;
            at = (at + STATES / 2 + STATES / 8 + 3) % STATES;
            while at >= STATES - rare {
                at = (at + STATES / 2 + STATES / 8 + 3) % STATES;
            }
        }
        symbol += 1;
    }
    owners
}

/// A number as a symbol and what it leaves to say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    pub(super) symbol: u8,
    pub(super) extra_bits: u8,
    pub(super) extra: u16,
}

/// Where the symbols above the plain ones begin to say one number each, and how many bits
/// each of them leaves to say.
const LETTERS_ABOVE: [u8; 9] = [1, 1, 1, 1, 2, 2, 3, 3, 4];
const LENGTHS_ABOVE: [u8; 11] = [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5];

static FEW_LETTERS: [Split; 64] = splits(16, &LETTERS_ABOVE);
static SHORT_LENGTHS: [Split; 128] = splits(32, &LENGTHS_ABOVE);

const fn splits<const COUNT: usize>(plain: usize, above: &[u8]) -> [Split; COUNT] {
    let mut splits = [Split {
        symbol: 0,
        extra_bits: 0,
        extra: 0,
    }; COUNT];
    let (mut number, mut symbol, mut base) = (0, 0, 0);
    while number < COUNT {
        let extra_bits = if symbol < plain {
            0
        } else {
            above[symbol - plain]
        };
        splits[number] = Split {
            symbol: symbol as u8,
            extra_bits,
            extra: (number - base) as u16,
        };
        number += 1;
        if number - base == 1 << extra_bits {
            symbol += 1;
            base = number;
        }
    }
    splits
}

/// So many letters; fewer than 131,072.
#[inline]
pub(super) fn letters(count: u32) -> Split {
    match FEW_LETTERS.get(count as usize) {
        Some(split) => *split,
        None => by_logarithm(count, 19),
    }
}

/// A repetition that is so much longer than three bytes; less than 131,072.
#[inline]
pub(super) fn length(above: u32) -> Split {
    match SHORT_LENGTHS.get(above as usize) {
        Some(split) => *split,
        None => by_logarithm(above, 36),
    }
}

#[inline]
const fn by_logarithm(number: u32, first: u32) -> Split {
    let log = number.ilog2();
    Split {
        symbol: (log + first) as u8,
        extra_bits: log as u8,
        extra: (number - (1 << log)) as u16,
    }
}
