//! The site of the demo: a lighthouse and its faults.
//!
//! Owns the pages, and what goes wrong on them. Everything is made from one table, so that a new
//! page is one entry. Invariant: each page answers the same each time, but for the one that fails
//! first.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clewline_serve::{LocalSite, SiteAnswer};

/// A page that is linked and does not exist.
pub(super) const DEAD: &str = "/chart-room.html";

/// How long the slow page takes.
const SLOW: Duration = Duration::from_millis(700);

struct DemoPage {
    path: &'static str,
    title: &'static str,
    text: &'static str,
    links: &'static [(&'static str, &'static str)],
}

const PAGES: &[DemoPage] = &[
    DemoPage {
        path: "/",
        title: "The lighthouse at Gull Point",
        text: "The light at Gull Point has warned ships off the reef since 1871. This site tells how the \
               tower was built, how its lamp works and who kept it.",
        links: &[
            ("/tower.html", "The tower"),
            ("/lamp.html", "The lamp"),
            ("/keepers.html", "The keepers"),
            ("/fog-signal.html", "The fog signal"),
            ("/old-log.html", "The log book"),
            ("/visit.html", "Visit us"),
            ("/private/accounts.html", "Accounts"),
        ],
    },
    DemoPage {
        path: "/tower.html",
        title: "The tower",
        text: "Granite came by barge from the quarry at Stone Quay. The walls are two metres thick at the \
               foot, and 112 steps lead up to the lamp room.",
        links: &[("/lamp.html", "Up to the lamp"), (DEAD, "The chart room")],
    },
    DemoPage {
        path: "/lamp.html",
        title: "The lamp",
        text: "The lamp burned oil until 1923. Its lens, a Fresnel lens of the first order, floats on \
               mercury and turns once in twenty seconds. Sailors see two flashes, then darkness.",
        links: &[
            ("/keepers.html", "Who trimmed the lamp"),
            ("/loop-east", "The eastern beam"),
        ],
    },
    DemoPage {
        path: "/keepers.html",
        title: "The keepers",
        text: "Eleven keepers and their families lived at the foot of the tower. They trimmed the lamp every \
               four hours and wrote each night into the log.",
        links: &[
            ("/log.html", "The log"),
            ("/tower.html", "The tower"),
            ("/keepers-list.html", "A list of all keepers"),
        ],
    },
    DemoPage {
        path: "/log.html",
        title: "The log book",
        text: "Night of 3 November 1894: gale from the north-west, lamp lit at five. The schooner Ariadne \
               passed the reef at midnight and signalled her thanks.",
        links: &[("/keepers.html", "The keepers")],
    },
    DemoPage {
        path: "/fog-signal.html",
        title: "The fog signal",
        text: "In fog the lamp is of no use. A horn, driven by compressed air, sounds every ninety seconds \
               and is heard five miles out.",
        links: &[("/lamp.html", "The lamp")],
    },
    DemoPage {
        path: "/visit.html",
        title: "Visit us",
        text: "The tower is open from May to September. The tide table tells when the causeway is dry.",
        links: &[
            ("/tide-table.html", "Tide table"),
            ("/tickets.html", "Tickets"),
        ],
    },
    DemoPage {
        path: "/tide-table.html",
        title: "Tide table",
        text: "High water at Gull Point follows that of the harbour by forty minutes. This page is computed \
               when it is asked for, which takes its time.",
        links: &[("/visit.html", "Visit us")],
    },
    DemoPage {
        path: "/shipwrecks.html",
        title: "Shipwrecks",
        text: "No page leads here; only the sitemap does. Seven ships were lost on the reef before there \
               was a light.",
        links: &[("/", "Home")],
    },
];

/// Serves the site until the value is dropped.
pub(super) fn start() -> io::Result<LocalSite> {
    let has_failed = AtomicBool::new(false);
    LocalSite::start(|address| {
        move |target| match target {
            "/tide-table.html" => {
                thread::sleep(SLOW);
                answer(target, address)
            }
            "/fog-signal.html" if !has_failed.swap(true, Ordering::Relaxed) => failure(),
            _ => answer(target, address),
        }
    })
}

fn answer(target: &str, address: SocketAddr) -> SiteAnswer {
    if let Some(page) = PAGES.iter().find(|page| page.path == target) {
        return shown(200, "text/html; charset=utf-8", html(page));
    }
    match target {
        "/robots.txt" => shown(200, "text/plain", robots(address)),
        "/sitemap.xml" => shown(200, "application/xml", sitemap(address)),
        "/style.css" => shown(200, "text/css", STYLE.to_owned()),
        "/old-log.html" => moved("/log.html"),
        "/loop-east" => moved("/loop-west"),
        "/loop-west" => moved("/loop-east"),
        _ => shown(404, "text/html; charset=utf-8", MISSING.to_owned()),
    }
}

const STYLE: &str = "body { font: 1rem/1.5 sans-serif; max-width: 40rem; margin: auto }\n";
const MISSING: &str = "<!doctype html><title>Not found</title><h1>Not found</h1>\n";

fn shown(status: u16, kind: &str, body: String) -> SiteAnswer {
    SiteAnswer {
        status,
        fields: vec![("Content-Type", kind.to_owned())],
        body: body.into_bytes(),
    }
}

fn moved(place: &str) -> SiteAnswer {
    SiteAnswer {
        status: 301,
        fields: vec![("Location", place.to_owned())],
        body: Vec::new(),
    }
}

fn failure() -> SiteAnswer {
    shown(500, "text/plain", "The horn is out of air.\n".to_owned())
}

fn html(page: &DemoPage) -> String {
    let DemoPage { title, text, .. } = page;
    let mut links = String::new();
    for (target, name) in page.links {
        let _ = writeln!(links, "<li><a href=\"{target}\">{name}</a></li>");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body><main><h1>{title}</h1>\n\
         <img src=\"/lighthouse.png\" alt=\"The lighthouse\">\n<p>{text}</p>\n\
         <ul>\n{links}</ul>\n</main></body></html>\n"
    )
}

fn robots(address: SocketAddr) -> String {
    format!("User-agent: *\nDisallow: /private/\nSitemap: http://{address}/sitemap.xml\n")
}

fn sitemap(address: SocketAddr) -> String {
    let mut rows = String::new();
    for page in PAGES {
        let _ = writeln!(rows, "<url><loc>http://{address}{}</loc></url>", page.path);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{rows}</urlset>\n"
    )
}
