//! Extraction: a page of the size and shape of generated documentation.

use std::fmt::Write as _;
use std::hint::black_box;

use clewline::Headers;
use clewline::extract::{Extractor, PageExtractor, PageHead};
use clewline_core::url::CrawlUrl;
use clewline_job::config::ExtractConfig;

/// `<a href>` of the page, as many as the mean page of the documentation site has.
const LINKS: usize = 107;

/// Bytes that arrive at once.
const CHUNK: usize = 16 * 1024;

fn url() -> CrawlUrl {
    CrawlUrl::parse("http://docs.example.org/api/base/io/reader.html")
        .expect("the URL is a constant that parses")
}

pub(crate) fn look(rounds: usize) {
    let url = url();
    let page = page();
    for _ in 0..rounds {
        let pieces = black_box(page.as_bytes()).chunks(CHUNK);
        black_box(clewline::measuring::look_at(&url, pieces));
    }
}

pub(crate) fn run(rounds: usize) {
    let url = url();
    let mut headers = Headers::default();
    headers.push("Content-Type", b"text/html; charset=utf-8");
    let extractor = PageExtractor::new(&ExtractConfig::default(), "clewline");
    let page = page();
    for _ in 0..rounds {
        let head = PageHead {
            url: &url,
            status: 200,
            headers: &headers,
            sitemap: false,
        };
        let mut extraction = extractor.begin(head);
        for chunk in black_box(page.as_bytes()).chunks(CHUNK) {
            extraction.feed(chunk);
        }
        black_box(extraction.finish());
    }
}

/// One link and a paragraph, over and over; two links of three name a page named before.
fn page() -> String {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>Reader (Base)</title>\n<link rel=\"stylesheet\" href=\"../../style.css\">\n\
         <script type=\"text/javascript\">var depth = \"../../\"; loadScripts(document);</script>\n\
         </head>\n<body class=\"class-page\">\n<main role=\"main\">\n",
    );
    for number in 0..LINKS {
        let target = number / 3;
        write!(
            page,
            "<div class=\"block row-{number}\" id=\"m{number}\">\n\
             <code><span class=\"type\">int</span>&nbsp;<a href=\"../part{group}/item{target}.html\
             #m{number}()\" title=\"class in part {group}\">item{target}</a>&#8203;()</code>\n\
             <p>Reads the next piece and answers how many bytes it took &amp; never blocks.</p>\n</div>\n",
            group = target % 7,
        )
        .expect("writing to a string does not fail");
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_as_large_as_its_name_says() {
        let page = page();
        assert!((26_000..28_000).contains(&page.len()), "{}", page.len());
        assert_eq!(page.matches("<a href").count(), LINKS);
    }
}
