//! The metadata record that a crawl writes behind each answer: the line and the links of its URL.
//!
//! Owns the block of that record, both ways. It refuses to know where records lie. Archives may come
//! from anywhere: everything that is read is foreign, and bounded.

use std::io::{self, BufRead, Read as _};

use clewline_core::link::{Link, LinkKind, Links};
use clewline_core::url::CrawlUrl;

use crate::archive::{EXTRACTOR_FIELD, LINE_FIELD, OUTLINK_FIELD};
use crate::log::urls;
use crate::record::{FORMAT, Record};

/// Links that are taken from one metadata record, far more than a page is read for by default.
const MOST_LINKS: usize = 500_000;
/// Bytes that are read of one metadata record.
const MOST_NOTED: u64 = 64 * 1024 * 1024;
/// A link is a URL of at most 8 KiB, and a few words.
const LONGEST_LINK: u64 = 64 * 1024;

/// What a metadata record of a crawl says.
pub struct Noted {
    /// The line of `urls.jsonl`, without its end.
    pub line: String,
    /// What the line says.
    pub record: Record,
    /// The links of its page.
    pub links: Vec<Link>,
    /// What found them, if that is told: the same finds the same in the same answer.
    pub extractor: Option<u64>,
}

/// Reads a metadata record. Nothing if it is none of a crawl of ours.
pub fn metadata(block: impl BufRead) -> io::Result<Option<Noted>> {
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
        extractor: None,
    };
    while noted.links.len() < MOST_LINKS && next_field(&mut block, LONGEST_LINK, &mut field)? {
        if let Some(value) = value_of(&field, OUTLINK_FIELD) {
            noted.links.extend(link(value, &noted.record.url));
        } else if let Some(value) = value_of(&field, EXTRACTOR_FIELD) {
            noted.extractor = extractor(value);
        }
    }
    Ok(Some(noted))
}

/// The record that a metadata record holds, without its links.
pub fn record(block: impl BufRead) -> Option<Record> {
    let mut block = block.take(urls::LONGEST_LINE);
    let mut field = Vec::new();
    next_field(&mut block, urls::LONGEST_LINE, &mut field).ok()?;
    serde_json::from_slice(value_of(&field, LINE_FIELD)?).ok()
}

/// Reads a line; a longer one than allowed is read in parts, none of which means anything.
fn next_field(block: &mut impl BufRead, longest: u64, field: &mut Vec<u8>) -> io::Result<bool> {
    field.clear();
    Ok(block.by_ref().take(longest).read_until(b'\n', field)? > 0)
}

fn value_of<'a>(field: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let rest = field.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
    Some(rest.trim_ascii())
}

/// `URL kind`, and `nofollow` behind them if that is what the page asked for. Most URLs are those of the
/// page's own site, and a path on it needs no parser.
fn link(value: &[u8], page: &CrawlUrl) -> Option<Link> {
    let mut words = str::from_utf8(value).ok()?.split(' ');
    let text = words.next()?;
    let path = text.strip_prefix(page.origin());
    let near = path.filter(|path| path.starts_with('/') && !path.starts_with("//"));
    let url = match near.and_then(|path| page.join_plain(path)) {
        Some(url) => url,
        None => CrawlUrl::parse(text).ok()?,
    };
    let kind = words.next()?;
    let kind = LinkKind::ALL.into_iter().find(|one| one.name() == kind)?;
    let mut link = Link::new(url, kind);
    link.nofollow = words.next() == Some(NOFOLLOW);
    Some(link)
}

/// The word behind a link that is not to be followed.
const NOFOLLOW: &str = "nofollow";

/// Sixteen hexadecimal digits.
fn extractor(value: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(value).ok().filter(|text| text.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The links of a page as fields of a metadata record, behind what found them if that is to be told.
pub fn outlinks(links: &Links, page_nofollow: bool, extractor: Option<u64>) -> Vec<u8> {
    let mut text = Vec::with_capacity(64 + links.len() * 64);
    if let Some(extractor) = extractor {
        text.extend_from_slice(format!("{EXTRACTOR_FIELD}: {extractor:016x}\r\n").as_bytes());
    }
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
        block.extend(outlinks(&links.iter().cloned().collect(), false, None));
        block.extend(b"outlink: nonsense\r\noutlink: http://a.test/3 unheard-of\r\nother: x\r\n");
        let noted = metadata(&block[..]).unwrap().unwrap();
        assert_eq!((noted.line, noted.links), (line, links.clone()));
        assert_eq!(noted.extractor, None);
        assert_eq!(noted.record, record);
        links[0].nofollow = true;
        let line = noted.record;
        let block = [
            format!(
                "{LINE_FIELD}: {}\r\n",
                serde_json::to_string(&line).unwrap()
            )
            .into_bytes(),
            outlinks(&links.iter().cloned().collect(), true, Some(0xfe)),
        ]
        .concat();
        let noted = metadata(&block[..]).unwrap().unwrap();
        assert_eq!((noted.links, noted.extractor), (links, Some(0xfe)));
        for foreign in ["", "software: wget\r\n", "urls-jsonl: {}\r\n"] {
            assert!(metadata(foreign.as_bytes()).unwrap().is_none(), "{foreign}");
        }
    }
}
