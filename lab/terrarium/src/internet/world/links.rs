//! Where pages lead.
//!
//! Owns the graph. Two trees make sure that everything can be reached: each home page leads to
//! the home pages of other hosts, and each page to pages of its own host; the rest of the links
//! are drawn. Invariant: links are resolved targets; how they are written is the painter's.

use super::host::{Fate, Host};
use super::{HOST_FAN, HostId, Reaction, Resource, Spot, World};
use crate::internet::chance::{Draw, Topic};
use crate::internet::shape::Markup;

/// Links per thousand that name a page by another query.
const COPIES: u64 = 20;
/// Links to other hosts per thousand that go to a page deep inside.
const DEEP: u32 = 400;
/// Links to other hosts per thousand that use http for a host with https.
const INSECURE: u32 = 50;
/// Pages per thousand with a canonical link, and with one to another page.
const CANONICAL: u32 = 670;
const CANONICAL_ELSEWHERE: u32 = 80;
/// Links of a page of spam.
const SPAM_LINKS: u32 = 12;
/// So many hosts that cannot be read are stepped over for one page.
const MOST_SKIPPED: usize = 64;

/// What an element a link stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Anchor,
    Area,
    Frame,
    Next,
    Alternate,
    Canonical,
    Refresh,
    /// Marked so that crawlers leave it alone.
    Nofollow,
}

/// One link of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) to: Spot,
    pub(crate) how: How,
}

impl World {
    /// The links of a resource that answers with content, in the order of the page.
    pub(crate) fn links(&self, host: &Host, resource: Resource, out: &mut Vec<Link>) {
        out.clear();
        match resource {
            Resource::Page(number) | Resource::Copy(number) => {
                if self.is_farm(host.id) {
                    self.spam(host, out);
                } else {
                    self.page_links(host, number, out);
                }
            }
            other => Self::special_links(host, other, out),
        }
    }

    fn page_links(&self, host: &Host, number: u32, out: &mut Vec<Link>) {
        let here = |resource| Spot {
            host: host.id,
            secure: host.secure,
            resource,
        };
        let page = |number| Resource::Page(number);
        let (host_key, page_key) = (u64::from(host.id.0), u64::from(number));
        let draw = |topic| self.chance.draw(topic, host_key, page_key);
        if self.shape.furnished && draw(Topic::Canonical).happens(CANONICAL) {
            let is_elsewhere = draw(Topic::Style).happens(CANONICAL_ELSEWHERE);
            let target = if is_elsewhere {
                draw(Topic::Target).below(host.pages)
            } else {
                number
            };
            out.push(Link {
                to: here(page(target)),
                how: How::Canonical,
            });
        }
        let children = (1..=host.fan)
            .filter_map(|child| number.checked_mul(host.fan)?.checked_add(child))
            .take_while(|child| *child < host.pages);
        let internal = self.shape.internal.at(draw(Topic::InternalLinks)) as usize;
        for child in children {
            let how = self.how(draw(Topic::Style), child);
            out.push(Link {
                to: here(page(child)),
                how,
            });
        }
        for index in out.len()..internal {
            let key = page_key << 20 | index as u64;
            let target = self.chance.draw(Topic::Internal, host_key, key);
            // The page is chosen by the upper bits of the number, this by the lower ones.
            let is_copy = self.shape.furnished && target.bits() % 1000 < COPIES;
            let number = target.below(host.pages);
            let resource = if is_copy && self.is_content(host, number) {
                Resource::Copy(number)
            } else {
                page(number)
            };
            out.push(Link {
                to: here(resource),
                how: self.how(target, index as u32),
            });
        }
        self.external_links(host, number, out);
        if number == 0 {
            self.neighbours(host.id, out);
            self.furniture(host, out);
        }
    }

    fn is_content(&self, host: &Host, number: u32) -> bool {
        let spot = Spot {
            host: host.id,
            secure: host.secure,
            resource: Resource::Page(number),
        };
        self.reaction(host, spot, true) == Reaction::Content(200)
    }

    /// Most links are anchors, in every profile; elsewhere some are not.
    fn how(&self, draw: Draw, turn: u32) -> How {
        if self.shape.markup == Markup::Plain {
            return How::Anchor;
        }
        match (draw.bits() ^ u64::from(turn)) % 40 {
            0 => How::Area,
            // A browser asks for the frames of a page itself.
            1 if !self.scripted => How::Frame,
            2 => How::Next,
            3 => How::Alternate,
            4 if self.is_wild() => How::Refresh,
            _ => How::Anchor,
        }
    }

    fn external_links(&self, host: &Host, number: u32, out: &mut Vec<Link>) {
        let (host_key, page_key) = (u64::from(host.id.0), u64::from(number));
        let count = self.chance.draw(Topic::ExternalLinks, host_key, page_key);
        for index in 0..self.shape.external.at(count) as u64 {
            let key = page_key << 20 | index;
            let target = self.popular(self.chance.draw(Topic::External, host_key, key));
            let depth = self.chance.draw(Topic::Depths, host_key, key);
            let to = self.external(target, depth);
            let how = How::Anchor;
            out.push(Link { to, how });
        }
    }

    fn external(&self, target: HostId, depth: Draw) -> Spot {
        let home = self.home(target);
        let fate = self.fate(target);
        if fate == Fate::Open && home.secure && depth.happens(INSECURE) {
            return Spot {
                secure: false,
                ..home
            };
        }
        if !(depth.below(1000) >= 1000 - DEEP && fate.settles_at_once()) {
            return home;
        }
        let pages = self.host(target).pages;
        let number = (depth.bits() as u32) % pages;
        Spot {
            resource: Resource::Page(number),
            ..home
        }
    }

    /// A host by popularity, which falls with its number: log-uniform, about as Zipf has it.
    pub(super) fn popular(&self, draw: Draw) -> HostId {
        let hosts = f64::from(self.hosts);
        let number = hosts.powf(draw.unit()) as u32;
        HostId(number.saturating_sub(1).min(self.hosts - 1))
    }

    /// The home pages that this one has to lead to, so that every host is reached. Where one of
    /// them cannot be read, those that it should have led to come as well.
    fn neighbours(&self, host: HostId, out: &mut Vec<Link>) {
        let mut hosts = vec![host];
        let mut skipped = 0;
        while let Some(parent) = hosts.pop() {
            let first = u64::from(parent.0) * u64::from(HOST_FAN) + 1;
            for child in first..first + u64::from(HOST_FAN) {
                let Some(child) = u32::try_from(child)
                    .ok()
                    .filter(|child| *child < self.hosts)
                else {
                    break;
                };
                let child = HostId(child);
                let to = self.home(child);
                let how = How::Anchor;
                out.push(Link { to, how });
                if self.fate(child) != Fate::Open && skipped < MOST_SKIPPED {
                    skipped += 1;
                    hosts.push(child);
                }
            }
        }
    }

    /// A page of spam leads to others of its kind, and nowhere else except by the tree of hosts.
    fn spam(&self, host: &Host, out: &mut Vec<Link>) {
        let farm = self.hosts - self.farm_start();
        for index in 0..SPAM_LINKS {
            let draw = self
                .chance
                .draw(Topic::External, u64::from(host.id.0), u64::from(index));
            let target = HostId(self.farm_start() + draw.below(farm));
            let to = self.home(target);
            let how = How::Anchor;
            out.push(Link { to, how });
        }
        self.neighbours(host.id, out);
    }
}
