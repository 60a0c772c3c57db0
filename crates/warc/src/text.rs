//! Foreign text on its way into a header.
//!
//! Owns what happens to a character that would end a field, begin another or be misread. The
//! three rules: a URI is percent-encoded where it is not printable ASCII, or holds a bracket that
//! readers strip; any other value gets a space for each control character; a field's name
//! gets a dash for each character that a name can't hold. Invariant: what comes out holds no
//! carriage return, line feed or other control character.

use percent_encoding::percent_encode_byte;

/// Appends a URI. Bytes that are not printable ASCII and the angle brackets, which older writers
/// put around URIs, are percent-encoded; all else stays as it is.
pub(crate) fn push_uri(uri: &str, out: &mut Vec<u8>) {
    let stays = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
    if all(uri, stays) {
        return out.extend_from_slice(uri.as_bytes());
    }
    for byte in uri.bytes() {
        if stays(byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(percent_encode_byte(byte).as_bytes());
        }
    }
}

/// Appends a value. Controls become spaces, and none stands at an end.
pub(crate) fn push_value(value: &str, out: &mut Vec<u8>) {
    let value = value.trim_matches(|one: char| one.is_control() || one.is_whitespace());
    if all(value, |byte| (b' '..=b'~').contains(&byte)) {
        return out.extend_from_slice(value.as_bytes());
    }
    let mut encoded = [0; 4];
    for character in value.chars() {
        // Both are line breaks to readers that split lines as Unicode does.
        let breaks = character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
        let character = if breaks { ' ' } else { character };
        out.extend_from_slice(character.encode_utf8(&mut encoded).as_bytes());
    }
}

/// Appends a name.
pub(crate) fn push_name(name: &str, out: &mut Vec<u8>) {
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let sound = |byte| if is_sound(byte) { byte } else { b'-' };
    out.extend(name.bytes().map(sound));
}

/// Whether a rule holds for all bytes. It goes on where it does not, so that many are asked at
/// once: nearly all text that gets here is as it must be.
fn all(text: &str, rule: impl Fn(u8) -> bool) -> bool {
    text.bytes().fold(true, |so_far, byte| so_far & rule(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(push: fn(&str, &mut Vec<u8>), text: &str) -> String {
        let mut out = Vec::new();
        push(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_ends_a_field() {
        for (text, uri, value) in [
            (
                "http://a.test/b?c#d",
                "http://a.test/b?c#d",
                "http://a.test/b?c#d",
            ),
            (
                "a\r\nWARC-Type: x",
                "a%0D%0AWARC-Type:%20x",
                "a  WARC-Type: x",
            ),
            ("<urn:a>", "%3Curn:a%3E", "<urn:a>"),
            (
                "\n\u{85}ü\u{2028}\0\t",
                "%0A%C2%85%C3%BC%E2%80%A8%00%09",
                "ü",
            ),
            ("ü\u{2029}x", "%C3%BC%E2%80%A9x", "ü x"),
        ] {
            assert_eq!(made(push_uri, text), uri);
            assert_eq!(made(push_value, text), value);
        }
        assert_eq!(made(push_name, "a b:\r\nc_D-1."), "a-b---c_D-1.");
    }
}
