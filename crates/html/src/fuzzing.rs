//! The fuzz body of the tokenizer: both of its faces must tell the same.
//!
//! Owns the comparison of the start tags that each of them finds. Refuses to know what is right;
//! that is told by the tests beside the code, and by a second opinion where links are extracted.

use crate::references::attribute_value;
use crate::{
    Attribute, MarkupToken, Name, Namespace, StartTag, TagSink, TextOf, Tokenizer, Tokens,
};

/// Attributes that are compared, of all kinds: with a switch of namespaces and without.
const COMPARED: [Attribute; 5] = [
    Attribute::Href,
    Attribute::Src,
    Attribute::Size,
    Attribute::Encoding,
    Attribute::HttpEquiv,
];

/// A start tag with the values of the attributes that are compared.
type Seen = (Name, Vec<Option<String>>);

/// HTML by both faces, the streaming one in pieces whose length the first byte says.
pub fn tokens(data: &[u8]) {
    let Some((&cut, body)) = data.split_first() else {
        return;
    };
    let html = String::from_utf8_lossy(body);
    let whole = of_whole(&html);
    for piece in [html.len().max(1), usize::from(cut).max(1)] {
        let mut streamed = Streamed::default();
        let mut tokenizer = Tokenizer::new();
        for piece in html.as_bytes().chunks(piece) {
            tokenizer.feed(piece, &mut streamed);
        }
        tokenizer.finish(&mut streamed);
        assert_eq!(streamed.0, whole, "in pieces of {piece}");
    }
}

fn of_whole(html: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut tokens = Tokens::new(html);
    loop {
        let before = tokens.position();
        let Some(token) = tokens.next() else {
            return seen;
        };
        let is_raw = matches!(token, MarkupToken::Raw(..));
        assert!(is_raw || tokens.position() > before, "a token takes bytes");
        if let MarkupToken::Start(name, attributes) = token {
            let value = |attribute: Attribute| attributes.value(attribute.text());
            note(
                name,
                |attribute| value(attribute).map(String::from),
                &mut seen,
            );
        }
    }
}

/// Tags without any of the attributes need not be told.
fn note(name: Name, value: impl Fn(Attribute) -> Option<String>, seen: &mut Vec<Seen>) {
    let values = COMPARED.map(value).to_vec();
    if values.iter().any(Option::is_some) {
        seen.push((name, values));
    }
}

#[derive(Default)]
struct Streamed(Vec<Seen>);

impl TagSink for Streamed {
    fn start(&mut self, tag: &StartTag<'_>, _: Namespace) {
        let value = |attribute| {
            let raw = String::from_utf8_lossy(tag.value(attribute)?);
            Some(attribute_value(raw).into_owned())
        };
        note(tag.name(), value, &mut self.0);
    }

    fn text(&mut self, _: TextOf, _: &[u8]) {}

    fn end_text(&mut self, _: TextOf) {}
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"<a href=a>",
            b"<a href='",
            b"<img src=",
            b"'",
            b"\"",
            b">",
            b"/>",
            b"=",
            b" ",
            b"<",
            b"</",
            b"<!--",
            b"-->",
            b"--!>",
            b"<?",
            b"<script>",
            b"</script>",
            b"<title>",
            b"</title>",
            b"<noscript>",
            b"</noscript>",
            b"<svg>",
            b"</svg>",
            b"<math>",
            b"<mi>",
            b"<desc>",
            b"<p>",
            b"<font size=1>",
            b"<![CDATA[",
            b"]]>",
            b"\0",
            b"&amp;",
            b"<plaintext>",
            b"<template>",
            b"</template>",
        ],
        rounds: 3000,
    };

    #[test]
    fn both_faces_tell_the_same() {
        TRIAL.run("tokens", super::tokens);
    }
}
