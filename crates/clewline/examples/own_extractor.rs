//! Follows the links of Markdown files, which the crawler itself does not read:
//! `cargo run --example own_extractor -- https://example.com/README.md`.
#![expect(clippy::print_stdout, reason = "the lines are what the program is for")]

use clewline::extract::{Extracted, Extraction, Extractor, PageExtractor, PageHead};
use clewline::{CrawlUrl, Link, LinkKind};
use clewline_job::config::ExtractConfig;

/// Reads Markdown itself and leaves everything else to the crawler's own extractor.
struct WithMarkdown(PageExtractor);

impl Extractor for WithMarkdown {
    fn begin(&self, head: PageHead<'_>) -> Box<dyn Extraction> {
        let media = head.headers.text("content-type").unwrap_or_default();
        if media.starts_with("text/markdown") {
            let (page, text) = (head.url.clone(), Vec::new());
            return Box::new(Markdown { page, text });
        }
        self.0.begin(head)
    }
}

/// One Markdown file. The crawler has bounded its size, so it may be kept whole.
struct Markdown {
    page: CrawlUrl,
    text: Vec<u8>,
}

impl Extraction for Markdown {
    fn feed(&mut self, chunk: &[u8]) {
        self.text.extend_from_slice(chunk);
    }

    fn finish(self: Box<Self>) -> Extracted {
        let text = String::from_utf8_lossy(&self.text);
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        // A link is `[words](target)`; what follows each `](` is a target and more.
        let targets = text.split("](").skip(1).filter_map(|rest| {
            let end = rest.find([')', ' '])?;
            self.page.join(&rest[..end]).ok()
        });
        Extracted {
            links: targets
                .map(|url| Link::new(url, LinkKind::Anchor))
                .collect(),
            title: title.map(str::to_owned),
            ..Extracted::default()
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args().nth(1).ok_or("which URL?")?;
    let extractor = WithMarkdown(PageExtractor::new(&ExtractConfig::default(), "clewline"));
    let crawl = clewline::Crawl::new(&root).extractor(extractor);
    let mut pages = crawl.max_pages(100).start()?;
    while let Some(page) = pages.next().await {
        println!("{} {}", page.url(), page.title().unwrap_or("-"));
    }
    Ok(())
}
