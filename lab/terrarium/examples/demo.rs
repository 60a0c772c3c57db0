//! A small site to try a crawler by hand: pages, a redirect, a broken link, a sitemap and a
//! `robots.txt` with one rule. It runs until Ctrl-C, or until its standard input closes.

use std::io::Read;

use terrarium::{Page, Site, Web, links, sitemap};

#[expect(
    clippy::print_stdout,
    reason = "the URL is what the program is for, and scripts read it"
)]
fn main() {
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /private/\nSitemap: {{127.0.0.1}}/sitemap.xml\n")
        .page(
            "/sitemap.xml",
            Page::xml(sitemap(["{{127.0.0.1}}/", "{{127.0.0.1}}/only-in-sitemap"])),
        )
        .page(
            "/",
            Page::html(links([
                "/about",
                "/news/",
                "/old",
                "/missing",
                "/private/x",
            ])),
        )
        .page(
            "/about",
            Page::html("<title>About</title><a href=/>home</a>"),
        )
        .page("/news/", Page::html(links(["1", "2", "3"])))
        .page(
            "/news/1",
            Page::html("<title>One</title><a href=2>next</a>"),
        )
        .page(
            "/news/2",
            Page::html("<title>Two</title><a href=3>next</a>"),
        )
        .page(
            "/news/3",
            Page::html("<title>Three</title><img src=/dot.png>"),
        )
        .page("/old", Page::redirect(301, "/about"))
        .page(
            "/only-in-sitemap",
            Page::html("<title>Found by the sitemap</title>"),
        )
        .page(
            "/private/x",
            Page::html("<title>You should not be here</title>"),
        )
        .page("/dot.png", Page::bytes("image/png", "not really"));
    let web = Web::new().site("127.0.0.1", site).start();
    println!("{}", web.url("127.0.0.1", "/"));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    for hit in &web.log() {
        eprintln!("{:?} {} {}", hit.status, hit.method, hit.target);
    }
}
