//! A request and its answer between the two forms.
//!
//! Owns which fields belong to one version only (RFC 9113 section 8.2.2). The answer is written as
//! HTTP/1.1 would have it: an empty reason, fields as they came and in their order, no framing that
//! nobody sent. Archives hold just that text.

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::{HeaderName, HeaderValue};
use http::{Method, Request, Response, Uri};

/// Fields of a request line; ours has fewer.
const MOST_FIELDS: usize = 64;

/// Fields that speak of one connection of HTTP/1.1.
const CONNECTION_FIELDS: [&str; 6] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// The request that these bytes of HTTP/1.1 make; none if they do not.
pub(super) fn request(bytes: &[u8]) -> Option<Request<()>> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    if !head.parse(bytes).ok()?.is_complete() {
        return None;
    }
    let host = head
        .headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("host"))?;
    let uri = Uri::builder()
        .scheme("https")
        .authority(host.value)
        .path_and_query(head.path?)
        .build()
        .ok()?;
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(head.method?.as_bytes()).ok()?;
    *request.uri_mut() = uri;
    for field in head
        .headers
        .iter()
        .filter(|field| !is_of_connection(field.name))
    {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        request
            .headers_mut()
            .append(name, HeaderValue::from_bytes(field.value).ok()?);
    }
    Some(request)
}

/// The head of an answer as bytes of HTTP/1.1.
pub(super) fn response<Body>(response: &Response<Body>) -> Bytes {
    let mut text = BytesMut::with_capacity(512);
    text.put_slice(b"HTTP/1.1 ");
    text.put_slice(response.status().as_str().as_bytes());
    text.put_slice(b" \r\n");
    for (name, value) in response.headers() {
        if is_of_connection(name.as_str()) {
            continue;
        }
        text.put_slice(name.as_str().as_bytes());
        text.put_slice(b": ");
        text.put_slice(value.as_bytes());
        text.put_slice(b"\r\n");
    }
    text.put_slice(b"\r\n");
    text.freeze()
}

fn is_of_connection(name: &str) -> bool {
    CONNECTION_FIELDS
        .iter()
        .any(|field| name.eq_ignore_ascii_case(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_what_is_not_of_a_connection() {
        let bytes = b"GET /a?b=c HTTP/1.1\r\nHost: a.test:8443\r\nUser-Agent: x\r\n\
            Connection: close\r\nAccept: a\r\nAccept: b\r\n\r\n";
        let request = request(bytes).unwrap();
        assert_eq!(request.uri().to_string(), "https://a.test:8443/a?b=c");
        assert_eq!(request.headers().len(), 3);
        assert!(!request.headers().contains_key("connection"));
        assert!(super::request(b"GET / HTTP/1.1\r\n\r\n").is_none());
        assert!(super::request(b"GET / HTTP/1.1\r\nHost: a\r\n").is_none());
    }

    #[test]
    fn an_answer_is_written_as_it_came() {
        let answer = Response::builder()
            .status(404)
            .header("content-type", "text/html")
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
            .header("transfer-encoding", "chunked")
            .body(())
            .unwrap();
        let expected = "HTTP/1.1 404 \r\ncontent-type: text/html\r\nset-cookie: a=1\r\n\
            set-cookie: b=2\r\n\r\n";
        assert_eq!(response(&answer), expected.as_bytes());
    }
}
