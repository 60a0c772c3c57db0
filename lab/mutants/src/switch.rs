//! What instrumented code calls: it answers which mutant is switched on.
//!
//! Owns the switch, which the variable `MUTANT` sets for a whole process, and the list of mutants
//! that a process came past, which it writes to the file that `MUTANTS_REACHED` names. Invariant:
//! with neither of them set, every function does what the operator does that it stands for.
//!
//! The tool copies this file into the instrumented tree, as a crate.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Rem, Shl, Shr, Sub, SubAssign};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

/// The most mutants of one build.
const MOST: usize = 1 << 16;

static ACTIVE: LazyLock<Option<u32>> = LazyLock::new(|| std::env::var("MUTANT").ok()?.parse().ok());

static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

static LIST: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
    let path = std::env::var_os("MUTANTS_REACHED")?;
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.ok().map(Mutex::new)
});

/// Whether a mutant is switched on.
pub fn on(mutant: u32) -> bool {
    if let Some(list) = &*LIST {
        note(mutant, list);
    }
    *ACTIVE == Some(mutant)
}

fn note(mutant: u32, list: &Mutex<File>) {
    let is_new = REACHED
        .get(mutant as usize)
        .is_some_and(|reached| !reached.swap(true, Ordering::Relaxed));
    if is_new && let Ok(mut list) = list.lock() {
        // Who reads the list sees that a line is missing.
        let _ = list.write_all(format!("{mutant}\n").as_bytes());
    }
}

/// Functions for operators that compare: what they stand for, and their two mutants.
macro_rules! compared {
    ($($name:ident $meant:tt $first:tt $second:tt,)+) => {
        $(
            #[doc = concat!("`", stringify!($meant), "`")]
            pub fn $name<A: PartialOrd<B> + ?Sized, B: ?Sized>(mutant: u32, a: &A, b: &B) -> bool {
                if on(mutant) {
                    a $first b
                } else if on(mutant + 1) {
                    a $second b
                } else {
                    a $meant b
                }
            }
        )+
    };
}

compared! {
    less < <= >=,
    at_most <= < >,
    more > >= <=,
    at_least >= > <,
}

/// `==`
pub fn equal<A: PartialEq<B> + ?Sized, B: ?Sized>(mutant: u32, a: &A, b: &B) -> bool {
    on(mutant) ^ (a == b)
}

/// `!=`
pub fn differs<A: PartialEq<B> + ?Sized, B: ?Sized>(mutant: u32, a: &A, b: &B) -> bool {
    on(mutant) ^ (a != b)
}

/// Functions for operators that compute: what they stand for, and their mutant.
macro_rules! computed {
    ($($name:ident $trait:ident $meant:tt $mutant_trait:ident $mutant:tt,)+) => {
        $(
            #[doc = concat!("`", stringify!($meant), "`")]
            pub fn $name<A, B>(mutant: u32, a: A, b: B) -> <A as $trait<B>>::Output
            where
                A: $trait<B> + $mutant_trait<B, Output = <A as $trait<B>>::Output>,
            {
                if on(mutant) { a $mutant b } else { a $meant b }
            }
        )+
    };
}

computed! {
    sum Add + Sub -,
    difference Sub - Add +,
    product Mul * Add +,
    quotient Div / Mul *,
    remainder Rem % Div /,
    both BitAnd & BitOr |,
    either BitOr | BitAnd &,
    left Shl << Shr >>,
    right Shr >> Shl <<,
}

/// `+=`
pub fn increase<A: AddAssign<B> + SubAssign<B>, B>(mutant: u32, a: &mut A, b: B) {
    if on(mutant) {
        *a -= b;
    } else {
        *a += b;
    }
}

/// `-=`
pub fn decrease<A: AddAssign<B> + SubAssign<B>, B>(mutant: u32, a: &mut A, b: B) {
    if on(mutant) {
        *a += b;
    } else {
        *a -= b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_mutant_everything_does_what_it_stands_for() {
        for (a, b) in [(1, 2), (2, 2), (3, 2)] {
            assert_eq!(less(1, &a, &b), a < b);
            assert_eq!(at_most(1, &a, &b), a <= b);
            assert_eq!(more(1, &a, &b), a > b);
            assert_eq!(at_least(1, &a, &b), a >= b);
            assert_eq!(equal(1, &a, &b), a == b);
            assert_eq!(differs(1, &a, &b), a != b);
        }
        let (a, b) = (13, 2);
        let computed = [
            sum(1, a, b),
            difference(1, a, b),
            product(1, a, b),
            quotient(1, a, b),
            remainder(1, a, b),
        ];
        assert_eq!(computed, [15, 11, 26, 6, 1]);
        let bits = [
            both(1, a, b),
            either(1, a, b),
            left(1, a, b),
            right(1, a, b),
        ];
        assert_eq!(bits, [0, 15, 52, 3]);
        let mut count = 5;
        increase(1, &mut count, 3);
        decrease(1, &mut count, 2);
        assert_eq!(count, 6);
    }
}
