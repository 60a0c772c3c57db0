//! How a target is spelt in a page.
//!
//! Owns the many texts that mean one URL by the WHATWG standard: relative to the folder or to
//! the base, with dot segments, tabs, backslashes, entities, capitals, letters beyond ASCII.
//! Invariant: whatever the spelling, it resolves to exactly the target.

use crate::internet::chance::Draw;
use crate::internet::shape::Markup;
use crate::internet::world::{Charset, Host, How, Link, Resource, Spot, World};

/// Where a reference stands.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) host: Host,
    pub(super) secure: bool,
    pub(super) has_base: bool,
    /// Folders between the root and what references are relative to.
    pub(super) depth: usize,
}

impl Standing {
    fn is_near(&self, to: Spot) -> bool {
        (to.host, to.secure) == (self.host.id, self.secure)
    }

    /// The path of a target; most need no look at their host.
    fn write_path(&self, world: &World, to: Spot, out: &mut Vec<u8>) {
        if to.resource == Resource::Page(0) {
            out.push(b'/');
        } else if to.host == self.host.id {
            world.write_path(&self.host, to.resource, out);
        } else {
            world.write_path(&world.host(to.host), to.resource, out);
        }
    }
}

/// A way to spell a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// From the root of the host.
    Rooted,
    Absolute,
    /// From the scheme on.
    SchemeRelative,
    /// From the folder upwards.
    Relative,
    Fragment,
    Spaced,
    Tabbed,
    Backslashes,
    Capitals,
    DotSegments,
    EscapedDots,
    Entities,
    /// An ampersand that begins no entity, though it looks like it.
    BareAmpersand,
}

use Spelling::{
    Absolute, Backslashes, BareAmpersand, Capitals, DotSegments, Entities, EscapedDots, Fragment,
    Relative, Rooted, SchemeRelative, Spaced, Tabbed,
};

const ORDINARY: &[Spelling] = &[
    Rooted,
    Rooted,
    Rooted,
    Absolute,
    Relative,
    Relative,
    Fragment,
    SchemeRelative,
];
const ALL: &[Spelling] = &[
    Rooted,
    Absolute,
    SchemeRelative,
    Relative,
    Fragment,
    Spaced,
    Tabbed,
    Backslashes,
    Capitals,
    DotSegments,
    EscapedDots,
    Entities,
    BareAmpersand,
];
/// Those that can leave a host.
const FAR: &[Spelling] = &[
    Absolute,
    Absolute,
    SchemeRelative,
    Fragment,
    Spaced,
    Capitals,
];

/// Appends a reference to a link's target, as an attribute's value.
pub(super) fn write_reference(
    world: &World,
    standing: &Standing,
    link: &Link,
    draw: Draw,
    out: &mut Vec<u8>,
) {
    let to = link.to;
    let is_near = standing.is_near(to);
    if world.shape.markup == Markup::Plain {
        if !is_near {
            world.write_origin(to.host, to.secure, out);
        }
        return standing.write_path(world, to, out);
    }
    let mut path = Vec::new();
    standing.write_path(world, to, &mut path);
    let spelling = spelling(world, standing, link, draw);
    let mut text = Vec::new();
    match spelling {
        Absolute | Capitals => world.write_origin(to.host, to.secure, &mut text),
        Spaced | Fragment if !is_near => world.write_origin(to.host, to.secure, &mut text),
        SchemeRelative => {
            text.extend_from_slice(b"//");
            world.write_authority(to.host, to.secure, &mut text);
        }
        _ => {}
    }
    if spelling == Capitals {
        text.make_ascii_uppercase();
    }
    let is_raw = is_near && link.how != How::Refresh && draw.bits() >> 20 & 1 == 1;
    if is_raw {
        path = with_raw_word(path, standing.host.charset);
    }
    append_path(&mut text, &path, spelling, standing.depth);
    escape(&text, spelling, out);
}

fn spelling(world: &World, standing: &Standing, link: &Link, draw: Draw) -> Spelling {
    let to = link.to;
    let is_near = standing.is_near(to);
    let kinds = match (is_near, world.shape.markup) {
        _ if link.how == How::Refresh => &[Absolute],
        (false, Markup::Wild) => FAR,
        (false, _) => &FAR[..4],
        (true, Markup::Wild) => ALL,
        (true, _) => ORDINARY,
    };
    let chosen = kinds[draw.bits() as usize % kinds.len()];
    match chosen {
        SchemeRelative if to.secure != standing.secure => Absolute,
        other => other,
    }
}

/// Appends the path in its spelling; what follows a question mark is left as it is.
fn append_path(text: &mut Vec<u8>, path: &[u8], spelling: Spelling, depth: usize) {
    let query = path.iter().position(|byte| *byte == b'?');
    let (folders, query) = path.split_at(query.unwrap_or(path.len()));
    match spelling {
        Relative if depth > 0 || folders.len() > 1 => {
            for _ in 0..depth {
                text.extend_from_slice(b"../");
            }
            // Alone, a segment with a colon would be taken for a scheme; ours have none.
            text.extend_from_slice(&folders[1..]);
        }
        Backslashes => text.extend(folders.iter().map(|byte| match byte {
            b'/' => b'\\',
            other => *other,
        })),
        DotSegments => {
            text.extend_from_slice(b"/./nowhere/..");
            text.extend_from_slice(folders);
        }
        EscapedDots => {
            text.extend_from_slice(b"/%2e/nowhere/%2E%2e");
            text.extend_from_slice(folders);
        }
        _ => text.extend_from_slice(folders),
    }
    text.extend_from_slice(query);
    match spelling {
        Fragment => text.extend_from_slice(b"#part-2"),
        Tabbed => {
            // Not inside of a letter of several bytes.
            let begins = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
            let middle = (text.len() / 2..=text.len()).find(begins);
            let middle = middle.unwrap_or(text.len());
            text.splice(middle..middle, *b"\t\n");
        }
        _ => {}
    }
}

/// Escapes what an attribute may not hold, and more where that is the point.
fn escape(text: &[u8], spelling: Spelling, out: &mut Vec<u8>) {
    if spelling == Spaced {
        out.extend_from_slice(b" \n");
    }
    for byte in text {
        match byte {
            b'&' if spelling == BareAmpersand => out.push(b'&'),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'/' if spelling == Entities => out.extend_from_slice(b"&#x2F;"),
            b'.' if spelling == Entities => out.extend_from_slice(b"&#46;"),
            other => out.push(*other),
        }
    }
    if spelling == Spaced {
        out.extend_from_slice(b"\t ");
    }
}

/// The path with its word beyond ASCII as the page's own bytes.
fn with_raw_word(path: Vec<u8>, charset: Charset) -> Vec<u8> {
    let word = charset.word();
    for escaped in [word.in_path, word.in_query] {
        let escaped = escaped.as_bytes();
        let found = path.windows(escaped.len()).position(|part| part == escaped);
        // In a path the escaped form is UTF-8, in a query that of the document.
        let query = path.iter().position(|byte| *byte == b'?');
        let fits = |at: usize| {
            let in_query = query.is_some_and(|query| at > query);
            escaped
                == if in_query {
                    word.in_query
                } else {
                    word.in_path
                }
                .as_bytes()
        };
        if let Some(at) = found.filter(|at| fits(*at)) {
            return [&path[..at], word.raw, &path[at + escaped.len()..]].concat();
        }
    }
    path
}
