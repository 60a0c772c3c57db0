//! Queries and what they are understood as.

use super::*;

/// A short spelling of a clause.
fn spelt(clause: &Clause) -> String {
    match clause {
        Clause::Text(text) => {
            let place = text
                .place
                .map_or(String::new(), |place| format!("{place:?}:"));
            let form = match text.form {
                WordForm::Exact => String::new(),
                WordForm::Prefix => "*".into(),
                WordForm::Fuzzy(distance) => format!("~{distance}"),
            };
            format!("{place}{}{form}", text.words.replace(' ', "_"))
        }
        Clause::Filter(filter) => format!("{filter:?}").replace('"', ""),
        Clause::Any(clauses) => {
            let clauses: Vec<String> = clauses.iter().map(spelt).collect();
            format!("({})", clauses.join(" | "))
        }
        Clause::List(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|(sign, clause)| {
                    let sign = match sign {
                        Sign::Wanted => "",
                        Sign::Required => "+",
                        Sign::Refused => "-",
                    };
                    format!("{sign}{}", spelt(clause))
                })
                .collect();
            format!("[{}]", items.join(" "))
        }
    }
}

#[test]
fn queries_are_understood() {
    for (text, expected) in [
        ("hash map", "[hash map]"),
        ("+hash -map", "[+hash -map]"),
        ("\"hash map\" x", "[hash_map x]"),
        ("a b OR c d", "[a (b | c) d]"),
        ("a AND b OR c", "[([+a +b] | c)]"),
        ("a AND NOT b", "[[+a -b]]"),
        ("NOT b a", "[-b a]"),
        ("(a b) AND (c OR d)", "[[+[a b] +[(c | d)]]]"),
        ("wor* word~ word~2 word~3", "[wor* word~1 word~2 word~3]"),
        (
            "title:hash heading:\"a b\" url:x body:y",
            "[Title:hash Headings:a_b Address:x Body:y]",
        ),
        (
            "x host:Example.com lang:DE type:html",
            "[x Host(example.com) Language(de) ContentType(html)]",
        ),
        (
            "after:1970-01-02 before:1971",
            "[After(86400) Before(31536000)]",
        ),
        ("well-known - + x", "[well-known x]"),
        (
            "std::vec http://example.com/",
            "[std::vec http://example.com/]",
        ),
        ("and or not ANDROID", "[and or not ANDROID]"),
        ("東京 -大阪", "[東京 -大阪]"),
        ("-x", "[-x]"),
    ] {
        let query = Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(spelt(&query.clause), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let field = |name: &str| Fault::Field(name.into());
    for (text, what, column) in [
        ("", Fault::Empty, 1),
        ("  !!! ", Fault::Empty, 7),
        ("\"open", Fault::OpenQuote, 1),
        ("ä x \"open", Fault::OpenQuote, 5),
        ("(a b", Fault::Parenthesis, 5),
        ("a) b", Fault::Parenthesis, 2),
        ("a OR", Fault::Operand, 5),
        ("AND a", Fault::Operand, 1),
        ("a OR -b", Fault::RefusedChoice, 8),
        ("a colour:red", field("colour"), 3),
        (
            "after:soon",
            Fault::Value("a date is written 2026-11-15"),
            1,
        ),
    ] {
        let error = Query::parse(text).expect_err(text);
        assert_eq!((error.what, error.column), (what, column), "{text}");
    }
    assert_eq!(Query::parse("x host:").unwrap_err().column, 3);
    for text in ["x ".repeat(65), "(".repeat(2000), "x".repeat(5000)] {
        assert_eq!(Query::parse(&text).unwrap_err().what, Fault::TooLarge);
    }
}

#[test]
fn no_text_is_too_strange() {
    let pieces = [
        "(", ")", "\"", "+", "-", "~", "*", ":", "host:", "a", " ", "OR", "AND", "漢", "\u{0}",
    ];
    let mut state = 1_u32;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(pieces[(state >> 16) as usize % pieces.len()]);
        }
        if let Err(error) = Query::parse(&text) {
            assert!(error.column <= text.chars().count() + 1, "{text:?} {error}");
        }
    }
}
