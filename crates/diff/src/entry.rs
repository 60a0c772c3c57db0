//! What a comparison says: entries, and how much there is of each kind.
//!
//! Owns the shape of the result, which every form is made of. It refuses to know how it is found.

use serde::Serialize;

use crate::edit::PageHunk;
use crate::moves::{MoveCertainty, MoveReason};

/// Pages that an entry names; all are counted.
pub(crate) const MOST_SAMPLES: usize = 10;

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffKind {
    /// Pages that were there and are not.
    Gone,
    /// Pages that are there and were not.
    New,
    /// A page that is under another URL now.
    Moved,
    /// Pages that answer with another status.
    Status,
    /// Redirects that lead elsewhere.
    Redirect,
    /// Pages that say something else.
    Changed,
    /// Images, styles and other files with other bytes.
    File,
}

impl DiffKind {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Gone,
        Self::New,
        Self::Moved,
        Self::Status,
        Self::Redirect,
        Self::Changed,
        Self::File,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::New => "new",
            Self::Moved => "moved",
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::Changed => "changed",
            Self::File => "file",
        }
    }
}

/// What of a page differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffLayer {
    /// Its title.
    Title,
    /// What it says it is about.
    Description,
    /// The URL it wants to be known by.
    Canonical,
    /// What it tells robots.
    Robots,
    /// Where it points.
    Links,
    /// Its images.
    Images,
    /// Its words.
    Text,
    /// Its elements.
    Structure,
}

impl DiffLayer {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Title,
        Self::Description,
        Self::Canonical,
        Self::Robots,
        Self::Links,
        Self::Images,
        Self::Text,
        Self::Structure,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Canonical => "canonical",
            Self::Robots => "robots",
            Self::Links => "links",
            Self::Images => "images",
            Self::Text => "text",
            Self::Structure => "structure",
        }
    }

    pub(crate) const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A run that is replaced, added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffEdit {
    /// Where it stands in the page: `footer p`.
    pub place: String,
    /// What of the page it touches.
    pub layers: Vec<DiffLayer>,
    /// The words that stood there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub removed: String,
    /// The words that stand there now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub added: String,
    /// Targets that are not linked there any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links_removed: Vec<String>,
    /// Targets that are linked there now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links_added: Vec<String>,
}

impl DiffEdit {
    pub(crate) fn from_hunk(hunk: &PageHunk) -> Self {
        Self {
            place: hunk.region.clone(),
            layers: hunk.layers().collect(),
            removed: hunk.removed.clone(),
            added: hunk.added.clone(),
            links_removed: hunk.links_removed.clone(),
            links_added: hunk.links_added.clone(),
        }
    }

    /// Bytes of what it says.
    pub(crate) fn length(&self) -> usize {
        let links = self.links_removed.iter().chain(&self.links_added);
        self.removed.len() + self.added.len() + links.map(String::len).sum::<usize>()
    }
}

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffEntry {
    /// What it is about.
    pub kind: DiffKind,
    /// How many pages it is on.
    pub pages: u64,
    /// Their URLs now, or then if they are gone; the first of them if there are many.
    pub urls: Vec<String>,
    /// The URL, status or target then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The URL, status or target now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How sure a move is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<MoveCertainty>,
    /// What a move is known by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<MoveReason>,
    /// What of the pages differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<DiffLayer>,
    /// The words differ from page to page; those of the first page are shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub varies: bool,
    /// What was replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<DiffEdit>,
}

impl DiffEntry {
    /// An entry about one page.
    pub(crate) fn new(kind: DiffKind) -> Self {
        Self {
            kind,
            pages: 1,
            urls: Vec::new(),
            from: None,
            to: None,
            certainty: None,
            reason: None,
            layers: Vec::new(),
            varies: false,
            edits: Vec::new(),
        }
    }

    /// An entry about one URL.
    pub(crate) fn about(kind: DiffKind, url: impl Into<String>) -> Self {
        Self {
            urls: vec![url.into()],
            ..Self::new(kind)
        }
    }

    /// Takes over what was replaced.
    pub(crate) fn show(&mut self, edits: Vec<DiffEdit>) {
        let is_touched = |layer: &DiffLayer| edits.iter().any(|edit| edit.layers.contains(layer));
        self.layers = DiffLayer::ALL.into_iter().filter(is_touched).collect();
        self.edits = edits;
    }
}

/// How much of the two crawls is what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DiffCounts {
    /// Pages that were there both times and could be compared.
    pub compared: u64,
    /// Of these, pages that say the same, byte for byte.
    pub same: u64,
    /// Pages with a change that counts.
    pub changed: u64,
    /// Pages of which nothing differs but noise.
    pub noise: u64,
    /// Pages of which nothing differs but links to pages that are gone, new or moved.
    pub linked: u64,
    /// Pages with other bytes that say the same: comments, scripts, attributes.
    pub unseen: u64,
    /// Images and other files with other bytes.
    pub files: u64,
    /// Pages that were there and are not, and have no new address.
    pub gone: u64,
    /// Pages that are there and were not, and had no old address.
    pub new: u64,
    /// Pages under another URL.
    pub moved: u64,
    /// Pages with another status.
    pub status: u64,
    /// Redirects that lead elsewhere.
    pub redirects: u64,
    /// Pages that could not be read then or now, and are compared with nothing.
    pub unreadable: u64,
    /// Pages that one of the crawls never asked for.
    pub unasked: u64,
    /// Entries that are counted and not shown.
    pub left_out: u64,
}

/// The counts that `--update-from` makes of the same crawls: of payloads, whatever they say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PayloadCounts {
    /// There now, and not then.
    pub new: u64,
    /// There both times, with another payload.
    pub changed: u64,
    /// There both times, with the same payload.
    pub unchanged: u64,
    /// There then, and now answered with 404 or 410, or not found at all.
    pub gone: u64,
}
