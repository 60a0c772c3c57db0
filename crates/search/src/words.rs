//! Words: how text becomes terms, the same way in pages and in queries.
//!
//! Owns where a word begins and ends and what two spellings of it share: case, accents and
//! width are folded, nothing is stemmed. Stems are right for one language and wrong for the
//! next, and for names in code; prefixes and fuzzy words in queries do what they would do.
//!
//! Scripts that are written without spaces are indexed in pairs of characters, each position
//! once, and the last character of a run alone: so every pair is a term, and every character
//! begins one.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization as _;

/// Characters of a word; longer ones are noise such as encoded data, and are passed over.
const LONGEST_WORD: usize = 64;

/// The name under which the index knows the tokenizer.
pub(crate) const NAME: &str = "words";

/// Splits text into folded words.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WordTokenizer;

/// The words of one text.
#[derive(Debug)]
pub(crate) struct WordStream<'a> {
    text: &'a str,
    at: usize,
    token: Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        words(text)
    }
}

/// The words of a text.
pub(crate) fn words(text: &str) -> WordStream<'_> {
    WordStream {
        text,
        at: 0,
        token: Token::default(),
    }
}

/// The words of a query: as [`words`], without the last character of a run of pairs, which a
/// page that goes on after it does not have alone.
pub(crate) fn query_words(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut stream = words(text);
    while stream.advance() {
        let token = stream.token();
        let is_rest = found
            .last()
            .is_some_and(|before| token.offset_from < before.offset_to);
        let is_alone = token.text.chars().count() == 1;
        if !(is_rest && is_alone) {
            found.push(token.clone());
        }
    }
    found
}

/// Whether a term is a single character of a script without spaces.
pub(crate) fn is_single_unspaced(term: &str) -> bool {
    let mut characters = term.chars();
    matches!((characters.next(), characters.next()), (Some(only), None) if is_unspaced(only))
}

/// Whether a term begins with a character of a script without spaces.
pub(crate) fn begins_unspaced(term: &str) -> bool {
    term.chars().next().is_some_and(is_unspaced)
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            let rest = &self.text[self.at..];
            let Some((skipped, first)) = rest.char_indices().find(|(_, c)| is_word(*c)) else {
                self.at = self.text.len();
                return false;
            };
            let from = self.at + skipped;
            self.token.position = self.token.position.wrapping_add(1);
            self.token.offset_from = from;
            self.token.text.clear();
            let is_term = if is_unspaced(first) {
                self.pair(from, first)
            } else {
                self.word(from)
            };
            if is_term {
                return true;
            }
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl WordStream<'_> {
    fn pair(&mut self, from: usize, first: char) -> bool {
        let second_at = from + first.len_utf8();
        let second = self.text[second_at..].chars().next();
        let second = second.filter(|character| is_unspaced(*character));
        fold(first, &mut self.token.text);
        if let Some(second) = second {
            fold(second, &mut self.token.text);
        }
        self.token.offset_to = second_at + second.map_or(0, char::len_utf8);
        self.at = second_at;
        true
    }

    fn word(&mut self, from: usize) -> bool {
        let rest = &self.text[from..];
        let belongs = |c: char| (is_word(c) || is_accent(c)) && !is_unspaced(c);
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at = from + length;
        self.token.offset_to = self.at;
        let word = &rest[..length];
        if word.chars().nth(LONGEST_WORD).is_some() {
            return false;
        }
        if word.is_ascii() {
            self.token.text.push_str(word);
            self.token.text.make_ascii_lowercase();
        } else {
            word.chars().for_each(|c| fold(c, &mut self.token.text));
        }
        !self.token.text.is_empty()
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric()
}

/// Accents as characters of their own, which follow a letter.
const fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Whether a script is written without spaces between words, or is one whose words are looked
/// for in parts, as Korean.
const fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{eff}'        // Thai, Lao
        | '\u{1000}'..='\u{109f}'    // Myanmar
        | '\u{1100}'..='\u{11ff}'    // Hangul Jamo
        | '\u{1780}'..='\u{17ff}'    // Khmer
        | '\u{3040}'..='\u{30ff}'    // Hiragana, Katakana
        | '\u{3100}'..='\u{318f}'    // Bopomofo, Hangul
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'    // Han
        | '\u{ac00}'..='\u{d7af}'    // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'    // Katakana of half width
        | '\u{20000}'..='\u{3ffff}')
}

/// Appends what a character shares with its other spellings.
fn fold(character: char, out: &mut String) {
    if is_unspaced(character) {
        out.extend(std::iter::once(character).nfkc());
        return;
    }
    for part in std::iter::once(character).nfkd().filter(|c| !is_accent(*c)) {
        match part {
            'ß' | 'ẞ' => out.push_str("ss"),
            'æ' | 'Æ' => out.push_str("ae"),
            'œ' | 'Œ' => out.push_str("oe"),
            'ø' | 'Ø' => out.push('o'),
            'ł' | 'Ł' => out.push('l'),
            'đ' | 'Đ' | 'ð' | 'Ð' => out.push('d'),
            'ı' => out.push('i'),
            'ς' => out.push('σ'),
            other => out.extend(other.to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut stream = words(text);
        let mut found = Vec::new();
        while stream.advance() {
            let token = stream.token();
            assert!(text.get(token.offset_from..token.offset_to).is_some());
            found.push(token.text.clone());
        }
        found
    }

    #[test]
    fn spellings_are_folded_and_scripts_paired() {
        for (text, expected) in [
            ("The HashMap<K,V>", &["the", "hashmap", "k", "v"][..]),
            ("Ünïted cafe\u{301} Straße", &["united", "cafe", "strasse"]),
            ("ŁÓDŹ Ørsted Œuvre", &["lodz", "orsted", "oeuvre"]),
            ("ＦＵＬＬ ﬁne", &["full", "fine"]),
            ("Ὀδυσσεύς", &["οδυσσευσ"]),
            ("東京都 x", &["東京", "京都", "都", "x"]),
            ("漢", &["漢"]),
            ("ｶﾀ語", &["カタ", "タ語", "語"]),
            ("Java版", &["java", "版"]),
            ("… -- !", &[]),
            ("java.util_x", &["java", "util", "x"]),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
        assert_eq!(terms(&"x".repeat(LONGEST_WORD)).len(), 1);
        assert_eq!(terms(&format!("{} y", "x".repeat(65))), ["y"]);
    }

    #[test]
    fn queries_leave_the_rest_of_a_run_out() {
        for (text, expected) in [
            ("東京都", &["東京", "京都"][..]),
            ("漢", &["漢"]),
            ("ab c", &["ab", "c"]),
        ] {
            let found: Vec<String> = query_words(text).into_iter().map(|t| t.text).collect();
            assert_eq!(found, expected);
        }
    }
}
