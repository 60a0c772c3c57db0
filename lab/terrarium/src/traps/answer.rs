//! What a generated site answers, and the frame around the content of its pages.
//!
//! Owns the HTML of a whole document. Refuses to know what the content is. Invariant: links stand
//! in the order in which they are given, since some crawlers take the first ones first.

use std::fmt::Write as _;

use super::words::Language;

/// An answer of a generated site.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Where a redirect leads.
    pub location: Option<String>,
    /// The page.
    pub html: String,
}

impl Answer {
    pub(super) fn page(html: String) -> Self {
        Self {
            status: 200,
            location: None,
            html,
        }
    }

    pub(super) fn missing(target: &str) -> Self {
        Self {
            status: 404,
            location: None,
            html: format!(
                "<!doctype html><title>Not found</title><h1>Not found</h1><p>{target}</p>"
            ),
        }
    }
}

/// A link: where it leads and what it says.
pub(super) type Link = (String, String);

/// The content of a page, without what the whole site has in common.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) title: String,
    /// What stands in the head, such as a refresh.
    pub(super) head: String,
    pub(super) main: String,
}

/// A whole page.
pub(super) struct Document<'a> {
    pub(super) language: &'a Language,
    pub(super) content: Content,
    /// Links before everything else.
    pub(super) top: Vec<Link>,
    /// The navigation that all pages have.
    pub(super) navigation: Vec<Link>,
    /// Links at the end.
    pub(super) bottom: Vec<Link>,
    pub(super) footer: String,
}

impl Document<'_> {
    pub(super) fn html(self) -> String {
        let Content { title, head, main } = self.content;
        let code = self.language.code;
        let mut html = format!(
            "<!doctype html>\n<html lang=\"{code}\">\n<head><meta charset=\"utf-8\">\
             <title>{title}</title>{head}</head>\n<body>\n"
        );
        if !self.top.is_empty() {
            html += &list("tools", &self.top);
        }
        html += &list("navigation", &self.navigation);
        let _ = write!(html, "<main>\n{main}</main>\n");
        if !self.bottom.is_empty() {
            html += &list("more", &self.bottom);
        }
        let _ = write!(html, "<footer>{}</footer>\n</body>\n</html>\n", self.footer);
        html
    }
}

/// Links as a list of this class.
pub(super) fn list(class: &str, links: &[Link]) -> String {
    let mut html = format!("<ul class=\"{class}\">\n");
    for link in links {
        let _ = writeln!(html, "<li>{}</li>", anchor(link));
    }
    html + "</ul>\n"
}

/// One link.
pub(super) fn anchor((href, label): &Link) -> String {
    format!("<a href=\"{}\">{label}</a>", href.replace('&', "&amp;"))
}
