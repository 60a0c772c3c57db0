use serde_json::json;

use super::*;
use crate::limits::{ContentLimits, Refusal};

const SHOP: &str = r##"
[[rule]]
name = "shop"
urls = ["https://example.com/shop/*"]
select = "#shop"
required = true
[[rule.field]]
name = "name"
select = "h1"
[[rule.field]]
name = "books"
select = "li"
list = true
[[rule.field.field]]
name = "link"
select = "a"
take = "@href"
type = "url"
[[rule.field.field]]
name = "price"
select = ".price"
type = "number"
required = true
clean = [{ find = "[^0-9.,]" }]
[[rule.field.field]]
name = "since"
select = "time"
type = "date"
[[rule.field.field]]
name = "html"
select = "i"
take = "html"

[[rule]]
name = "words"
select = "b"
list = true
clean = [{ find = "^(\\w)\\w*$", replace = "$1." }]
"##;

const PAGE: &str = "<div id=shop><h1> A  shop </h1><ul>
    <li><a href=one>1</a><b class=price>$ 1,234.50</b><time>4 May 2021</time><i>a<s>b</s></i>
    <li><b class=price>soon</b></ul></div><b>word</b>";

fn items(rules: &str, html: &str, url: &str) -> Items {
    let rules = ItemRules::parse(rules).unwrap();
    let url = url.parse().unwrap();
    rules.items(html, &url, &ContentLimits::default()).unwrap()
}

#[test]
fn rules_make_items() {
    let found = items(SHOP, PAGE, "https://example.com/shop/x");
    let expected = json!({"name": "A shop", "books": [
        {"link": "https://example.com/shop/one", "price": 1234.5, "since": "2021-05-04",
         "html": "a<s>b</s>"},
        {"link": null, "price": null, "since": null, "html": null},
    ]});
    assert_eq!(found.items["shop"], expected);
    assert_eq!(found.items["words"], json!(["$ 1,234.50", "s.", "w."]));
    assert_eq!(found.missing, [("shop.books.price".to_owned(), 1)].into());
    assert!(!found.truncated);
}

#[test]
fn rules_keep_to_their_pages() {
    let found = items(SHOP, PAGE, "https://example.com/other");
    assert_eq!(found.items.keys().collect::<Vec<_>>(), ["words"]);
    let found = items(SHOP, "<p>", "https://example.com/shop/");
    assert_eq!(found.items["shop"], json!(null));
    assert_eq!(found.missing, [("shop".to_owned(), 1)].into());
}

#[test]
fn errors_name_the_rule_and_what_is_wrong() {
    let rule = |text: &str| format!("[[rule]]\nname = \"r\"\n{text}");
    let field = |text: &str| rule(&format!("[[rule.field]]\nname = \"f\"\n{text}"));
    for (text, parts) in [
        (String::new(), &["there is no rule"][..]),
        (rule("selct = 'a'"), &["line 3", "selct"]),
        (rule("select = 'a['"), &["rule r", "a[", "CSS"]),
        (field("select = '>>'"), &["rule r, field f", ">>"]),
        (
            field("take = 'href'"),
            &["rule r, field f", "href", "@href"],
        ),
        (
            field("clean = [{ find = '(' }]"),
            &["rule r, field f", "(", "regular expression"],
        ),
        (field("type = 'money'"), &["line 5", "money"]),
        (rule("\n[[rule]]\nname = 'r'"), &["\"r\"", "another"]),
        (
            rule("take = 'html'\nfield = [{ name = 'f' }]"),
            &["rule r", "fields of its own"],
        ),
    ] {
        let message = ItemRules::parse(&text).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

#[test]
fn harmful_pages_are_refused_or_cut() {
    let rules = ItemRules::parse("[[rule]]\nname = 'r'\nselect = 'div'\nlist = true").unwrap();
    let url = "https://example.com/".parse().unwrap();
    let limits = ContentLimits {
        most_nodes: 100_000,
        ..ContentLimits::default()
    };
    let deep = "<div>".repeat(1000);
    let refusal = rules.items(&deep, &url, &limits).unwrap_err();
    assert_eq!(refusal, Refusal::TooDeep { deepest: 512 });
    let formatting: Vec<_> = (0..400).map(|n| format!("<b id={n}>")).collect();
    let many = format!(
        "<p>{}</p>{}",
        formatting.concat(),
        "<p>x</p>".repeat(10_000)
    );
    let refusal = rules.items(&many, &url, &limits).unwrap_err();
    assert_eq!(refusal, Refusal::TooManyNodes { most: 100_000 });
    let overlapping = format!("{}{}", "<div>".repeat(500), "word ".repeat(40_000));
    let found = rules.items(&overlapping, &url, &limits).unwrap();
    assert!(found.truncated);
    assert_eq!(found.items["r"].as_array().unwrap().len(), 4);
}
