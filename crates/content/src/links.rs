//! The links of a page with what the page says about them.
//!
//! Owns the words, the relation and the fragment of a link, which a crawl does not keep. Which
//! links a crawl follows is the crawler's business. Invariants: one pass over the page; texts are
//! one line and bounded, and so is the number of links.

use clewline_html::TagAttributes;
use clewline_html::references::decoded_text;
use url::Url;

use crate::limits::{ContentLimits, Deadline, Refusal};
use crate::metadata::tidy;
use crate::tag::NodeKind;
use crate::token::{Scanner, Token};

/// Links that are kept of a page.
const MOST_LINKS: usize = 100_000;
/// Bytes that are kept of the words of a link.
const LONGEST_TEXT: usize = 2000;

/// The kind of element that names a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkElement {
    /// `a`.
    Anchor,
    /// `area` of an image map.
    Area,
    /// `iframe` or `frame`.
    Frame,
    /// `img`.
    Image,
    /// `link` in the head of a page.
    Head,
}

/// A link as a page writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageLink {
    /// Where it leads, absolute, with its fragment.
    pub url: Url,
    /// What names it.
    pub element: LinkElement,
    /// The words of an anchor, the `alt` of an image or an area, the `title` of a frame.
    pub text: Option<String>,
    /// Its `rel` as written.
    pub rel: Option<String>,
}

/// The links of a page in order, those of the same target as often as they stand there.
///
/// ```
/// use clewline_content::{ContentLimits, page_links};
/// let url = "https://example.com/docs/".parse()?;
/// let links = page_links("<a rel=next href='a#b'>Go <b>on</b></a>", &url, &ContentLimits::default())?;
/// assert_eq!(links[0].url.as_str(), "https://example.com/docs/a#b");
/// assert_eq!(links[0].text.as_deref(), Some("Go on"));
/// assert_eq!(links[0].rel.as_deref(), Some("next"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn page_links(html: &str, url: &Url, limits: &ContentLimits) -> Result<Vec<PageLink>, Refusal> {
    if html.len() > limits.most_bytes {
        let most = limits.most_bytes;
        return Err(Refusal::TooLong { most });
    }
    let mut deadline = Deadline::start(limits);
    let mut gathered = Gathered::default();
    for token in Scanner::new(html) {
        deadline.step()?;
        gathered.take(token);
    }
    gathered.end_anchor();
    Ok(gathered.finish(url))
}

/// A link whose target is not resolved yet: the base of the page may follow.
struct MarkdownText {
    href: String,
    element: LinkElement,
    text: String,
    rel: Option<String>,
}

#[derive(Default)]
struct Gathered {
    base: Option<String>,
    links: Vec<MarkdownText>,
    /// The anchor that is open.
    anchor: Option<MarkdownText>,
}

impl Gathered {
    fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Open(NodeKind::A, attributes) => {
                self.end_anchor();
                self.anchor = written(attributes, "href", LinkElement::Anchor, None);
            }
            Token::Close(NodeKind::A) => self.end_anchor(),
            Token::Open(tag, attributes) => self.open(tag, attributes),
            Token::Text(text) => self.words(&decoded_text(text)),
            Token::Close(tag) if tag.is_block() => self.words(" "),
            _ => {}
        }
    }

    fn open(&mut self, tag: NodeKind, attributes: TagAttributes<'_>) {
        let link = match tag {
            NodeKind::Base if self.base.is_none() => {
                self.base = attributes.value("href").map(String::from);
                None
            }
            NodeKind::Area => written(attributes, "href", LinkElement::Area, Some("alt")),
            NodeKind::Iframe | NodeKind::Frame => {
                written(attributes, "src", LinkElement::Frame, Some("title"))
            }
            NodeKind::Link => written(attributes, "href", LinkElement::Head, None),
            NodeKind::Img => {
                // The text of an image is that of the link around it as well.
                self.words(&attributes.value("alt").unwrap_or_default());
                written(attributes, "src", LinkElement::Image, Some("alt"))
            }
            NodeKind::Br => {
                self.words(" ");
                None
            }
            _ if tag.is_block() => {
                self.words(" ");
                None
            }
            _ => None,
        };
        self.keep(link);
    }

    fn words(&mut self, words: &str) {
        if let Some(anchor) = &mut self.anchor
            && anchor.text.len() < LONGEST_TEXT
        {
            anchor.text.push_str(words);
        }
    }

    fn end_anchor(&mut self) {
        let anchor = self.anchor.take();
        self.keep(anchor);
    }

    fn keep(&mut self, link: Option<MarkdownText>) {
        if self.links.len() < MOST_LINKS {
            self.links.extend(link);
        }
    }

    fn finish(self, url: &Url) -> Vec<PageLink> {
        let base = self.base.and_then(|base| url.join(&base).ok());
        let base = base.filter(|base| !base.cannot_be_a_base());
        let base = base.as_ref().unwrap_or(url);
        let resolved = self.links.into_iter().filter_map(|link| {
            let said = |text: &str| Some(tidy(text)).filter(|text| !text.is_empty());
            Some(PageLink {
                url: base.join(&link.href).ok()?,
                element: link.element,
                text: said(&link.text),
                rel: link.rel.as_deref().and_then(said),
            })
        });
        resolved.collect()
    }
}

/// A link of an element, if it has a target.
fn written(
    attributes: TagAttributes<'_>,
    target: &str,
    element: LinkElement,
    text: Option<&str>,
) -> Option<MarkdownText> {
    let text = text.and_then(|name| attributes.value(name));
    Some(MarkdownText {
        href: attributes.value(target)?.into_owned(),
        element,
        text: text.unwrap_or_default().into_owned(),
        rel: attributes.value("rel").map(String::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_words_relations_and_fragments() {
        let html = "<link rel='alternate  stylesheet' href=s.css><base href=/b/>\
            <a href='x#part' rel=nofollow>One <b>two</b><img src=i.png alt='three &amp; four'></a>\
            <a name=here>no link</a><a href=y>unclosed<p>more<a href=' z '></a>\
            <area href=m alt=map><iframe src=f title=Frame></iframe><a href='http://['>bad</a>";
        let url = Url::parse("https://a.test/d/").unwrap();
        let found = page_links(html, &url, &ContentLimits::default()).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|link| {
                let text = link.text.as_deref().unwrap_or("-");
                let rel = link.rel.as_deref().unwrap_or("-");
                format!("{} {:?} {text} / {rel}", link.url, link.element)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "https://a.test/b/s.css Head - / alternate stylesheet",
                "https://a.test/b/i.png Image three & four / -",
                "https://a.test/b/x#part Anchor One twothree & four / nofollow",
                "https://a.test/b/y Anchor unclosed more / -",
                "https://a.test/b/z Anchor - / -",
                "https://a.test/b/m Area map / -",
                "https://a.test/b/f Frame Frame / -",
            ]
        );
    }

    #[test]
    fn texts_are_bounded() {
        let html = format!("<a href=x>{}", "word ".repeat(100_000));
        let url = Url::parse("https://a.test/").unwrap();
        let found = page_links(&html, &url, &ContentLimits::default()).unwrap();
        assert!(
            found[0]
                .text
                .as_ref()
                .is_some_and(|text| text.len() <= LONGEST_TEXT)
        );
    }
}
