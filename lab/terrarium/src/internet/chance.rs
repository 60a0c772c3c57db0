//! Chance without state: every number is a function of the seed and what it is drawn for.
//!
//! Owns the mixing of seeds and keys and the few distributions that an internet needs. Refuses to
//! know what is drawn. Invariant: the same arguments give the same number, whoever asks and
//! whenever; two topics never share a stream.

/// What a number is drawn for.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Topic {
    Fate = 1,
    Secure,
    OldTls,
    Pages,
    Fan,
    Depth,
    Charset,
    Declared,
    Robots,
    Sitemap,
    Ailment,
    Wall,
    Address,
    Kind,
    Target,
    Elsewhere,
    InternalLinks,
    ExternalLinks,
    Internal,
    External,
    Depths,
    Canonical,
    Style,
    Text,
    Filler,
    Coding,
    Framing,
    Cookie,
    Latency,
    NameLatency,
    TimeToLive,
    Session,
    Generated,
}

/// The source of all numbers of one internet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x7E44_A41C_9D1F_0B35))
    }

    /// The number drawn for a topic and two keys.
    pub(crate) fn draw(self, topic: Topic, first: u64, second: u64) -> Draw {
        let topic = (topic as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let first = mix(self.0 ^ topic ^ first.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Draw(mix(first ^ second.wrapping_mul(0xA076_1D64_78BD_642F)))
    }
}

/// The finaliser of splitmix64: every bit of the input reaches every bit of the output.
fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 30;
    bits = bits.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits ^= bits >> 27;
    bits = bits.wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// One drawn number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw(u64);

impl Draw {
    /// A number below `end`, all equally likely; 0 if there is none.
    pub(crate) fn below(self, end: u32) -> u32 {
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }

    /// Whether an event of this many per thousand happens.
    pub(crate) fn happens(self, per_mille: u32) -> bool {
        self.below(1000) < per_mille
    }

    /// A number from 0 to just below 1.
    pub(crate) fn unit(self) -> f64 {
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly a standard normal number: four uniform ones added up. The tails end at 3.4, which
    /// bounds whatever is made of it.
    fn normal(self) -> f64 {
        let uniform = |shift: u32| f64::from((self.0 >> shift) as u16) / 65_536.0;
        let sum = uniform(0) + uniform(16) + uniform(32) + uniform(48);
        (sum - 2.0) * 3.0_f64.sqrt()
    }

    /// All bits.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// A log-normal distribution within bounds; without a sigma it is a fixed number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) sigma: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) const fn fixed(number: f64) -> Self {
        Self::new(number, 0.0, (number, number))
    }

    pub(crate) const fn new(median: f64, sigma: f64, (least, most): (f64, f64)) -> Self {
        Self {
            median,
            sigma,
            least,
            most,
        }
    }

    /// The same shape around another median.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            least: self.least * factor,
            most: self.most * factor,
            ..self
        }
    }

    pub(crate) fn at(&self, draw: Draw) -> f64 {
        if self.sigma == 0.0 {
            return self.median;
        }
        let number = self.median * (self.sigma * draw.normal()).exp();
        number.clamp(self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_every_argument_and_nothing_else() {
        let chance = Chance::new(7);
        let base = chance.draw(Topic::Kind, 1, 2);
        assert_eq!(base, Chance::new(7).draw(Topic::Kind, 1, 2));
        for other in [
            Chance::new(8).draw(Topic::Kind, 1, 2),
            chance.draw(Topic::Target, 1, 2),
            chance.draw(Topic::Kind, 2, 2),
            chance.draw(Topic::Kind, 1, 3),
            chance.draw(Topic::Kind, 2, 1),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn distributions_have_the_shape_they_claim() {
        let chance = Chance::new(1);
        let draws = |topic| (0..20_000).map(move |number| chance.draw(topic, number, 0));
        let happened = draws(Topic::Fate).filter(|draw| draw.happens(250)).count();
        assert!((4700..5300).contains(&happened), "{happened}");
        let spread = Spread::new(100.0, 1.0, (5.0, 1000.0));
        let mut sizes: Vec<f64> = draws(Topic::Pages).map(|draw| spread.at(draw)).collect();
        sizes.sort_by(f64::total_cmp);
        let (low, middle, high) = (sizes[2000], sizes[10_000], sizes[18_000]);
        assert!((95.0..105.0).contains(&middle), "median {middle}");
        // The tenth and the ninetieth of a log-normal distribution lie 1.28 sigma away.
        assert!((24.0..31.0).contains(&low), "P10 {low}");
        assert!((330.0..400.0).contains(&high), "P90 {high}");
        assert!(draws(Topic::Address).all(|draw| draw.below(3) < 3 && draw.unit() < 1.0));
    }
}
