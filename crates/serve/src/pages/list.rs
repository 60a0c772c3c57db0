//! Long lists: a filter above, heads that sort, a cursor below. The server sorts and filters.
//!
//! Owns the form, the heads and the way to the next rows. It refuses to know the rows. Invariant:
//! every link keeps the filter and the order that are in force.

use clewline_job::escape;
use clewline_job::look::Icon;
use clewline_job::report::figures;

use super::element::push;

/// Which end of a column comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortOrder {
    /// The least first.
    Ascending,
    /// The greatest first.
    Descending,
}

impl SortOrder {
    /// As the parameter `order` says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ascending => "up",
            Self::Descending => "down",
        }
    }

    const fn turned(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// A value that the rows can be narrowed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListChoice {
    /// As the parameter says it.
    pub value: String,
    /// As people read it.
    pub name: String,
}

/// How a list is asked for, and how much of it is there. Parameters: `q`, `is`, `sort`, `order`
/// (`up` or `down`) and `from`, a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListView {
    /// The path of the page.
    pub path: String,
    /// The words that rows are filtered by.
    pub text: String,
    /// What the choices are about: `Waiting for`, `Outcome`.
    pub choice_name: &'static str,
    /// The values of `is`.
    pub choices: Vec<ListChoice>,
    /// The chosen value of `is`; empty for all.
    pub chosen: String,
    /// The column that orders the rows.
    pub sort: String,
    /// Its direction.
    pub order: SortOrder,
    /// Rows that match in all, where they were counted.
    pub total: Option<u64>,
    /// The cursor of the next rows.
    pub next: Option<String>,
    /// These are not the first rows.
    pub is_later: bool,
}

/// A column: its name, its parameter (empty if it does not sort), and whether it holds numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListColumn {
    pub(super) name: &'static str,
    pub(super) sort: &'static str,
    pub(super) is_number: bool,
}

impl ListColumn {
    pub(super) const fn text(name: &'static str, sort: &'static str) -> Self {
        Self {
            name,
            sort,
            is_number: false,
        }
    }

    pub(super) const fn number(name: &'static str, sort: &'static str) -> Self {
        Self {
            name,
            sort,
            is_number: true,
        }
    }
}

impl ListView {
    /// The filter and the count.
    pub(super) fn tools(&self, noun: &str, shown: usize) -> String {
        let mut out = format!(
            "<form class=tools action=\"{}\" role=search>\
             <label class=wide>Filter <input name=q type=search value=\"{}\" \
             placeholder=\"Part of a name\" autocomplete=off spellcheck=false></label>",
            escape::html(&self.path),
            escape::html(&self.text)
        );
        if !self.choices.is_empty() {
            push(
                &mut out,
                format_args!(
                    "<label>{} <select name=is><option value=\"\">all</option>",
                    escape::html(self.choice_name)
                ),
            );
            for choice in &self.choices {
                let selected = if choice.value == self.chosen {
                    " selected"
                } else {
                    ""
                };
                push(
                    &mut out,
                    format_args!(
                        "<option value=\"{}\"{selected}>{}</option>",
                        escape::html(&choice.value),
                        escape::html(&choice.name)
                    ),
                );
            }
            out.push_str("</select></label>");
        }
        let count = match self.total {
            Some(total) => figures::plural(total, noun),
            None => format!("{} shown", figures::plural(shown as u64, noun)),
        };
        push(
            &mut out,
            format_args!(
                "<input type=hidden name=sort value=\"{}\"><input type=hidden name=order value={}>\
                 <button>Filter</button><output>{count}</output></form>",
                escape::html(&self.sort),
                self.order.word()
            ),
        );
        out
    }

    /// The heads of the columns.
    pub(super) fn heads(&self, columns: &[ListColumn]) -> String {
        let mut out = String::from("<thead><tr>");
        for column in columns {
            let class = if column.is_number { " class=n" } else { "" };
            if column.sort.is_empty() {
                push(
                    &mut out,
                    format_args!("<th scope=col{class}>{}", column.name),
                );
                continue;
            }
            let is_sorted = self.sort == column.sort;
            let order = match (is_sorted, column.is_number) {
                (true, _) => self.order.turned(),
                (false, true) => SortOrder::Descending,
                (false, false) => SortOrder::Ascending,
            };
            let mark = match (is_sorted, self.order) {
                (false, _) => "",
                (true, SortOrder::Ascending) => " aria-sort=ascending",
                (true, SortOrder::Descending) => " aria-sort=descending",
            };
            let link = self.link(column.sort, order, None);
            push(
                &mut out,
                format_args!(
                    "<th scope=col{class}{mark}><a href=\"{}\">{}</a>",
                    escape::html(&link),
                    column.name
                ),
            );
        }
        out.push_str("</thead>");
        out
    }

    /// The way to the first and to the next rows.
    pub(super) fn pager(&self) -> String {
        let mut out = String::new();
        if self.is_later {
            let link = self.link(&self.sort, self.order, None);
            push(
                &mut out,
                format_args!(
                    "<a class=button href=\"{}\">{} First rows</a>",
                    escape::html(&link),
                    Icon::Previous.svg()
                ),
            );
        }
        if let Some(next) = &self.next {
            let link = self.link(&self.sort, self.order, Some(next));
            push(
                &mut out,
                format_args!(
                    "<a class=button rel=next href=\"{}\">Next rows {}</a>",
                    escape::html(&link),
                    Icon::Next.svg()
                ),
            );
        }
        if out.is_empty() {
            return out;
        }
        format!("<nav class=pager aria-label=Rows>{out}</nav>")
    }

    fn link(&self, sort: &str, order: SortOrder, from: Option<&str>) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("q", &self.text), ("is", &self.chosen)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.append_pair("sort", sort);
        query.append_pair("order", order.word());
        if let Some(from) = from {
            query.append_pair("from", from);
        }
        format!("{}?{}", self.path, query.finish())
    }
}
