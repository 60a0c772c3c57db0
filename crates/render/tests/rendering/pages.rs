//! Interactive pages, each a case with its links.

use std::sync::Arc;

use clewline_render::{
    Behavior, BrowserOptions, PartRefusal, RenderBounds, Rendering, RequestFate,
};

use crate::support::{Web, html, pool, render, run};

/// A page, and the links that must be found on it.
struct Case {
    name: &'static str,
    body: &'static str,
    links: &'static [&'static str],
}

/// Scripts alone show these.
const SCRIPTED: &[Case] = &[
    Case {
        name: "a script writes a link",
        body: "<body><script>document.body.innerHTML = '<a href=written>x</a>'</script>",
        links: &["written"],
    },
    Case {
        name: "data by fetch",
        body: "<body><script>fetch('/data.json').then(r => r.json()).then(all => all.forEach(name =>
               document.body.insertAdjacentHTML('beforeend', `<a href=\"${name}\">x</a>`)))</script>",
        links: &["one", "two"],
    },
    Case {
        name: "data by XHR of another origin",
        body: "<body><script>const x = new XMLHttpRequest(); x.open('GET', 'http://other.test/data.json');
               x.setRequestHeader('X-Asked', '1'); x.onload = () => JSON.parse(x.response).forEach(name =>
               document.body.insertAdjacentHTML('beforeend', `<a href=\"${name}\">x</a>`)); x.send()</script>",
        links: &["far"],
    },
    Case {
        name: "a timer of five seconds",
        body: "<body><script>setTimeout(() => document.body.innerHTML = '<a href=late>x</a>', 5000)</script>",
        links: &["late"],
    },
    Case {
        name: "an open shadow root",
        body: "<body><div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML =
               '<a href=shadow>x</a><slot></slot>'; h.innerHTML = '<a href=slotted>y</a>'</script>",
        links: &["shadow", "slotted"],
    },
    Case {
        name: "a closed shadow root",
        body: "<body><div id=h></div><script>h.attachShadow({mode: 'closed'}).innerHTML =
               '<a href=closed>x</a>'</script>",
        links: &["closed"],
    },
    Case {
        name: "a frame that a script fills",
        body: "<body><iframe srcdoc=\"<script>document.write('<a href=framed>x</a>')</script>\"></iframe>",
        links: &["framed"],
    },
    Case {
        name: "entries of the history",
        body: "<body><script>history.pushState({}, '', '/dir/pushed');
               history.replaceState({}, '', '/dir/replaced'); location.hash = 'x'</script>",
        links: &["pushed", "replaced"],
    },
    Case {
        name: "a new location",
        body: "<body><script>location.href = 'moved'</script>",
        links: &["moved"],
    },
    Case {
        name: "a location later on",
        body: "<body><script>setTimeout(() => location.assign('moved-later'), 3000)</script>",
        links: &["moved-later"],
    },
    Case {
        name: "a window",
        body: "<body><script>window.open('window')</script>",
        links: &["window"],
    },
    Case {
        name: "a form that a script sends",
        body: "<body><form action=found><input name=q value=a></form>
               <script>document.forms[0].submit()</script>",
        links: &["found?q=a"],
    },
    Case {
        name: "a redirect of data",
        body: "<body><script>fetch('/old.json').then(r => r.json()).then(all => all.forEach(name =>
               document.body.insertAdjacentHTML('beforeend', `<a href=\"${name}\">x</a>`)))</script>",
        links: &["one", "two"],
    },
    Case {
        name: "a module and a worker",
        body: "<body><script type=module>import {name} from '/module.js';
               const w = new Worker('/worker.js'); w.onmessage = e => document.body.innerHTML =
               `<a href=${name}>x</a><a href=${e.data}>y</a>`;</script>",
        links: &["module", "worker"],
    },
    Case {
        name: "names that hide what a document can do",
        body: "<body><form name=querySelector></form><form name=getElementsByTagName></form>
               <form name=documentElement></form><form name=querySelectorAll></form><img name=body>
               <form name=baseURI></form><form><input name=childNodes><input name=attributes>
               <input name=localName><input name=nodeType><a href=in-form>x</a></form>
               <script>history.pushState({}, '', '/dir/renamed'); document.write('<a href=hidden>x</a>')</script>",
        links: &["hidden", "in-form", "renamed"],
    },
    Case {
        name: "dialogs",
        body: "<body><script>alert(1); confirm(2); prompt(3); document.body.innerHTML =
               '<a href=behind-dialogs>x</a>'</script>",
        links: &["behind-dialogs"],
    },
];

/// Only clicks and scrolls show these.
const INTERACTIVE: &[Case] = &[
    Case {
        name: "an attribute",
        body: "<body><div onclick=\"this.innerHTML = '<a href=attribute>x</a>'\">more</div>",
        links: &["attribute"],
    },
    Case {
        name: "a listener",
        body: "<body><span id=s>more</span><script>s.addEventListener('click', () =>
               document.body.insertAdjacentHTML('beforeend', '<a href=listened>x</a>'))</script>",
        links: &["listened"],
    },
    Case {
        name: "a listener that navigates",
        body: "<body><div id=s>go</div><script>s.addEventListener('mousedown', () =>
               location = 'by-mouse')</script>",
        links: &["by-mouse"],
    },
    Case {
        name: "a door behind a decoy",
        body: "<body><button id=first>first</button><button id=decoy>decoy</button><script>
               first.onclick = () => { if (window.b) return; window.b = document.createElement('button');
                 b.textContent = 'door'; b.onclick = () => location = 'door'; document.body.append(b) };
               decoy.onclick = () => window.b && b.remove()</script>",
        links: &["door"],
    },
    Case {
        name: "a handler that changes",
        body: "<body><button id=b>x</button><script>
               b.onclick = () => { b.onclick = () => location = 'second-click' }</script>",
        links: &["second-click"],
    },
    Case {
        name: "names that hide what a form can do",
        body: "<body><form name=querySelectorAll></form><form id=f action=found><input name=click><input name=matches>
               <input name=localName><input name=dispatchEvent><button id=b type=button>x</button></form><script>
               b.onclick = () => location = 'by-button'; f.addEventListener('click', () => 0)</script>",
        links: &["by-button"],
    },
    Case {
        name: "a form by script",
        body: "<body><input id=q><button id=b>search</button><script>b.onclick = () => {
               if (q.value) location = 'search/' + q.value }</script>",
        links: &["search/search"],
    },
    Case {
        name: "a form without a button",
        body: "<body><form action=list><input name=term></form>",
        links: &["list?term=search"],
    },
    Case {
        name: "links that a click takes away",
        body: "<body><div id=p><a href=tab-one>x</a></div><button id=b>two</button><script>
               b.onclick = () => p.innerHTML = '<a href=tab-two>y</a>'</script>",
        links: &["tab-one", "tab-two"],
    },
    Case {
        name: "a button in a shadow root",
        body: "<body><div id=h></div><script>const r = h.attachShadow({mode: 'open'});
               r.innerHTML = '<button>x</button>'; r.querySelector('button').onclick = () =>
               history.pushState({}, '', 'in-shadow')</script>",
        links: &["in-shadow"],
    },
    Case {
        name: "an endless list",
        body: "<body><div id=list></div><script>let n = 0; const add = () => { for (let i = 0; i < 10 && n < 40; i++)
               list.insertAdjacentHTML('beforeend', `<p style='height:300px'><a href=item-${n++}>x</a></p>`) };
               add(); addEventListener('scroll', () => { if (scrollY + innerHeight >
               document.documentElement.scrollHeight - 200) add() })</script>",
        links: &["item-0", "item-25", "item-39"],
    },
    Case {
        name: "a list with a sentinel",
        body: "<body><div id=list></div><div id=end>.</div><script>let n = 0; new IntersectionObserver(all => {
               if (all.some(one => one.isIntersecting)) setTimeout(() => { for (let i = 0; i < 10 && n < 30; i++)
               list.insertAdjacentHTML('beforeend', `<p style='height:300px'><a href=seen-${n++}>x</a></p>`) },
               100) }).observe(end)</script>",
        links: &["seen-0", "seen-29"],
    },
];

fn web() -> Web {
    let mut web = Web::with(&[
        (
            "http://site.test/data.json",
            "application/json",
            r#"["one", "two"]"#,
        ),
        (
            "http://other.test/data.json",
            "application/json",
            r#"["far"]"#,
        ),
        (
            "http://site.test/module.js",
            "text/javascript",
            "export const name = 'module'",
        ),
        (
            "http://site.test/worker.js",
            "text/javascript",
            "postMessage('worker')",
        ),
    ]);
    web.redirects.insert(
        "http://site.test/old.json".to_owned(),
        "/data.json".to_owned(),
    );
    web
}

/// Whether a link was found, wherever it was.
fn has_link(rendering: &Rendering, link: &str) -> bool {
    let whole = format!("http://site.test/dir/{link}");
    let mut found = rendering.navigated.iter().chain(&rendering.passing_links);
    rendering.html.contains(&format!("href=\"{link}\"")) || found.any(|found| *found == whole)
}

fn check(cases: &[Case], options: BrowserOptions) {
    let Some(pool) = pool(options) else {
        return;
    };
    let web = Arc::new(web());
    let mut problems = Vec::new();
    run(async {
        for case in cases {
            let started = std::time::Instant::now();
            match render(&pool, case.body, &web).await {
                Ok(rendering) => {
                    let missing = |link: &&&str| !has_link(&rendering, link);
                    let lost: Vec<_> = case.links.iter().filter(missing).collect();
                    if !lost.is_empty() || rendering.is_unready {
                        problems.push(format!("{}: {lost:?} in {rendering:?}", case.name));
                    }
                    eprintln!(
                        "{}: {:?} CPU, {:?}",
                        case.name,
                        rendering.cpu,
                        started.elapsed()
                    );
                }
                Err(error) => problems.push(format!("{}: {error}", case.name)),
            }
        }
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn scripts_show_their_links() {
    check(SCRIPTED, BrowserOptions::default());
}

#[test]
fn clicks_and_scrolls_show_more_links() {
    let options = BrowserOptions {
        behaviors: vec![Behavior::Autoscroll, Behavior::Autoclick],
        ..BrowserOptions::default()
    };
    check(INTERACTIVE, options);
}

#[test]
fn requests_are_judged_noted_and_bounded() {
    let options = BrowserOptions {
        bounds: RenderBounds {
            parts: 3,
            ..RenderBounds::default()
        },
        ..BrowserOptions::default()
    };
    let Some(pool) = pool(options) else {
        return;
    };
    let mut web = web();
    web.refusals
        .insert("http://site.test/secret".to_owned(), PartRefusal::Robots);
    let web = Arc::new(web);
    let body = "<body><img src=/picture.png><script>
        const say = text => document.body.insertAdjacentHTML('beforeend', `<p>${text}</p>`);
        (async () => {
          await fetch('/secret').catch(() => say('secret failed'));
          await fetch('/data.json').then(() => say('data came'));
          await fetch('/api', {method: 'POST', body: 'x'}).catch(() => say('post failed'));
          await fetch('http://other.test/api', {method: 'PUT', body: 'x'}).catch(() => say('put failed'));
          await fetch('/nobody').catch(() => say('nobody failed'));
          await fetch('/fourth').catch(() => say('fourth failed'));
        })()</script>";
    let rendering = run(render(&pool, body, &web)).unwrap();
    for said in [
        "secret failed",
        "data came",
        "post failed",
        "put failed",
        "nobody failed",
        "fourth failed",
    ] {
        assert!(
            rendering.html.contains(&format!("<p>{said}</p>")),
            "{said}: {rendering:?}"
        );
    }
    let fate = |method: &str, url: &str| {
        let mut all = rendering.requested.iter();
        let request = all.find(|request| request.method == method && request.url == url);
        request.map(|request| request.fate)
    };
    for (method, url, expected) in [
        ("GET", "http://site.test/secret", RequestFate::Refused),
        ("GET", "http://site.test/data.json", RequestFate::Answered),
        ("GET", "http://site.test/nobody", RequestFate::Failed),
        ("GET", "http://site.test/fourth", RequestFate::Refused),
        ("GET", "http://site.test/picture.png", RequestFate::NotSent),
        ("POST", "http://site.test/api", RequestFate::NotSent),
        ("PUT", "http://other.test/api", RequestFate::NotSent),
    ] {
        assert_eq!(fate(method, url), Some(expected), "{method} {url}");
    }
    assert_eq!(
        (rendering.unsent, rendering.refused, rendering.over_limit),
        (2, 1, 1)
    );
    assert!(rendering.is_incomplete());
    let asked = web.asked();
    let expected = ["secret", "data.json", "nobody"].map(|path| format!("http://site.test/{path}"));
    assert_eq!(asked, expected);
}

#[test]
fn a_page_is_whole_and_leaves_nothing_behind() {
    let Some(pool) = pool(BrowserOptions::default()) else {
        return;
    };
    let web = Arc::new(web());
    let first = "<title>First</title><body><script>document.cookie = 'a=1'; localStorage.b = 2;
        document.body.append(String(navigator.onLine), isSecureContext)</script>";
    let second = "<title>Second &amp; last</title><body><script>
        document.body.append(`[${document.cookie}|${localStorage.b}]`);
        history.pushState({}, '', '/other/place')</script><a href=relative>x</a>";
    run(async {
        let rendering = render(&pool, first, &web).await.unwrap();
        assert!(rendering.html.contains("true"), "{rendering:?}");
        assert!(!rendering.is_incomplete());
        let rendering = render(&pool, second, &web).await.unwrap();
        assert!(rendering.html.contains("[|undefined]"), "{rendering:?}");
        assert_eq!(rendering.title.as_deref(), Some("Second & last"));
        // Links are relative to where the script took the page.
        let base = "<base href=\"http://site.test/other/place\">";
        assert!(rendering.html.contains(base), "{rendering:?}");
        let parts: Arc<dyn clewline_render::PartFetcher> = web.clone();
        let secure = html(
            "https://safe.test/",
            "<body><script>document.body.append(isSecureContext)</script>",
        );
        let rendering = pool.render(secure, parts).await.unwrap();
        assert!(rendering.html.contains("true</body>"), "{rendering:?}");
    });
}

#[test]
fn screenshots_show_the_window_or_the_page() {
    use clewline_render::ScreenshotArea;
    for (area, magic) in [
        (ScreenshotArea::Viewport, &b"\x89PNG"[..]),
        (ScreenshotArea::Full, &b"\xff\xd8\xff"[..]),
    ] {
        let options = BrowserOptions {
            screenshot: Some(area),
            ..BrowserOptions::default()
        };
        let Some(pool) = pool(options) else {
            return;
        };
        let web = Arc::new(web());
        let body = "<body><p style='height:5000px'>tall</p><img src=/data.json>";
        let rendering = run(render(&pool, body, &web)).unwrap();
        let picture = rendering.screenshot.unwrap();
        assert!(picture.starts_with(magic), "{:?}", &picture[..8]);
        assert_eq!(web.asked(), ["http://site.test/data.json"]);
    }
}

#[test]
fn a_banner_is_clicked_first() {
    let options = BrowserOptions {
        clicks: vec!["#accept".to_owned(), "#nowhere".to_owned(), "][".to_owned()],
        ..BrowserOptions::default()
    };
    let Some(pool) = pool(options) else {
        return;
    };
    let body = "<body><div id=accept onclick=\"document.body.innerHTML = '<a href=content>x</a>'\">ok</div>";
    let rendering = run(render(&pool, body, &Arc::new(web()))).unwrap();
    assert!(has_link(&rendering, "content"), "{rendering:?}");
}
