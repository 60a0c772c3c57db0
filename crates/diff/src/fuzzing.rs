//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns the promises of reading and comparing foreign pages; refuses to know who makes the bytes.

use clewline_content::Url;

use crate::edit::{KnownUrls, page_hunks};
use crate::options::DiffOptions;
use crate::page::{MOST_TOKENS, PageTokens, read_page};
use crate::side::BodyForm;

/// Two pages, between which the bytes have a line of `====`.
pub fn pages(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (old, new) = text.split_once("\n====\n").unwrap_or((&text, ""));
    let url = Url::parse("https://example.com/a/b").expect("it is a URL");
    let read = |html: &str, form: BodyForm| -> Option<PageTokens> {
        read_page(html, (form, &url), &DiffOptions::default(), &|_| None).ok()
    };
    for form in [BodyForm::Html, BodyForm::Text] {
        let (Some(old), Some(new)) = (read(old, form), read(new, form)) else {
            return;
        };
        assert!(old.tokens.len() <= MOST_TOKENS);
        let known = KnownUrls::default();
        assert_eq!(
            page_hunks(&old, &old, &known),
            [],
            "a page is equal to itself"
        );
        let there = page_hunks(&old, &new, &known);
        assert!(there.iter().all(|hunk| hunk.before != hunk.after));
        let same = old
            .tokens
            .iter()
            .map(|it| it.hash)
            .eq(new.tokens.iter().map(|it| it.hash));
        assert_eq!(there.is_empty(), same, "what differs is told");
    }
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    #[test]
    fn pages() {
        let trial = Trial {
            home: env!("CARGO_MANIFEST_DIR"),
            tokens: &[
                b"<p>",
                b"</p>",
                b"<li>",
                b"\n====\n",
                b"<a href=x>",
                b"<title>",
                b" ",
                b"\xff",
                b"&amp;",
                b"12:30",
            ],
            rounds: 300,
        };
        trial.run("pages", super::pages);
    }
}
