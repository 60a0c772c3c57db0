//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns the promises of everything that reads foreign bytes; refuses to know who makes the
//! bytes. The tests run each body over its corpus and over mutations of it, the targets in
//! `fuzz/` for as long as one likes.

use url::Url;

use crate::{Content, ContentLimits, Rules, Speed, normalised_date, words};

/// Pages at every speed, and rules on them.
pub fn content(data: &[u8]) {
    let html = String::from_utf8_lossy(data);
    let url = Url::parse("https://example.com/a/b").expect("it is a URL");
    let limits = ContentLimits::default();
    let read = |speed| Content::read(&html, &url, speed, &limits);
    let (Ok(skimmed), Ok(mut content)) = (read(Speed::Skim), read(Speed::Main)) else {
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
    content.detected_language = skimmed.detected_language;
    assert_eq!(skimmed, content, "skimming leaves out the main part only");
    let whole = read(Speed::Whole).map(|content| content.text);
    assert_eq!(whole, Ok(skimmed.text), "the text depends on the speed");
    let rules = "[[rule]]\nname = 'r'\nselect = 'p, li'\nlist = true\nfield = [{ name = 'f' }]";
    let rules = Rules::parse(rules).expect("it is a rule");
    // Refusals are answers, too.
    let _ = rules.items(&html, &url, &limits);
}

/// Dates: what comes out is a date and stays as it is.
pub fn date(data: &[u8]) {
    if let Some(date) = normalised_date(&String::from_utf8_lossy(data)) {
        assert_eq!(normalised_date(&date), Some(date.clone()), "{date}");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Mutations of each seed.
    const ROUNDS: usize = 300;

    /// A small generator (xorshift), so that a failure can be repeated.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % bound.max(1) as u64) as usize
        }
    }

    fn mutated(seed: &[u8], dice: &mut Dice) -> Vec<u8> {
        let tokens = [
            "<", ">", "</", "<!--", "&#x", "<table>", "<td>", "<pre>", "'", "=", "\0",
        ];
        let mut data = seed.to_vec();
        for _ in 0..=dice.below(4) {
            let at = dice.below(data.len() + 1);
            match dice.below(4) {
                0 => data.truncate(at),
                1 => {
                    let token = tokens[dice.below(tokens.len())];
                    data.splice(at..at, token.bytes());
                }
                2 if at < data.len() => {
                    data.remove(at);
                }
                _ if at < data.len() => data[at] ^= 1 << dice.below(8),
                _ => {}
            }
        }
        data
    }

    fn try_all(corpus: &str, body: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz-corpus");
        let folder = folder.join(corpus);
        let mut files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(files.len() >= 6, "{}", folder.display());
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for file in files {
            let seed = std::fs::read(&file).unwrap();
            body(&seed);
            for round in 0..ROUNDS {
                let data = mutated(&seed, &mut dice);
                let result = std::panic::catch_unwind(|| body(&data));
                let shown = data.escape_ascii();
                assert!(result.is_ok(), "{}, round {round}: {shown}", file.display());
            }
        }
    }

    #[test]
    fn pages() {
        try_all("content", content);
    }

    #[test]
    fn dates() {
        try_all("date", date);
    }
}
