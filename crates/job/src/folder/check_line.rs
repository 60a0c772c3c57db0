//! The first line of the marker: a check sum of the rest.
//!
//! Owns how it is written and compared. To whoever reads the file as TOML it is a comment. A
//! file without it is taken as it is, so that whoever edits one can say that it is meant.

use xxhash_rust::xxh3::xxh3_64;

const BEGIN: &str = "# check ";

/// Puts the line before a text.
pub fn add(text: &str) -> String {
    format!("{BEGIN}{:016x}\n{text}", xxh3_64(text.as_bytes()))
}

/// Whether a text is as it was written, as far as can be known.
pub fn holds(text: &str) -> bool {
    let Some((sum, rest)) = text
        .strip_prefix(BEGIN)
        .and_then(|text| text.split_once('\n'))
    else {
        return true;
    };
    u64::from_str_radix(sum, 16) == Ok(xxh3_64(rest.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_behind_the_line_is_seen() {
        let text = add("format = 1\nfinished = false\n");
        assert!(holds(&text) && holds("format = 1\n"));
        let begin = text.find('\n').unwrap() + 1;
        for at in begin..text.len() {
            let mut flipped = text.clone().into_bytes();
            flipped[at] ^= 1;
            assert!(!holds(&String::from_utf8(flipped).unwrap()), "byte {at}");
            assert!(!holds(&text[..at]), "cut at {at}");
        }
    }
}
