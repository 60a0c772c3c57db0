//! Crawls a site and prints a line for each page: `cargo run --example hello -- example.com`.
#![expect(clippy::print_stdout, reason = "the lines are what the program is for")]

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args().nth(1).ok_or("which URL?")?;
    let mut pages = clewline::Crawl::new(&root).max_pages(100).start()?;
    while let Some(page) = pages.next().await {
        println!(
            "{} {} {}",
            page.status(),
            page.url(),
            page.title().unwrap_or("-")
        );
    }
    println!("{} URLs", pages.finish().await?.report.tally.done);
    Ok(())
}
