//! What the pages of a site taught about its templates.
//!
//! Owns the judgement of pages (new, varied or the same as before), of templates (asked as usual,
//! asked last, given up) and of places in URLs that do not matter. A template is judged apart for
//! links found on pages that brought something new, which vouch for them, and for links found on
//! pages that did not: a trap is what grows out of pages that bring nothing. Invariants: it takes
//! no more than [`Learner::BYTES`] as text; the same pages in the same order teach the same.

mod bytes;
mod places;
mod record;
#[cfg(test)]
mod tests;

use super::super::entry::Class;
use super::super::job::Look;
use super::memory::{PieceFilter, Sample};
use super::template::{ShapeHashes, UrlShape, in_words, short};
use crate::url::CrawlUrl;

use places::Votes;
use record::TemplateRecord;

/// Stems, first directories and given-up templates that are remembered.
const STEMS: usize = 24;
const DIRECTORIES: usize = 10;
const GIVEN_UP: usize = 4;

/// Pages of a template that are looked at closely, whatever they show.
const FIRST_LOOKS: u8 = 16;
/// One in so many is looked at after that, as long as the site shows nothing suspicious.
const SPOT_CHECK: u32 = 16;
/// What all these looks may cost on a site. Most sites have an end, and a look is a large part of
/// what a page costs.
const LOOKS: u16 = 1024;
/// One page in so many is looked at beyond that.
const SAMPLED: u32 = 256;
/// What a page gives back at the most which leads on and says nothing: a look at 128 small pages,
/// or at four of the largest. The first such page gives back one, and each one that follows
/// twice as much as the one before it: many sites have a few, and a trap has nothing else.
const GIVEN_BACK: u16 = 128;

/// Looks after which a template can be suspect; it is, if none of the last ones brought something.
const JUDGED: u8 = 8;
/// Looks of the last eight that must bring something for a template that nobody vouches for.
const PROVEN: u32 = 3;
/// Looks of the last eight that must bring something where somebody vouches for the template, so
/// that it is trusted without, until it is judged.
const TRUSTED: u32 = 4;
/// Looks that must all bring something, up to the second number of them, for a template that is
/// not blamed for its kin.
const BLAMELESS: (u8, u8) = (4, 6);

/// Points at which a template that grows out of itself is given up: 4,096 pages that are the same
/// and bring ever more, 8,192 that repeat others, 16,384 that vary and bring ever more, or 32,768
/// that are the same and bring something to ask for.
const PATIENCE: u16 = 32_768;
/// Pages that brought something new, from which on a site is known to say different things on
/// different pages. Before that, pages that are alike may be all there is, and count so many times
/// less.
const SPEAKS: u32 = 8;
const LONGER: u16 = 4;
/// Points at which everything that nobody vouches for is given up on a site, and how much each
/// page that brought something adds to them.
const SITE_PATIENCE: u32 = 65_536;
const PATIENCE_FOR_NEW: u32 = 32;

/// Links to its kin, more than those that proved real, at which a template is suspect although
/// its pages say something.
const EXPLODES: u8 = 48;
const MOST_DEBT: u8 = 64;
/// Links that one page pays for which proved real.
const PAYS: u8 = 4;

/// Stands for all templates where URLs are concerned that repeat others.
const REPEATS: u32 = 0xffff_ffff;

/// What the text of a page brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TextVerdict {
    /// Pieces of text that no page said before.
    New,
    /// The same pieces in another choice, or other numbers.
    Varied,
    /// A text that was there before, but for what stands in its own URL.
    Same,
    /// Nobody looked.
    #[default]
    Unknown,
}

/// Templates that grow out of each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stem {
    id: u32,
    /// Links of its pages among themselves that did not prove real.
    debt: u8,
}

/// A template that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    id: u32,
    /// The template in words, as in `/calendar/{n}/{n}`.
    pub template: Box<str>,
    /// Pages of it that were fetched and brought nothing.
    pub alike: u32,
    /// URLs of it that are withheld.
    pub withheld: u32,
}

/// Who stands behind a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LinkSource {
    /// A page that brought something, a sitemap or the user.
    #[default]
    Vouches,
    /// A page that brought nothing.
    Silent,
    /// Whoever it was: the URL is like one that was asked for.
    Repeats,
}

/// What is known of the templates of one registrable domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Learner {
    pages: u32,
    new: u32,
    /// Rises with pages that bring nothing and falls with those that do.
    trouble: u8,
    /// Points of all templates that nobody vouches for since a page brought something.
    barren: u32,
    /// What looks cost, less what was given back.
    looks: u16,
    /// Pages in a row that said nothing new and led on, less those that said nothing at all.
    idle: u8,
    pieces: PieceFilter,
    texts: Sample<8>,
    pairs: Sample<28>,
    directories: Vec<u32>,
    records: Vec<TemplateRecord>,
    stems: Vec<Stem>,
    votes: Vec<Votes>,
    given_up: Vec<GivenUp>,
}

impl Learner {
    /// Bytes of a learner as text, at the most.
    #[cfg(test)]
    pub(super) const BYTES: usize = 2048;

    /// Whether anything is known that could make a difference to a link.
    pub(super) fn is_wary(&self) -> bool {
        self.trouble > 0
            || !self.given_up.is_empty()
            || self.stems.iter().any(|stem| stem.debt >= EXPLODES)
    }

    fn id(&self, shape: &UrlShape, source: LinkSource) -> u32 {
        id_of(self.hashes(shape).template & !1, source)
    }

    /// The template without the name of its first directory, where that counts and somebody
    /// vouches for the URL. What was not judged yet is judged by it: a trap that makes up
    /// directories has a new template on each page.
    fn id_without_directory(&self, shape: &UrlShape, source: LinkSource) -> Option<u32> {
        let has_one = source == LinkSource::Vouches && self.counts_directory(shape);
        has_one.then_some(shape.unnamed.template & !1)
    }

    /// Whether the first directory of a URL is one of few.
    fn counts_directory(&self, shape: &UrlShape) -> bool {
        let directory = shape.directory;
        directory.is_some_and(|name| self.directories.contains(&name))
    }

    fn hashes<'a>(&self, shape: &'a UrlShape) -> &'a ShapeHashes {
        if self.counts_directory(shape) {
            &shape.named
        } else {
            &shape.unnamed
        }
    }

    /// Whether a page is worth a closer look when it is fetched.
    pub(super) fn wants_look(&self, url: &CrawlUrl, source: LinkSource) -> bool {
        if self.looks >= LOOKS {
            return is_in_sample(url);
        }
        let is_young = || {
            let record = self.record(self.id(&UrlShape::new(url), source));
            record.is_none_or(|record| record.looks < FIRST_LOOKS)
        };
        self.trouble >= JUDGED
            || source != LinkSource::Vouches
            || self.pages.is_multiple_of(SPOT_CHECK)
            || is_young()
    }

    /// Learns from a page that was fetched.
    pub(super) fn learn(&mut self, page: &Fetched<'_>, look: Option<&Look>) -> TextVerdict {
        self.pages = self.pages.saturating_add(1);
        self.note_directory(&page.shape);
        let Some(look) = look else {
            self.pass(page);
            return TextVerdict::Unknown;
        };
        // One look may go beyond the budget; what it costs more is owed.
        let most = self.looks.max(LOOKS.saturating_add(look.cost) - 1);
        self.looks = self.looks.saturating_add(look.cost).min(most);
        self.compare(page.url, look);
        let id = self.id(&page.shape, page.source);
        let verdict = self.verdict(id, look);
        if verdict == TextVerdict::Unknown {
            self.idle = self.idle.saturating_sub(1);
            return verdict;
        }
        if id == REPEATS && verdict == TextVerdict::New {
            self.doubt_places(page.url);
        }
        self.count_asked(id);
        let record = self.record_mut(id);
        record.pages = record.pages.saturating_add(1);
        record.look(verdict == TextVerdict::New);
        if let Some(id) = self.id_without_directory(&page.shape, page.source) {
            self.record_mut(id).look(verdict == TextVerdict::New);
        }
        if verdict == TextVerdict::New {
            self.new = self.new.saturating_add(1);
            self.trouble = self.trouble.saturating_sub(1);
            (self.barren, self.idle) = (0, 0);
            self.credit(page, id);
        } else {
            self.trouble = (self.trouble + 2).min(8 * JUDGED);
        }
        verdict
    }

    /// A page went by that nobody looked at. It is one of its template's all the same, and where
    /// somebody vouches for it, it speaks for the page that led to it.
    fn pass(&mut self, page: &Fetched<'_>) {
        let id = self.id(&page.shape, page.source);
        self.count_asked(id);
        if page.source == LinkSource::Vouches {
            self.credit(page, id);
        }
    }

    fn note_directory(&mut self, shape: &UrlShape) {
        if self.directories.len() < DIRECTORIES
            && let Some(name) = shape.directory
            && !self.directories.contains(&name)
        {
            self.directories.push(name);
        }
    }

    fn verdict(&mut self, id: u32, look: &Look) -> TextVerdict {
        let (kept, new) = self.pieces.meet(&look.pieces);
        let text = (look.text >> 32) as u32;
        let was_met = self.texts.put(text, 0) == Some(Some(0));
        let last = std::mem::replace(&mut self.record_mut(id).text, text);
        let is_same = was_met || last == text;
        if new > 0 && new * 16 >= kept {
            TextVerdict::New
        } else if is_same {
            TextVerdict::Same
        } else if kept == 0 && !look.pieces.is_empty() {
            TextVerdict::Unknown
        } else {
            TextVerdict::Varied
        }
    }

    /// What a URL has in common with its kin: links that lead to more of what their page is.
    pub(super) fn stem(&self, shape: &UrlShape) -> u32 {
        self.hashes(shape).stem
    }

    /// A link of a page to its kin was let in.
    pub(super) fn await_kin(&mut self, shape: &UrlShape) {
        let id = self.id(shape, LinkSource::Vouches);
        for record in self.both_mut(id) {
            record.waiting = record.waiting.saturating_add(1);
        }
    }

    /// The links of a page were let in, so many to its kin that are not repeats.
    pub(super) fn brought(&mut self, shape: &UrlShape, links: u32) {
        if links == 0 && !self.has_debts() {
            return;
        }
        let id = self.stem(shape);
        let known = self.stems.iter().position(|stem| stem.id == id);
        if known.is_none() && links == 0 {
            return;
        }
        let at = known.unwrap_or_else(|| {
            if self.stems.len() == STEMS {
                let least = (0..STEMS).min_by_key(|at| self.stems[*at].debt);
                self.stems.swap_remove(least.unwrap_or(0));
            }
            self.stems.push(Stem { id, debt: 0 });
            self.stems.len() - 1
        });
        let debt = &mut self.stems[at].debt;
        *debt = match links {
            0 => debt.saturating_sub(1),
            _ => (u32::from(*debt) + links).min(MOST_DEBT.into()) as u8,
        };
    }

    /// Whether kin brought links to each other that did not prove real yet.
    fn has_debts(&self) -> bool {
        self.stems.iter().any(|stem| stem.debt > 0)
    }

    /// Whether the links of a page need somebody else to vouch for them, whatever it says.
    pub(super) fn only_grows(&self, shape: &UrlShape) -> bool {
        self.explodes(shape) && !self.is_blameless(self.id(shape, LinkSource::Vouches))
    }

    /// Whether a template has no part in the growth of its kin: its pages lead to others that are
    /// worth it, or they bring something themselves and few of them wait.
    fn is_blameless(&self, vouched: u32) -> bool {
        let (least, most) = BLAMELESS;
        let is_small = |record: &TemplateRecord| {
            let all = u32::from(record.looks.min(most));
            record.looks >= least && record.said_new() >= all && record.waiting < EXPLODES
        };
        self.both(vouched).any(|it| it.is_useful() || is_small(it))
    }

    /// Whether pages bring ever more links to their kin, of which few prove real.
    fn explodes(&self, shape: &UrlShape) -> bool {
        let mut exploding = self.stems.iter().filter(|stem| stem.debt >= EXPLODES);
        // Most sites have none, and every link is asked about.
        let Some(first) = exploding.next() else {
            return false;
        };
        let id = self.stem(shape);
        first.id == id || exploding.any(|stem| stem.id == id)
    }

    /// A page that brought something speaks for the template of the page it was found on, though
    /// not for its kin: those that grow out of each other would speak for each other.
    fn credit(&mut self, page: &Fetched<'_>, own: u32) {
        let Some(found_on) = &page.found_on else {
            return;
        };
        let id = self.id(found_on, LinkSource::Vouches);
        if id == own & !1 {
            return;
        }
        let is_known = self.both(id).next().is_some();
        if !is_known && !self.has_debts() {
            return;
        }
        let stem = self.stem(found_on);
        for known in self.stems.iter_mut().filter(|known| known.id == stem) {
            known.debt = known.debt.saturating_sub(PAYS);
        }
        let is_kin = is_known && stem == self.stem(&page.shape);
        for record in self.both_mut(id) {
            record.points = 0;
            if !is_kin {
                record.credit();
            }
        }
    }

    /// A page that said nothing new and still led to URLs that nobody knew counts against its
    /// template, unless somebody vouched for it: most where the template grows out of itself.
    /// A page that leads nowhere counts for nothing, however many there are: their number ends.
    /// What the user asked for by name is given more time.
    pub(super) fn charge(&mut self, page: &Fetched<'_>, verdict: TextVerdict, is_wanted: bool) {
        if matches!(verdict, TextVerdict::New | TextVerdict::Unknown) {
            return;
        }
        let id = self.id(&page.shape, page.source);
        let is_vouched = id & 1 == 0;
        if verdict == TextVerdict::Same || (verdict == TextVerdict::Varied && !is_vouched) {
            let given_back = 1_u16.checked_shl(self.idle.into()).unwrap_or(GIVEN_BACK);
            self.looks = self.looks.saturating_sub(given_back.min(GIVEN_BACK));
            self.idle = (self.idle + 1).min(8);
        }
        if is_vouched {
            return;
        }
        let found_on = page.found_on.as_ref();
        let found_on = found_on.map(|found_on| self.id(found_on, page.source));
        let grows = found_on == Some(id) && id != REPEATS && self.explodes(&page.shape);
        let (of_template, of_site): (u16, u16) = match verdict {
            TextVerdict::Same if grows => (8, 8),
            TextVerdict::Same if id == REPEATS => (4, 4),
            TextVerdict::Varied if grows => (2, 2),
            TextVerdict::Same => (1, 2),
            TextVerdict::Varied => (0, 1),
            TextVerdict::New | TextVerdict::Unknown => return,
        };
        let share = if is_wanted || self.new < SPEAKS {
            LONGER
        } else {
            1
        };
        let record = self.record_mut(id);
        record.points = record.points.saturating_add(of_template / share);
        self.barren = self.barren.saturating_add(u32::from(of_site / share));
        if self.is_given_up(id) {
            self.name(id, page.url, &page.shape);
        }
    }

    fn is_given_up(&self, id: u32) -> bool {
        let is_silent = id & 1 == 1;
        let patience = SITE_PATIENCE.saturating_add(self.new.saturating_mul(PATIENCE_FOR_NEW));
        let of_site = || self.barren >= patience;
        let of_template = || {
            self.record(id)
                .is_some_and(|record| record.points >= PATIENCE)
        };
        let named = || self.given_up.iter().any(|given_up| given_up.id == id);
        is_silent && (of_template() || of_site() || named())
    }

    /// Puts a template among those that are given up.
    fn name(&mut self, id: u32, url: &CrawlUrl, shape: &UrlShape) -> Option<&mut GivenUp> {
        let known = self.given_up.iter().position(|given_up| given_up.id == id);
        let at = known.or_else(|| {
            let alike = self.record(id).map_or(0, |record| u32::from(record.pages));
            let template = in_words(url, self.counts_directory(shape));
            (self.given_up.len() < GIVEN_UP).then(|| {
                self.given_up.push(GivenUp {
                    id,
                    template,
                    alike,
                    withheld: 0,
                });
                self.given_up.len() - 1
            })
        });
        at.map(|at| &mut self.given_up[at])
    }

    /// How a URL is queued.
    pub(super) fn class(&self, shape: &UrlShape, source: LinkSource) -> Class {
        let vouched = self.id(shape, LinkSource::Vouches);
        let id = id_of(vouched, source);
        if self.is_given_up(id) {
            return Class::Withheld;
        }
        let mut record = self.record(id).copied().unwrap_or_default();
        if !record.is_judged()
            && let Some(id) = self.id_without_directory(shape, source)
            && let Some(of_all) = self.record(id)
        {
            record = *of_all;
        }
        let is_suspect = match source {
            LinkSource::Vouches => {
                record.is_judged() && record.said_new() == 0 && !record.is_useful()
            }
            LinkSource::Silent if !record.is_judged() && self.is_trusted(vouched) => false,
            LinkSource::Silent => record.said_new() < PROVEN,
            LinkSource::Repeats => return Class::Repeat,
        };
        if is_suspect || (self.explodes(shape) && !self.is_blameless(vouched)) {
            Class::Suspect
        } else {
            Class::Normal
        }
    }

    /// Whether a template brings something where somebody vouches for it.
    fn is_trusted(&self, vouched: u32) -> bool {
        let record = self.record(vouched);
        record.is_some_and(|it| it.is_judged() && it.said_new() >= TRUSTED)
    }

    /// Counts a URL that is withheld.
    pub(super) fn count_withheld(&mut self, url: &CrawlUrl, source: LinkSource) {
        let shape = UrlShape::new(url);
        let id = self.id(&shape, source);
        if let Some(given_up) = self.name(id, url, &shape) {
            given_up.withheld = given_up.withheld.saturating_add(1);
        }
    }

    /// What was given up.
    pub(super) fn given_up(&self) -> &[GivenUp] {
        &self.given_up
    }

    /// Why a URL is withheld, if it belongs to a template that was given up.
    pub(super) fn why(&self, url: &CrawlUrl) -> Option<&GivenUp> {
        let of = |id: u32| self.given_up.iter().find(|given_up| given_up.id == id);
        let as_repeat = self.reduced(url).and_then(|_| of(REPEATS));
        of(self.id(&UrlShape::new(url), LinkSource::Silent)).or(as_repeat)
    }
}

/// The record of a template for one of the kinds of links to it.
const fn id_of(vouched: u32, source: LinkSource) -> u32 {
    match source {
        LinkSource::Vouches => vouched,
        LinkSource::Silent => vouched | 1,
        LinkSource::Repeats => REPEATS,
    }
}

/// Whether a page is one of those that are looked at when looks have cost enough. Which ones they
/// are does not depend on the order of the crawl.
fn is_in_sample(url: &CrawlUrl) -> bool {
    short(url.as_str().as_bytes(), 12).is_multiple_of(SAMPLED)
}

/// A page that was fetched, as far as it teaches.
#[derive(Clone, Copy)]
pub(super) struct Fetched<'a> {
    pub(super) url: &'a CrawlUrl,
    pub(super) shape: UrlShape,
    /// The shape of the page that it was found on.
    pub(super) found_on: Option<UrlShape>,
    pub(super) source: LinkSource,
}
