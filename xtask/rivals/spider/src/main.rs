//! A crawl with the crate `spider`, as its documentation begins one: `spider-rival URL IN_FLIGHT`.

use spider::tokio;
use spider::website::Website;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("usage: spider-rival URL IN_FLIGHT");
    let in_flight = arguments.next().and_then(|text| text.parse().ok());
    let mut website = Website::new(&url);
    website
        .with_delay(0)
        .with_respect_robots_txt(false)
        .with_concurrency_limit(in_flight);
    website.crawl_raw().await;
    println!("{}", website.get_links().len());
}
