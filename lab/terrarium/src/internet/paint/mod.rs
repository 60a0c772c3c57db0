//! The bytes of an answer.
//!
//! Owns head and body of everything that is served. Bodies are put together from a beginning
//! that was compressed once and an end that is written for the page and sent as it is inside the
//! coding, so that a compressed page costs no more than a copy. Refuses to know sockets and time.
//! Invariant: the bytes depend on the world and the order alone.

mod coding;
mod html;
mod opening;
mod prose;
mod reference;
mod script;

use std::sync::Arc;

pub(crate) use coding::Wrapping;

use super::chance::Topic;
use super::shape::Markup;
use super::world::{
    Act, Charset, Flavour, Host, Link, Reaction, Resource, Spot, World, push_number,
};
use opening::{Openings, Style};
use prose::Prose;

/// Larger than any crawler's bound for headers.
const HUGE_HEAD: usize = 128 << 10;
/// What the small bomb unpacks to.
const BOMB_MEBIBYTES: usize = 64;
/// Pages per thousand that set a cookie, and that come in chunks.
const COOKIES: u32 = 300;
const CHUNKED: u32 = 300;
/// Pages per thousand of a wild web whose end is the end of the connection.
const UNFRAMED: u32 = 60;
/// Headers that real servers send and nobody reads.
const ORDINARY: &str = "Cache-Control: private, max-age=0, must-revalidate\r\n\
    Vary: Accept-Encoding, Cookie\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: SAMEORIGIN\r\n\
    Referrer-Policy: strict-origin-when-cross-origin\r\n\
    Strict-Transport-Security: max-age=31536000; includeSubDomains\r\n";

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) spot: Spot,
    pub(crate) accepts_gzip: bool,
    pub(crate) accepts_brotli: bool,
    pub(crate) has_cookie: bool,
    /// What an ailing resource does this time.
    pub(crate) act: Option<Act>,
}

/// The answer. The parts go out one after the other.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) head: Vec<u8>,
    pub(crate) opening: Option<Arc<[u8]>>,
    pub(crate) body: Vec<u8>,
    /// The end of the connection is the end of the answer.
    pub(crate) closes: bool,
    pub(crate) status: u16,
}

impl Sheet {
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.body.clear();
        self.opening = None;
        self.closes = false;
        self.status = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.opening.as_ref().map_or(0, |bytes| bytes.len()) + self.body.len()
    }
}

/// How the length of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length,
    Chunked,
    Unframed,
}

/// Writes answers; it keeps buffers and what was compressed before.
pub(crate) struct Painter {
    openings: Openings,
    prose: Prose,
    bomb: Option<Arc<[u8]>>,
    text: Vec<u8>,
    links: Vec<Link>,
}

impl Painter {
    pub(crate) fn new() -> Self {
        Self {
            openings: Openings::default(),
            prose: Prose::new(),
            bomb: None,
            text: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Writes the answer to an order.
    pub(crate) fn paint(&mut self, world: &World, order: &Order, sheet: &mut Sheet) {
        sheet.clear();
        let spot = order.spot;
        let host = world.host(spot.host);
        let status = match (order.act, world.reaction(&host, spot, order.has_cookie)) {
            (Some(act), _) => return self.act(act, sheet),
            (None, Reaction::Content(status)) => status,
            (None, Reaction::Moved(status, to)) => return moved(world, order, (status, to), sheet),
            (None, Reaction::Ailing(_)) => 200,
        };
        match spot.resource {
            Resource::Robots | Resource::RobotsElsewhere => robots(world, &host, spot, sheet),
            Resource::Sitemap(_) if status == 200 => self.sitemap(world, &host, spot, sheet),
            Resource::Asset => simple(sheet, 200, "text/css", b"body { margin: 0 }\n"),
            Resource::Part(number) => {
                world.links(&host, Resource::Page(number), &mut self.links);
                script::data(world, &self.links, sheet);
            }
            Resource::Beside(..) => simple(sheet, 200, "text/plain", b"beside\n"),
            Resource::Page(number) if status == 200 && world.scripted => {
                script::shell(world, &host, number, sheet);
            }
            _ if status == 200 => self.page(world, &host, order, sheet),
            _ => simple(
                sheet,
                status,
                "text/html",
                b"<h1>There is nothing here</h1>\n",
            ),
        }
    }

    fn page(&mut self, world: &World, host: &Host, order: &Order, sheet: &mut Sheet) {
        let spot = order.spot;
        let (host_key, page_key) = spot.keys();
        let draw = |topic| world.chance.draw(topic, host_key, page_key);
        world.links(host, spot.resource, &mut self.links);
        self.text.clear();
        let page = html::Page {
            world,
            host,
            spot,
            prose: &self.prose,
        };
        page.write(&self.links, &mut self.text);
        let wrapping = Wrapping::choose(world, order, host, draw(Topic::Coding));
        let style = Style::for_host(world, host);
        let filler = world.shape.filler.at(draw(Topic::Filler));
        if host.charset == Charset::Utf16 {
            sheet.body = html::widened(&opening::text(style, 0), &self.text);
        } else {
            let opening = self.openings.compressed(style, filler, wrapping);
            coding::close(&opening, &self.text, &mut sheet.body);
            sheet.opening = Some(Arc::clone(&opening.bytes));
        }
        begin(sheet, 200);
        let head = &mut sheet.head;
        head.extend_from_slice(b"Content-Type: text/html");
        if style.in_header {
            head.extend_from_slice(b"; charset=");
            head.extend_from_slice(host.charset.name().as_bytes());
        }
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(wrapping.header());
        if world.shape.furnished {
            head.extend_from_slice(ORDINARY.as_bytes());
            if draw(Topic::Cookie).happens(COOKIES) {
                head.extend_from_slice(b"Set-Cookie: visit=1; Path=/; HttpOnly\r\n");
            }
        }
        finish(sheet, framing(world, draw(Topic::Framing).below(1000)));
    }

    fn sitemap(&mut self, world: &World, host: &Host, spot: Spot, sheet: &mut Sheet) {
        world.links(host, spot.resource, &mut self.links);
        let is_index = matches!(
            self.links.first(),
            Some(Link { to, .. }) if matches!(to.resource, Resource::Sitemap(_))
        );
        let urls = self.links.iter().map(|link| world.url(link.to));
        let text = if is_index {
            crate::generate::sitemap_index(urls)
        } else {
            crate::generate::sitemap(urls)
        };
        if spot.resource == Resource::Sitemap(0) {
            return simple(sheet, 200, "application/xml", text.as_bytes());
        }
        let packed = crate::generate::encode(crate::Coding::Gzip, text.as_bytes());
        simple(sheet, 200, "application/gzip", &packed);
    }

    /// The answers of ailing resources. Those that end early are whole here; who sends them cuts
    /// them.
    fn act(&mut self, act: Act, sheet: &mut Sheet) {
        const TEXT: &[u8] = b"<title>Better now</title><p>It was nothing serious.\n";
        match act {
            Act::Later(status) => {
                begin(sheet, status);
                sheet.head.extend_from_slice(b"Retry-After: 1\r\n");
                finish(sheet, Framing::Length);
            }
            Act::HugeHead => {
                begin(sheet, 200);
                sheet.head.extend_from_slice(b"X-Padding: ");
                sheet.head.resize(sheet.head.len() + HUGE_HEAD, b'x');
                sheet.head.extend_from_slice(b"\r\n");
                finish(sheet, Framing::Length);
            }
            Act::BrokenCoding => {
                begin(sheet, 200);
                sheet.head.extend_from_slice(Wrapping::Gzip.header());
                sheet
                    .body
                    .extend_from_slice(b"\x1F\x8B\x08\x00\0\0\0\0\0\x03\xFF\xFF\xFF\xFF");
                sheet.body.extend_from_slice(TEXT);
                finish(sheet, Framing::Length);
            }
            Act::Bomb => {
                let pack = || crate::generate::bomb(crate::Coding::Gzip, BOMB_MEBIBYTES).into();
                let bomb = self.bomb.get_or_insert_with(pack);
                begin(sheet, 200);
                sheet
                    .head
                    .extend_from_slice(b"Content-Type: text/plain\r\n");
                sheet.head.extend_from_slice(Wrapping::Gzip.header());
                sheet.opening = Some(Arc::clone(bomb));
                finish(sheet, Framing::Length);
            }
            Act::Endless => {
                begin(sheet, 200);
                sheet
                    .head
                    .extend_from_slice(b"Content-Type: text/plain\r\n");
                finish(sheet, Framing::Unframed);
            }
            Act::Gibberish => {
                sheet
                    .head
                    .extend_from_slice(b"SSH-2.0-terrarium\r\n\0\0\x01\x02\r\n");
                sheet.closes = true;
            }
            Act::Interim => {
                let hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\
                    Link: </asset/a.css>; rel=preload; as=style\r\n\r\n";
                sheet.head.extend_from_slice(hints);
                simple(sheet, 200, "text/html", TEXT);
            }
            Act::Status(status) => simple(sheet, status, "text/html", TEXT),
            Act::Reset | Act::Cut | Act::Stall | Act::Drip => {
                simple(sheet, 200, "text/html", TEXT);
            }
        }
    }
}

fn framing(world: &World, kind: u32) -> Framing {
    if !world.shape.furnished {
        return Framing::Length;
    }
    match kind {
        0..CHUNKED => Framing::Chunked,
        _ if kind < CHUNKED + UNFRAMED && world.shape.markup == Markup::Wild => Framing::Unframed,
        _ => Framing::Length,
    }
}

fn robots(world: &World, host: &Host, spot: Spot, sheet: &mut Sheet) {
    let text = world.robots_text(host);
    match (host.flavour, spot.resource) {
        (Flavour::Missing, _) => simple(sheet, 404, "text/html", b"<h1>Not here</h1>\n"),
        (Flavour::Forbidden, _) => simple(sheet, 403, "text/html", b"<h1>No</h1>\n"),
        (Flavour::Broken, _) => simple(sheet, 500, "text/html", b"<h1>Broken</h1>\n"),
        (Flavour::Elsewhere, Resource::Robots) => {
            begin(sheet, 301);
            sheet
                .head
                .extend_from_slice(b"Location: /robots-are-here.txt\r\n");
            finish(sheet, Framing::Length);
        }
        _ => simple(sheet, 200, "text/plain; charset=utf-8", text.as_bytes()),
    }
}

fn moved(world: &World, order: &Order, (status, to): (u16, Spot), sheet: &mut Sheet) {
    begin(sheet, status);
    sheet.head.extend_from_slice(b"Location: ");
    let spot = order.spot;
    let is_near = (to.host, to.secure) == (spot.host, spot.secure);
    if !(is_near && status != 301) {
        world.write_origin(to.host, to.secure, &mut sheet.head);
    }
    world.write_path(&world.host(to.host), to.resource, &mut sheet.head);
    sheet.head.extend_from_slice(b"\r\n");
    if spot.resource == Resource::WallDoor && spot.secure == world.is_secure(spot.host) {
        sheet
            .head
            .extend_from_slice(b"Set-Cookie: member=1; Path=/\r\n");
    }
    sheet.body.extend_from_slice(b"<p>It has moved.\n");
    finish(sheet, Framing::Length);
}

/// An answer without furniture.
pub(crate) fn simple(sheet: &mut Sheet, status: u16, kind: &str, body: &[u8]) {
    begin(sheet, status);
    let head = &mut sheet.head;
    head.extend_from_slice(b"Content-Type: ");
    head.extend_from_slice(kind.as_bytes());
    head.extend_from_slice(b"\r\n");
    sheet.body.extend_from_slice(body);
    finish(sheet, Framing::Length);
}

fn begin(sheet: &mut Sheet, status: u16) {
    sheet.status = status;
    sheet.head.extend_from_slice(b"HTTP/1.1 ");
    push_number(&mut sheet.head, u64::from(status));
    sheet.head.extend_from_slice(reason(status).as_bytes());
    sheet.head.extend_from_slice(b"\r\nServer: terrarium\r\n");
}

/// Ends the head, and the body where its framing needs that.
fn finish(sheet: &mut Sheet, framing: Framing) {
    let length = sheet.opening.as_ref().map_or(0, |bytes| bytes.len()) + sheet.body.len();
    let head = &mut sheet.head;
    match framing {
        Framing::Length => {
            head.extend_from_slice(b"Content-Length: ");
            push_number(head, length as u64);
            head.extend_from_slice(b"\r\n\r\n");
        }
        Framing::Chunked => {
            head.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            head.extend_from_slice(format!("{length:x}\r\n").as_bytes());
            sheet.body.extend_from_slice(b"\r\n0\r\n\r\n");
        }
        Framing::Unframed => {
            head.extend_from_slice(b"Connection: close\r\n\r\n");
            sheet.closes = true;
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => " OK",
        301 => " Moved Permanently",
        302 => " Found",
        303 => " See Other",
        307 => " Temporary Redirect",
        308 => " Permanent Redirect",
        403 => " Forbidden",
        404 => " Not Found",
        410 => " Gone",
        429 => " Too Many Requests",
        500 => " Internal Server Error",
        503 => " Service Unavailable",
        _ => " ",
    }
}
