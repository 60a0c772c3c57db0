//! One message to a browser or from it.
//!
//! Owns which bytes are a message, and what kind of message they are. It refuses to know who waits for it.
//! Invariant: a message that is read has at most [`MOST_VALUES`] values, so it needs little more memory than
//! its bytes.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Values in a message; the richest one that we ask for names a page's links.
const MOST_VALUES: usize = 100_000;

/// The digits of the character that stands for what is none.
const REPLACEMENT: &[u8; 4] = b"fffd";

/// Bytes of a command beside its parameters and its body, about.
const COMMAND_ROOM: usize = 512;

/// A command for a browser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandMessage<'a> {
    /// Its number, which the answer names.
    pub(crate) id: u64,
    /// The session that it is for; none is the browser.
    pub(crate) session: Option<&'a str>,
    pub(crate) method: &'a str,
    /// An object.
    pub(crate) params: &'a Value,
}

impl CommandMessage<'_> {
    /// The command as text.
    pub(crate) fn written(self) -> String {
        self.with(String::new(), |_| ())
    }

    /// The same with a parameter `body`, in base64. It may have megabytes, so it is written where it is sent
    /// from, and nobody looks for what would have to be escaped in it.
    pub(crate) fn with_body(self, body: &[u8]) -> String {
        let size = base64::encoded_len(body.len(), true).unwrap_or(0);
        self.with(String::with_capacity(size + COMMAND_ROOM), |text| {
            if text.pop() == Some('}') && !text.ends_with('{') {
                text.push(',');
            }
            text.push_str("\"body\":\"");
            STANDARD.encode_string(body, text);
            text.push_str("\"}");
        })
    }

    fn with(self, mut text: String, complete: impl FnOnce(&mut String)) -> String {
        let Self {
            id,
            session,
            method,
            params,
        } = self;
        let method = Value::from(method);
        write!(text, "{{\"id\":{id},\"method\":{method},").expect("a string takes all text");
        if let Some(session) = session.map(Value::from) {
            write!(text, "\"sessionId\":{session},").expect("a string takes all text");
        }
        write!(text, "\"params\":{params}").expect("a string takes all text");
        complete(&mut text);
        text.push('}');
        text
    }
}

/// What a browser says.
#[derive(Debug, PartialEq)]
pub(crate) enum BrowserMessage {
    /// The answer to the command of this number.
    Answer(u64, Value),
    /// What it tells without being asked.
    Event(BrowserEvent),
}

/// What a browser tells without being asked.
#[derive(Debug, PartialEq)]
pub(crate) struct BrowserEvent {
    /// The session that it is about; none is the browser.
    pub(crate) session: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl BrowserMessage {
    /// Decodes a message; none if it is none of those that anybody waits for.
    pub(crate) fn decode(mut bytes: Vec<u8>) -> Option<Self> {
        if mend(&mut bytes) > MOST_VALUES {
            return None;
        }
        let mut message: Value = serde_json::from_slice(&bytes).ok()?;
        if !message.is_object() {
            return None;
        }
        if let Some(id) = message["id"].as_u64() {
            return Some(Self::Answer(id, message));
        }
        Some(Self::Event(BrowserEvent {
            method: message["method"].as_str()?.to_owned(),
            session: message["sessionId"].as_str().map(str::to_owned),
            params: message["params"].take(),
        }))
    }
}

/// Counts the values of a message, and replaces halves of characters in it. Strings of scripts may have
/// such halves (ECMA-262, 6.1.4), JSON may write them (RFC 8259, 8.2), and Rust's strings have none.
fn mend(bytes: &mut [u8]) -> usize {
    let mut values = 1;
    let mut is_text = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'\\' if is_text => mend_escape(bytes, at),
            b'"' => {
                is_text = !is_text;
                1
            }
            b',' | b':' | b'[' | b'{' if !is_text => {
                values += 1;
                1
            }
            _ => 1,
        };
    }
    values
}

/// Replaces half a character, if one is written here, and returns how many bytes are done.
fn mend_escape(bytes: &mut [u8], at: usize) -> usize {
    match unit(bytes, at) {
        None => 2,
        Some(0xd800..=0xdbff) if matches!(unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => 12,
        Some(0xd800..=0xdfff) => {
            bytes[at + 2..at + 6].copy_from_slice(REPLACEMENT);
            6
        }
        Some(_) => 6,
    }
}

/// The UTF-16 unit that is written here by its number.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn commands_are_json_whatever_is_in_them(
            id: u64,
            session in proptest::option::of(".*"),
            method in ".*",
            name in ".*",
            value in ".*",
            body in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            prop_assume!(name != "body");
            for params in [json!({}), json!({ name.as_str(): value.as_str() })] {
                let message = CommandMessage { id, session: session.as_deref(), method: &method, params: &params };
                let mut expected = json!({ "id": id, "method": method, "params": params });
                if let Some(session) = &session {
                    expected["sessionId"] = session.as_str().into();
                }
                let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                prop_assert_eq!(read(&message.written()), expected.clone());
                expected["params"]["body"] = STANDARD.encode(&body).into();
                prop_assert_eq!(read(&message.with_body(&body)), expected);
            }
        }
    }

    fn event(method: &str, params: Value) -> BrowserMessage {
        BrowserMessage::Event(BrowserEvent {
            session: None,
            method: method.to_owned(),
            params,
        })
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        for (written, read) in [
            (r"a\ud800", "a\u{fffd}"),
            (r"\udc00\ud83d\ude00b", "\u{fffd}\u{1f600}b"),
            (r"\ud800\ud83d\ude00", "\u{fffd}\u{1f600}"),
            (r"\\ud800", r"\ud800"),
            (r"\u0041,\n", "A,\n"),
        ] {
            let message = format!(r#"{{"method":"m","params":"{written}"}}"#);
            let decoded = BrowserMessage::decode(message.into_bytes());
            assert_eq!(decoded, Some(event("m", read.into())), "{written}");
        }
    }

    #[test]
    fn answers_and_events_differ() {
        let answer = json!({"id": 7, "result": {}});
        let decoded = BrowserMessage::decode(answer.to_string().into_bytes());
        assert_eq!(decoded, Some(BrowserMessage::Answer(7, answer)));
        let decoded = BrowserMessage::decode(br#"{"method":"m"}"#.to_vec());
        assert_eq!(decoded, Some(event("m", Value::Null)));
        for other in ["", "{}", "[]", "7", "null", r#"{"id":-1}"#, r#"{"method":"#] {
            assert_eq!(BrowserMessage::decode(other.into()), None, "{other}");
        }
    }

    #[test]
    fn a_message_of_too_many_values_is_none() {
        let rich = |count: usize| {
            let values = vec!["[]"; count].join(",");
            let message = format!(r#"{{"method":"m","params":[{values}]}}"#);
            BrowserMessage::decode(message.into_bytes())
        };
        assert!(rich(MOST_VALUES / 3).is_some());
        assert_eq!(rich(MOST_VALUES), None);
        // Text is one value, whatever it says.
        let text = ",".repeat(MOST_VALUES * 2);
        let message = format!(r#"{{"method":"m","params":"{text}"}}"#);
        assert!(BrowserMessage::decode(message.into_bytes()).is_some());
    }
}
