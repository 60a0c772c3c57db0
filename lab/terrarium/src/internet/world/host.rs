//! One host and everything that is true of it.
//!
//! Owns the drawing of a host's properties. They are drawn anew whenever they are needed: that is
//! cheaper than to keep them. Invariant: the first hosts work, so that a crawl can begin.

use super::robots::Flavour;
use super::{Ailment, Charset, HostId, ROOTS, World};
use crate::internet::chance::{Spread, Topic};
use crate::internet::shape::{Markup, Paths};

/// Children of a page where the profile does not say otherwise.
const FAN: u32 = 5;
/// Degree and depth of the trees of `RandomNamedGraphServer`.
const DEGREE: Spread = Spread::new(50.0, 0.5, (5.0, 200.0));
const DEPTH: Spread = Spread::new(3.0, 0.5, (1.0, 3.0));
/// Sitemaps in an index.
const INDEXED: u8 = 2;
/// Hosts per thousand with a sitemap, with an index of sitemaps, with a cookie wall, ailing.
const SITEMAPS: u32 = 600;
const INDEXES: u32 = 200;
const WALLS: u32 = 50;
const WALLS_AMONG_TRAPS: u32 = 250;
const AILING: u32 = 800;
/// Hosts per thousand whose pages are in the two old encodings, and in UTF-16.
const WESTERN: u32 = 150;
const CYRILLIC: u32 = 80;
const WIDE: u32 = 40;

/// What becomes of those who ask a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It answers.
    Open,
    NoSuchName,
    NameServerFails,
    NameServerSilent,
    Refused,
    BadCertificate,
    /// robots.txt disallows everything.
    Closed,
    /// robots.txt cannot be read.
    RobotsBroken,
}

impl Fate {
    /// Whether links to pages deep inside are worth while: one request settles them all, or none
    /// is made. A host that fails again and again would be asked for each of them instead.
    pub(crate) fn settles_at_once(self) -> bool {
        matches!(
            self,
            Self::Open | Self::NoSuchName | Self::Closed | Self::RobotsBroken
        )
    }
}

/// Where a host lists its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SitemapKind {
    None,
    Plain,
    Index,
}

impl SitemapKind {
    /// The last number that a sitemap of the host has.
    pub(crate) fn last(self) -> u8 {
        match self {
            Self::None | Self::Plain => 0,
            Self::Index => INDEXED,
        }
    }
}

/// The properties of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    pub(crate) id: HostId,
    pub(crate) fate: Fate,
    /// The scheme that the host prefers; over the other it redirects.
    pub(crate) secure: bool,
    pub(crate) pages: u32,
    /// Page n leads to the pages n × fan + 1 and up.
    pub(crate) fan: u32,
    pub(crate) charset: Charset,
    pub(crate) flavour: Flavour,
    pub(crate) sitemap: SitemapKind,
    pub(crate) ailment: Option<Ailment>,
    pub(crate) has_wall: bool,
}

impl World {
    pub(crate) fn host(&self, id: HostId) -> Host {
        let shape = &self.shape;
        let key = u64::from(id.0);
        let draw = |topic| self.chance.draw(topic, key, 0);
        let fate = self.fate(id);
        let flavour = self.flavour(id, fate);
        let (pages, fan) = self.size(id);
        let is_plain = !shape.furnished || self.is_farm(id);
        let sitemap = match draw(Topic::Sitemap).below(1000) {
            _ if is_plain || !flavour.lists_sitemaps() => SitemapKind::None,
            0..INDEXES => SitemapKind::Index,
            INDEXES..SITEMAPS => SitemapKind::Plain,
            _ => SitemapKind::None,
        };
        let walls = if shape.trapped {
            WALLS_AMONG_TRAPS
        } else {
            WALLS
        };
        let is_open = fate == Fate::Open;
        let ails = shape.trapped && !is_plain && is_open && draw(Topic::Ailment).happens(AILING);
        Host {
            id,
            fate,
            secure: self.is_secure(id),
            pages,
            fan,
            charset: self.charset(id),
            flavour,
            sitemap,
            // By number rather than by chance, so that few hosts show every ailment.
            ailment: ails.then(|| Ailment::pick(id.0)),
            has_wall: !is_plain && draw(Topic::Wall).happens(walls),
        }
    }

    pub(crate) fn is_secure(&self, id: HostId) -> bool {
        let draw = self.chance.draw(Topic::Secure, u64::from(id.0), 0);
        !self.is_farm(id) && draw.happens(self.shape.secure)
    }

    pub(crate) fn fate(&self, id: HostId) -> Fate {
        if id.0 < ROOTS || self.is_farm(id) {
            return Fate::Open;
        }
        let fates = &self.shape.fates;
        let mut left = self
            .chance
            .draw(Topic::Fate, u64::from(id.0), 0)
            .below(1000);
        for (share, fate) in [
            (fates.no_such_name, Fate::NoSuchName),
            (fates.name_server_fails, Fate::NameServerFails),
            (fates.name_server_silent, Fate::NameServerSilent),
            (fates.refused, Fate::Refused),
            (fates.bad_certificate, Fate::BadCertificate),
            (fates.closed, Fate::Closed),
            (fates.robots_broken, Fate::RobotsBroken),
        ] {
            if left < share {
                let is_moot = fate == Fate::BadCertificate && !self.is_secure(id);
                return if is_moot { Fate::Open } else { fate };
            }
            left -= share;
        }
        Fate::Open
    }

    /// Whether the first question for a name gets lost.
    pub(crate) fn loses_question(&self, id: HostId) -> bool {
        let draw = self.chance.draw(Topic::Fate, u64::from(id.0), 1);
        id.0 >= ROOTS && draw.happens(self.shape.fates.question_lost)
    }

    /// How many pages there are, and how many children each has.
    fn size(&self, id: HostId) -> (u32, u32) {
        if self.is_farm(id) {
            return (1, FAN);
        }
        let draw = |topic| self.chance.draw(topic, u64::from(id.0), 0);
        let pages = self.shape.pages.at(draw(Topic::Pages)) as u32;
        if self.shape.paths != Paths::Tree {
            return (pages.max(1), FAN);
        }
        let fan = DEGREE.at(draw(Topic::Fan)) as u32;
        let depth = DEPTH.at(draw(Topic::Depth)).round() as u32;
        let tree = (0..=depth).map(|level| fan.pow(level)).sum::<u32>();
        (pages.clamp(1, tree), fan)
    }

    fn charset(&self, id: HostId) -> Charset {
        if self.shape.paths != Paths::Mixed {
            return Charset::Utf8;
        }
        let draw = self.chance.draw(Topic::Charset, u64::from(id.0), 0);
        let is_wild = self.shape.markup == Markup::Wild;
        match draw.below(1000) {
            0..WESTERN => Charset::Windows1252,
            number if number < WESTERN + CYRILLIC => Charset::Windows1251,
            number if is_wild && number < WESTERN + CYRILLIC + WIDE => Charset::Utf16,
            _ => Charset::Utf8,
        }
    }
}
