//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns the promises of everything that reads foreign bytes; refuses to know who makes the
//! bytes. The tests run each body over its corpus and over mutations of it, the targets in
//! `fuzz/` for as long as one likes.

use url::Url;

use crate::{
    Content, ContentLimits, ItemRules, LONGEST_WHOLE, MOST_PASSAGE, Quote, QuotedPage,
    ReadingSpeed, normalised_date, page_links, words,
};

/// Pages at every speed, and rules on them.
pub fn content(data: &[u8]) {
    let html = String::from_utf8_lossy(data);
    let url = Url::parse("https://example.com/a/b").expect("it is a URL");
    let limits = ContentLimits::default();
    let read = |speed| Content::read(&html, &url, speed, &limits);
    let (Ok(skimmed), Ok(mut content)) = (read(ReadingSpeed::Skim), read(ReadingSpeed::Main))
    else {
        return;
    };
    let main = content.main.take().expect("it was asked for");
    let all = words(&html).count();
    assert!(
        main.words <= all && skimmed.words <= all,
        "words were made up"
    );
    for text in [&main.text, &content.text] {
        assert!(
            !text.contains("\n\n\n"),
            "two blank lines follow each other"
        );
    }
    assert!(main.markdown.is_empty() || main.markdown.ends_with('\n'));
    // The language is told by the main text where there is one.
    content.language.clone_from(&skimmed.language);
    assert_eq!(skimmed, content, "skimming leaves out the main part only");
    let whole = read(ReadingSpeed::Whole).map(|content| content.text);
    assert_eq!(whole, Ok(skimmed.text), "the text depends on the speed");
    let links = page_links(&html, &url, &limits).unwrap_or_default();
    let is_line = |text: &Option<String>| text.as_ref().is_none_or(|text| !text.contains('\n'));
    assert!(
        links
            .iter()
            .all(|link| is_line(&link.text) && is_line(&link.rel))
    );
    let rules = "[[rule]]\nname = 'r'\nselect = 'p, li'\nlist = true\nfield = [{ name = 'f' }]";
    let rules = ItemRules::parse(rules).expect("it is a rule");
    // Refusals are answers, too.
    let _ = rules.items(&html, &url, &limits);
}

/// Longer words may be cut, in a heading or a passage.
const LONGEST_WORD: usize = 100;

/// Passages: together they are the page, none is too long, and each is a quote that stands in it.
pub fn passages(data: &[u8]) {
    let markdown = String::from_utf8_lossy(data);
    let page = QuotedPage::new(&markdown, None);
    let mut end = 0;
    let is_left_out = |text: &str| {
        text.lines()
            .all(|line| line.trim().is_empty() || line.starts_with('#'))
    };
    // Where a long word was cut, its halves are no words of the page.
    let is_cut = markdown
        .split_whitespace()
        .any(|word| word.len() > LONGEST_WORD);
    for passage in crate::passages(&markdown) {
        assert_eq!(markdown[passage.range.clone()], passage.words);
        assert!(passage.range.start >= end, "passages overlap");
        assert!(
            is_left_out(&markdown[end..passage.range.start]),
            "words are lost"
        );
        let length = passage.words.chars().count();
        // Code and tables are longer, and of what is cut off them only the first piece has a sign.
        let may_be_whole = markdown[..passage.range.end].contains(['|', '`', '~']);
        let most = if may_be_whole {
            LONGEST_WHOLE
        } else {
            MOST_PASSAGE
        };
        assert!(length <= most, "{length} characters");
        end = passage.range.end;
        let quote = Quote::from_passage("https://example.com/", &passage);
        let has_words = passage.words.split_whitespace().next().is_some();
        let is_seen = crate::seen(&passage.text()).1 == 0;
        assert!(
            page.holds(&quote) || !has_words || is_cut || !is_seen,
            "{quote:?}"
        );
    }
    assert!(is_left_out(&markdown[end..]), "the end is lost");
}

/// Quotes: what is read is written as it was.
pub fn quotes(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(quotes) = Quote::read_all(&text) else {
        return;
    };
    let page = QuotedPage::new(&text, None);
    for quote in quotes {
        let line = serde_json::to_string(&quote).expect("it is text");
        assert_eq!(Quote::read_all(&line), Ok(vec![quote.clone()]));
        // Whether it stands there or not is an answer.
        let _ = page.holds(&quote);
    }
}

/// Dates: what comes out is a date and stays as it is.
pub fn date(data: &[u8]) {
    if let Some(date) = normalised_date(&String::from_utf8_lossy(data)) {
        assert_eq!(normalised_date(&date), Some(date.clone()), "{date}");
    }
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"<", b">", b"</", b"<!--", b"&#x", b"<table>", b"<td>", b"<pre>", b"'", b"=", b"\0",
        ],
        rounds: 300,
    };

    #[test]
    fn pages() {
        TRIAL.run("content", super::content);
    }

    #[test]
    fn passages() {
        TRIAL.run("passages", super::passages);
    }

    #[test]
    fn quotes() {
        TRIAL.run("quotes", super::quotes);
    }

    #[test]
    fn dates() {
        TRIAL.run("date", super::date);
    }
}
