//! Answers as the browser takes them.
//!
//! Owns the header fields that a browser gets with an answer. It refuses to know where answers come from.
//! Invariant: a body goes to the browser whole and decoded, so no field speaks of its form on the wire.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::page::request::PausedRequest;

/// Fields about the connection or the form on the wire, and those that outlive a page.
const NOT_PASSED_ON: [&str; 12] = [
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "transfer-encoding",
    "trailer",
    "upgrade",
    "alt-svc",
    "strict-transport-security",
    "report-to",
    "reporting-endpoints",
    "nel",
];

/// Statuses without a body (RFC 9110, 15.3.5 and 15.4.5; 205 has none either).
const WITHOUT_BODY: [u16; 3] = [204, 205, 304];

/// An answer for the browser.
#[derive(Debug)]
pub(super) struct FulfilParams<'a> {
    /// Parameters of `Fetch.fulfillRequest`, without the body.
    pub(super) params: Value,
    /// The bytes of the body, if the status has one.
    pub(super) body: &'a [u8],
}

impl<'a> FulfilParams<'a> {
    pub(super) fn new(
        id: &str,
        status: u16,
        headers: &[(String, Vec<u8>)],
        body: &'a [u8],
    ) -> Self {
        let mut fields = Vec::new();
        for (name, value) in headers {
            let is_passed = !NOT_PASSED_ON
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known));
            let is_clean = !name.bytes().chain(value.iter().copied()).any(is_separator);
            if is_passed && is_clean {
                fields.extend_from_slice(name.as_bytes());
                fields.extend_from_slice(b": ");
                fields.extend_from_slice(value);
                fields.push(0);
            }
        }
        let params = json!({
            "requestId": id,
            "responseCode": status,
            "binaryResponseHeaders": STANDARD.encode(fields),
        });
        let has_body = !WITHOUT_BODY.contains(&status);
        let body = if has_body { body } else { &[] };
        Self { params, body }
    }
}

/// Zero bytes divide fields on the way to the browser, and line ends divided them on the wire.
fn is_separator(byte: u8) -> bool {
    matches!(byte, 0 | b'\r' | b'\n')
}

/// Parameters of `Fetch.failRequest`.
pub(super) fn fail(id: &str) -> Value {
    json!({ "requestId": id, "errorReason": "BlockedByClient" })
}

/// The answer to the question whether a request would be allowed: it would, and it is not sent then.
pub(super) fn allow(request: &PausedRequest) -> FulfilParams<'static> {
    let mut headers = Vec::new();
    share(request, &mut headers);
    for (wish, name) in [
        (
            "Access-Control-Request-Method",
            "Access-Control-Allow-Methods",
        ),
        (
            "Access-Control-Request-Headers",
            "Access-Control-Allow-Headers",
        ),
    ] {
        if let Some(value) = request.wish(wish) {
            headers.push((name.to_owned(), value.as_bytes().to_vec()));
        }
    }
    FulfilParams::new(&request.id, 204, &headers, &[])
}

/// Lets a page read an answer of another origin. The crawler names no origin when it asks, so the server
/// could not agree to one; and there is no secret in an answer that anybody may have.
pub(super) fn share(request: &PausedRequest, headers: &mut Vec<(String, Vec<u8>)>) {
    let Some(origin) = &request.origin else {
        return;
    };
    headers.retain(|(name, _)| {
        !name.eq_ignore_ascii_case("Access-Control-Allow-Origin")
            && !name.eq_ignore_ascii_case("Access-Control-Allow-Credentials")
    });
    headers.push((
        "Access-Control-Allow-Origin".to_owned(),
        origin.as_bytes().to_vec(),
    ));
    headers.push((
        "Access-Control-Allow-Credentials".to_owned(),
        b"true".to_vec(),
    ));
}

/// Whether an answer is a stream of events, which has no end.
pub(super) fn is_stream(headers: &[(String, Vec<u8>)]) -> bool {
    let mut types = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    types.any(|(_, value)| {
        value.len() >= 17 && value[..17].eq_ignore_ascii_case(b"text/event-stream")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_wire_stay_there() {
        let headers = [
            ("Content-Type", "text/html"),
            ("content-encoding", "br"),
            ("Transfer-Encoding", "chunked"),
            ("X-Bad", "a\r\nb: c"),
            ("X-Old", "caf\u{e9}"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        let answer = FulfilParams::new("7", 200, &headers, b"body");
        let fields = STANDARD
            .decode(answer.params["binaryResponseHeaders"].as_str().unwrap())
            .unwrap();
        assert_eq!(
            String::from_utf8(fields).unwrap(),
            "Content-Type: text/html\0X-Old: caf\u{e9}\0"
        );
        assert_eq!(answer.body, b"body");
        assert_eq!(FulfilParams::new("7", 204, &[], b"body").body, b"");
    }

    #[test]
    fn event_streams_are_known() {
        for (value, expected) in [
            ("text/event-stream", true),
            ("Text/Event-Stream; charset=utf-8", true),
            ("text/html", false),
        ] {
            let headers = [("Content-Type".to_owned(), value.as_bytes().to_vec())];
            assert_eq!(is_stream(&headers), expected, "{value}");
        }
    }
}
