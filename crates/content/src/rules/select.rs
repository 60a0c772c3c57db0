//! Elements of a page by a CSS selector, for programs that need no rules.

use dom_query::Matcher;
use thiserror::Error;

use super::apply::parsed;
use crate::limits::{ContentLimits, Deadline, Refusal};

/// Why nothing was selected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SelectError {
    /// It is no CSS selector.
    #[error("{0:?} is not a CSS selector")]
    Selector(String),
    /// The page cannot be read.
    #[error(transparent)]
    Page(#[from] Refusal),
}

/// An element that a selector found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedElement {
    /// Its name in lower case.
    pub name: String,
    /// Its text, with runs of white space as one space.
    pub text: String,
    /// Its markup, with itself.
    pub html: String,
    /// Names and values of its attributes, in their order.
    pub attributes: Vec<(String, String)>,
}

impl SelectedElement {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The elements of a page that a CSS selector matches, in the order of the page.
///
/// ```
/// use clewline_content::{ContentLimits, select};
/// let html = "<ul><li class=a>One<li class=a id=x>Two</ul>";
/// let found = select(html, "li.a", &ContentLimits::default())?;
/// assert_eq!(found[1].text, "Two");
/// assert_eq!(found[1].attribute("id"), Some("x"));
/// # Ok::<(), clewline_content::SelectError>(())
/// ```
pub fn select(
    html: &str,
    selector: &str,
    limits: &ContentLimits,
) -> Result<Vec<SelectedElement>, SelectError> {
    let matcher = Matcher::new(selector).map_err(|_| SelectError::Selector(selector.to_owned()))?;
    let mut deadline = Deadline::start(limits);
    let document = parsed(html, limits, &mut deadline)?;
    let mut room = limits.most_bytes;
    let mut found = Vec::new();
    for node in document.select_matcher(&matcher).nodes() {
        deadline.look()?;
        let html = node.html().to_string();
        // Nested elements repeat each other's text; a page cannot be made to fill the memory.
        room = room.checked_sub(html.len()).ok_or(Refusal::TooLong {
            most: limits.most_bytes,
        })?;
        let attributes = node.attrs().into_iter();
        found.push(SelectedElement {
            name: node.node_name().unwrap_or_default().to_string(),
            text: super::apply::folded(&node.text()),
            html,
            attributes: attributes
                .map(|attribute| {
                    (
                        attribute.name.local.to_string(),
                        attribute.value.to_string(),
                    )
                })
                .collect(),
        });
    }
    Ok(found)
}

/// A page without the elements that a CSS selector matches, as HTML.
///
/// ```
/// use clewline_content::{ContentLimits, without};
/// let html = "<p>One<p class=ad>Two<p>Three";
/// let rest = without(html, ".ad", &ContentLimits::default())?;
/// assert_eq!(rest, "<html><head></head><body><p>One</p><p>Three</p></body></html>");
/// # Ok::<(), clewline_content::SelectError>(())
/// ```
pub fn without(html: &str, selector: &str, limits: &ContentLimits) -> Result<String, SelectError> {
    let matcher = Matcher::new(selector).map_err(|_| SelectError::Selector(selector.to_owned()))?;
    let mut deadline = Deadline::start(limits);
    let document = parsed(html, limits, &mut deadline)?;
    document.select_matcher(&matcher).remove();
    deadline.look()?;
    let rest = document.html().to_string();
    if rest.len() > limits.most_bytes {
        let most = limits.most_bytes;
        return Err(Refusal::TooLong { most }.into());
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_in_the_order_of_the_page() {
        let html = "<p>a <b>b</b>\n c</p><div><p lang=de>d</p></div>";
        let found = select(html, "p", &ContentLimits::default()).unwrap();
        let texts: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["a b c", "d"]);
        assert_eq!(found[0].html, "<p>a <b>b</b>\n c</p>");
        assert_eq!(
            (found[1].name.as_str(), found[1].attribute("lang")),
            ("p", Some("de"))
        );
        assert_eq!(found[0].attribute("lang"), None);
        assert_eq!(
            select(html, "h1", &ContentLimits::default()),
            Ok(Vec::new())
        );
    }

    #[test]
    fn what_cannot_be_selected_is_said() {
        let limits = ContentLimits::default();
        let error = select("<p>", "p[", &limits).unwrap_err();
        assert_eq!(without("<p>", "p[", &limits), Err(error.clone()));
        assert_eq!(error.to_string(), "\"p[\" is not a CSS selector");
        let small = ContentLimits {
            most_bytes: 100,
            ..limits
        };
        let nested = "<div>".repeat(12);
        let error = select(&nested, "div", &small).unwrap_err();
        assert_eq!(error, SelectError::Page(Refusal::TooLong { most: 100 }));
    }
}
