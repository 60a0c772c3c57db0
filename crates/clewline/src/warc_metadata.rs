//! What an archive holds about a URL, read again.
//!
//! Owns the way from the block of a record back to what a crawl knew: the facts and links of an
//! answer, the line and the links of a metadata record. It refuses to know where records lie.
//! Archives may come from anywhere: everything that is read is foreign, and bounded.

use std::io::{self, BufRead, Read};

use clewline_core::link::{Link, LinkKind, Links};
use clewline_core::url::CrawlUrl;
use clewline_warc::http::{self, HttpHead};
use xxhash_rust::xxh3::Xxh3;

use crate::extract::{Extracted, Extraction, Extractor, PageHead};
use crate::headers::Headers;
use crate::log::archive::{LINE_FIELD, OUTLINK_FIELD};
use crate::log::urls;
use crate::partial::is_partial;
use crate::record::{FORMAT, Record};

/// Links that are taken from one metadata record, far more than a page is read for by default.
const MOST_LINKS: usize = 500_000;
/// Bytes that are read of one metadata record.
const MOST_NOTED: u64 = 64 * 1024 * 1024;
/// A link is a URL of at most 8 KiB, and a few words.
const LONGEST_LINK: u64 = 64 * 1024;
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

/// What a metadata record of a crawl says.
pub(crate) struct Noted {
    /// The line of `urls.jsonl`, without its end.
    pub(crate) line: String,
    /// What the line says.
    pub(crate) record: Record,
    pub(crate) links: Vec<Link>,
}

/// Reads a metadata record. Nothing if it is none of a crawl of ours.
pub(crate) fn metadata(block: impl BufRead) -> io::Result<Option<Noted>> {
    let mut block = block.take(MOST_NOTED);
    let mut field = Vec::new();
    if !next_field(&mut block, urls::LONGEST_LINE, &mut field)? {
        return Ok(None);
    }
    let line = value_of(&field, LINE_FIELD).and_then(|line| str::from_utf8(line).ok());
    let record = line.and_then(|line| Some((line, serde_json::from_str::<Record>(line).ok()?)));
    let Some((line, record)) = record.filter(|(_, record)| record.v <= FORMAT) else {
        return Ok(None);
    };
    let mut noted = Noted {
        line: line.to_owned(),
        record,
        links: Vec::new(),
    };
    while noted.links.len() < MOST_LINKS && next_field(&mut block, LONGEST_LINK, &mut field)? {
        let value = value_of(&field, OUTLINK_FIELD);
        noted.links.extend(value.and_then(link));
    }
    Ok(Some(noted))
}

/// Reads a line; a longer one than allowed is read in parts, none of which means anything.
fn next_field(block: &mut impl BufRead, longest: u64, field: &mut Vec<u8>) -> io::Result<bool> {
    field.clear();
    Ok(block.take(longest).read_until(b'\n', field)? > 0)
}

fn value_of<'a>(field: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let rest = field.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
    Some(rest.trim_ascii())
}

/// `URL kind`, and `nofollow` behind them if that is what the page asked for.
fn link(value: &[u8]) -> Option<Link> {
    let mut words = str::from_utf8(value).ok()?.split(' ');
    let url = CrawlUrl::parse(words.next()?).ok()?;
    let kind = words.next()?;
    let kind = LinkKind::ALL.into_iter().find(|one| one.name() == kind)?;
    let mut link = Link::new(url, kind);
    link.nofollow = words.next() == Some(NOFOLLOW);
    Some(link)
}

/// The word behind a link that is not to be followed.
const NOFOLLOW: &str = "nofollow";

/// The links of a page as fields of a metadata record.
pub(crate) fn outlinks(links: &Links, page_nofollow: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(links.len() * 64);
    for link in links.iter() {
        let words = [link.url.as_str(), link.kind.name(), NOFOLLOW];
        let count = if link.nofollow || page_nofollow { 3 } else { 2 };
        text.extend_from_slice(OUTLINK_FIELD.as_bytes());
        text.push(b':');
        for word in &words[..count] {
            text.push(b' ');
            text.extend_from_slice(word.as_bytes());
        }
        text.extend_from_slice(b"\r\n");
    }
    text
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

    #[test]
    fn links_survive_their_record() {
        let url = |text: &str| CrawlUrl::parse(text).unwrap();
        let mut links = vec![
            Link::new(url("http://a.test/1"), LinkKind::Anchor),
            Link::new(url("http://a.test/2?q=%20"), LinkKind::Image),
        ];
        links[1].nofollow = true;
        let record = crate::report::samples::record("http://a.test/");
        let line = serde_json::to_string(&record).unwrap();
        let mut block = format!("{LINE_FIELD}: {line}\r\n").into_bytes();
        block.extend(outlinks(&links.iter().cloned().collect(), false));
        block.extend(b"outlink: nonsense\r\noutlink: http://a.test/3 unheard-of\r\nother: x\r\n");
        let noted = metadata(&block[..]).unwrap().unwrap();
        assert_eq!((noted.line, noted.links), (line, links.clone()));
        assert_eq!(noted.record, record);
        links[0].nofollow = true;
        let line = noted.record;
        let block = [
            format!(
                "{LINE_FIELD}: {}\r\n",
                serde_json::to_string(&line).unwrap()
            )
            .into_bytes(),
            outlinks(&links.iter().cloned().collect(), true),
        ]
        .concat();
        assert_eq!(metadata(&block[..]).unwrap().unwrap().links, links);
        for foreign in ["", "software: wget\r\n", "urls-jsonl: {}\r\n"] {
            assert!(metadata(foreign.as_bytes()).unwrap().is_none(), "{foreign}");
        }
    }
}
