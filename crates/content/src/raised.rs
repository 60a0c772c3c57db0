//! Raised and lowered text (`sup`, `sub`) in plain text.
//!
//! Owns the choice: characters of their own where Unicode has them (`x²`, `H₂O`), else a sign
//! before it (`e^(x+1)`, `a_(i,j)`). Invariant: no word is lost, and what stands in brackets, as
//! notes do, stays as it is.

use crate::tag::NodeKind;

/// Bytes of a text that is still taken for an index; a longer one was not closed.
const LONGEST: usize = 200;

const PLAIN: &str = "0123456789+-−=()ni";
const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ";
const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₙᵢ";

/// The text of an element as raised or lowered; nothing where it stays as it is.
pub(crate) fn raised(tag: NodeKind, text: &str) -> Option<String> {
    let is_note = text.starts_with('[') && text.ends_with(']');
    if text.is_empty() || text.len() > LONGEST || is_note || text.contains(['\n', '\t']) {
        return None;
    }
    let (alphabet, sign) = match tag {
        NodeKind::Sup => (RAISED, '^'),
        _ => (LOWERED, '_'),
    };
    let own: Option<String> = text
        .chars()
        .map(|plain| of_alphabet(alphabet, plain))
        .collect();
    own.or_else(|| {
        let is_word = text.chars().all(char::is_alphanumeric) && text.is_ascii();
        Some(if is_word {
            format!("{sign}{text}")
        } else {
            format!("{sign}({text})")
        })
    })
}

fn of_alphabet(alphabet: &str, plain: char) -> Option<char> {
    let place = PLAIN.chars().position(|known| known == plain)?;
    alphabet.chars().nth(place)
}
