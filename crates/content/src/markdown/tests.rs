use super::*;
use crate::limits::{ContentLimits, Deadline};

fn markdown(html: &str) -> String {
    let limits = ContentLimits::default();
    let tree = Tree::from_html(html, &limits, &mut Deadline::start(&limits)).unwrap();
    let base = "https://example.com/a/b".parse().unwrap();
    write(&tree, &Selection::whole(&tree), &base, html.len()).text
}

fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(markdown(html).trim_end_matches('\n'), *expected, "{html}");
    }
}

#[test]
fn words_and_marks() {
    check(&[
        ("a  <b> b </b>c", "a **b** c"),
        ("<em>a</em><strong></strong> <del>b</del>", "*a* ~~b~~"),
        ("<b><b>a</b> <i>b</i></b>", "**a *b***"),
        ("<p>a<br>b</p><p>c", "a  \nb\n\nc"),
        (
            "<h1>A <code>b</code></h1>c<h3>d</h3>",
            "# A `b`\n\nc\n\n### d",
        ),
        (
            "<h2><a href='#x'>a</a> <a href=/c>b</a></h2><a href='#x'>c</a>",
            "## a [b](https://example.com/c)\n\n[c](https://example.com/a/b#x)",
        ),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("", ""),
    ]);
}

#[test]
fn signs_are_escaped_where_they_mean_something() {
    check(&[
        ("2*3 a_b _c_ [x] `y`", "2\\*3 a_b \\_c\\_ \\[x\\] \\`y\\`"),
        ("&lt;b> 1 < 2 &amp;amp; a & b", "\\<b> 1 < 2 \\&amp; a & b"),
        (
            "<p># a<p>- b<p>1. c<p>-1 d<p>a # b",
            "\\# a\n\n\\- b\n\n1\\. c\n\n-1 d\n\na # b",
        ),
    ]);
}

#[test]
fn raised_text_and_drawings_are_told_apart() {
    check(&[
        (
            "x<sup>2</sup>, H<sub>2</sub>O",
            "x<sup>2</sup>, H<sub>2</sub>O",
        ),
        ("a <sup> b </sup>c<sup></sup>", "a <sup>b</sup> c"),
        (
            "e<sup>x<sup>2</sup></sup><sub><p>a</p></sub>",
            "e<sup>x<sup>2</sup></sup>\n\na",
        ),
        (
            "w<sup><a href='#n'>[1]</a></sup>",
            "w<sup>[\\[1\\]](https://example.com/a/b#n)</sup>",
        ),
        (
            "<code>2<sup>10</sup></code><pre>x<sub>i</sub></pre>",
            "`2¹⁰`\n\n```\nxᵢ\n```",
        ),
        (
            "<p>a<svg viewBox='0 0 99 99'><title>A * b</title><text>c</text></svg>d",
            "a [diagram: A \\* b] d",
        ),
        (
            "<a href=/><svg width=9 height=9><title>Home</title></svg></a>",
            "[Home](https://example.com/)",
        ),
        ("<pre>a<svg><text>c</text></svg></pre>", "```\na\n```"),
    ]);
}

#[test]
fn links_are_absolute() {
    check(&[
        (
            "<a href='c?x=(1)'>t</a>",
            "[t](https://example.com/a/c?x=%281%29)",
        ),
        ("x<a href='//e.org'> t </a>y", "x [t](https://e.org/) y"),
        ("<a href='javascript:x()'>t</a><a name=x>u</a>", "tu"),
        (
            "<a href=/><div>a</div><div>b</div></a>",
            "[a b](https://example.com/)",
        ),
        (
            "<img src=i.png alt='a [b]'>",
            "![a  b](https://example.com/a/i.png)",
        ),
        ("<a href=/></a>", ""),
    ]);
}

#[test]
fn code_keeps_its_text_and_its_language() {
    check(&[
        ("<code>a * b</code>", "`a * b`"),
        ("<code>a`b</code>", "``a`b``"),
        (
            "<code><a href=/>S</a>.x</code>",
            "[`S`](https://example.com/)`.x`",
        ),
        (
            "<pre><code class='language-rust'>fn a() {\n\n    1 * 2\n}\n</code></pre>b",
            "```rust\nfn a() {\n\n    1 * 2\n}\n```\n\nb",
        ),
        (
            "<div class='highlight-python3 x'><div class=highlight><pre>a</pre></div></div>",
            "```python3\na\n```",
        ),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<pre class='brush: js'>a</pre>", "```js\na\n```"),
    ]);
}

#[test]
fn lists_and_quotes_nest() {
    check(&[
        (
            "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e",
            "- a\n- b\n  - c\n- d\n\ne",
        ),
        ("<ol start=9><li>a<li>b<p>c</ol>", "9. a\n10. b\n\n    c"),
        (
            "<blockquote><p>a<p>b<ul><li>c</ul></blockquote>d",
            "> a\n>\n> b\n>\n> - c\n\nd",
        ),
        ("<dl><dt>a<dd>b<dd>c</dl>", "a\n: b\n: c"),
        ("<ul><li><pre>a\nb</pre></ul>", "- ```\n  a\n  b\n  ```"),
    ]);
}

#[test]
fn tables_of_data_are_tables() {
    check(&[
        (
            "<table><tr><th>a<th>b<tr><td>c|d<td><p>e<p>f<tr><td>g</table>h",
            "| a | b |\n| --- | --- |\n| c\\|d | e f |\n| g | |\n\nh",
        ),
        (
            "<table><tr><td>a<td>b</table>",
            "| | |\n| --- | --- |\n| a | b |",
        ),
        ("<table><tr><td>a<tr><td>b</table>", "a\n\nb"),
        (
            "<table><tr><td><table><tr><td>a</table><td>b</table>",
            "a\n\nb",
        ),
    ]);
}

#[test]
fn cells_stay_in_their_columns() {
    check(&[
        (
            "<table><tr><th>a<th>b<th>c<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5<tr><td>6</table>",
            "| a | b | c |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| | 4 | 5 |\n| 6 | | |",
        ),
        (
            "<table><tr><th colspan=2>a<th>b<tr><td>1<td>2<td>3</table>",
            "| a | | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |",
        ),
        (
            "<table><tr><th>a<th rowspan=2 colspan=2>b<th>c<tr><td>1<td>2</table>",
            "| a | b | | c |\n| --- | --- | --- | --- |\n| 1 | | | 2 |",
        ),
        // A span ends with the part of the table; 0 is all of it.
        (
            "<table><thead><tr><th rowspan=9>a<th>b<tbody><tr><td>1<td rowspan=0>2<tr><td>3\
             <tr><td>4<tbody><tr><td>5<td>6</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | |\n| 4 | |\n| 5 | 6 |",
        ),
        (
            "<table><tr><td rowspan=2 colspan=x>a<td>b<td>c<tr><td>d<td>e<tr><td>f</table>",
            "| | | |\n| --- | --- | --- |\n| a | b | c |\n| | d | e |\n| f | | |",
        ),
        ("<table><tr><td colspan=1000>a<td>b</table>", "a\n\nb"),
    ]);
}

#[test]
fn notes_beside_a_sign_are_no_tables() {
    check(&[
        (
            "<table summary=Note><tr><td rowspan=2><img alt='[Note]' src=n.png></td><th>Note</th></tr>\
             <tr><td><p>Words.</p></td></tr></table>",
            "![Note](https://example.com/a/n.png)\n\nNote\n\nWords.",
        ),
        ("<table role=presentation><tr><td>a<td>b</table>", "a\n\nb"),
    ]);
}

#[test]
fn a_page_of_short_links_to_long_addresses_is_cut() {
    let limits = ContentLimits::default();
    let html = "<a href=x>y</a>".repeat(20_000);
    let tree = Tree::from_html(&html, &limits, &mut Deadline::start(&limits)).unwrap();
    let base = format!("https://example.com/{}/", "a".repeat(1000))
        .parse()
        .unwrap();
    let written = write(&tree, &Selection::whole(&tree), &base, html.len());
    assert!(written.truncated);
    assert!(written.text.len() <= html.len() * MOST_GROWTH + 1);
}
