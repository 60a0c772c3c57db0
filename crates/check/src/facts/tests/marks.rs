//! Marks: what fires, and the near miss.

use super::*;

/// The rules that fire; those that ask for the whole page are left out unless they are asked for.
fn fired(body: &str, prefix: &str) -> Vec<String> {
    let page = facts(body).html.unwrap();
    let whole = [
        "a11y/html-has-lang",
        "a11y/document-title",
        "a11y/landmark-one-main",
    ];
    let marks = page.marks.iter();
    let marks = marks.filter(|mark| mark.rule.starts_with(prefix));
    let asked = marks.filter(|mark| prefix.len() > 5 || !whole.contains(&mark.rule));
    asked
        .map(|mark| format!("{} {}", &mark.rule[5..], mark.subject))
        .collect()
}

/// `rule` fires on the first and not on the second.
fn check(rule: &str, fires: &[&str], silent: &[&str]) {
    for body in fires {
        let found = fired(body, rule);
        assert!(!found.is_empty(), "{rule} should fire on {body}");
    }
    for body in silent {
        let found = fired(body, rule);
        assert!(
            found.is_empty(),
            "{rule} should not fire on {body}: {found:?}"
        );
    }
}

#[test]
fn images_need_a_text() {
    check(
        "a11y/image-alt",
        &[
            "<img src=x>",
            "<img alt=' '>",
            "<img title=''>",
            "<img aria-label=' '>",
            "<img aria-labelledby=x>",
        ],
        &[
            "<img alt>",
            "<img alt=''>",
            "<img alt=x>",
            "<img role=none>",
            "<img role=presentation>",
            "<img hidden>",
            "<div hidden><img></div>",
            "<p aria-hidden=true><img>",
            "<img title=x>",
            "<img aria-label=x>",
            "<img aria-labelledby=x><p id=x>A</p>",
            "<noscript><img></noscript>",
            "<template><img></template>",
            "<p style='color:red; DISPLAY : none'><img>",
            "<img data-clewline-ignore>",
            "<details><img></details>",
            "<svg><image/></svg>",
        ],
    );
    check(
        "a11y/input-image-alt",
        &["<input type=image>"],
        &["<input type=image alt=x>", "<input type=text>"],
    );
    check(
        "a11y/area-alt",
        &[
            "<map><area href=x></map>",
            "<map><area href=x alt=''></map>",
        ],
        &[
            "<map><area href=x alt=x></map>",
            "<map><area></map>",
            "<area href=x>",
        ],
    );
}

#[test]
fn links_and_buttons_need_words() {
    check(
        "a11y/link-name",
        &[
            "<a href=x></a>",
            "<a href=x> </a>",
            "<a href=x><img alt=''></a>",
            "<a href=x><i hidden>x</i></a>",
        ],
        &[
            "<a href=x>x</a>",
            "<a></a>",
            "<a href=x><img alt=x></a>",
            "<a href=x aria-label=x></a>",
            "<a href=x title=x></a>",
            "<a href=x aria-labelledby=y></a><p id=y>x</p>",
            "<a href=x role=button></a>",
            "<a href=x aria-hidden=true></a>",
            "<a href=x><svg><title>x</title></svg></a>",
            "<a href=x><i><b>x</b></i></a>",
        ],
    );
    check(
        "a11y/button-name",
        &["<button></button>", "<button><img alt=''></button>"],
        &[
            "<button>x</button>",
            "<button title=x></button>",
            "<label>x<button></button></label>",
            "<button hidden>",
        ],
    );
    check(
        "a11y/empty-heading",
        &["<h2></h2>", "<h2> <i></i></h2>", "<div role=heading></div>"],
        &[
            "<h2>x</h2>",
            "<h2><img alt=x></h2>",
            "<h2 role=none></h2>",
            "<h2 hidden></h2>",
            "<h2 aria-label=x></h2>",
        ],
    );
    check(
        "a11y/frame-title",
        &["<iframe src=x></iframe>", "<iframe title=' '></iframe>"],
        &[
            "<iframe title=x></iframe>",
            "<iframe tabindex=-1></iframe>",
            "<iframe hidden></iframe>",
            "<iframe role=none></iframe>",
        ],
    );
}

#[test]
fn fields_need_labels() {
    check(
        "a11y/label",
        &[
            "<input>",
            "<textarea></textarea>",
            "<label></label><input>",
            "<label for=a>x</label><input id=b>",
            "<label for=a></label><input id=a>",
            "<label><input></label>",
        ],
        &[
            "<label>x<input></label>",
            "<label><input>x</label>",
            "<label for=a>x</label><input id=a>",
            "<input id=a><label for=a>x</label>",
            "<input type=hidden>",
            "<input type=submit>",
            "<input placeholder=x>",
            "<input title=x>",
            "<input aria-label=x>",
            "<input type=image alt=x>",
        ],
    );
    check(
        "a11y/select-name",
        &["<select><option>x</select>"],
        &[
            "<label>x<select></select></label>",
            "<select aria-label=x></select>",
            "<select hidden></select>",
        ],
    );
}

#[test]
fn pages_say_title_language_and_main_part() {
    check(
        "a11y/html-has-lang",
        &["<html>", "<p>", "<html lang=' '>", "<html xml:lang=de>"],
        &["<html lang=de>"],
    );
    check(
        "a11y/html-lang-valid",
        &[
            "<html lang=english>",
            "<html lang=xx>",
            "<html lang=en_US>",
            "<html lang=1>",
        ],
        &[
            "<html lang=en>",
            "<html lang=EN-us>",
            "<html lang=gsw>",
            "<html lang=''>",
            "<html lang=zu>",
        ],
    );
    check(
        "a11y/document-title",
        &["<p>", "<title> </title>", "<svg><title>x</title></svg>"],
        &["<title>x</title>"],
    );
    check(
        "a11y/landmark-one-main",
        &["<p>", "<main hidden></main>", "<main role=none></main>"],
        &[
            "<main></main>",
            "<div role=main></div>",
            "<frameset></frameset>",
        ],
    );
}

#[test]
fn metas_let_people_read_and_zoom() {
    check(
        "a11y/meta-refresh",
        &[
            "<meta http-equiv=refresh content=5>",
            "<meta http-equiv=Refresh content='30; url=x'>",
        ],
        &[
            "<meta http-equiv=refresh content='0; url=x'>",
            "<meta http-equiv=refresh content=72001>",
            "<meta content=5>",
            "<meta http-equiv=refresh content=x>",
        ],
    );
    check(
        "a11y/meta-viewport",
        &[
            "<meta name=viewport content='user-scalable=no'>",
            "<meta name=viewport content='width=device-width, maximum-scale=1.0'>",
            "<meta name=viewport content='user-scalable=0'>",
            "<meta name=viewport content='maximum-scale=yes'>",
        ],
        &[
            "<meta name=viewport content='width=device-width, initial-scale=1'>",
            "<meta name=viewport content='maximum-scale=5'>",
            "<meta name=viewport content='user-scalable=yes'>",
            "<meta name=viewport content='maximum-scale=-1'>",
            "<meta name=viewport>",
        ],
    );
    check(
        "a11y/tabindex",
        &["<p tabindex=1>"],
        &["<p tabindex=0>", "<p tabindex=-1>", "<p tabindex=x>"],
    );
}

#[test]
fn aria_is_what_the_standard_knows() {
    check(
        "a11y/aria-roles",
        &[
            "<p role=wrong>",
            "<p role='wrong button'>",
            "<p role='button link'>",
            "<p role=widget>",
        ],
        &[
            "<p role=button>",
            "<p role=''>",
            "<p role='none presentation'>",
            "<p role=doc-toc>",
            "<p role=BUTTON>",
            "<p role=wrong hidden>",
        ],
    );
    check(
        "a11y/aria-valid-attr",
        &["<p aria-lable=x>", "<p aria-=x>"],
        &[
            "<p aria-label=x>",
            "<p aria-activedescendant=x>",
            "<p ARIA-Label=x>",
            "<p data-aria-x=x>",
        ],
    );
    check(
        "a11y/duplicate-id-aria",
        &[
            "<p id=a>x</p><p id=a>y</p><i aria-describedby=a>",
            "<label for=a>x</label><input id=a><input id=a title=x>",
        ],
        &[
            "<p id=a>x</p><p id=a>y</p>",
            "<p id=a>x</p><i aria-labelledby=a>",
            "<p id=a></p><p id=b></p><i aria-owns='a b'>",
        ],
    );
}

#[test]
fn lists_hold_items() {
    check(
        "a11y/list",
        &[
            "<ul><p>x</p></ul>",
            "<ol>text<li>x</ol>",
            "<ul><ul><li>x</ul></ul>",
            "<ul><li role=button>x</ul>",
        ],
        &[
            "<ul><li>x<li>y</ul>",
            "<ul role=menu><p></ul>",
            "<ul><script></script><li>x</ul>",
            "<ul><p hidden>x</p></ul>",
            "<ul><div role=listitem>x</div></ul>",
            "<ul></ul>",
            "<ul><li><p>x</ul>",
        ],
    );
    check(
        "a11y/listitem",
        &["<li>x", "<div><li>x</div>", "<ul role=tablist><li>x</ul>"],
        &[
            "<ul><li>x</ul>",
            "<menu><li>x</menu>",
            "<div role=list><li>x</div>",
            "<li role=none>x",
            "<ul><li>x<ul><li>y</ul></ul>",
        ],
    );
    check(
        "a11y/dlitem",
        &[
            "<dt>x",
            "<div><dd>x</div>",
            "<ul><dt>x</ul>",
            "<dl><div role=group><dt>x</div></dl>",
        ],
        &[
            "<dl><dt>x<dd>y</dl>",
            "<dl><div><dt>x<dd>y</div></dl>",
            "<dt role=none>x",
        ],
    );
}

#[test]
fn headings_and_tables_are_in_order() {
    check(
        "a11y/heading-order",
        &[
            "<h1>x</h1><h3>y</h3>",
            "<h2>x</h2><div role=heading aria-level=4>y</div>",
        ],
        &[
            "<h3>x</h3><h4>y</h4>",
            "<h3>x</h3><h1>y</h1>",
            "<h1>x</h1><h3 hidden>y</h3>",
            "<h1>x</h1><h2>y</h2><h2>z</h2><h3>a</h3>",
        ],
    );
    check(
        "a11y/td-headers-attr",
        &[
            "<table><th id=a><td headers=b></table>",
            "<table><td id=a headers=a></table>",
            "<p id=b><table><td headers=b></table>",
        ],
        &[
            "<table><th id=a><td headers=a></table>",
            "<table><td headers=a><th id=a></table>",
            "<table><td headers=''></table>",
        ],
    );
}

#[test]
fn references_may_be_misspelt_or_mixed() {
    check(
        "links/malformed",
        &[
            "<a href='http:/x.test'>",
            "<a href='a b'>",
            "<img src='http//x.test/y'>",
        ],
        &[
            "<a href=a>",
            "<a href=' a '>",
            "<img srcset='a 1x, b 2x'>",
            "<a href='javascript:a b'>",
            "<a href='a b' data-proofer-ignore>",
            "<style>a{b:url('a b')}</style>",
        ],
    );
    check(
        "mixed/active",
        &[
            "<script src=http://h.test/x></script>",
            "<link rel=stylesheet href=http://o.test/>",
            "<iframe src=http://o.test/></iframe>",
            "<object data=http://o.test/></object>",
            "<img srcset='http://o.test/ 2x'>",
        ],
        &[
            "<script src=https://h.test/x></script>",
            "<a href=http://o.test/>",
            "<link rel=canonical href=http://h.test/>",
            "<link rel=preconnect href=http://o.test/>",
            "<link rel=next href=http://h.test/x>",
        ],
    );
    check(
        "mixed/passive",
        &[
            "<img src=http://o.test/>",
            "<video src=http://o.test/></video>",
            "<audio src=http://o.test/></audio>",
        ],
        &["<img src=//o.test/>", "<a href=http://o.test/>"],
    );
    check(
        "mixed/form",
        &[
            "<form action=http://o.test/>",
            "<button formaction=http://o.test/>x</button>",
        ],
        &["<form action=/x>", "<form>"],
    );
    check(
        "data/json-ld",
        &["<script type=application/ld+json>{\"a\":}</script>"],
        &[
            "<script type=application/ld+json>{\"a\":[]}</script>",
            "<script>{</script>",
            "<script type=application/ld+json> </script>",
        ],
    );
}

/// Every rule that reads marks is tried by a table above.
#[test]
fn every_mark_has_a_case() {
    let tables = include_str!("marks.rs");
    for rule in MARKS {
        assert!(
            tables.contains(&format!("\"{rule}\",")),
            "{rule} has no table"
        );
    }
}
