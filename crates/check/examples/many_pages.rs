//! Writes a WARC file with a site of many pages, for `cargo xtask check-flat`: `many_pages FILE PAGES`.
//!
//! A page has a title, a description and a text of its own; it links to ten others, to a part that is not
//! there on one page in a hundred, and to a page that is not there on one in fifty. One page in twenty
//! has a link of its own that leads away.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use clewline_warc::{
    Block, Digest, Effort, Encoder, Level, Moment, RecordDraft, RecordId, WarcCompression,
};
use mutate::Dice;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
/// Links of a page to others.
const LINKS: u64 = 10;
/// Words that texts are made of.
const WORDS: [&str; 16] = [
    "anchor", "harbour", "lantern", "keeper", "gallery", "weather", "signal", "channel", "tide",
    "compass", "ledger", "beacon", "rigging", "sextant", "voyage", "current",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a file")?;
    let pages: u64 = arguments.next().ok_or("say how many pages")?.parse()?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut encoder = Encoder::new(WarcCompression::Gzip(Level::Fast));
    let date = Moment::from_timestamp("2026").ok_or("a year is a date")?;
    let info = Block::plain(b"software: many_pages\r\n");
    let info = RecordDraft::warcinfo(RecordId::numbered([9; 16], 0), date, "many", info);
    encoder.encode(&info, Effort::Usual, &mut file)?;
    let mut dice = Dice(pages);
    for number in 0..pages {
        let (url, body) = (url(number), body(number, pages, &mut dice));
        let block = Block::message(HEAD).bytes(body.as_bytes());
        let id = RecordId::numbered([9; 16], number + 1);
        let draft = RecordDraft::response(id, date, &url, block);
        let draft = draft.payload_digest(Digest::sha1(body.as_bytes()));
        encoder.encode(&draft, Effort::Usual, &mut file)?;
    }
    file.flush().map_err(io::Error::into)
}

fn url(number: u64) -> String {
    format!("https://many.test/{}/page-{number}", number % 1000)
}

fn body(number: u64, pages: u64, dice: &mut Dice) -> String {
    let mut body = format!(
        "<!doctype html><html lang=en><title>Page {number}</title>\
         <meta name=description content=\"What page {number} tells\">\
         <main><h1 id=top-{number}>Page {number}</h1><p>"
    );
    for _ in 0..60 {
        let _ = write!(body, "{} ", WORDS[dice.below(WORDS.len())]);
    }
    for link in 0..LINKS {
        let other = (number * 10 + link + 1) % pages;
        let _ = write!(body, "<a href=\"{}\">{other}</a> ", url(other));
    }
    if number.is_multiple_of(100) {
        let other = url((number + 1) % pages);
        let _ = write!(body, "<a href=\"{other}#nowhere\">a part</a> ");
    }
    if number.is_multiple_of(50) {
        let _ = write!(body, "<a href=\"/gone/{number}\">gone</a> ");
    }
    if number.is_multiple_of(20) {
        let host = number % 5000;
        let _ = write!(body, "<a href=\"https://h{host}.test/{number}\">away</a>");
    }
    body
}
