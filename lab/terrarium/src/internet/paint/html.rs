//! The part of a page that is its own: head, article, links, and what only looks like links.
//!
//! Owns the markup. Refuses to know targets and how references are spelt. Invariant: every link
//! it is given stands in the page in a way that HTML makes a link of, and nothing else does.

use super::prose::{Prose, phrase};
use super::reference::{Standing, write_reference};
use crate::internet::chance::{Draw, Topic};
use crate::internet::shape::Markup;
use crate::internet::world::{Host, How, Link, Resource, Spot, World, push_number};

/// Pages per thousand with a base element.
const BASES: u32 = 100;
/// The folder of the base element, and how deep it is.
const BASE: &[u8] = b"<base href=\"/base/dir/\">\n";
const BASE_DEPTH: usize = 2;
/// What looks like a link and is none: comments, scripts, text, and references that lead
/// nowhere or to a part of the page.
const DECOYS: &[u8] = b"<!-- <a href=\"/decoy/comment\">gone</a> -->\n\
    <script>document.title += \"<a href='/decoy/script'>\";</script>\n\
    <textarea><a href=\"/decoy/textarea\">no</a></textarea>\n\
    <img src=\"/asset/1.png\" srcset=\"/asset/2.png 2x\" alt=\"\">\n\
    <a name=\"here\">here</a> <a href=\"mailto:a@site0.test\">write</a>\n\
    <a href=\"javascript:void(0)\">click</a> <a href=\"tel:+1\">call</a>\n";
/// The same for pages that try harder.
const WILD_DECOYS: &[u8] = b"<a hre=\"/decoy/attribute\">x</a><a title='href=\"/decoy/title\"'>\n\
    <a href=\"http://[/decoy/host\">no host</a><a href=\"http://a b.test/\">space</a>\n\
    <a href=\"data:text/html,<a href=/decoy/data>\">data</a><p title=\"<a href='/decoy/p'>\">\n\
    <a href=\"ftp://www.site0.test/decoy/ftp\">ftp</a>\n";

/// A page about to be written.
pub(super) struct Page<'a> {
    pub(super) world: &'a World,
    pub(super) host: &'a Host,
    pub(super) spot: Spot,
    pub(super) prose: &'a Prose,
}

impl Page<'_> {
    /// Writes everything after the opening.
    pub(super) fn write(&self, links: &[Link], out: &mut Vec<u8>) {
        let (host_key, page_key) = self.spot.keys();
        let draw = |topic| self.world.chance.draw(topic, host_key, page_key);
        let standing = self.standing(draw(Topic::Style), out);
        let title = phrase(draw(Topic::Text));
        out.extend_from_slice(b"<title>");
        push_words(out, title);
        out.extend_from_slice(b"</title>\n");
        let in_head = |link: &&Link| link.how == How::Canonical;
        for link in links.iter().filter(in_head) {
            self.link(link, &standing, 0, out);
        }
        out.extend_from_slice(b"</head><body>\n<h1>");
        push_words(out, title);
        out.extend_from_slice(b"</h1>\n");
        if self.world.shape.markup > Markup::Plain {
            out.extend_from_slice(DECOYS);
            if !standing.has_base {
                out.extend_from_slice(b"<a href=\"#here\">up</a>\n");
            }
        }
        if self.world.is_wild() {
            out.extend_from_slice(WILD_DECOYS);
        }
        self.article(links, &standing, out);
        out.extend_from_slice(b"</body></html>\n");
    }

    fn standing(&self, draw: Draw, out: &mut Vec<u8>) -> Standing {
        let mut path = Vec::new();
        let is_plain = self.world.shape.markup == Markup::Plain;
        if !is_plain {
            self.world
                .write_path(self.host, self.spot.resource, &mut path);
        }
        let has_base = !is_plain && draw.happens(BASES);
        if has_base {
            out.extend_from_slice(BASE);
        }
        let folders = path.split(|byte| *byte == b'?').next().unwrap_or(&[]);
        let depth = memchr::memchr_iter(b'/', folders).count();
        Standing {
            host: *self.host,
            secure: self.spot.secure,
            has_base,
            depth: if has_base {
                BASE_DEPTH
            } else {
                depth.saturating_sub(1)
            },
        }
    }

    /// Paragraphs, with the links spread among them.
    fn article(&self, links: &[Link], standing: &Standing, out: &mut Vec<u8>) {
        let (host_key, page_key) = self.spot.keys();
        let draw = self.world.chance.draw(Topic::Text, host_key, page_key);
        let paragraphs = self.world.shape.text.at(draw) as usize;
        let paragraphs = match self.spot.resource {
            Resource::Page(_) | Resource::Copy(_) => paragraphs,
            _ => 1,
        };
        let links: Vec<&Link> = links
            .iter()
            .filter(|link| link.how != How::Canonical)
            .collect();
        let portion = links.len().div_ceil(paragraphs.max(1)).max(1);
        let mut portions = links.chunks(portion);
        let mut number = 0;
        for paragraph in 0..paragraphs.max(1) as u64 {
            if paragraphs > 0 {
                let pick = draw.bits().wrapping_add(paragraph.wrapping_mul(7));
                out.extend_from_slice(self.prose.pick(pick));
            }
            for link in portions.next().unwrap_or_default() {
                number += 1;
                self.link(link, standing, number, out);
            }
        }
    }

    fn link(&self, link: &Link, standing: &Standing, number: u32, out: &mut Vec<u8>) {
        let (host_key, page_key) = self.spot.keys();
        let key = page_key << 20 ^ u64::from(number);
        let style = self.world.chance.draw(Topic::Style, host_key, key);
        if self.world.shape.markup == Markup::Plain {
            out.extend_from_slice(b"<a href=\"");
            write_reference(self.world, standing, link, style, out);
            out.extend_from_slice(b"\">");
            out.extend_from_slice(phrase(style)[0].as_bytes());
            return out.extend_from_slice(b"</a>\n");
        }
        let (before, after) = match (link.how, style.bits() >> 16 & 3) {
            (How::Anchor, 0) if self.world.is_wild() => (&b"<A HREF = "[..], &b" CLASS=x>"[..]),
            (How::Anchor, 1) if self.world.is_wild() => (&b"<a\n\thref="[..], &b"\n>"[..]),
            (how, _) => element(how),
        };
        out.extend_from_slice(before);
        let quote = quote(self.world.is_wild(), link.how, style);
        out.extend_from_slice(quote);
        let start = out.len();
        write_reference(self.world, standing, link, style, out);
        // Without quotes white space ends the value, and an empty value takes what follows.
        let needs_quotes = out[start..].iter().any(u8::is_ascii_whitespace);
        if quote.is_empty() && needs_quotes {
            out.insert(start, b'"');
            out.push(b'"');
        }
        out.extend_from_slice(quote);
        out.extend_from_slice(after);
        if link.how == How::Anchor {
            push_number(out, u64::from(number));
            out.extend_from_slice(b" ");
            out.extend_from_slice(phrase(style)[1].as_bytes());
            out.extend_from_slice(b"</a>\n");
        }
    }
}

/// What stands before and after a reference.
fn element(how: How) -> (&'static [u8], &'static [u8]) {
    match how {
        How::Anchor => (b"<a class=\"x\" href=", b">"),
        How::Area => (
            b"<map name=\"m\"><area shape=\"default\" href=",
            b" alt=\"\"></map>\n",
        ),
        How::Frame => (b"<iframe src=", b" title=\"frame\"></iframe>\n"),
        How::Next => (b"<link rel=\"next\" href=", b">\n"),
        How::Alternate => (b"<link rel=\"alternate\" hreflang=\"en\" href=", b">\n"),
        How::Canonical => (b"<link rel=\"canonical\" href=", b">\n"),
        How::Refresh => (
            b"<meta http-equiv=\"refresh\" content=\"900; url=",
            b"\">\n",
        ),
        How::Nofollow => (b"<a rel=\"nofollow noopener\" href=", b">not you</a>\n"),
    }
}

fn quote(is_wild: bool, how: How, style: Draw) -> &'static [u8] {
    let kinds: &[&[u8]] = match how {
        How::Refresh => &[b""],
        _ if is_wild => &[b"\"", b"'", b""],
        _ => &[b"\"", b"\"", b"\"", b"'"],
    };
    kinds[(style.bits() >> 8) as usize % kinds.len()]
}

fn push_words(out: &mut Vec<u8>, words: [&str; 2]) {
    out.extend_from_slice(words[0].as_bytes());
    out.push(b' ');
    out.extend_from_slice(words[1].as_bytes());
}

/// A page in UTF-16, with a byte order mark.
pub(super) fn widened(opening: &[u8], text: &[u8]) -> Vec<u8> {
    let mut wide = vec![0xFF, 0xFE];
    for part in [opening, text] {
        let units = String::from_utf8_lossy(part);
        wide.extend(units.encode_utf16().flat_map(u16::to_le_bytes));
    }
    wide
}
