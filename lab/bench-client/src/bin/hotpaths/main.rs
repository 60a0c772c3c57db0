//! The hot paths of a crawl, one at a time: `hotpaths PATH ROUNDS`.
//!
//! Owns the inputs, which never change, so that instruction counts can be compared over the
//! years. Invariant: what a path does apart from its rounds is the same for any number of them,
//! so that two runs with different numbers differ by the rounds alone.

mod frontier;
mod page;

use std::hint::black_box;

use anyhow::{Context, Result, bail};
use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A path by its name.
struct Path {
    name: &'static str,
    what: &'static str,
    run: fn(usize),
}

const PATHS: [Path; 7] = [
    Path {
        name: "link",
        what: "canonicalise and fingerprint eight links",
        run: link,
    },
    Path {
        name: "page",
        what: "extract a page of 27 KB with 107 links",
        run: page::run,
    },
    Path {
        name: "look",
        what: "compare the text of the same page with others",
        run: page::look,
    },
    Path {
        name: "admit",
        what: "settle a page with 100 links, 10 of them new",
        run: frontier::admit,
    },
    Path {
        name: "decide",
        what: "hand out the next of 2,000 pages on 50 hosts",
        run: frontier::decide,
    },
    Path {
        name: "settle",
        what: "settle a page without links",
        run: frontier::settle,
    },
    Path {
        name: "head",
        what: "parse a response head of ten fields",
        run: head,
    },
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => list(),
        [name, rounds] => {
            let path = PATHS.iter().find(|path| path.name == name);
            let path = path.with_context(|| format!("there is no path {name:?}"))?;
            let rounds = rounds.parse().context("ROUNDS is not a number")?;
            (path.run)(rounds);
        }
        _ => bail!("usage: hotpaths [PATH ROUNDS]"),
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the list is what was asked for")]
fn list() {
    for path in PATHS {
        println!("{}\t{}", path.name, path.what);
    }
}

/// What pages of documentation link to: mostly relative, some absolute, some dressed up.
const REFERENCES: [&str; 8] = [
    "../util/list.html#size()",
    "class-use/buffer.html",
    "/api/help.html",
    "../../java/lang/object.html#equals(java.lang.Object)",
    "https://docs.example.org/spec/jls-8.html#jls-8.1",
    "search.html?query=reader&page=2",
    "//static.example.net/legal/",
    "../r%C3%A9sum%c3%a9/%7euser/index.html",
];

fn link(rounds: usize) {
    let keyer = Keyer::new(7, &[]);
    let page = CrawlUrl::parse("http://docs.example.org/api/base/io/reader.html")
        .expect("the URL is a constant that parses");
    for _ in 0..rounds {
        for reference in black_box(REFERENCES) {
            let url = page.join(reference).expect("the reference is a constant");
            black_box(keyer.key(&url));
        }
    }
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\
    Server: nginx/1.22.1\r\n\
    Date: Sun, 15 Nov 2026 08:06:00 GMT\r\n\
    Content-Type: text/html; charset=utf-8\r\n\
    Content-Length: 27213\r\n\
    Last-Modified: Fri, 06 Nov 2026 11:22:33 GMT\r\n\
    Connection: keep-alive\r\n\
    ETag: \"690c8a19-6a4d\"\r\n\
    Cache-Control: public, max-age=3600\r\n\
    Vary: Accept-Encoding\r\n\
    Accept-Ranges: bytes\r\n\r\n";

fn head(rounds: usize) {
    for _ in 0..rounds {
        let read = clewline::measuring::response_head(black_box(HEAD));
        assert_eq!(black_box(read), Some((200, HEAD.len())));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_path_runs() {
        for path in super::PATHS {
            (path.run)(2);
        }
    }
}
