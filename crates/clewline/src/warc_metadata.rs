//! An answer out of an archive, read as if it came now.
//!
//! Owns the way from the block of a record back to the facts and links of an answer. It refuses to
//! know where records lie. Archives may come from anywhere: everything that is read is foreign, and
//! bounded.

use std::io::{self, BufRead, Read};

use clewline_core::url::CrawlUrl;
pub(crate) use clewline_job::metadata::{Noted, outlinks};
use clewline_warc::http::{self, HttpHead};
use xxhash_rust::xxh3::Xxh3;

use crate::extract::{Extracted, Extraction, Extractor, PageHead};
use crate::headers::Headers;
use crate::partial::is_partial;

/// What is taken from a body at once.
const PIECE: usize = 64 * 1024;

/// An answer that was captured.
pub(crate) struct Captured {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) extracted: Extracted,
    /// Digest of the decoded body.
    pub(crate) digest: u128,
    /// Bytes of the body after decoding.
    pub(crate) decoded: u64,
    /// The body could not be decoded to its end, was larger than the limit, or is a part only.
    pub(crate) truncated: bool,
}

/// Reads an answer as if it came now. Nothing if the block holds none.
pub(crate) fn answer(
    url: &CrawlUrl,
    block: impl BufRead,
    extractor: &dyn Extractor,
    limit: u64,
) -> io::Result<Option<Captured>> {
    answer_told(url, block, extractor, limit, &mut |_| {})
}

/// The same; whoever wants the body gets it decoded, piece by piece.
pub(crate) fn answer_told(
    url: &CrawlUrl,
    block: impl BufRead,
    extractor: &dyn Extractor,
    limit: u64,
    tell: &mut dyn FnMut(&[u8]),
) -> io::Result<Option<Captured>> {
    let (head, body) = http::split(block)?;
    let head = HttpHead::parse(&head);
    let Some(status) = head.status() else {
        return Ok(None);
    };
    let headers = headers(head);
    let mut extraction = (200..300).contains(&status).then(|| {
        extractor.begin(PageHead {
            url,
            status,
            headers: &headers,
            sitemap: false,
        })
    });
    let mut digest = Xxh3::new();
    let mut decoded = 0;
    let codings = head.content_codings();
    let mut body = http::decoded(&codings, http::payload(head, body), limit);
    let mut piece = vec![0; PIECE];
    let truncated = loop {
        match body.as_mut().map(|body| body.read(&mut piece)) {
            Ok(Ok(0)) => break is_partial(status, &headers),
            Ok(Ok(count)) => {
                decoded += count as u64;
                digest.update(&piece[..count]);
                tell(&piece[..count]);
                if let Some(extraction) = &mut extraction {
                    extraction.feed(&piece[..count]);
                }
            }
            // What the record itself lacks is told by its end.
            Ok(Err(_)) | Err(_) => break true,
        }
    };
    if let Some(extraction) = extraction.as_mut().filter(|_| truncated) {
        extraction.cut();
    }
    Ok(Some(Captured {
        status,
        extracted: extraction.map(Extraction::finish).unwrap_or_default(),
        digest: digest.digest128(),
        decoded,
        truncated,
        headers,
    }))
}

/// The fields of a recorded head; folded lines become spaces.
pub(crate) fn headers(head: HttpHead<'_>) -> Headers {
    let mut headers = Headers::default();
    for (name, value) in head.fields() {
        let name = String::from_utf8_lossy(name);
        let value: Vec<u8> = value
            .iter()
            .map(|byte| match byte {
                b'\r' | b'\n' => b' ',
                other => *other,
            })
            .collect();
        headers.push(&name, &value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ExtractConfig;
    use crate::extract::PageExtractor;

    #[test]
    fn answers_are_read_again() {
        let extractor = PageExtractor::new(&ExtractConfig::default(), "clewline");
        let url = CrawlUrl::parse("http://a.test/d/").unwrap();
        let block = b"HTTP/1.1 200 OK\r\nX-F: a\r\n b\r\nContent-Type: text/html\r\n\
            Transfer-Encoding: chunked\r\n\r\n15\r\n<title>t</title><a hr\r\n6\r\nef=x>y\r\n0\r\n\r\n";
        let found = answer(&url, &block[..], &extractor, 1 << 20)
            .unwrap()
            .unwrap();
        assert_eq!(
            (found.status, found.decoded, found.truncated),
            (200, 27, false)
        );
        assert_eq!(found.headers.get("x-f"), Some(&b"a   b"[..]));
        assert_eq!(found.extracted.title.as_deref(), Some("t"));
        assert_eq!(
            found.extracted.links.get(0).unwrap().url.as_str(),
            "http://a.test/d/x"
        );
        let short = answer(&url, &block[..], &extractor, 8).unwrap().unwrap();
        assert!(short.truncated, "beyond the limit");
        let part = b"HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\n\r\n<a href=x>";
        let part = answer(&url, &part[..], &extractor, 99).unwrap().unwrap();
        assert!(part.truncated, "a part");
        assert!(
            answer(&url, &b"no answer"[..], &extractor, 8)
                .unwrap()
                .is_none()
        );
    }
}
