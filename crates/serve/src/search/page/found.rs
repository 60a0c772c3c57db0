//! Results on the search page: how many, narrowed by what, and each with its words marked.
//!
//! Owns their HTML. Titles, snippets and URLs are foreign; a link to the live web is one only
//! if it leads to `http` or `https`.

use std::fmt::Write as _;

use clewline_job::escape::html;
use clewline_job::report::figures;
use clewline_search::{Facet, Folding, Hit, Results};

use super::{capture_of, moment};
use crate::search::question::{MOST_PAGES, Narrowing, PER_PAGE, Question};
use crate::server::path_of;

/// Everything between the form and the end of the page.
pub(super) fn content(question: &Question, results: &Results) -> String {
    let mut out = summary(question, results);
    let facets = facets(question, results);
    if !facets.is_empty() {
        let _ = writeln!(
            out,
            "<nav class=facets aria-label=\"Narrow by\">{facets}</nav>"
        );
    }
    if results.hits.is_empty() {
        out.push_str(&nothing(question));
        return out;
    }
    let page = question.page.unwrap_or(1);
    let first = (page - 1) * PER_PAGE + 1;
    let _ = writeln!(out, "<ol class=hits start={first}>");
    for shown in results.hits.iter().take(PER_PAGE) {
        out.push_str(&hit(shown));
    }
    out.push_str("</ol>\n");
    out.push_str(&pager(question, page, results.hits.len() > PER_PAGE));
    out
}

fn summary(question: &Question, results: &Results) -> String {
    let total = figures::count(results.total);
    let noun = if results.total == 1 { "page" } else { "pages" };
    let verb = match (question.is_blank(), results.total) {
        (true, _) => "",
        (false, 1) => " matches",
        (false, _) => " match",
    };
    let took = results.took.as_secs_f64() * 1000.0;
    let (other, word) = match question.folding {
        Folding::Alike => (Folding::Off, "show pages that are alike"),
        Folding::Off => (Folding::Alike, "fold pages that are alike"),
    };
    let link = question.fold(other).link();
    format!(
        "<p id=status role=status><b>{total} {noun}</b>{verb} <span>({took:.1} ms)</span> \
        <a href=\"{}\">{word}</a>\n",
        html(&link)
    )
}

fn nothing(question: &Question) -> String {
    let mut out = "<p>Nothing was found. Fewer words find more, and so do <code>begin*</code> and \
        <code>near~</code>.\n"
        .to_owned();
    if question.is_narrowed() {
        let everywhere = Narrowing::ALL
            .into_iter()
            .fold(question.turn(1), |wide, narrowing| {
                wide.narrow(narrowing, "")
            });
        let link = everywhere.link();
        let _ = writeln!(out, "<p><a href=\"{}\">Look everywhere</a>", html(&link));
    }
    out
}

fn facets(question: &Question, results: &Results) -> String {
    let found = &results.facets;
    let groups = [
        (Narrowing::Host, "Host", &found.host),
        (Narrowing::Language, "Language", &found.language),
        (Narrowing::ContentType, "Type", &found.content_type),
    ];
    let mut out = String::new();
    for (narrowing, name, values) in groups {
        let chosen = question.narrowed_to(narrowing);
        let rows = if chosen.is_empty() {
            values
                .iter()
                .map(|facet| choice(question, narrowing, facet))
                .collect()
        } else {
            removal(question, narrowing, chosen)
        };
        if !rows.is_empty() {
            let _ = write!(out, "<section><h2>{name}</h2><ul>{rows}</ul></section>");
        }
    }
    out
}

fn choice(question: &Question, narrowing: Narrowing, facet: &Facet) -> String {
    let link = question.narrow(narrowing, &facet.value).link();
    format!(
        "<li><a href=\"{}\">{}</a> <span>{}</span>",
        html(&link),
        html(&facet.value),
        figures::count(facet.count)
    )
}

fn removal(question: &Question, narrowing: Narrowing, chosen: &str) -> String {
    let link = question.narrow(narrowing, "").link();
    format!(
        "<li class=chosen><a href=\"{}\" title=\"Any {}\">{} <span aria-label=\"remove\">\u{d7}</span></a>",
        html(&link),
        narrowing.parameter(),
        html(chosen)
    )
}

fn hit(hit: &Hit) -> String {
    let capture = capture_of(&hit.url, hit.fetched_at);
    let title = if hit.title.is_empty() {
        "<i>no title</i>".to_owned()
    } else {
        marked(&hit.title, &hit.title_marks)
    };
    let mut out = format!(
        "<li><h2><a class=hit href=\"{}\">{title}</a></h2><p class=url>{}",
        html(&capture),
        html(&hit.url)
    );
    if !hit.snippet.text.is_empty() {
        let text = marked(&hit.snippet.text, &hit.snippet.marks);
        let _ = write!(out, "<p class=snippet>{text}");
    }
    let _ = write!(out, "<p class=facts>{}", facts(hit));
    if hit.alike > 0 {
        out.push_str(&alike(hit));
    }
    out.push('\n');
    out
}

fn facts(hit: &Hit) -> String {
    let date = moment(hit.fetched_at).to_string();
    let mut facts = vec![date.get(..10).unwrap_or_default().to_owned()];
    facts.extend([&hit.language, &hit.content_type].map(|text| html(text).into_owned()));
    if hit.inlinks > 0 {
        let noun = if hit.inlinks == 1 { "page" } else { "pages" };
        facts.push(format!(
            "linked by {} {noun}",
            figures::count(hit.inlinks.into())
        ));
    }
    if hit.url.starts_with("http://") || hit.url.starts_with("https://") {
        let url = html(&hit.url);
        facts.push(format!(
            "<a href=\"{url}\" rel=\"noreferrer noopener\">live page</a>"
        ));
    }
    let all = path_of("*", &hit.url);
    facts.push(format!("<a href=\"{}\">all captures</a>", html(&all)));
    facts.retain(|fact| !fact.is_empty());
    facts.join(" \u{b7} ")
}

fn alike(hit: &Hit) -> String {
    let mut out = format!(
        "<details class=alike><summary>and {} alike</summary><ul>",
        figures::count(hit.alike as u64)
    );
    for url in &hit.also {
        let capture = capture_of(url, hit.fetched_at);
        let _ = write!(out, "<li><a href=\"{}\">{}</a>", html(&capture), html(url));
    }
    if hit.alike > hit.also.len() {
        let more = hit.alike - hit.also.len();
        let _ = write!(out, "<li>{} more", figures::count(more as u64));
    }
    out.push_str("</ul></details>");
    out
}

/// Text with its words marked.
fn marked(text: &str, marks: &[(usize, usize)]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for &(from, to) in marks {
        let (Some(before), Some(word)) = (text.get(at..from), text.get(from..to)) else {
            continue;
        };
        let _ = write!(out, "{}<mark>{}</mark>", html(before), html(word));
        at = to;
    }
    out.push_str(&html(text.get(at..).unwrap_or_default()));
    out
}

fn pager(question: &Question, page: usize, has_next: bool) -> String {
    let mut out = String::new();
    let mut link = |to: usize, rel: &str, name: &str| {
        let link = question.turn(to).link();
        let _ = write!(out, "<a rel={rel} href=\"{}\">{name}</a> ", html(&link));
    };
    if page > 1 {
        link(page - 1, "prev", "Earlier results");
    }
    if has_next && page < MOST_PAGES {
        link(page + 1, "next", "More results");
    }
    if out.is_empty() {
        return out;
    }
    format!("<nav class=pager aria-label=\"Pages of results\">{out}</nav>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_and_the_rest_stays_text() {
        for (text, marks, expected) in [
            ("hash map", &[(5, 8)][..], "hash <mark>map</mark>"),
            (
                "<b>&\"'",
                &[(1, 2)],
                "&lt;<mark>b</mark>&gt;&amp;&quot;&#39;",
            ),
            ("</mark>", &[(0, 7)], "<mark>&lt;/mark&gt;</mark>"),
            ("caf\u{e9}", &[(0, 4)], "caf\u{e9}"),
            ("ab", &[(1, 9), (0, 1)], "<mark>a</mark>b"),
            ("a\u{1b}b", &[], "a\\x1bb"),
        ] {
            assert_eq!(marked(text, marks), expected, "{text}");
        }
    }

    #[test]
    fn pages_of_results_are_linked() {
        let question = Question::read("q=a&lang=de&page=2");
        let both = pager(&question, 2, true);
        assert!(
            both.contains("rel=prev href=\"/search?q=a&amp;lang=de\""),
            "{both}"
        );
        assert!(
            both.contains("rel=next href=\"/search?q=a&amp;lang=de&amp;page=3\""),
            "{both}"
        );
        assert_eq!(pager(&question, 1, false), "");
        assert!(!pager(&question, MOST_PAGES, true).contains("rel=next"));
    }
}
