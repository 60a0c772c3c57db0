//! What the benchmark measures apart and users never call.
//!
//! Owns thin doors to inner parts, one for each hot path that the public API does not reach by
//! itself. Nothing here is promised: it may change with any version.

use crate::fetch::http1::{HeadLimits, HeadReader, HeadStep};

/// Reads the head of a whole answer: its status and how many bytes it took.
pub fn response_head(bytes: &[u8]) -> Option<(u16, usize)> {
    let mut reader = HeadReader::new(&HeadLimits::default());
    match reader.read(bytes) {
        Ok(HeadStep::Complete(head)) => Some((head.status, head.raw_len)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_head_ends_where_its_body_begins() {
        let head = b"HTTP/1.1 204 No Content\r\nA: b\r\n\r\n";
        let mut answer = head.to_vec();
        answer.extend_from_slice(b"rest");
        assert_eq!(super::response_head(&answer), Some((204, head.len())));
        assert_eq!(super::response_head(b"HTTP/1.1 200 OK\r\n"), None);
    }
}
