//! The resources of a host: their paths, and how they answer.
//!
//! Owns the map between resources and paths, both ways, and the kind of answer each gives.
//! Refuses to know bytes; the painter writes them.

use super::{Ailment, Host, HostId, SitemapKind, Spot, World, push_number};
use crate::internet::chance::Topic;
use crate::internet::shape::{Markup, Paths};

/// Segments of paths that mean nothing.
const SECTIONS: [&str; 8] = [
    "news", "archive", "products", "people", "help", "topics", "blog", "docs",
];
const SLUGS: [&str; 8] = [
    "a-walk",
    "on-rivers",
    "old-maps",
    "red-tea",
    "night-train",
    "the-harbour",
    "snow",
    "letters",
];
/// Paths that robots.txt may forbid.
const PRIVATE: [&str; 6] = [
    "/private/a.html",
    "/private/open/b.html",
    "/area/7/secret",
    "/open/secret",
    "/files/paper.pdf",
    "/files/paper.pdf?download=1",
];
/// Folders of what scripts ask for.
const PART: &[u8] = b"/part/";
const BESIDE: &[u8] = b"/beside/";
/// Statuses of redirects, about as often as they occur.
const MOVES: [u16; 10] = [301, 301, 301, 301, 301, 302, 302, 307, 308, 303];
/// Redirects per thousand that lead to another host.
const AWAY: u32 = 300;
/// The endless growth of a trap starts with a query of this length and doubles.
const GROWTH: usize = 16;
/// Deeper than any crawler should go, the traps end.
const TRAP_END: u8 = 12;

/// What a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    /// A page by number; 0 is the home page.
    Page(u32),
    /// The same page under another query.
    Copy(u32),
    Robots,
    RobotsElsewhere,
    /// 0 is the one that robots.txt lists; others are in its index.
    Sitemap(u8),
    /// A page that only a sitemap names.
    Orphan(u8),
    Private(u8),
    /// A query beyond ASCII.
    Search(u8),
    /// A page that wants a cookie, and the door that gives it.
    Wall,
    WallDoor,
    /// Redirects, one after the other, and in circles.
    Chain(u8),
    Circle(u8),
    /// Paths that grow by a session number at each step.
    Session(u8),
    /// Queries that double at each step.
    Growth(u8),
    /// One day after the other, for ever.
    Calendar(u32),
    /// Whatever is wrong with the host.
    Ailing,
    /// Something that a page is made of.
    Asset,
    /// The links of a page, which its script asks for.
    Part(u32),
    /// What the script of a page of another host asks for: host and page.
    Beside(u32, u32),
    Missing,
}

/// How a resource answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    Content(u16),
    Moved(u16, Spot),
    Ailing(Ailment),
}

impl World {
    /// Appends path and query of a resource.
    pub(crate) fn write_path(&self, host: &Host, resource: Resource, out: &mut Vec<u8>) {
        let word = host.charset.word();
        match resource {
            Resource::Page(number) => self.write_page_path(host, number, out),
            Resource::Copy(number) => {
                let start = out.len();
                self.write_page_path(host, number, out);
                let has_query = out[start..].contains(&b'?');
                out.extend_from_slice(if has_query { b"&ref=1" } else { b"?ref=1" });
            }
            Resource::Robots => out.extend_from_slice(b"/robots.txt"),
            Resource::RobotsElsewhere => out.extend_from_slice(b"/robots-are-here.txt"),
            Resource::Sitemap(0) => out.extend_from_slice(b"/sitemap.xml"),
            Resource::Sitemap(number) => numbered(out, "/sitemaps/", number, ".xml.gz"),
            Resource::Orphan(number) => numbered(out, "/orphan/", number, ".html"),
            Resource::Private(number) => {
                let path = PRIVATE[usize::from(number) % PRIVATE.len()];
                out.extend_from_slice(path.as_bytes());
            }
            Resource::Search(number) => {
                out.extend_from_slice(b"/search?q=");
                out.extend_from_slice(word.in_query.as_bytes());
                numbered(out, "&page=", number, "");
            }
            Resource::Wall => out.extend_from_slice(b"/members/"),
            Resource::WallDoor => out.extend_from_slice(b"/login?next=members"),
            Resource::Chain(number) => numbered(out, "/chain/", number, ""),
            Resource::Circle(number) => numbered(out, "/circle/", number, ""),
            Resource::Session(level) => self.write_session(host.id, level, out),
            Resource::Growth(level) => {
                out.extend_from_slice(b"/grow?x=");
                out.resize(out.len() + (GROWTH << level.min(TRAP_END)), b'x');
            }
            Resource::Calendar(day) => {
                out.extend_from_slice(b"/calendar/");
                push_number(out, u64::from(day));
            }
            Resource::Ailing => out.extend_from_slice(b"/ailing"),
            Resource::Asset => out.extend_from_slice(b"/asset/a.css"),
            Resource::Part(number) => {
                out.extend_from_slice(PART);
                push_number(out, u64::from(number));
            }
            Resource::Beside(host, number) => {
                out.extend_from_slice(BESIDE);
                push_number(out, u64::from(host));
                out.push(b'/');
                push_number(out, u64::from(number));
            }
            Resource::Missing => out.extend_from_slice(b"/missing"),
        }
    }

    fn write_page_path(&self, host: &Host, number: u32, out: &mut Vec<u8>) {
        if number == 0 {
            return out.push(b'/');
        }
        match self.shape.paths {
            Paths::Numbers => {
                out.extend_from_slice(b"/p");
                push_number(out, u64::from(number));
            }
            Paths::Tree => {
                let parent = (number - 1) / host.fan;
                if parent > 0 {
                    self.write_page_path(host, parent, out);
                }
                out.push(b'/');
                push_number(out, u64::from((number - 1) % host.fan));
            }
            Paths::Mixed => write_mixed(host, number, out),
        }
    }

    /// `/cart/s123/cart/s456/`: the same segment once more at each level.
    fn write_session(&self, host: HostId, level: u8, out: &mut Vec<u8>) {
        out.push(b'/');
        for step in 0..level.min(TRAP_END) {
            let draw = self
                .chance
                .draw(Topic::Session, u64::from(host.0), u64::from(step));
            out.extend_from_slice(b"cart/s");
            push_number(out, u64::from(draw.below(1_000_000)));
            out.push(b'/');
        }
    }

    /// The resource that a path and query stand for.
    pub(crate) fn locate(&self, host: &Host, target: &[u8]) -> Resource {
        if target == b"/robots.txt" {
            return Resource::Robots;
        }
        if let Some(page) = self.locate_page(host, target) {
            return Resource::Page(page);
        }
        if self.scripted
            && let Some(part) = locate_part(target)
        {
            return part;
        }
        if !self.shape.furnished {
            return Resource::Missing;
        }
        let copied = target
            .strip_suffix(b"?ref=1")
            .or_else(|| target.strip_suffix(b"&ref=1"));
        if let Some(page) = copied.and_then(|target| self.locate_page(host, target)) {
            return Resource::Copy(page);
        }
        if target.starts_with(b"/asset/") {
            return Resource::Asset;
        }
        self.locate_special(host, target)
    }

    /// The only page that the last number in the target could mean, if its path is the target.
    fn locate_page(&self, host: &Host, target: &[u8]) -> Option<u32> {
        if target == b"/" {
            return Some(0);
        }
        let number = match self.shape.paths {
            Paths::Tree => {
                let steps = std::str::from_utf8(target).ok()?.strip_prefix('/')?;
                let mut page = 0_u32;
                for step in steps.split('/') {
                    let step: u32 = step.parse().ok().filter(|step| *step < host.fan)?;
                    page = page.checked_mul(host.fan)?.checked_add(step + 1)?;
                }
                page
            }
            Paths::Numbers | Paths::Mixed => last_number(target)?,
        };
        if number == 0 || number >= host.pages {
            return None;
        }
        let mut path = Vec::with_capacity(target.len());
        self.write_page_path(host, number, &mut path);
        (path == target).then_some(number)
    }

    fn locate_special(&self, host: &Host, target: &[u8]) -> Resource {
        let number = last_number(target).unwrap_or(0);
        let small = u8::try_from(number).unwrap_or(u8::MAX);
        let level = target.windows(5).filter(|part| part == b"cart/").count() as u8;
        let growth = target.len().saturating_sub(b"/grow?x=".len()) / GROWTH;
        let mut candidates = vec![
            Resource::RobotsElsewhere,
            Resource::Sitemap(small),
            Resource::Orphan(small),
            Resource::Search(small),
            Resource::Wall,
            Resource::WallDoor,
        ];
        candidates.extend((0..PRIVATE.len() as u8).map(Resource::Private));
        if self.shape.trapped {
            candidates.extend([
                Resource::Chain(small),
                Resource::Circle(small),
                Resource::Session(level.max(1)),
                Resource::Growth(growth.max(1).ilog2() as u8),
                Resource::Calendar(number),
                Resource::Ailing,
            ]);
        }
        let is_it = |candidate: &Resource| {
            let mut path = Vec::new();
            self.write_path(host, *candidate, &mut path);
            path == target
        };
        candidates
            .into_iter()
            .find(is_it)
            .unwrap_or(Resource::Missing)
    }

    /// How a resource answers, to a client that shows the host's cookie or not.
    pub(crate) fn reaction(&self, host: &Host, spot: Spot, has_cookie: bool) -> Reaction {
        let is_robots = matches!(spot.resource, Resource::Robots | Resource::RobotsElsewhere);
        if host.secure && !spot.secure && !is_robots {
            return Reaction::Moved(
                301,
                Spot {
                    secure: true,
                    ..spot
                },
            );
        }
        let moved = |resource| Reaction::Moved(302, Spot { resource, ..spot });
        match spot.resource {
            Resource::Page(number) | Resource::Copy(number) => self.page_reaction(host, number),
            Resource::Wall if !has_cookie => moved(Resource::WallDoor),
            Resource::WallDoor => moved(Resource::Wall),
            Resource::Chain(number) if number < TRAP_END + 3 => moved(Resource::Chain(number + 1)),
            Resource::Circle(0) => moved(Resource::Circle(1)),
            Resource::Circle(1) => moved(Resource::Circle(0)),
            Resource::Circle(_) => moved(spot.resource),
            Resource::Ailing => match host.ailment {
                Some(ailment) => Reaction::Ailing(ailment),
                None => Reaction::Content(404),
            },
            Resource::Sitemap(number) if number > host.sitemap.last() => Reaction::Content(404),
            Resource::Sitemap(_) if host.sitemap == SitemapKind::None => Reaction::Content(404),
            Resource::Missing => Reaction::Content(404),
            _ => Reaction::Content(200),
        }
    }

    fn page_reaction(&self, host: &Host, number: u32) -> Reaction {
        let has_children = u64::from(host.fan) * u64::from(number) + 1 < u64::from(host.pages);
        if has_children || number == 0 {
            return Reaction::Content(200);
        }
        let (host_key, page_key) = (u64::from(host.id.0), u64::from(number));
        let draw = self.chance.draw(Topic::Kind, host_key, page_key);
        let statuses = &self.shape.statuses;
        let (moved, missing) = (statuses.moved, statuses.moved + statuses.missing);
        match draw.below(1000) {
            kind if kind < moved => {
                let how = MOVES[kind as usize % MOVES.len()];
                Reaction::Moved(how, self.move_target(host, number))
            }
            kind if kind < missing => Reaction::Content(404),
            kind if kind < missing + statuses.gone => Reaction::Content(410),
            _ => Reaction::Content(200),
        }
    }

    /// Every target is reached by other ways too, so that no crawl depends on a redirect.
    fn move_target(&self, host: &Host, number: u32) -> Spot {
        let draw = |topic| {
            self.chance
                .draw(topic, u64::from(host.id.0), u64::from(number))
        };
        if draw(Topic::Elsewhere).happens(AWAY) {
            return self.home(self.popular(draw(Topic::Target)));
        }
        Spot {
            host: host.id,
            secure: host.secure,
            resource: Resource::Page(draw(Topic::Target).below(host.pages)),
        }
    }

    /// Whether markup beyond the ordinary is used.
    pub(crate) fn is_wild(&self) -> bool {
        self.shape.markup == Markup::Wild
    }
}

/// What the script of a page asks for.
fn locate_part(target: &[u8]) -> Option<Resource> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    if let Some(page) = target.strip_prefix(PART) {
        return Some(Resource::Part(number(page)?));
    }
    let asker = target.strip_prefix(BESIDE)?;
    let slash = memchr::memchr(b'/', asker)?;
    let (host, page) = (number(&asker[..slash])?, number(&asker[slash + 1..])?);
    Some(Resource::Beside(host, page))
}

/// Folders, files, a query, letters beyond ASCII, and deep folders, in turn.
fn write_mixed(host: &Host, number: u32, out: &mut Vec<u8>) {
    let section = SECTIONS[(number / 5) as usize % SECTIONS.len()];
    let number = u64::from(number);
    match number % 5 {
        0 => {
            out.push(b'/');
            out.extend_from_slice(section.as_bytes());
            out.push(b'/');
            push_number(out, number);
            out.push(b'/');
        }
        1 => {
            out.push(b'/');
            out.extend_from_slice(section.as_bytes());
            out.push(b'/');
            let slug = SLUGS[(number / 7) as usize % SLUGS.len()];
            out.extend_from_slice(slug.as_bytes());
            out.push(b'-');
            push_number(out, number);
            out.extend_from_slice(b".html");
        }
        2 => {
            out.extend_from_slice(b"/index.php?id=");
            push_number(out, number);
            out.extend_from_slice(b"&copy=yes");
        }
        3 => {
            out.push(b'/');
            out.extend_from_slice(host.charset.word().in_path.as_bytes());
            out.push(b'/');
            push_number(out, number);
        }
        _ => {
            out.extend_from_slice(b"/a/b/");
            out.extend_from_slice(section.as_bytes());
            out.push(b'/');
            push_number(out, number);
            out.extend_from_slice(b".htm");
        }
    }
}

fn numbered(out: &mut Vec<u8>, before: &str, number: u8, after: &str) {
    out.extend_from_slice(before.as_bytes());
    push_number(out, u64::from(number));
    out.extend_from_slice(after.as_bytes());
}

/// The last run of digits.
fn last_number(target: &[u8]) -> Option<u32> {
    let end = target.iter().rposition(u8::is_ascii_digit)? + 1;
    let start = target[..end]
        .iter()
        .rposition(|byte| !byte.is_ascii_digit())
        .map_or(0, |at| at + 1);
    std::str::from_utf8(&target[start..end]).ok()?.parse().ok()
}
