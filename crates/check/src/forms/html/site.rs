//! The lists below the issues: pages, redirects, slow and heavy pages, what was skipped, the crawl.
//!
//! Owns their bounds. The pages pass once: their rows become data for the script, and the slowest
//! and the heaviest of them are kept for lists that need none.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use clewline_job::escape;
use clewline_job::report::figures::{bytes, count, millis};

use super::data;
use super::{MOST_REMARKS, SitePage, SiteRedirect, SiteView, page_link, push, target_link};
use crate::forms::words::shortened;
use crate::report::CheckReport;

/// Rows of the table of pages; a browser holds no more of them.
const MOST_ROWS: u64 = 250_000;
/// The longest title.
const LONGEST_TITLE: usize = 120;
/// Slow and heavy pages.
const MOST_EXTREMES: usize = 20;
/// Redirects in the table, and in the list that can be copied.
const MOST_REDIRECTS: usize = 500;
const MOST_COPIED: usize = 20_000;

pub(super) fn write(
    report: &CheckReport,
    site: SiteView<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let extremes = pages(report, site.pages, out)?;
    let mut text = String::new();
    redirects(&site.redirects, &mut text);
    text.push_str("<div class=pair>");
    extremes.slow(&mut text);
    extremes.heavy(&mut text);
    text.push_str("</div>");
    skipped(&report.facts.skipped, &mut text);
    crawl(&site.crawl, &mut text);
    out.write_all(text.as_bytes())
}

/// The pages that took the longest and are the largest.
#[derive(Default)]
struct Extremes {
    slow: Vec<SitePage>,
    heavy: Vec<SitePage>,
}

impl Extremes {
    fn take(&mut self, page: &SitePage) {
        if page.millis.is_some() {
            keep(&mut self.slow, page, |page| page.millis.unwrap_or_default());
        }
        keep(&mut self.heavy, page, |page| page.bytes as f64);
    }

    fn slow(&self, out: &mut String) {
        let shown = |page: &SitePage| millis(page.millis.unwrap_or_default());
        extreme(
            ("Slow pages", "Time to the first byte"),
            &self.slow,
            shown,
            out,
        );
    }

    fn heavy(&self, out: &mut String) {
        let shown = |page: &SitePage| bytes(page.bytes);
        extreme(
            ("Heavy pages", "Size as it was sent"),
            &self.heavy,
            shown,
            out,
        );
    }
}

/// Keeps a page among the extremes if it belongs there; of equals the first by URL.
fn keep(kept: &mut Vec<SitePage>, page: &SitePage, value: fn(&SitePage) -> f64) {
    let place = kept.partition_point(|other| {
        let order = value(other).total_cmp(&value(page)).reverse();
        order.then_with(|| other.url.cmp(&page.url)).is_lt()
    });
    if place < MOST_EXTREMES {
        kept.insert(place, page.clone());
        kept.truncate(MOST_EXTREMES);
    }
}

fn extreme(
    (title, about): (&str, &str),
    pages: &[SitePage],
    shown: impl Fn(&SitePage) -> String,
    out: &mut String,
) {
    if pages.is_empty() {
        return;
    }
    push(
        out,
        format_args!("<section><h2>{title}</h2><p class=soft>{about}</p><ol class=extremes>"),
    );
    for page in pages {
        push(
            out,
            format_args!("<li><span class=n>{}</span> ", shown(page)),
        );
        page_link(&page.url, out);
        out.push_str("</li>");
    }
    out.push_str("</ol></section>");
}

const PAGES: &str = "<section id=pages class=broad><h2>Pages</h2>";
const PAGE_TOOLS: &str = "<noscript><p class=soft>This table needs JavaScript. The same rows \
    are in urls.jsonl of the job folder.</p></noscript><div class=tools id=page-tools hidden>\
    <label class=wide>Filter <input id=page-find type=search placeholder=\"URL, title or status\" \
    autocomplete=off spellcheck=false></label><label class=chip><input type=checkbox id=page-issues> \
    with issues</label><output id=page-shown class=soft></output></div><div class=window id=window \
    tabindex=0 role=region aria-label=\"Table of pages\" hidden><table><thead><tr>\
    <th scope=col>Page</th><th scope=col>Title</th><th scope=col class=n>Status</th>\
    <th scope=col class=n>Issues</th><th scope=col class=n>Depth</th><th scope=col class=n>Size</th>\
    <th scope=col class=n>Time</th><th scope=col class=n>Links in</th>\
    <th scope=col class=n>Links out</th></tr></thead><tbody></tbody></table></div>";

/// The table of pages as data, row by row.
fn pages(
    report: &CheckReport,
    pages: Box<dyn Iterator<Item = io::Result<SitePage>> + '_>,
    out: &mut dyn Write,
) -> io::Result<Extremes> {
    let mut issues: HashMap<&str, u64> = HashMap::new();
    for one in &report.findings {
        *issues.entry(one.finding.page.as_str()).or_default() += 1;
    }
    let mut extremes = Extremes::default();
    let mut origins: HashMap<Box<str>, usize> = HashMap::new();
    let (mut rows, mut left) = (0_u64, 0_u64);
    out.write_all(PAGES.as_bytes())?;
    for page in pages {
        let page = page?;
        extremes.take(&page);
        if rows >= MOST_ROWS {
            left += 1;
            continue;
        }
        if rows == 0 {
            out.write_all(PAGE_TOOLS.as_bytes())?;
            out.write_all(b"<script type=application/json id=rows>[")?;
        }
        out.write_all(if rows == 0 { b"\n" } else { b",\n" })?;
        rows += 1;
        let found = issues.get(page.url.as_str()).copied().unwrap_or(0);
        row(&page, found, &mut origins, out)?;
    }
    if rows > 0 {
        out.write_all(b"\n]</script>")?;
    } else {
        out.write_all(
            b"<p class=empty>No pages are listed here. Check a job folder to see them.</p>",
        )?;
    }
    if left > 0 {
        let left = count(left);
        write!(
            out,
            "<p class=soft>{left} more pages are in urls.jsonl.</p>"
        )?;
    }
    out.write_all(b"</section>")?;
    Ok(extremes)
}

/// `[origin, path, title, status, issues, depth, bytes, milliseconds, in, out]`; an origin that is
/// met first stands as its text, later as its number.
fn row(
    page: &SitePage,
    issues: u64,
    origins: &mut HashMap<Box<str>, usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let origin = page.url.origin();
    out.write_all(b"[")?;
    if let Some(number) = origins.get(origin) {
        write!(out, "{number}")?;
    } else {
        origins.insert(origin.into(), origins.len());
        data::text(origin, out)?;
    }
    out.write_all(b",")?;
    data::text(page.url.path_and_query(), out)?;
    out.write_all(b",")?;
    data::text(&shortened(&page.title, LONGEST_TITLE), out)?;
    let time = page.millis.map_or(-1.0, |time| time.max(0.0).round());
    write!(
        out,
        ",{},{issues},{},{},{time},{},{}]",
        page.status.unwrap_or(0),
        page.depth,
        page.bytes,
        page.links_in,
        page.links_out
    )
}

fn redirects(redirects: &[SiteRedirect], out: &mut String) {
    out.push_str("<section id=redirects><h2>Redirects</h2>");
    if redirects.is_empty() {
        out.push_str("<p class=empty>No link of the site is redirected.</p></section>");
        return;
    }
    out.push_str(
        "<div class=scroll tabindex=0 role=region aria-label=Redirects><table><thead><tr>\
         <th scope=col>From</th><th scope=col>To</th><th scope=col class=n>Status</th>\
         <th scope=col class=n>Links in</th></tr></thead><tbody>",
    );
    for redirect in redirects.iter().take(MOST_REDIRECTS) {
        out.push_str("<tr><td>");
        page_link(&redirect.from, out);
        out.push_str("</td><td>");
        target_link(&redirect.to, out);
        push(
            out,
            format_args!(
                "</td><td class=n>{}</td><td class=n>{}</td></tr>",
                redirect.status,
                count(redirect.links_in)
            ),
        );
    }
    out.push_str("</tbody></table></div>");
    let left = redirects.len().saturating_sub(MOST_REDIRECTS) as u64;
    if left > 0 {
        push(
            out,
            format_args!(
                "<p class=soft>and {} more, in the list below</p>",
                count(left)
            ),
        );
    }
    out.push_str(
        "<details><summary>As a list to copy: old address, new address</summary>\
         <button type=button id=copy hidden>Copy</button><pre id=copied tabindex=0>",
    );
    for redirect in redirects.iter().take(MOST_COPIED) {
        let to = shortened(&redirect.to, super::LONGEST_LINK).into_owned();
        let (from, to) = (escape::html(redirect.from.as_str()), escape::html(&to));
        push(out, format_args!("{from} {to}\n"));
    }
    out.push_str("</pre></details></section>");
}

fn skipped(reasons: &BTreeMap<String, u64>, out: &mut String) {
    if reasons.is_empty() {
        return;
    }
    out.push_str("<section id=skipped><h2>Not checked</h2><ul class=reasons>");
    for (reason, number) in reasons.iter().take(MOST_REMARKS) {
        let (number, reason) = (count(*number), escape::html(reason));
        push(
            out,
            format_args!("<li><span class=n>{number}</span> {reason}</li>"),
        );
    }
    out.push_str("</ul></section>");
}

/// The crawler's own figures, folded.
fn crawl(figures: &[(String, String)], out: &mut String) {
    if figures.is_empty() {
        return;
    }
    out.push_str("<section id=crawl><details><summary>About the crawl</summary><dl class=facts>");
    for (name, value) in figures.iter().take(MOST_REMARKS) {
        let (name, value) = (escape::html(name), escape::html(value));
        push(out, format_args!("<dt>{name}</dt><dd>{value}</dd>"));
    }
    out.push_str("</dl></details></section>");
}
