//! What is true of a link.
//!
//! Owns where each link leads and what a perfect checker would say of it.

use super::hosts::{HostHabit, LinkShape};

/// What is true of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTruth {
    /// It is alive.
    Live,
    /// It is alive, for people: robots are walled off.
    Walled,
    /// It is alive, and robots.txt forbids to ask.
    Forbidden,
    /// Its host answers that it is there, and there is nothing.
    Soft,
    /// It leads nowhere.
    Dead(LinkDeath),
}

/// How a link is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDeath {
    /// 404.
    NotFound,
    /// 410.
    Gone,
    /// No such name.
    NoName,
    /// Nobody listens.
    Refused,
    /// The certificate is for another name.
    WrongCertificate,
    /// Redirects in a circle.
    Circle,
    /// Every connection is reset.
    Reset,
    /// 500, always.
    ServerFault,
}

impl LinkDeath {
    /// All eight.
    pub const ALL: [Self; 8] = [
        Self::NotFound,
        Self::Gone,
        Self::NoName,
        Self::Refused,
        Self::WrongCertificate,
        Self::Circle,
        Self::Reset,
        Self::ServerFault,
    ];

    /// Whether one look proves it; the others look like a bad day.
    pub const fn is_proven_at_once(self) -> bool {
        !matches!(self, Self::Reset | Self::ServerFault)
    }
}

/// What is true of a link's fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentTruth {
    /// There is none, or it names no element.
    None,
    /// The element is there.
    There,
    /// It is not.
    Missing,
}

/// A link that leads away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebLink {
    /// The URL as it stands in the page, with its fragment.
    pub url: String,
    /// Number of the page that has it.
    pub page: u32,
    /// What is true of it.
    pub truth: LinkTruth,
    /// What is true of its fragment.
    pub fragment: FragmentTruth,
}

impl WebLink {
    /// The URL without its fragment.
    pub fn target(&self) -> &str {
        self.url.split('#').next().unwrap_or_default()
    }
}

impl LinkShape {
    /// A link by its number.
    pub(super) fn link(&self, number: u32) -> WebLink {
        let config = self.config();
        // Some hosts have many links and most have few, as it is.
        let host = if number.is_multiple_of(8) {
            self.below(3, number, config.hosts / 20 + 1)
        } else {
            number % config.hosts.max(1)
        };
        let (origin, path, truth) = self.place(host, number);
        let (fragment, is_there) = self.fragment(number, truth);
        WebLink {
            url: format!("{origin}{path}{fragment}"),
            page: number % config.pages.max(1),
            truth,
            fragment: is_there,
        }
    }

    fn place(&self, host: u32, number: u32) -> (String, String, LinkTruth) {
        let ports = self.ports();
        let live = format!("http://h{host}.test:{}", ports.live);
        let page = format!("/p/{number}");
        match self.habit(host) {
            HostHabit::IsDead(death) => {
                let origin = match death {
                    LinkDeath::NoName => format!("http://h{host}.gone:{}", ports.live),
                    LinkDeath::Refused => format!("http://h{host}.refused:{}", ports.refused),
                    LinkDeath::Reset => format!("http://h{host}.reset:{}", ports.reset),
                    LinkDeath::WrongCertificate => {
                        format!("https://h{host}.certificate:{}", ports.certificate)
                    }
                    _ => live,
                };
                (origin, page, LinkTruth::Dead(death))
            }
            HostHabit::WallsOff(_) => (live, page, LinkTruth::Walled),
            HostHabit::IsSoft if number.is_multiple_of(2) => {
                (live, format!("/gone/{number}"), LinkTruth::Soft)
            }
            HostHabit::Forbids if number.is_multiple_of(2) => {
                (live, format!("/private/{number}"), LinkTruth::Forbidden)
            }
            HostHabit::Plain => match self.below(4, number, 100) {
                0 => (
                    live,
                    format!("/missing/{number}"),
                    LinkTruth::Dead(LinkDeath::NotFound),
                ),
                1..6 => (live, format!("/old/{number}"), LinkTruth::Live),
                6..9 => (live, format!("/file/{number}.pdf"), LinkTruth::Live),
                _ => (live, page, LinkTruth::Live),
            },
            _ => (live, page, LinkTruth::Live),
        }
    }

    /// Every spelling of a fragment, and whether its element is there.
    fn fragment(&self, number: u32, truth: LinkTruth) -> (&'static str, FragmentTruth) {
        let spellings = [
            ("#part-1", FragmentTruth::There),
            ("#s%C3%A4tze", FragmentTruth::There),
            ("#sätze", FragmentTruth::There),
            ("#name-1", FragmentTruth::There),
            ("#gone-1", FragmentTruth::Missing),
            ("#Part-1", FragmentTruth::Missing),
            ("#", FragmentTruth::None),
            ("#top", FragmentTruth::None),
            ("#:~:text=some%20words", FragmentTruth::None),
            ("#!/route", FragmentTruth::None),
            ("#/route", FragmentTruth::None),
        ];
        let (spelling, is_there) = match self.below(5, number, 22) as usize {
            kind @ 0..11 => spellings[kind],
            _ => ("", FragmentTruth::None),
        };
        match truth {
            LinkTruth::Live => (spelling, is_there),
            _ => (spelling, FragmentTruth::None),
        }
    }
}
