//! Sites that look like a trap and are none: all of their pages are real.
//!
//! Owns which resemblances there are, and how pages without an order of their own are linked.
//! Each resemblance has a module that drafts its pages. Invariant: a site has 300 to 600 pages,
//! each reachable from the home page, and no link of it leads anywhere else.

mod archive;
mod catalogue;
mod forum;
mod gallery;
mod git;
mod packages;
mod reference;
mod timetable;
mod translations;
mod versions;

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::answer::{Answer, Content, Document, Link};
use super::words::{ENGLISH, LANGUAGES, Language};
use super::{Found, Generated, found_in, mounted};
use crate::referee::Log;
use crate::web::Web;

/// What a site is, and which trap it looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resemblance {
    /// A catalogue whose pages differ in one number.
    Catalogue,
    /// A dated archive: `/2019/03/17/title`, with pages for months and days.
    Archive,
    /// A forum: threads with several pages, all with the same parameters.
    Forum,
    /// A view of a repository, with `h=` and `id=`.
    Git,
    /// The same pages in four languages.
    Translations,
    /// Pictures with a number and no text.
    Gallery,
    /// An index of packages and their releases.
    Packages,
    /// Numbered pages of a reference.
    Reference,
    /// The same documentation for several versions of a program.
    Versions,
    /// A timetable: lines, directions and days in the query.
    Timetable,
}

impl Resemblance {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Catalogue,
        Self::Archive,
        Self::Forum,
        Self::Git,
        Self::Translations,
        Self::Gallery,
        Self::Packages,
        Self::Reference,
        Self::Versions,
        Self::Timetable,
    ];

    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Catalogue => "catalogue",
            Self::Archive => "archive",
            Self::Forum => "forum",
            Self::Git => "git",
            Self::Translations => "translations",
            Self::Gallery => "gallery",
            Self::Packages => "packages",
            Self::Reference => "reference",
            Self::Versions => "versions",
            Self::Timetable => "timetable",
        }
    }

    fn drafts(self, seed: u64) -> Vec<Draft> {
        match self {
            Self::Catalogue => catalogue::drafts(seed),
            Self::Archive => archive::drafts(seed),
            Self::Forum => forum::drafts(seed),
            Self::Git => git::drafts(seed),
            Self::Translations => translations::drafts(seed),
            Self::Gallery => gallery::drafts(seed),
            Self::Packages => packages::drafts(seed),
            Self::Reference => reference::drafts(seed),
            Self::Versions => versions::drafts(seed),
            Self::Timetable => timetable::drafts(seed),
        }
    }
}

impl fmt::Display for Resemblance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Resemblance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("there is no look-alike {text}"))
    }
}

/// A page before it is written out.
struct Draft {
    target: String,
    title: String,
    main: String,
    links: Vec<Link>,
    /// Index of the language.
    language: usize,
}

impl Draft {
    fn new(target: impl Into<String>, title: impl Into<String>, main: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            title: title.into(),
            main: main.into(),
            links: Vec::new(),
            language: 0,
        }
    }

    /// A link to this page.
    fn link(&self) -> Link {
        (self.target.clone(), self.title.clone())
    }
}

/// How pages in a row are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linking {
    /// By index pages; the pages themselves link home only.
    Index,
    /// Each page to the next one, and nothing else.
    Next,
    /// Both.
    Both,
}

impl Linking {
    fn from_seed(seed: u64) -> Self {
        match seed % 3 {
            0 => Self::Index,
            1 => Self::Next,
            _ => Self::Both,
        }
    }

    /// Adds a home page, index pages with these addresses, and links.
    fn weave(
        self,
        mut rows: Vec<Draft>,
        title: &str,
        index: impl Fn(usize) -> String,
    ) -> Vec<Draft> {
        const ROWS: usize = 25;
        let links: Vec<Link> = rows.iter().map(Draft::link).collect();
        let mut home = Draft::new("/", title, format!("<h1>{title}</h1>\n"));
        let mut pages = Vec::new();
        if self != Self::Index {
            home.links.push(links[0].clone());
            for (row, next) in rows.iter_mut().zip(&links[1..]) {
                row.links.push((next.0.clone(), "next".to_owned()));
            }
        }
        if self != Self::Next {
            let count = links.len().div_ceil(ROWS);
            home.links.push((index(1), "Index".to_owned()));
            for (number, part) in (1..).zip(links.chunks(ROWS)) {
                let text = format!("Index, page {number} of {count}");
                let mut page = Draft::new(index(number), &text, format!("<h1>{text}</h1>\n"));
                page.links = part.to_vec();
                if number < count {
                    page.links.push((index(number + 1), "next".to_owned()));
                }
                pages.push(page);
            }
        }
        [vec![home], pages, rows].concat_drafts()
    }
}

/// Joins lists of drafts, which are not copied.
trait ConcatDrafts {
    fn concat_drafts(self) -> Vec<Draft>;
}

impl<const N: usize> ConcatDrafts for [Vec<Draft>; N] {
    fn concat_drafts(self) -> Vec<Draft> {
        self.into_iter().flatten().collect()
    }
}

/// A site whose pages are all real.
#[derive(Debug)]
pub struct LookAlike {
    name: String,
    targets: Vec<String>,
    pages: HashMap<String, (usize, String)>,
}

impl LookAlike {
    /// The site of this resemblance and seed. Seeds differ in their texts, and in how pages are
    /// linked: by an index, each with the next only, or both.
    ///
    /// # Panics
    /// When two pages have one address.
    pub fn new(kind: Resemblance, seed: u64) -> Arc<Self> {
        let drafts = kind.drafts(seed);
        let targets: Vec<String> = drafts.iter().map(|draft| draft.target.clone()).collect();
        let mut pages = HashMap::new();
        for (number, draft) in drafts.into_iter().enumerate() {
            let target = draft.target.clone();
            let twice = pages.insert(target, (number, written(draft)));
            assert!(twice.is_none(), "two pages of {kind} have one address");
        }
        Arc::new(Self {
            name: format!("{kind}.test"),
            targets,
            pages,
        })
    }

    /// Its host name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The targets of its pages, the home page first.
    pub fn real_pages(&self) -> Vec<String> {
        self.targets.clone()
    }

    /// What it answers.
    pub fn answer(&self, authority: &str, target: &str) -> Answer {
        Generated::answer(self, authority, target)
    }

    /// Adds the site to a web.
    #[must_use]
    pub fn mount(self: &Arc<Self>, web: Web) -> Web {
        mounted(web, self)
    }

    /// How many of its pages the first requests found.
    pub fn found(&self, log: &Log, within: usize) -> Found {
        found_in(self, log, within)
    }

    /// The targets of its pages that were never asked for.
    pub fn missing(&self, log: &Log) -> Vec<String> {
        let asked = log.paths(&self.name);
        let targets = self.targets.iter();
        targets
            .filter(|target| !asked.contains(target))
            .cloned()
            .collect()
    }
}

impl Generated for LookAlike {
    fn answer(&self, _: &str, target: &str) -> Answer {
        match self.pages.get(target) {
            Some((_, html)) => Answer::page(html.clone()),
            None => Answer::missing(target),
        }
    }

    fn page_at(&self, host: &str, target: &str) -> Option<usize> {
        let page = self.pages.get(target).filter(|_| host == self.name);
        page.map(|(number, _)| *number)
    }

    fn is_real(&self, host: &str, target: &str) -> bool {
        self.page_at(host, target).is_some()
    }

    fn real_count(&self) -> usize {
        self.targets.len()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

fn written(draft: Draft) -> String {
    let language: &Language = LANGUAGES.get(draft.language).unwrap_or(ENGLISH);
    let document = Document {
        language,
        content: Content {
            title: draft.title,
            head: String::new(),
            main: draft.main,
        },
        top: Vec::new(),
        navigation: vec![("/".to_owned(), "Home".to_owned())],
        bottom: draft.links,
        footer: String::new(),
    };
    document.html()
}
