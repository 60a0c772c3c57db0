//! How the pace of an address is dealt out to the members that ask it.
//!
//! Owns the arithmetic alone: what a member gets where others ask the same address, and what it may
//! believe after answers that were lost. It refuses to know where holdings are kept, how long they
//! last and who is quiet after a fail-over. Invariant: what all members may believe together never
//! exceeds the rule, but for requests that were in flight already.

use crate::frontier::AddressUse;
use crate::politeness::{GroupPace, Rate};

/// A share below this part of the rule is not worth having: the member waits.
const LEAST_SHARE: f64 = 1.0 / 40.0;

/// A share of an address. The rate is zero where the rule has none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AddressShare {
    /// Requests in flight.
    pub in_flight: u32,
    /// Requests per second.
    pub rate: f64,
}

impl AddressShare {
    fn or_more(self, other: Self) -> Self {
        Self {
            in_flight: self.in_flight.max(other.in_flight),
            rate: self.rate.max(other.rate),
        }
    }
}

/// What a member may believe of an address.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AddressHolding {
    /// At most, whichever answers it heard.
    pub most: AddressShare,
    /// What it was granted last.
    pub last: AddressShare,
    /// The number of that grant.
    pub number: u64,
}

impl AddressHolding {
    /// Deals a share to whoever holds this, as far as `others` leave room, under the number of the
    /// answer; none yet if they leave too little. Whoever comes new is noted by its holding, so the
    /// others take less when they ask again. An answer may be lost, so what a member was granted
    /// before is reckoned with until it says that it holds the last grant.
    pub fn deal(
        &mut self,
        asked: &AddressUse,
        rule: GroupPace,
        others: &[Self],
        number: u64,
    ) -> Option<GroupPace> {
        let part = share(rule, others);
        if self.number == asked.held {
            self.most = self.last;
        }
        self.most.in_flight = self.most.in_flight.max(asked.in_flight);
        let least = rule.rate.map(|rate| rate.number() * LEAST_SHARE);
        if part.in_flight == 0 || least.is_some_and(|least| part.rate <= least) {
            return None;
        }
        self.most = self.most.or_more(part);
        (self.last, self.number) = (part, number);
        Some(GroupPace {
            in_flight: part.in_flight,
            rate: rule.rate.and(Rate::per_second(part.rate)),
        })
    }
}

/// An equal share, or what the others leave if that is less.
fn share(rule: GroupPace, others: &[AddressHolding]) -> AddressShare {
    let whole = rule.rate.map_or(0.0, Rate::number);
    let mut free = AddressShare {
        in_flight: rule.in_flight,
        rate: whole,
    };
    for other in others {
        // An old question may say that more is in flight than is.
        free.in_flight = free.in_flight.saturating_sub(other.most.in_flight);
        free.rate -= other.most.rate;
    }
    let count = u32::try_from(others.len()).map_or(u32::MAX, |others| others.saturating_add(1));
    AddressShare {
        in_flight: (rule.in_flight / count).max(1).min(free.in_flight),
        rate: (whole / f64::from(count)).min(free.rate),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const RULE: GroupPace = GroupPace {
        rate: None,
        in_flight: 8,
    };

    fn rule() -> GroupPace {
        GroupPace {
            rate: Rate::per_second(20.0),
            ..RULE
        }
    }

    fn holds(number: u64, in_flight: u32) -> AddressUse {
        AddressUse {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            in_flight,
            held: number,
        }
    }

    #[test]
    fn a_newcomer_waits_until_the_first_has_taken_less() {
        let (mut first, mut second) = (AddressHolding::default(), AddressHolding::default());
        assert_eq!(first.deal(&holds(0, 0), rule(), &[], 1), Some(rule()));
        assert_eq!(second.deal(&holds(0, 0), rule(), &[first], 2), None);
        let half = GroupPace {
            rate: Rate::per_second(10.0),
            in_flight: 4,
        };
        assert_eq!(
            first.deal(&holds(1, 8), rule(), &[second], 3),
            Some(half),
            "the whole is still in flight"
        );
        assert_eq!(second.deal(&holds(0, 0), rule(), &[first], 4), None);
        assert_eq!(first.deal(&holds(3, 4), rule(), &[second], 5), Some(half));
        assert_eq!(second.deal(&holds(0, 0), rule(), &[first], 6), Some(half));
    }

    #[test]
    fn an_answer_that_may_be_lost_stays_taken() {
        let (mut first, second) = (AddressHolding::default(), AddressHolding::default());
        first.deal(&holds(0, 0), rule(), &[], 1);
        first.deal(&holds(1, 0), rule(), &[second], 2);
        // It still holds its first grant: the second never came.
        first.deal(&holds(1, 0), rule(), &[second], 3);
        assert_eq!(first.most.in_flight, 8);
        first.deal(&holds(3, 0), rule(), &[second], 4);
        assert_eq!(first.most.in_flight, 4);
    }

    #[test]
    fn a_rule_without_a_rate_and_a_slow_one_are_dealt_out_too() {
        let mut holding = AddressHolding::default();
        assert_eq!(holding.deal(&holds(0, 0), RULE, &[], 1), Some(RULE));
        let slow = GroupPace {
            rate: Rate::per_second(0.2),
            in_flight: 1,
        };
        let mut holding = AddressHolding::default();
        assert_eq!(holding.deal(&holds(0, 0), slow, &[], 1), Some(slow));
    }
}
