//! What a page says about itself.
//!
//! Owns which of several claims counts: the page's own element before Open Graph before
//! JSON-LD. It is fed by the stream and refuses to know of trees. Invariant: every list is
//! bounded and every value cut, whatever the page holds.

use std::collections::BTreeMap;

use clewline_html::TagAttributes;
use clewline_html::references::decoded_text;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::date::normalised_date;
use crate::json_ld;
use crate::tag::NodeKind;
use crate::token::any_word;

/// Characters that are kept of one value.
const LONGEST_VALUE: usize = 2000;
/// Open Graph properties that are kept.
const MOST_PROPERTIES: usize = 100;
/// Headings that are kept.
const MOST_HEADINGS: usize = 1000;

/// A heading of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its words.
    pub text: String,
}

/// What a page says about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Metadata {
    /// Of `title`, else of Open Graph, the first heading of the first level or JSON-LD.
    pub title: Option<String>,
    /// Of `title` alone.
    pub html_title: Option<String>,
    /// The first heading of the first level.
    pub h1: Option<String>,
    /// The language that the page declares, such as `de-AT`.
    pub language: Option<String>,
    /// What it is about, in a sentence.
    pub description: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When it was published, in ISO 8601.
    pub published: Option<String>,
    /// When it was changed, in ISO 8601.
    pub modified: Option<String>,
    /// The URL it wants to be known by, absolute.
    pub canonical: Option<String>,
    /// Open Graph properties without their `og:`; the first of a name.
    pub open_graph: BTreeMap<String, String>,
    /// The nodes of its JSON-LD; graphs are flattened.
    pub json_ld: Vec<Value>,
    /// Its headings in order.
    pub headings: Vec<Heading>,
}

/// Gathers claims until the page ends.
#[derive(Debug, Default)]
pub(crate) struct MetadataCollector {
    found: Metadata,
    base: Option<String>,
    canonical: Option<String>,
    time: Option<String>,
    /// The heading that is open, and its words so far.
    heading: Option<(u8, String)>,
    is_json_ld: bool,
}

impl MetadataCollector {
    pub(crate) fn open(&mut self, tag: NodeKind, attributes: TagAttributes<'_>) {
        self.is_json_ld = false;
        match tag {
            NodeKind::Html => keep(
                &mut self.found.language,
                attributes.value("lang").as_deref(),
            ),
            NodeKind::Base => keep(&mut self.base, attributes.value("href").as_deref()),
            NodeKind::Link => self.link(attributes),
            NodeKind::Meta => self.meta(attributes),
            NodeKind::Time => keep(&mut self.time, attributes.value("datetime").as_deref()),
            NodeKind::Script => {
                let kind = attributes.value("type").unwrap_or_default();
                self.is_json_ld = kind.trim().eq_ignore_ascii_case("application/ld+json");
            }
            // An unclosed heading would take the rest of the page.
            _ if tag.heading().is_some() => {
                self.end_heading();
                self.heading = tag.heading().map(|level| (level, String::new()));
            }
            NodeKind::P | NodeKind::Div | NodeKind::Ul | NodeKind::Table | NodeKind::Pre => {
                self.end_heading();
            }
            _ => {}
        }
    }

    pub(crate) fn close(&mut self, tag: NodeKind) {
        if tag.heading().is_some() {
            self.end_heading();
        }
    }

    /// Takes text with its character references as written.
    pub(crate) fn text(&mut self, raw: &str) {
        if self.heading.is_some() {
            self.words(&decoded_text(raw));
        }
    }

    /// Takes text, which counts where a heading is open.
    pub(crate) fn words(&mut self, words: &str) {
        if let Some((_, text)) = &mut self.heading
            && text.len() < LONGEST_VALUE
        {
            text.push_str(words);
        }
    }

    pub(crate) fn raw(&mut self, tag: NodeKind, text: &str) {
        match tag {
            NodeKind::Title => keep(&mut self.found.html_title, Some(&decoded_text(text))),
            NodeKind::Script if self.is_json_ld => json_ld::collect(text, &mut self.found.json_ld),
            _ => {}
        }
    }

    /// The base of the page's links.
    pub(crate) fn base(&self, url: &Url) -> Url {
        let base = self.base.as_deref().and_then(|base| url.join(base).ok());
        base.filter(|base| !base.cannot_be_a_base())
            .unwrap_or_else(|| url.clone())
    }

    pub(crate) fn finish(mut self, url: &Url) -> Metadata {
        self.end_heading();
        let base = self.base(url);
        let mut found = self.found;
        let canonical = self
            .canonical
            .or_else(|| found.open_graph.get("url").cloned());
        found.canonical = canonical
            .and_then(|link| base.join(&link).ok())
            .map(|link| link.to_string());
        let graph = |name: &str| found.open_graph.get(name).map(String::as_str);
        let data = |names: &[&str]| json_ld::text_of(&found.json_ld, names);
        let headline = found.headings.iter().find(|heading| heading.level == 1);
        found.h1 = headline.map(|heading| heading.text.clone());
        found.title = found
            .html_title
            .clone()
            .or_else(|| graph("title").map(str::to_owned))
            .or_else(|| found.h1.clone())
            .or_else(|| data(&["headline"]));
        found.description = found
            .description
            .or_else(|| graph("description").map(str::to_owned))
            .or_else(|| data(&["description"]));
        found.language = found
            .language
            .or_else(|| graph("locale").map(|locale| locale.replace('_', "-")));
        found.author = found.author.or_else(|| data(&["author", "creator"]));
        let moment = |names: &[&str]| data(names).and_then(|text| normalised_date(&text));
        found.published = found
            .published
            .or_else(|| moment(&["datePublished", "dateCreated"]))
            .or_else(|| self.time.and_then(|time| normalised_date(&time)));
        found.modified = found.modified.or_else(|| moment(&["dateModified"]));
        found
    }

    fn link(&mut self, attributes: TagAttributes<'_>) {
        let relation = attributes.value("rel").unwrap_or_default();
        if any_word(&relation, |word| word.eq_ignore_ascii_case("canonical")) {
            keep(&mut self.canonical, attributes.value("href").as_deref());
        }
    }

    fn meta(&mut self, attributes: TagAttributes<'_>) {
        let Some(content) = attributes.value("content") else {
            return;
        };
        let name = ["property", "name", "itemprop", "http-equiv"]
            .iter()
            .find_map(|key| attributes.value(key));
        let name = name.unwrap_or_default().trim().to_ascii_lowercase();
        if let Some(property) = name.strip_prefix("og:") {
            let graph = &mut self.found.open_graph;
            if graph.len() < MOST_PROPERTIES && !property.is_empty() {
                graph.entry(cut(property)).or_insert_with(|| cut(&content));
            }
            if property == "updated_time" {
                keep_date(&mut self.found.modified, &content);
            }
            return;
        }
        match name.as_str() {
            "description" | "dc.description" | "dcterms.description" | "twitter:description" => {
                keep(&mut self.found.description, Some(&content));
            }
            "author" | "dc.creator" | "dcterms.creator" | "article:author" | "parsely-author" => {
                keep(&mut self.found.author, Some(&content));
            }
            "article:published_time"
            | "datepublished"
            | "date"
            | "dc.date"
            | "dcterms.created"
            | "dcterms.issued"
            | "pubdate"
            | "publish-date"
            | "parsely-pub-date"
            | "dc.created" => {
                keep_date(&mut self.found.published, &content);
            }
            "article:modified_time"
            | "datemodified"
            | "last-modified"
            | "dcterms.modified"
            | "revised" => keep_date(&mut self.found.modified, &content),
            "content-language" | "dc.language" | "dcterms.language" => {
                keep(&mut self.found.language, Some(&content));
            }
            _ => {}
        }
    }

    fn end_heading(&mut self) {
        let Some((level, text)) = self.heading.take() else {
            return;
        };
        // The sign of a permanent link belongs to the page's machinery.
        let text = tidy(text.trim_end().trim_end_matches(['¶', '\u{f0c1}']));
        if !text.is_empty() && self.found.headings.len() < MOST_HEADINGS {
            self.found.headings.push(Heading { level, text });
        }
    }
}

/// Keeps the first value that says something.
fn keep(place: &mut Option<String>, value: Option<&str>) {
    if let (None, Some(value)) = (&place, value) {
        *place = Some(tidy(value)).filter(|value| !value.is_empty());
    }
}

fn keep_date(place: &mut Option<String>, value: &str) {
    if place.is_none() {
        *place = normalised_date(value);
    }
}

/// One line without needless spaces, and not too long.
pub(crate) fn tidy(value: &str) -> String {
    let mut line = String::new();
    for word in cut(value).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

fn cut(value: &str) -> String {
    value.trim().chars().take(LONGEST_VALUE).collect()
}
