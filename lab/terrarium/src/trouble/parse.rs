//! Troubles as they are typed: a name, and numbers after colons.
//!
//! Owns the grammar. Invariant: every name works without numbers.

use std::str::FromStr;
use std::time::Duration;

use super::Trouble;

/// What can be typed, for those who ask.
const GRAMMAR: &str = "busy[:RATE[:STATUS[:RETRY_AFTER]]], slowing[:RATE], resetting[:SECONDS], \
    down[:SECONDS], failing[:PERCENT], failing-first[:PAGES], one-busy[:STATUS[:RETRY_AFTER]], \
    passing[:HOSTS], silent[:HOSTS], dripping[:HOSTS] and silent-root";

/// How many seconds a busy host's pages last at its rate.
const LASTS: u32 = 60;
/// Requests before a trouble that passes begins.
const BEFORE: usize = 200;

impl Trouble {
    /// What can be typed.
    pub fn grammar() -> &'static str {
        GRAMMAR
    }
}

impl FromStr for Trouble {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers = parts.map(str::parse).collect::<Result<Vec<u32>, _>>();
        let numbers = numbers.map_err(|_| format!("after {name} come numbers: {GRAMMAR}"))?;
        let number = |place: usize, usual: u32| numbers.get(place).copied().unwrap_or(usual);
        let count = |usual: u32| number(0, usual) as usize;
        let seconds = |usual: u32| Duration::from_secs(number(0, usual).into());
        let status = |place: usize| number(place, 503) as u16;
        let retry_after = |place: usize| numbers.get(place).map(|number| u64::from(*number));
        let (after, pages) = (BEFORE, 3_000);
        Ok(match name {
            "busy" => Self::Busy {
                rate: number(0, 20),
                status: status(1),
                retry_after: retry_after(2),
                pages: (number(0, 20) * LASTS) as usize,
            },
            "slowing" => Self::Slowing {
                rate: number(0, 20),
                pages: (number(0, 20) * LASTS) as usize,
            },
            "resetting" => Self::Resetting {
                after,
                lasts: seconds(10),
                pages,
            },
            "down" => Self::Down {
                after,
                lasts: seconds(60),
                pages,
            },
            "failing" => Self::Failing {
                percent: number(0, 5),
                pages: 1_500,
            },
            "failing-first" => Self::FailingFirst {
                failing: count(20),
                good: 200,
            },
            "one-busy" => Self::OneBusy {
                status: status(0),
                retry_after: retry_after(1),
                good: 200,
            },
            "passing" => Self::Passing {
                hosts: count(20),
                percent: 4,
                pages: 400,
            },
            "silent" => Self::Silent {
                hosts: count(150),
                good: 300,
            },
            "dripping" => Self::Dripping {
                hosts: count(150),
                good: 300,
            },
            "silent-root" => Self::SilentRoot { good: 100 },
            _ => return Err(format!("there is no trouble {name}, only {GRAMMAR}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_alone_or_with_numbers() {
        for part in GRAMMAR.replace(" and ", ", ").split(", ") {
            let name = part.split('[').next().unwrap_or_default().trim();
            assert!(name.parse::<Trouble>().is_ok(), "{name}");
        }
        let busy = Trouble::Busy {
            rate: 5,
            status: 429,
            retry_after: Some(7),
            pages: 300,
        };
        assert_eq!("busy:5:429:7".parse(), Ok(busy));
        let year = Trouble::OneBusy {
            status: 503,
            retry_after: Some(31_536_000),
            good: 200,
        };
        assert_eq!("one-busy:503:31536000".parse(), Ok(year));
        for wrong in ["", "busy:fast", "lazy"] {
            assert!(wrong.parse::<Trouble>().is_err(), "{wrong}");
        }
    }
}
