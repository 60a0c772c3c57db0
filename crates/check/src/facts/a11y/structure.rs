//! Lists, headings, tables and landmarks.
//!
//! Owns what must stand in what, and in which order headings come. It refuses to know names.

use std::collections::HashSet;

use clewline_html::{Name, Namespace};

use super::known::{ARIA_LEVEL, FRAMESET, HEADERS, HTML, LANG, MAIN, TD, TH};
use super::{Marks, Open};
use crate::facts::element::Element;
use crate::facts::fragment_hash;

/// Cells of a table that are kept.
const MOST_CELLS: usize = 20_000;

/// The cells of a table that have ids or refer to others.
#[derive(Debug, Default)]
pub(super) struct TableCells {
    ids: HashSet<u64>,
    /// A reference, the id of the cell that it stands in, and its byte.
    headers: Vec<(u64, Option<u64>, u32)>,
}

#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that a page has or lacks"
)]
pub(super) struct StructureDraft {
    pub(super) has_title: bool,
    has_main: bool,
    has_language: bool,
    has_frames: bool,
    root: u32,
    level: u32,
}

/// The level of a heading; nothing if it is none, 0 if its level is not told.
pub(super) fn heading_level(element: &Element<'_, '_>, open: &Open) -> Option<u32> {
    let by_name = match element.name {
        Name::H1 => 1,
        Name::H2 => 2,
        Name::H3 => 3,
        Name::H4 => 4,
        Name::H5 => 5,
        Name::H6 => 6,
        _ => 0,
    };
    if element.namespace != Namespace::Html {
        return None;
    }
    let level = element.value(ARIA_LEVEL);
    let level = level.and_then(|level| level.trim().parse::<u32>().ok());
    let level = level.filter(|level| *level > 0);
    match open.role {
        Some("heading") | None if by_name > 0 => Some(level.unwrap_or(by_name)),
        Some("heading") => Some(level.unwrap_or(2)),
        _ => None,
    }
}

impl StructureDraft {
    pub(super) fn judge(
        &mut self,
        element: &Element<'_, '_>,
        open: &mut Open,
        around: &mut [Open],
        marks: &mut Marks,
    ) {
        if element.namespace != Namespace::Html {
            return;
        }
        child(around.last_mut(), open, element);
        match element.name {
            HTML => {
                self.root = element.byte;
                self.has_language |= element.says(LANG);
            }
            FRAMESET => self.has_frames = true,
            Name::LI if !open.has_role => item(element, around, marks),
            Name::DT | Name::DD if !open.has_role => description(element, around, marks),
            Name::TABLE => open.table = Some(Box::default()),
            TD | TH => cell(element, open, around),
            _ => {}
        }
        self.has_main |= element.name == MAIN && open.role.is_none() || open.role == Some("main");
        self.heading(element, open, marks);
    }

    fn heading(&mut self, element: &Element<'_, '_>, open: &Open, marks: &mut Marks) {
        let Some(level) = heading_level(element, open) else {
            return;
        };
        if self.level > 0 && level > self.level + 1 {
            let subject = format!("h{} after h{}", level, self.level);
            marks.push("a11y/heading-order", element.byte, &subject);
        }
        self.level = level;
    }

    /// What is asked of the page as a whole.
    pub(super) fn finish(&self, marks: &mut Marks) {
        if !self.has_language {
            marks.push("a11y/html-has-lang", self.root, "");
        }
        if !self.has_title {
            marks.push("a11y/document-title", self.root, "");
        }
        if !self.has_main && !self.has_frames {
            marks.push("a11y/landmark-one-main", self.root, "");
        }
    }
}

/// Tells a list what stands in it.
pub(super) fn child(parent: Option<&mut Open>, open: &Open, element: &Element<'_, '_>) {
    let Some(list) = parent.filter(|parent| is_list(parent)) else {
        return;
    };
    let is_item = if open.has_role {
        open.role == Some("listitem")
    } else {
        element.name == Name::LI
    };
    let is_allowed = is_item
        || open.is_hidden
        || matches!(element.name, Name::SCRIPT | Name::STYLE | Name::TEMPLATE)
        || element.name == Name::LINK
        || element.name == Name::META;
    list.is_bad_list |= !is_allowed;
}

/// Words that stand in a list beside its items.
pub(super) fn text(open: &mut Open) {
    open.is_bad_list |= is_list(open);
}

/// An element is complete.
pub(super) fn closed(open: &Open, marks: &mut Marks) {
    if open.is_bad_list && !open.is_hidden {
        marks.push("a11y/list", open.byte, "");
    }
    let Some(table) = &open.table else { return };
    let mut headers = table.headers.iter();
    let astray =
        headers.find(|(header, own, _)| Some(*header) == *own || !table.ids.contains(header));
    if astray.is_some() {
        marks.push("a11y/td-headers-attr", open.byte, "");
    }
}

/// A list whose children must be items.
const fn is_list(open: &Open) -> bool {
    matches!(open.name, Name::UL | Name::OL) && !open.has_role && !open.is_hidden
}

/// `listitem`: an item stands in a list.
fn item(element: &Element<'_, '_>, around: &[Open], marks: &mut Marks) {
    let is_in_list = around.last().is_some_and(|parent| match parent.role {
        Some(role) => role == "list",
        None => matches!(parent.name, Name::UL | Name::OL | Name::MENU),
    });
    if !is_in_list {
        marks.push("a11y/listitem", element.byte, "");
    }
}

/// `dlitem`: terms and descriptions stand in a list of them, or in a `div` in one.
fn description(element: &Element<'_, '_>, around: &[Open], marks: &mut Marks) {
    let is_plain = |role| matches!(role, None | Some("none" | "presentation"));
    let mut parents = around.iter().rev();
    let mut parent = parents.next();
    if parent.is_some_and(|parent| parent.name == Name::DIV && is_plain(parent.role)) {
        parent = parents.next();
    }
    let is_in_list = parent.is_some_and(|parent| {
        parent.name == Name::DL && (is_plain(parent.role) || parent.role == Some("list"))
    });
    if !is_in_list {
        marks.push("a11y/dlitem", element.byte, "");
    }
}

/// Tells the table around a cell of its id and of what it refers to.
fn cell(element: &Element<'_, '_>, open: &Open, around: &mut [Open]) {
    let mut tables = around.iter_mut().rev();
    let Some(table) = tables.find_map(|open| open.table.as_mut()) else {
        return;
    };
    if table.ids.len() + table.headers.len() >= MOST_CELLS {
        return;
    }
    table.ids.extend(open.id);
    if let Some(headers) = element.value(HEADERS) {
        let headers = headers.split_ascii_whitespace().take(100);
        let headers = headers.map(|header| (fragment_hash(header), open.id, element.byte));
        table.headers.extend(headers);
    }
}
