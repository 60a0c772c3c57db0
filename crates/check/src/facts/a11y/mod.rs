//! What people with a screen reader or a keyboard stumble over, as far as it needs no layout.
//!
//! Owns the stack of open elements and what is hidden; the rules are in modules of their own and have
//! the ids and verdicts of axe-core (docs/check-accessibility.md lists where they differ). It refuses
//! to know style sheets: what only they hide counts as shown. Invariants: one pass; the stack and all
//! lists are bounded; what is deeper than [`MOST_OPEN`] is not judged.

mod aria;
mod metas;
mod names;
mod structure;

use clewline_html::{Name, Namespace};

use self::names::NameDraft;
use self::structure::StructureDraft;
use super::element::Element;
use super::{MOST_MARKS, PageMark, cut, fragment_hash};

/// Elements that may be open in each other.
const MOST_OPEN: usize = 1_024;
/// Characters of what tells a mark from others.
const LONGEST_SUBJECT: usize = 200;

/// Names that `clewline-html` has no constants for.
pub(super) mod known {
    use clewline_html::Name;

    macro_rules! names {
        ($($constant:ident = $text:literal),+ $(,)?) => {
            $(pub(in crate::facts) const $constant: Name = Name::new($text.as_bytes());)+
        };
    }

    names! {
        ALT = "alt",
        ARIA_HIDDEN = "aria-hidden",
        ARIA_LABEL = "aria-label",
        ARIA_LABELLEDBY = "aria-labelledby",
        ARIA_LEVEL = "aria-level",
        BUTTON = "button",
        COL = "col",
        DETAILS = "details",
        DIALOG = "dialog",
        FIELDSET = "fieldset",
        FIGURE = "figure",
        FOR = "for",
        FOOTER = "footer",
        FORM = "form",
        FRAMESET = "frameset",
        HEADER = "header",
        HEADERS = "headers",
        HIDDEN = "hidden",
        HTML = "html",
        ID = "id",
        INPUT = "input",
        LABEL = "label",
        LANG = "lang",
        MAIN = "main",
        MAP = "map",
        NAV = "nav",
        OPEN = "open",
        OPTGROUP = "optgroup",
        OPTION = "option",
        PARAM = "param",
        PLACEHOLDER = "placeholder",
        ROLE = "role",
        SECTION = "section",
        ARTICLE = "article",
        ASIDE = "aside",
        ADDRESS = "address",
        SELECT = "select",
        SUMMARY = "summary",
        TABINDEX = "tabindex",
        TBODY = "tbody",
        TD = "td",
        TFOOT = "tfoot",
        TH = "th",
        THEAD = "thead",
        TR = "tr",
        WBR = "wbr",
    }
}

/// An open element.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that an element is or has"
)]
struct Open {
    name: Name,
    byte: u32,
    is_hidden: bool,
    /// Its first word of `role`, if it is a role.
    role: Option<&'static str>,
    has_role: bool,
    /// It is a `details` that is closed, whose content is hidden but for its summary.
    is_closed_details: bool,
    /// It has words, or images that say some, that are not hidden …
    has_words: bool,
    /// … or that are.
    has_any_words: bool,
    id: Option<u64>,
    /// What is judged when it is closed.
    awaited: Option<usize>,
    /// Form fields within this label.
    fields: Vec<usize>,
    /// What this label is for.
    label_for: Option<u64>,
    /// A list that has something else than items.
    is_bad_list: bool,
    table: Option<Box<structure::TableCells>>,
}

/// Gathers the marks of accessibility.
#[derive(Debug, Default)]
pub(super) struct AccessibilityDraft {
    open: Vec<Open>,
    /// Elements that are open beyond the bound.
    beyond: usize,
    /// Open elements of which nothing is shown: `noscript` and `template`.
    inert: usize,
    marks: Marks,
    names: NameDraft,
    structure: StructureDraft,
}

/// Marks up to their bound.
#[derive(Debug, Default)]
struct Marks(Vec<PageMark>);

impl Marks {
    fn push(&mut self, rule: &'static str, byte: u32, subject: &str) {
        if self.0.len() < MOST_MARKS {
            let subject = cut(subject, LONGEST_SUBJECT).into();
            self.0.push(PageMark {
                rule,
                byte,
                subject,
            });
        }
    }
}

impl AccessibilityDraft {
    pub(super) fn start(&mut self, element: &Element<'_, '_>) {
        let is_foreign = matches!(element.namespace, Namespace::Svg | Namespace::MathMl);
        if matches!(element.name, Name::NOSCRIPT | Name::TEMPLATE) && !is_foreign {
            self.inert += 1;
            return;
        }
        if self.inert > 0 {
            return;
        }
        if !is_foreign {
            self.close_implied(element.name);
        }
        if self.beyond > 0 || self.open.len() >= MOST_OPEN {
            self.beyond += usize::from(!is_void(element.name));
            return;
        }
        let mut open = self.opened(element);
        if !element.is_ignored() {
            self.judge(element, &mut open);
        }
        if is_void(element.name) || is_foreign && element.is_self_closing {
            self.closed(&open);
        } else {
            self.open.push(open);
        }
    }

    fn opened(&self, element: &Element<'_, '_>) -> Open {
        let role = element.value(known::ROLE);
        let id = element.value(known::ID).filter(|id| !id.is_empty());
        Open {
            name: element.name,
            byte: element.byte,
            is_hidden: self.hides(element),
            role: role.as_deref().and_then(aria::role_of),
            has_role: role.is_some_and(|role| !role.trim().is_empty()),
            is_closed_details: element.name == known::DETAILS && !element.has(known::OPEN),
            id: id.map(|id| fragment_hash(&id)),
            ..Open::default()
        }
    }

    /// Whether an element is shown to nobody.
    fn hides(&self, element: &Element<'_, '_>) -> bool {
        let parent = self.open.last();
        let is_within = parent.is_some_and(|parent| {
            parent.is_hidden || parent.is_closed_details && element.name != known::SUMMARY
        });
        is_within
            || element.has(known::HIDDEN)
            || element.is(known::ARIA_HIDDEN, "true")
            || element.name == known::DIALOG && !element.has(known::OPEN)
            || element.name == known::INPUT && element.is(Name::TYPE, "hidden")
            || element
                .value(Name::STYLE)
                .is_some_and(|style| hides_by_style(&style))
    }

    fn judge(&mut self, element: &Element<'_, '_>, open: &mut Open) {
        metas::judge(element, &mut self.marks);
        self.names.note(element, open.is_hidden);
        if open.is_hidden && element.name != Name::AREA {
            return;
        }
        aria::judge(element, &mut self.marks);
        self.names.judge(element, open, &mut self.open);
        self.structure
            .judge(element, open, &mut self.open, &mut self.marks);
    }

    pub(super) fn end(&mut self, name: Name) {
        if matches!(name, Name::NOSCRIPT | Name::TEMPLATE) {
            self.inert = self.inert.saturating_sub(1);
            return;
        }
        if self.inert > 0 {
            return;
        }
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let is_cell = |name: Name| matches!(name, known::TD | known::TH | Name::TABLE);
        let mut from_top = self.open.iter().rev();
        let is_found =
            |open: &Open| open.name == name || is_cell(open.name) && !is_table_part(name);
        let Some(depth) = from_top.position(is_found) else {
            return;
        };
        let place = self.open.len() - 1 - depth;
        if self.open[place].name == name {
            self.close_to(place);
        }
    }

    /// Closes all elements from a place of the stack on.
    fn close_to(&mut self, place: usize) {
        while self.open.len() > place
            && let Some(open) = self.open.pop()
        {
            self.closed(&open);
        }
    }

    fn closed(&mut self, open: &Open) {
        self.names.closed(open);
        structure::closed(open, &mut self.marks);
        if let Some(parent) = self.open.last_mut() {
            parent.has_words |= open.has_words && !open.is_hidden;
            parent.has_any_words |= open.has_any_words;
        }
    }

    /// A text between tags, decoded.
    pub(super) fn text(&mut self, text: &str) {
        if self.inert > 0 || self.beyond > 0 || text.trim().is_empty() {
            return;
        }
        if let Some(open) = self.open.last_mut() {
            open.has_words |= !open.is_hidden;
            open.has_any_words = true;
            structure::text(open);
        }
    }

    /// The text of an element that holds text only.
    pub(super) fn raw(&mut self, name: Name, text: &str) {
        if name == Name::TITLE && self.inert == 0 && !text.trim().is_empty() {
            self.structure.has_title = true;
        }
    }

    /// Closes what is open, and is done.
    pub(super) fn finish(mut self) -> Vec<PageMark> {
        self.close_to(0);
        self.structure.finish(&mut self.marks);
        self.names.finish(&mut self.marks);
        self.marks.0
    }

    /// Closes what a start tag closes (HTML section 13.1.2.4, the usual cases).
    fn close_implied(&mut self, name: Name) {
        use known::{OPTGROUP, OPTION, TBODY, TD, TFOOT, TH, THEAD, TR};
        let (closed, within): (&[Name], &[Name]) = match name {
            Name::LI => (&[Name::LI], &[Name::UL, Name::OL, Name::MENU]),
            Name::DT | Name::DD => (&[Name::DT, Name::DD], &[Name::DL]),
            OPTION => (&[OPTION], &[known::SELECT]),
            OPTGROUP => (&[OPTION, OPTGROUP], &[known::SELECT]),
            TD | TH => (&[TD, TH], &[TR, Name::TABLE]),
            TR => (&[TR], &[Name::TABLE]),
            TBODY | THEAD | TFOOT => (&[TBODY, THEAD, TFOOT], &[Name::TABLE]),
            Name::A => (&[Name::A], &[Name::TABLE, TD, TH]),
            _ => (&[], &[]),
        };
        if name == Name::P || closes_paragraph(name) {
            self.close_within(&[Name::P], &[Name::TABLE, TD, TH, known::BUTTON]);
        }
        if !closed.is_empty() {
            self.close_within(closed, within);
        }
    }

    fn close_within(&mut self, closed: &[Name], within: &[Name]) {
        let mut outermost = None;
        for (place, open) in self.open.iter().enumerate().rev() {
            if within.contains(&open.name) || open.name == Name::TABLE {
                break;
            }
            if closed.contains(&open.name) {
                outermost = Some(place);
                break;
            }
        }
        if let Some(place) = outermost {
            self.close_to(place);
        }
    }
}

fn hides_by_style(style: &str) -> bool {
    if !style.contains("none") && !style.contains("hidden") {
        return false;
    }
    let mut declarations = style.split(';').filter_map(|one| one.split_once(':'));
    declarations.any(|(property, value)| {
        let value = value.trim().trim_end_matches("!important").trim_end();
        let is = |name: &str, hides: &str| {
            property.trim().eq_ignore_ascii_case(name) && value.eq_ignore_ascii_case(hides)
        };
        is("display", "none") || is("visibility", "hidden")
    })
}

/// Elements without an end tag.
pub(super) const fn is_void(name: Name) -> bool {
    matches!(
        name,
        Name::AREA
            | Name::BASE
            | Name::BR
            | known::COL
            | Name::EMBED
            | Name::HR
            | Name::IMG
            | Name::IMAGE
            | Name::INPUT
            | Name::LINK
            | Name::META
            | known::PARAM
            | Name::SOURCE
            | Name::TRACK
            | known::WBR
            | Name::FRAME
    )
}

const fn is_table_part(name: Name) -> bool {
    use known::{TBODY, TFOOT, THEAD, TR};
    matches!(name, TBODY | TFOOT | THEAD | TR | Name::TABLE)
}

/// Elements that cannot stand in a paragraph.
const fn closes_paragraph(name: Name) -> bool {
    matches!(
        name,
        Name::BLOCKQUOTE
            | Name::CENTER
            | Name::DIV
            | Name::DL
            | Name::DT
            | Name::DD
            | Name::LI
            | Name::H1
            | Name::H2
            | Name::H3
            | Name::H4
            | Name::H5
            | Name::H6
            | Name::HR
            | Name::MENU
            | Name::OL
            | Name::PRE
            | Name::TABLE
            | Name::UL
            | known::ADDRESS
            | known::ARTICLE
            | known::ASIDE
            | known::DETAILS
            | known::FIELDSET
            | known::FIGURE
            | known::FOOTER
            | known::FORM
            | known::HEADER
            | known::MAIN
            | known::NAV
            | known::SECTION
    )
}
