//! Crawls with the library and counts pages: the Rust side of `python/bench/race.py`.
//!
//! Owns the same work as its rivals there: fetch, title, links, follow, keep nothing. It measures nothing
//! itself; its time is taken from outside.
#![expect(clippy::print_stdout, reason = "the number is what the program is for")]

use anyhow::{Context as _, Result};
use clewline::Crawl;
use clewline_job::config::Speed;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().context("which URL?")?;
    let most = arguments.next().context("how many pages?")?.parse()?;
    let crawl = Crawl::new(&url).max_pages(most).speed(Speed::Max);
    let crawl = crawl.configure(|config| config.scope.sitemaps = false);
    let mut pages = crawl.start()?;
    let (mut count, mut links) = (0_u64, 0);
    while let Some(page) = pages.next().await {
        links += page.title().map_or(0, str::len) + page.links.len();
        count += 1;
    }
    std::hint::black_box(links);
    println!("{count}");
    Ok(())
}
