//! Host names and registrable domains.
//!
//! Owns the map between numbers and names. Hosts come in blocks of sixteen: ten have a domain of
//! their own, two share one, four share another. Names lie under `.test` (RFC 6761 section 6.2),
//! where the registrable domain is the label below it.

use super::{HostId, World, push_number};

/// Hosts in a block, and the domains they have.
const BLOCK: u32 = 16;
const DOMAINS: u32 = 12;
/// Hosts of a block that have a domain of their own.
const ALONE: u32 = 10;
/// The last labels of a block: two, then four.
const PAIR: u32 = 12;
const LABELS: [&str; 4] = ["www", "blog", "shop", "docs"];
const FARM: &str = "farm";

impl World {
    /// Appends the name of a host.
    pub(crate) fn write_name(&self, host: HostId, out: &mut Vec<u8>) {
        if self.is_farm(host) {
            out.push(b'x');
            push_number(out, u64::from(host.0 - self.farm_start()));
            out.extend_from_slice(b".farm.test");
            return;
        }
        let (block, place) = (host.0 / BLOCK, host.0 % BLOCK);
        let (label, domain) = match place {
            0..ALONE => (0, place),
            ALONE..PAIR => (place - ALONE, ALONE),
            _ => (place - PAIR, ALONE + 1),
        };
        out.extend_from_slice(LABELS[label as usize].as_bytes());
        out.extend_from_slice(b".site");
        push_number(out, u64::from(block * DOMAINS + domain));
        out.extend_from_slice(b".test");
    }

    pub(crate) fn name(&self, host: HostId) -> String {
        let mut name = Vec::new();
        self.write_name(host, &mut name);
        String::from_utf8(name).expect("names of this web are ASCII")
    }

    /// The host of a name in any case, with or without a final dot.
    pub(crate) fn host_named(&self, name: &[u8]) -> Option<HostId> {
        let mut lower = [0; 64];
        let name = name.strip_suffix(b".").unwrap_or(name);
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let name = std::str::from_utf8(lower).ok()?.strip_suffix(".test")?;
        let (label, site) = name.split_once('.')?;
        let number = if site == FARM {
            self.farm_start().checked_add(number(label, "x")?)?
        } else {
            let domain = number(site, "site")?;
            let label = LABELS.iter().position(|known| *known == label)? as u32;
            let place = match (domain % DOMAINS, label) {
                (alone @ 0..ALONE, 0) => alone,
                (ALONE, 0..2) => ALONE + label,
                (shared, _) if shared > ALONE => PAIR + label,
                _ => return None,
            };
            let number = (domain / DOMAINS).checked_mul(BLOCK)?.checked_add(place)?;
            if number >= self.farm_start() {
                return None;
            }
            number
        };
        (number < self.hosts).then_some(HostId(number))
    }

    /// The number of a host's registrable domain; 0 is the farm's.
    pub(crate) fn domain(&self, host: HostId) -> u32 {
        if self.is_farm(host) {
            return 0;
        }
        let (block, place) = (host.0 / BLOCK, host.0 % BLOCK);
        let domain = match place {
            0..ALONE => place,
            ALONE..PAIR => ALONE,
            _ => ALONE + 1,
        };
        1 + block * DOMAINS + domain
    }

    pub(crate) fn domains(&self) -> u32 {
        1 + (self.hosts / BLOCK + 1) * DOMAINS
    }

    pub(crate) fn domain_name(number: u32) -> String {
        match number.checked_sub(1) {
            Some(site) => format!("site{site}.test"),
            None => "farm.test".to_owned(),
        }
    }
}

/// The number behind a word, in the one way to write it.
fn number(text: &str, word: &str) -> Option<u32> {
    let digits = text.strip_prefix(word)?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let has_zero = digits.len() > 1 && digits.starts_with('0');
    (is_plain && !has_zero).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::super::Ports;
    use super::*;
    use crate::internet::config::{InternetConfig, Profile};

    fn world(profile: Profile, hosts: u32) -> World {
        let config = InternetConfig {
            profile,
            hosts,
            ..InternetConfig::default()
        };
        World::new(&config, Ports::USUAL)
    }

    #[test]
    fn every_name_leads_back_to_its_host() {
        for profile in [Profile::Micro, Profile::Hostile] {
            let world = world(profile, 500);
            for number in 0..500 {
                let (host, name) = (HostId(number), world.name(HostId(number)));
                assert_eq!(world.host_named(name.as_bytes()), Some(host), "{name}");
                assert_eq!(world.host_named(name.to_uppercase().as_bytes()), Some(host));
                let domain = World::domain_name(world.domain(host));
                assert!(name.ends_with(&format!(".{domain}")), "{name} {domain}");
                assert!(world.domain(host) < world.domains());
            }
        }
    }

    #[test]
    fn other_names_lead_nowhere() {
        let world = world(Profile::Micro, 32);
        for name in [
            "site0.test",
            "www.site24.test",
            "blog.site0.test",
            "shop.site10.test",
            "www.site00.test",
            "www.site+1.test",
            "www.site.test",
            "www.site1.example",
            "a.www.site1.test",
            "x0.farm.test",
            "",
            ".",
            &"w".repeat(300),
        ] {
            assert_eq!(world.host_named(name.as_bytes()), None, "{name}");
        }
        assert_eq!(world.host_named(b"docs.site11.test."), Some(HostId(15)));
    }
}
