//! Mixed content, weight, fields, cookies, accessibility and structured data.

use clewline_core::link::LinkKind;

use super::RuleCase;
use super::test_site::{TestSite, document};

pub(super) fn cases() -> Vec<RuleCase> {
    let mut cases = mixed();
    cases.extend(weight());
    cases.extend(fields());
    cases.extend(accessibility());
    cases
}

fn mixed() -> Vec<RuleCase> {
    let body = TestSite::with_body;
    let policy = "default-src 'self'; upgrade-insecure-requests";
    let image = "<img src=http://cdn.example/i.png alt=x>";
    vec![
        RuleCase::new(
            "mixed/active",
            body("<script src=http://cdn.example/a.js></script>"),
            body("<a href=http://cdn.example/a.js>x</a>"),
        ),
        RuleCase::new(
            "mixed/passive",
            body(image),
            TestSite::with_head("<link rel=canonical href=http://site.example/page>"),
        ),
        RuleCase::new(
            "mixed/form",
            body("<form action=http://site.example/send></form>"),
            body("<form action=/send></form>"),
        ),
        RuleCase::new(
            "mixed/upgraded",
            body(image)
                .without("content-security-policy")
                .field("content-security-policy", policy),
            body(image),
        ),
    ]
}

fn weight() -> Vec<RuleCase> {
    let image = |bytes: u64| {
        let site = TestSite::with_body("<img src=/i.png alt=x>");
        let site = site.part("/i.png", LinkKind::Image, "image/png");
        site.change(|record| record.wire_bytes = bytes)
    };
    let long = |site: TestSite| site.change(|record| record.body_bytes = 20_000);
    let script = |path: &str, cache: &str| {
        let site = TestSite::clean().part(path, LinkKind::Script, "text/javascript");
        site.field("cache-control", cache)
    };
    let timed = |milliseconds: f64, tries: u32| {
        TestSite::clean().page("/slow", "").change(|record| {
            record.timings.first_byte = Some(milliseconds);
            record.tries = tries;
        })
    };
    vec![
        RuleCase::new("weight/page", image(3_000_000), image(2_900_000)),
        RuleCase::new("weight/image", image(600_000), image(500_000)),
        RuleCase::new(
            "weight/uncompressed",
            long(TestSite::with_body("").without("content-encoding")),
            long(TestSite::with_body("")),
        ),
        RuleCase::new(
            "weight/uncached",
            script("/app.3f2a9c1b.js", "max-age=60"),
            script("/app.3f2a9c1b.js", "public, max-age=31536000, immutable"),
        ),
        // A page that was tried again was throttled.
        RuleCase::new("speed/slow", timed(3_500.0, 1), timed(3_500.0, 2)),
    ]
}

fn fields() -> Vec<RuleCase> {
    let cookie = |value: &str| TestSite::with_body("").field("set-cookie", value);
    let policy = |value: &str| {
        let site = TestSite::with_body("").without("content-security-policy");
        site.field("content-security-policy", value)
    };
    let strict = |value: &str| {
        let site = TestSite::with_body("").without("strict-transport-security");
        site.field("strict-transport-security", value)
    };
    vec![
        RuleCase::new(
            "header/hsts",
            strict("max-age=86400"),
            strict("max-age=\"2678400\"; preload"),
        ),
        RuleCase::new(
            "header/csp",
            policy("script-src 'self' 'unsafe-inline'"),
            policy("script-src 'unsafe-inline' 'nonce-abc' 'strict-dynamic'"),
        ),
        RuleCase::new(
            "cookie/secure",
            cookie("theme=dark"),
            cookie("theme=; Max-Age=0"),
        ),
        RuleCase::new(
            "cookie/samesite",
            cookie("theme=dark; SameSite=None"),
            cookie("theme=dark; SameSite=None; Secure"),
        ),
        RuleCase::new(
            "cookie/httponly",
            cookie("PHPSESSID=1; Secure"),
            cookie("csrftoken=1; Secure"),
        ),
        RuleCase::new(
            "cookie/prefix",
            cookie("__Host-a=1; Secure; Path=/; Domain=site.example"),
            cookie("__Host-a=1; Secure; Path=/"),
        ),
        RuleCase::new(
            "data/json-ld",
            TestSite::with_head("<script type=application/ld+json>{\"a\":1,}</script>"),
            TestSite::with_head("<script type=application/ld+json>{\"a\":1}</script>"),
        ),
    ]
}

/// A body that breaks a rule, and one that nearly does.
const BODIES: [(&str, &str, &str); 20] = [
    (
        "image-alt",
        "<img src=/i.png>",
        "<img src=/i.png alt=''><img src=/i.png role=presentation>",
    ),
    (
        "input-image-alt",
        "<input type=image src=/i.png>",
        "<input type=image src=/i.png alt=Go>",
    ),
    (
        "area-alt",
        "<img src=/i.png alt=x usemap=#m><map name=m><area href=/about></map>",
        "<img src=/i.png alt=x usemap=#m><map name=m><area href=/about alt=About></map>",
    ),
    (
        "link-name",
        "<a href=/about></a>",
        "<a href=/about><img src=/i.png alt=About></a>",
    ),
    (
        "button-name",
        "<button></button>",
        "<button aria-label=Go></button>",
    ),
    (
        "label",
        "<input type=text>",
        "<label>Name <input type=text></label>",
    ),
    (
        "select-name",
        "<select><option>1</option></select>",
        "<label for=s>Choose</label><select id=s><option>1</option></select>",
    ),
    (
        "frame-title",
        "<iframe src=/about></iframe>",
        "<iframe src=/about title=About></iframe>",
    ),
    (
        "duplicate-id-aria",
        "<label for=s>A</label><input id=s><p id=s>x</p>",
        "<p id=s>A</p><p id=s>x</p>",
    ),
    (
        "aria-roles",
        "<div role=buton>x</div>",
        "<div role=button tabindex=0>x</div>",
    ),
    (
        "aria-valid-attr",
        "<p aria-labeled=x>y</p>",
        "<p aria-label=x>y</p>",
    ),
    ("list", "<ul><p>x</p></ul>", "<ul><li>x</li></ul>"),
    ("listitem", "<div><li>x</li></div>", "<ol><li>x</li></ol>"),
    (
        "dlitem",
        "<div><dt>x</dt></div>",
        "<dl><dt>x</dt><dd>y</dd></dl>",
    ),
    (
        "td-headers-attr",
        "<table><tr><th id=a>A</th></tr><tr><td headers=b>1</td></tr></table>",
        "<table><tr><th id=a>A</th></tr><tr><td headers=a>1</td></tr></table>",
    ),
    ("tabindex", "<p tabindex=3>x</p>", "<p tabindex=-1>x</p>"),
    ("heading-order", "<h4>x</h4>", "<h2>x</h2>"),
    (
        "empty-heading",
        "<h2></h2>",
        "<h2><img src=/i.png alt=x></h2>",
    ),
    (
        "meta-refresh",
        "<meta http-equiv=refresh content='30'>",
        "<p>30</p>",
    ),
    (
        "meta-viewport",
        "<meta name=viewport content='user-scalable=no'>",
        "<meta name=viewport content='width=device-width'>",
    ),
];

fn accessibility() -> Vec<RuleCase> {
    let named = |name: &str| {
        let rule = crate::rules::find(&format!("a11y/{name}")).unwrap();
        rule.id
    };
    let mut cases: Vec<_> = BODIES
        .iter()
        .map(|(name, fires, passes)| {
            let site = |body: &str| match name.strip_prefix("meta-") {
                Some(_) => TestSite::with_head(body),
                None => TestSite::with_body(body),
            };
            RuleCase::new(named(name), site(fires), site(passes))
        })
        .collect();
    let whole = document("/page", "", "");
    let site = |from: &str, to: &str| TestSite::clean().document("/page", &whole.replace(from, to));
    for (name, from, to) in [
        ("html-has-lang", "<html lang=en>", "<html>"),
        ("html-lang-valid", "lang=en", "lang=x1"),
        ("document-title", "<title>The page /page</title>", ""),
        ("landmark-one-main", "main>", "div>"),
    ] {
        cases.push(RuleCase::new(named(name), site(from, to), site(from, from)));
    }
    cases
}

#[test]
fn equal_faults_of_a_template_are_one_finding() {
    let mut site = TestSite::clean();
    for number in 0..20 {
        site = site.page(&format!("/page/{number}"), "<p tabindex=3>x</p>");
    }
    let findings = site.judged();
    let found: Vec<_> = findings
        .iter()
        .filter(|found| found.rule.id == "a11y/tabindex")
        .collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].count, found[0].samples.len()), (20, 10));
}
