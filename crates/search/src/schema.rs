//! The fields of the index.
//!
//! Owns what is searched, what is stored for showing and what is kept in columns. Whoever
//! changes them raises [`VERSION`], and indexes of another version are made anew.

use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};

use crate::document::Document;
use crate::words;

/// The version of schema, words and texts.
pub(crate) const VERSION: u32 = 2;

/// How much a word counts by where it stands.
pub(crate) const TITLE_BOOST: f32 = 3.0;
/// In a heading.
pub(crate) const HEADINGS_BOOST: f32 = 1.6;
/// In the URL.
pub(crate) const ADDRESS_BOOST: f32 = 1.2;

/// Labels of a host that count as sites of their own; names have no more (RFC 1035: 127).
const MOST_LABELS: usize = 127;

/// The fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) url: Field,
    pub(crate) address: Field,
    pub(crate) host: Field,
    pub(crate) site: Field,
    pub(crate) title: Field,
    pub(crate) headings: Field,
    pub(crate) body: Field,
    pub(crate) language: Field,
    pub(crate) content_type: Field,
    pub(crate) fetched_at: Field,
    pub(crate) depth: Field,
    pub(crate) digest: Field,
    pub(crate) near: Field,
    pub(crate) variant: Field,
    pub(crate) key: Field,
    pub(crate) place: Field,
}

impl Fields {
    /// Makes the schema.
    pub(crate) fn schema() -> (Schema, Self) {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(words::NAME)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let searched = TextOptions::default().set_indexing_options(indexing);
        let shown = searched.clone().set_stored();
        let mut schema = Schema::builder();
        let fields = Self {
            url: schema.add_text_field("url", STRING | STORED),
            address: schema.add_text_field("address", searched.clone()),
            host: schema.add_text_field("host", STRING | FAST | STORED),
            site: schema.add_text_field("site", STRING),
            title: schema.add_text_field("title", shown.clone()),
            headings: schema.add_text_field("headings", searched),
            body: schema.add_text_field("body", shown),
            language: schema.add_text_field("language", STRING | FAST | STORED),
            content_type: schema.add_text_field("content_type", STRING | FAST | STORED),
            fetched_at: schema.add_i64_field("fetched_at", INDEXED | FAST | STORED),
            depth: schema.add_u64_field("depth", STORED),
            digest: schema.add_u64_field("digest", INDEXED | FAST),
            near: schema.add_u64_field("near", FAST),
            variant: schema.add_u64_field("variant", FAST),
            key: schema.add_u64_field("key", FAST),
            place: schema.add_u64_field("place", STORED),
        };
        (schema.build(), fields)
    }

    /// A page as the engine takes it.
    pub(crate) fn encode(&self, document: &Document) -> TantivyDocument {
        let mut out = TantivyDocument::new();
        out.add_text(self.url, &document.url);
        out.add_text(self.address, address_words(&document.url));
        out.add_text(self.host, &document.host);
        for site in sites(&document.host) {
            out.add_text(self.site, site);
        }
        out.add_text(self.title, &document.title);
        out.add_text(self.headings, &document.headings);
        out.add_text(self.body, &document.body);
        if !document.language.is_empty() {
            out.add_text(self.language, &document.language);
        }
        out.add_text(self.content_type, &document.content_type);
        out.add_i64(self.fetched_at, document.fetched_at);
        out.add_u64(self.depth, u64::from(document.depth));
        out.add_u64(self.digest, document.likeness.digest);
        out.add_u64(self.near, document.likeness.near);
        out.add_u64(self.variant, document.likeness.address);
        out.add_u64(self.key, document.key);
        out.add_u64(self.place, document.place);
        out
    }
}

/// The part of a URL that has words: the scheme says nothing.
fn address_words(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// A host and every domain that it is part of.
fn sites(host: &str) -> impl Iterator<Item = &str> {
    let ends = host.match_indices('.').map(|(at, _)| at + 1);
    std::iter::once(0)
        .chain(ends)
        .take(MOST_LABELS)
        .map(|at| &host[at..])
        .filter(|site| !site.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_belongs_to_its_domains() {
        let found: Vec<&str> = sites("a.example.com").collect();
        assert_eq!(found, ["a.example.com", "example.com", "com"]);
        assert_eq!(sites("localhost").collect::<Vec<_>>(), ["localhost"]);
    }
}
