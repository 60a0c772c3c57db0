//! Faults of single resources, by attempt.
//!
//! Owns what an ailing resource does at its first, second and later requests, and what that must
//! come to in a crawl that tries four times. Invariant: it is a function of the attempt alone,
//! so the outcome is the same whatever the timing; and no host draws more than four failures in
//! a row, because a polite crawler leaves a host alone after five.

/// What is wrong with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ailment {
    /// 503 with Retry-After at first.
    BusyAtFirst,
    /// 429 with Retry-After, twice.
    TooManyTwice,
    /// 500, twice.
    ErrorTwice,
    /// 500 for ever.
    ErrorAlways,
    /// The connection is reset, twice.
    ResetTwice,
    /// The connection is reset, always.
    ResetAlways,
    /// The body ends in the middle, twice.
    CutTwice,
    /// The body ends in the middle, always.
    CutAlways,
    /// No answer at first.
    StallAtFirst,
    /// The body comes in drops.
    Drip,
    /// A header larger than crawlers accept.
    HugeHead,
    /// The body is not what its coding says.
    BrokenCoding,
    /// The body has no end.
    Endless,
    /// A small body that unpacks to a large one.
    Bomb,
    /// Not HTTP at all.
    Gibberish,
    /// Interim answers before the real one.
    Interim,
}

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A page with this status.
    Status(u16),
    /// The same with Retry-After.
    Later(u16),
    Reset,
    Cut,
    Stall,
    Drip,
    HugeHead,
    BrokenCoding,
    Endless,
    Bomb,
    Gibberish,
    Interim,
}

impl Act {
    /// Whether a client that has read the whole answer has no reason to ask again.
    pub(crate) fn is_sound(self) -> bool {
        !matches!(self, Self::HugeHead | Self::BrokenCoding | Self::Gibberish)
    }
}

impl Ailment {
    const ALL: [Self; 16] = [
        Self::BusyAtFirst,
        Self::TooManyTwice,
        Self::ErrorTwice,
        Self::ErrorAlways,
        Self::ResetTwice,
        Self::ResetAlways,
        Self::CutTwice,
        Self::CutAlways,
        Self::StallAtFirst,
        Self::Drip,
        Self::HugeHead,
        Self::BrokenCoding,
        Self::Endless,
        Self::Bomb,
        Self::Gibberish,
        Self::Interim,
    ];

    pub(crate) fn pick(number: u32) -> Self {
        Self::ALL[number as usize % Self::ALL.len()]
    }

    /// What the attempt of this number gets; they count from 1.
    pub(crate) fn act(self, attempt: u32) -> Act {
        let (act, times) = match self {
            Self::BusyAtFirst => (Act::Later(503), 1),
            Self::TooManyTwice => (Act::Later(429), 2),
            Self::ErrorTwice => (Act::Status(500), 2),
            Self::ErrorAlways => (Act::Status(500), u32::MAX),
            Self::ResetTwice => (Act::Reset, 2),
            Self::ResetAlways => (Act::Reset, u32::MAX),
            Self::CutTwice => (Act::Cut, 2),
            Self::CutAlways => (Act::Cut, u32::MAX),
            Self::StallAtFirst => (Act::Stall, 1),
            Self::Drip => (Act::Drip, u32::MAX),
            Self::HugeHead => (Act::HugeHead, u32::MAX),
            Self::BrokenCoding => (Act::BrokenCoding, u32::MAX),
            Self::Endless => (Act::Endless, u32::MAX),
            Self::Bomb => (Act::Bomb, u32::MAX),
            Self::Gibberish => (Act::Gibberish, u32::MAX),
            Self::Interim => (Act::Interim, u32::MAX),
        };
        if attempt <= times {
            act
        } else {
            Act::Status(200)
        }
    }

    /// The status a patient crawler ends with; none if no answer is ever whole and sound.
    pub(crate) fn end(self) -> Option<u16> {
        match self {
            Self::ErrorAlways => Some(500),
            Self::ResetAlways
            | Self::CutAlways
            | Self::HugeHead
            | Self::BrokenCoding
            | Self::Gibberish => None,
            _ => Some(200),
        }
    }

    /// In words, for the oracle.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::ResetAlways => "reset",
            Self::CutAlways => "incomplete",
            Self::HugeHead => "headers-too-large",
            Self::BrokenCoding => "decode",
            Self::Gibberish => "protocol",
            _ => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries of a patient crawler.
    const TRIES: u32 = 4;

    #[test]
    fn four_tries_come_to_the_end_that_is_claimed() {
        for ailment in Ailment::ALL {
            let last = ailment.act(TRIES);
            let status = match last {
                Act::Status(status) => Some(status),
                Act::Drip | Act::Endless | Act::Bomb | Act::Interim => Some(200),
                _ => None,
            };
            assert_eq!(status, ailment.end(), "{ailment:?}");
            let failures = (1..=TRIES).filter(|&attempt| ailment.act(attempt) != last);
            assert!(failures.count() < 3, "{ailment:?} costs too many tries");
        }
    }
}
