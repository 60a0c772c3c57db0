//! The real pages of a site with a trap: a home page, sections with lists in several parts, and
//! articles, some of which are only linked from the article before.
//!
//! Owns their addresses, texts and links. Refuses to know the trap. Invariant: every page is
//! reachable from the home page over real pages only, the last ones after seven hops.

use std::collections::HashMap;
use std::slice;

use super::answer::{Content, Link, anchor, list};
use super::dice::Dice;
use super::words::{ENGLISH, slug};

pub(super) use super::words::capital;

const SECTIONS: usize = 6;
/// Lists of a section, one after another.
pub(super) const LISTS: usize = 4;
/// Articles of a list; the last ones follow from each other.
const ARTICLES: usize = 7;
/// Articles that a list links to.
const LISTED: usize = 5;
const FIXED: [&str; 8] = [
    "Home", "About us", "Contact", "Imprint", "Privacy", "Help", "Press", "Jobs",
];

/// How addresses look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addressing {
    /// `/kitchen/page/2/`, `/kitchen/quiet-kettle-17`.
    Clean,
    /// `/list.php?cat=3&page=2`, `/article.php?id=17`.
    Script,
    /// `/3-kitchen/index2.html`, `/3-kitchen/17-quiet-kettle.html`.
    Numbered,
}

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Fixed,
    List { section: usize, part: usize },
    Article { section: usize },
}

#[derive(Debug)]
struct RealPage {
    target: String,
    title: String,
    kind: Kind,
    links: Vec<usize>,
}

/// The pages of a site.
#[derive(Debug)]
pub(super) struct RealSite {
    seed: u64,
    addressing: Addressing,
    sections: Vec<String>,
    pages: Vec<RealPage>,
    numbers: HashMap<String, usize>,
}

impl RealSite {
    pub(super) fn new(seed: u64, addressing: Addressing) -> Self {
        let mut dice = Dice::new(seed, "sections");
        let mut sections: Vec<String> = Vec::new();
        while sections.len() < SECTIONS {
            let name = ENGLISH.noun(&mut dice).to_owned();
            if !sections.contains(&name) {
                sections.push(name);
            }
        }
        let mut site = Self {
            seed,
            addressing,
            sections,
            pages: Vec::new(),
            numbers: HashMap::new(),
        };
        site.add_pages();
        site.numbers = (site.pages.iter().enumerate())
            .map(|(number, page)| (page.target.clone(), number))
            .collect();
        site
    }

    fn add_pages(&mut self) {
        for (number, name) in FIXED.iter().enumerate() {
            let target = match (number, self.addressing) {
                (0, _) => "/".to_owned(),
                (_, Addressing::Clean) => format!("/{}", slug(name)),
                (_, Addressing::Script) => format!("/page.php?name={}", slug(name)),
                (_, Addressing::Numbered) => format!("/{}.html", slug(name)),
            };
            self.add(target, (*name).to_owned(), Kind::Fixed);
        }
        for section in 0..SECTIONS {
            for part in 0..LISTS {
                let name = capital(&self.sections[section]);
                let title = match part {
                    0 => name,
                    _ => format!("{name}, page {}", part + 1),
                };
                self.add(
                    self.list_target(section, part),
                    title,
                    Kind::List { section, part },
                );
            }
        }
        for number in 0..SECTIONS * LISTS * ARTICLES {
            let section = number / (LISTS * ARTICLES);
            let mut dice = Dice::new(self.seed, &format!("title {number}"));
            let title = ENGLISH.title(&mut dice);
            let target = self.article_target(section, number, &title);
            self.add(target, title, Kind::Article { section });
        }
        for number in 0..self.pages.len() {
            self.pages[number].links = self.links_of(number);
        }
    }

    fn add(&mut self, target: String, title: String, kind: Kind) {
        self.pages.push(RealPage {
            target,
            title,
            kind,
            links: Vec::new(),
        });
    }

    /// Where a part of a section's list is, whether there is one or not.
    pub(super) fn list_target(&self, section: usize, part: usize) -> String {
        let (name, number) = (&self.sections[section], part + 1);
        match (self.addressing, part) {
            (Addressing::Clean, 0) => format!("/{name}/"),
            (Addressing::Clean, _) => format!("/{name}/page/{number}/"),
            (Addressing::Script, 0) => format!("/list.php?cat={section}"),
            (Addressing::Script, _) => format!("/list.php?cat={section}&page={number}"),
            (Addressing::Numbered, 0) => format!("/{section}-{name}/index.html"),
            (Addressing::Numbered, _) => format!("/{section}-{name}/index{number}.html"),
        }
    }

    /// Which part of which section's list this target would be.
    pub(super) fn list_at(&self, target: &str) -> Option<(usize, usize)> {
        let digits: String = match self.addressing {
            Addressing::Clean => target.split("/page/").nth(1)?.trim_end_matches('/').into(),
            Addressing::Script => target.split("&page=").nth(1)?.into(),
            Addressing::Numbered => {
                let tail = target.split("/index").nth(1)?;
                tail.trim_end_matches(".html").into()
            }
        };
        let part = digits.parse::<usize>().ok()?.checked_sub(1)?;
        let section = (0..SECTIONS).find(|section| self.list_target(*section, part) == target)?;
        Some((section, part))
    }

    /// Where an article of this number and title is, whether there is one or not.
    pub(super) fn article_target(&self, section: usize, number: usize, title: &str) -> String {
        let (name, slug) = (&self.sections[section], slug(title));
        match self.addressing {
            Addressing::Clean => format!("/{name}/{slug}-{number}"),
            Addressing::Script => format!("/article.php?id={number}"),
            Addressing::Numbered => format!("/{section}-{name}/{number}-{slug}.html"),
        }
    }

    fn list_number(section: usize, part: usize) -> usize {
        FIXED.len() + section * LISTS + part
    }

    fn article_number(list: usize, place: usize) -> usize {
        FIXED.len() + SECTIONS * LISTS + list * ARTICLES + place
    }

    fn links_of(&self, number: usize) -> Vec<usize> {
        match self.pages[number].kind {
            Kind::Fixed if number == 0 => vec![1, 2],
            Kind::Fixed => vec![(number + 1) % FIXED.len(), (number + 2) % FIXED.len()],
            Kind::List { section, part } => {
                let list = section * LISTS + part;
                let mut links: Vec<usize> = (0..LISTED)
                    .map(|place| Self::article_number(list, place))
                    .collect();
                if part + 1 < LISTS {
                    links.push(Self::list_number(section, part + 1));
                }
                if part > 0 {
                    links.push(Self::list_number(section, part - 1));
                }
                links
            }
            Kind::Article { section } => {
                let index = number - FIXED.len() - SECTIONS * LISTS;
                let (list, place) = (index / ARTICLES, index % ARTICLES);
                let mut dice = Dice::new(self.seed, &format!("related {number}"));
                // What is related was published before and stands further up in the lists.
                let earlier = section * LISTS + dice.below(list % LISTS + 1);
                let mut links = vec![Self::article_number(earlier, dice.below(LISTED))];
                if place + 1 < ARTICLES && place + 1 >= LISTED {
                    links.push(Self::article_number(list, place + 1));
                }
                links.push(Self::list_number(section, 0));
                links
            }
        }
    }

    pub(super) fn sections(&self) -> usize {
        self.sections.len()
    }

    /// The targets of all pages, the home page first.
    pub(super) fn targets(&self) -> impl Iterator<Item = &str> {
        self.pages.iter().map(|page| page.target.as_str())
    }

    /// The number of the page at a target.
    pub(super) fn number(&self, target: &str) -> Option<usize> {
        self.numbers.get(target).copied()
    }

    pub(super) fn kind(&self, number: usize) -> Kind {
        self.pages[number].kind
    }

    pub(super) fn section_name(&self, section: usize) -> String {
        capital(&self.sections[section])
    }

    /// A section to go with a page: its own, or any.
    pub(super) fn section_beside(&self, number: Option<usize>, dice: &mut Dice) -> usize {
        match number.map(|number| self.kind(number)) {
            Some(Kind::List { section, .. } | Kind::Article { section }) => section,
            _ => dice.below(SECTIONS),
        }
    }

    /// The links that all pages have: the home page and the sections.
    pub(super) fn navigation(&self) -> Vec<Link> {
        let sections =
            (0..SECTIONS).map(|section| (self.list_target(section, 0), self.section_name(section)));
        [("/".to_owned(), "Home".to_owned())]
            .into_iter()
            .chain(sections)
            .collect()
    }

    /// The links of a page that not all pages have.
    pub(super) fn links(&self, number: usize) -> Vec<Link> {
        let links = self.pages[number].links.iter();
        links.map(|link| self.link(*link)).collect()
    }

    /// The link to a page.
    pub(super) fn link(&self, number: usize) -> Link {
        let page = &self.pages[number];
        (page.target.clone(), page.title.clone())
    }

    /// Some articles of a section, chosen by chance.
    pub(super) fn some_articles(&self, section: usize, dice: &mut Dice, count: usize) -> Vec<Link> {
        let mut pick = || {
            let list = section * LISTS + dice.below(LISTS);
            self.link(Self::article_number(list, dice.below(LISTED)))
        };
        (0..count).map(|_| pick()).collect()
    }

    /// The content of a page, with links changed by this function.
    pub(super) fn content(&self, number: usize, change: &dyn Fn(&str) -> String) -> Content {
        let page = &self.pages[number];
        let links: Vec<Link> = (self.links(number).into_iter())
            .map(|(href, label)| (change(&href), label))
            .collect();
        let mut dice = Dice::new(self.seed, &format!("text {number}"));
        let title = &page.title;
        let main = if let Kind::List { .. } = page.kind {
            format!("<h1>{title}</h1>\n{}", teasers(&links, &mut dice))
        } else {
            let paragraphs = 2 + dice.below(3);
            let prose = ENGLISH.prose(&mut dice, paragraphs);
            format!("<h1>{title}</h1>\n{prose}{}", list("see-also", &links))
        };
        Content {
            title: format!("{title} – {}", self.name()),
            head: String::new(),
            main,
        }
    }

    /// What the site calls itself.
    pub(super) fn name(&self) -> String {
        let mut dice = Dice::new(self.seed, "name");
        format!(
            "The {} {}",
            capital(&dice.name()),
            capital(ENGLISH.noun(&mut dice))
        )
    }
}

/// A list of links, each with a sentence of its own.
pub(super) fn teasers(links: &[Link], dice: &mut Dice) -> String {
    let items = links
        .iter()
        .map(|link| format!("<li>{} {}</li>\n", anchor(link), ENGLISH.sentence(dice)));
    format!("<ol>\n{}</ol>\n", items.collect::<String>())
}

/// The same for rows that keep their sentence in whatever list they stand.
pub(super) fn own_teasers(seed: u64, links: &[Link]) -> String {
    let row = |link: &Link| teasers(slice::from_ref(link), &mut Dice::new(seed, &link.0));
    links.iter().map(row).collect()
}
