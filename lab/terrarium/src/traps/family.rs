//! Sites with a trap.
//!
//! Owns the families, and how a trap stands beside the real pages. Each family's module says
//! which links lead into it and what its pages show. Invariant: real pages link to each other in
//! the same way whatever the family; a trap only adds links.

mod calendar;
mod facets;
mod hosts;
mod loops;
mod past_end;
mod random;
mod refresh;
mod scroll;
mod search;
mod session;
mod soft_404;
mod sort;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::answer::{Answer, Content, Document, Link};
use super::dice::Dice;
use super::real::{Addressing, RealSite};
use super::words::ENGLISH;
use super::{Found, Generated, found_in, is_below, mounted, site_of};
use crate::referee::Log;
use crate::web::Web;

/// A kind of trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// A new session id in the query of links, with each answer.
    SessionQuery,
    /// The same in the path.
    SessionPath,
    /// A shop's filters, in all combinations.
    Facets,
    /// Lists in all orders.
    SortOrders,
    /// Months and days without end.
    Calendar,
    /// Parts of lists after the last one.
    PastTheEnd,
    /// Pages that link to ever new names.
    RandomNames,
    /// Ever new host names of one domain, all with the same site.
    WildcardHosts,
    /// Pages that lead on to a new page by themselves.
    RefreshChain,
    /// Relative links that are answered below the page they stand on.
    RelativePathLoops,
    /// A handful of host names of one domain, all with the same site.
    MirroredHosts,
    /// Addresses that are not there, and say so with status 200.
    Soft404,
    /// Searches that suggest further searches.
    SearchResults,
    /// Lists that are loaded piece by piece and always have a next one.
    InfiniteScroll,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::SessionQuery,
        Self::SessionPath,
        Self::Facets,
        Self::SortOrders,
        Self::Calendar,
        Self::PastTheEnd,
        Self::RandomNames,
        Self::WildcardHosts,
        Self::RefreshChain,
        Self::RelativePathLoops,
        Self::MirroredHosts,
        Self::Soft404,
        Self::SearchResults,
        Self::InfiniteScroll,
    ];

    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionQuery => "session-query",
            Self::SessionPath => "session-path",
            Self::Facets => "facets",
            Self::SortOrders => "sort-orders",
            Self::Calendar => "calendar",
            Self::PastTheEnd => "past-the-end",
            Self::RandomNames => "random-names",
            Self::WildcardHosts => "wildcard-hosts",
            Self::RefreshChain => "refresh-chain",
            Self::RelativePathLoops => "relative-path-loops",
            Self::MirroredHosts => "mirrored-hosts",
            Self::Soft404 => "soft-404",
            Self::SearchResults => "search-results",
            Self::InfiniteScroll => "infinite-scroll",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|family| family.name() == text);
        found.ok_or_else(|| format!("there is no trap {text}"))
    }
}

/// How many pages link into a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Density {
    /// One real page in five, at its end.
    Sparse,
    /// Every page, with several links before all others.
    Dense,
}

impl Density {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sparse, Self::Dense];

    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sparse => "sparse",
            Self::Dense => "dense",
        }
    }

    /// One of two numbers.
    fn of<T>(self, sparse: T, dense: T) -> T {
        match self {
            Self::Sparse => sparse,
            Self::Dense => dense,
        }
    }
}

impl fmt::Display for Density {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Density {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|density| density.name() == text);
        found.ok_or_else(|| format!("there is no density {text}, only sparse and dense"))
    }
}

/// A site of two hundred real pages and a trap.
#[derive(Debug)]
pub struct TrapSite {
    family: Family,
    density: Density,
    seed: u64,
    name: String,
    real: RealSite,
}

/// Where a request leads.
#[derive(Clone, Copy)]
struct Spot<'a> {
    site: &'a TrapSite,
    authority: &'a str,
    target: &'a str,
    /// The real page that stands here, under its own address or another.
    number: Option<usize>,
}

impl Spot<'_> {
    /// The numbers of this page; they do not depend on the port.
    fn dice(&self) -> Dice {
        let host = host_of(self.authority);
        Dice::new(self.site.seed, &format!("{host}{}", self.target))
    }
}

impl TrapSite {
    /// The site of this family, density and seed. Seeds differ in their texts, and in how
    /// addresses are written.
    pub fn new(family: Family, density: Density, seed: u64) -> Arc<Self> {
        let addressing = match seed % 3 {
            0 => Addressing::Numbered,
            1 => Addressing::Clean,
            _ => Addressing::Script,
        };
        Arc::new(Self {
            family,
            density,
            seed,
            name: format!("{family}.test"),
            real: RealSite::new(seed, addressing),
        })
    }

    /// The host name of its real pages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The targets of its real pages, the home page first.
    pub fn real_pages(&self) -> Vec<String> {
        self.real.targets().map(str::to_owned).collect()
    }

    /// What it answers. The authority is the host asked for, with its port.
    pub fn answer(&self, authority: &str, target: &str) -> Answer {
        Generated::answer(self, authority, target)
    }

    /// Whether this is a real page at its own address.
    pub fn is_real(&self, host: &str, target: &str) -> bool {
        Generated::is_real(self, host, target)
    }

    /// The number of the real page whose content stands at an address, be it its own or one of
    /// the trap: a page with another session id is still that page.
    pub fn page_at(&self, host: &str, target: &str) -> Option<usize> {
        Generated::page_at(self, host, target)
    }

    /// Adds the site to a web, with all host names it has.
    #[must_use]
    pub fn mount(self: &Arc<Self>, web: Web) -> Web {
        let names = hosts::names(self).into_iter();
        names.fold(mounted(web, self), |web, name| {
            web.site(&name, site_of(self))
        })
    }

    /// How many real pages the first requests for this site found.
    pub fn found(&self, log: &Log, within: usize) -> Found {
        found_in(self, log, within)
    }

    /// The real page that is written out here, under its own address or one that means the same.
    fn written_at(&self, host: &str, target: &str) -> Option<usize> {
        if !is_below(host, &self.name) {
            return None;
        }
        match self.family {
            Family::SessionQuery | Family::SessionPath => {
                self.real.number(&session::unsigned(self, target))
            }
            Family::RelativePathLoops => loops::page_below(self, target),
            Family::MirroredHosts if !hosts::is_mirror(self, host) => None,
            _ => self.real.number(target),
        }
    }

    /// Which of the family's ways to write addresses this site has.
    fn style(&self) -> usize {
        (self.seed % 3) as usize
    }

    /// Whether a real page links into the trap.
    fn is_entrance(&self, number: usize) -> bool {
        let offset = (self.seed % 5) as usize;
        self.density == Density::Dense || number % 5 == offset
    }

    /// The links into the trap that a page shows.
    fn entries(&self, spot: &Spot) -> Vec<Link> {
        match self.family {
            Family::SessionQuery | Family::SessionPath => session::entries(spot),
            Family::Facets => facets::entries(spot),
            Family::SortOrders => sort::entries(spot),
            Family::Calendar => calendar::entries(spot),
            Family::PastTheEnd => past_end::entries(spot),
            Family::RandomNames => random::entries(spot),
            Family::WildcardHosts => hosts::entries(spot),
            Family::RefreshChain => refresh::entries(spot),
            Family::RelativePathLoops => loops::entries(spot),
            Family::MirroredHosts => hosts::mirror_entries(spot),
            Family::Soft404 => soft_404::entries(spot),
            Family::SearchResults => search::entries(spot),
            Family::InfiniteScroll => scroll::entries(spot),
        }
    }

    /// A page of the trap: its content and the links on into the trap.
    fn inside(&self, spot: &Spot) -> Option<(Content, Vec<Link>)> {
        match self.family {
            Family::SessionQuery
            | Family::SessionPath
            | Family::WildcardHosts
            | Family::MirroredHosts => None,
            Family::Facets => facets::inside(spot),
            Family::SortOrders => sort::inside(spot),
            Family::Calendar => calendar::inside(spot),
            Family::PastTheEnd => past_end::inside(spot),
            Family::RandomNames => random::inside(spot),
            Family::RefreshChain => refresh::inside(spot),
            Family::RelativePathLoops => loops::inside(spot),
            Family::Soft404 => soft_404::inside(spot),
            Family::SearchResults => search::inside(spot),
            Family::InfiniteScroll => scroll::inside(spot),
        }
    }

    /// A link as pages of the trap write it.
    fn changed(&self, spot: &Spot, href: &str) -> String {
        if self.is_real(host_of(spot.authority), spot.target) {
            return href.to_owned();
        }
        match self.family {
            Family::SessionQuery | Family::SessionPath => session::signed(spot, href),
            Family::MirroredHosts => hosts::spread(spot, href),
            _ => href.to_owned(),
        }
    }

    fn real_page(&self, spot: &Spot, number: usize) -> Answer {
        let mut content = self.real.content(number, &|href| self.changed(spot, href));
        match self.family {
            Family::WildcardHosts => hosts::localised(spot, &mut content),
            Family::MirroredHosts => hosts::mirrored(spot, &mut content),
            Family::RelativePathLoops => loops::addressed(spot, &mut content),
            _ => {}
        }
        let is_own = self.is_real(host_of(spot.authority), spot.target);
        let links = if is_own && !self.is_entrance(number) {
            Vec::new()
        } else {
            self.entries(spot)
        };
        self.document(spot, content, links)
    }

    fn document(&self, spot: &Spot, content: Content, links: Vec<Link>) -> Answer {
        let mut dice = spot.dice();
        let (top, bottom) = self
            .density
            .of((Vec::new(), links.clone()), (links, Vec::new()));
        let navigation = self.real.navigation().into_iter();
        let milliseconds = 3 + dice.below(90);
        let document = Document {
            language: ENGLISH,
            content,
            top,
            navigation: navigation
                .map(|(href, label)| (self.changed(spot, &href), label))
                .collect(),
            bottom,
            footer: format!("{} · rendered in {milliseconds} ms", self.real.name()),
        };
        Answer::page(document.html())
    }
}

impl Generated for TrapSite {
    fn answer(&self, authority: &str, target: &str) -> Answer {
        let number = self.written_at(host_of(authority), target);
        let spot = Spot {
            site: self,
            authority,
            target,
            number,
        };
        if let Some(number) = number {
            return self.real_page(&spot, number);
        }
        match self.inside(&spot) {
            Some((content, links)) => self.document(&spot, content, links),
            None => Answer::missing(target),
        }
    }

    fn page_at(&self, host: &str, target: &str) -> Option<usize> {
        let number = self.written_at(host, target);
        match self.family {
            Family::SortOrders => number.or_else(|| sort::article_at(self, target)),
            _ => number,
        }
    }

    fn is_real(&self, host: &str, target: &str) -> bool {
        host == self.name && self.real.number(target).is_some()
    }

    fn real_count(&self) -> usize {
        self.real.targets().count()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

fn host_of(authority: &str) -> &str {
    authority.split(':').next().unwrap_or_default()
}

/// A target with one more parameter.
fn with_parameter(target: &str, parameter: &str) -> String {
    let mark = if target.contains('?') { '&' } else { '?' };
    format!("{target}{mark}{parameter}")
}

/// A target without the parameters of these names, and the values they had, in their order.
fn without_parameters<'a>(target: &'a str, names: &[&str]) -> (String, Vec<(&'a str, &'a str)>) {
    let Some((path, query)) = target.split_once('?') else {
        return (target.to_owned(), Vec::new());
    };
    let (taken, left): (Vec<_>, Vec<_>) = query.split('&').partition(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        names.contains(&name)
    });
    let base = if left.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", left.join("&"))
    };
    let taken = taken.into_iter().filter_map(|pair| pair.split_once('='));
    (base, taken.collect())
}
