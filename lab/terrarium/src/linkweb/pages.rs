//! What the site and the foreign hosts answer.
//!
//! Owns the bytes. Everything that decides is in `hosts` and `truth`.

use std::fmt::Write as _;

use super::hosts::{HostHabit, LinkShape, number_of};
use super::truth::LinkDeath;
use crate::reply::{Page, Reply};
use crate::serve::Request;

/// Words that make a page one.
const PROSE: &str = "The keeper wrote every night what he had seen from the gallery: ships, weather, \
    the state of the lamp, and now and then a line about the birds that came to rest on the rail. ";

impl LinkShape {
    /// A page of the site.
    pub(super) fn site_page(&self, request: &Request) -> Reply {
        let config = self.config();
        let number = match request.path() {
            "/" => Some(0),
            path => path
                .strip_prefix("/page/")
                .and_then(|number| number.parse::<u32>().ok()),
        };
        let Some(number) = number.filter(|number| *number < config.pages) else {
            return Page::html("<title>Nothing</title>").status(404).into();
        };
        let mut body = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <title>Page {number}</title></head><body><main><h1>Page {number}</h1>\n"
        );
        for below in [2 * number + 1, 2 * number + 2] {
            if below < config.pages {
                let _ = writeln!(body, "<p><a href=\"/page/{below}\">page {below}</a></p>");
            }
        }
        let mut link = number;
        while link < config.links {
            let url = self.link(link).url;
            let _ = writeln!(body, "<p>{PROSE}<a href=\"{url}\">link {link}</a></p>");
            link += config.pages.max(1);
        }
        body.push_str("</main></body></html>\n");
        Page::html(body).into()
    }

    /// The answer of a foreign host.
    pub(super) fn foreign_page(&self, request: &Request) -> Reply {
        let Some(host) = request.host().and_then(number_of) else {
            return Page::empty(404).into();
        };
        let habit = self.habit(host);
        if request.path() == "/robots.txt" {
            return match habit {
                HostHabit::Forbids => Page::text("User-agent: *\nDisallow: /private/\n").into(),
                _ => Page::text("Not found").status(404).into(),
            };
        }
        match habit {
            HostHabit::LimitsRate if self.is_too_soon(host, request.at()) => {
                Page::retry_after(429, "1").into()
            }
            HostHabit::WallsOff(kind) => wall(kind),
            HostHabit::RefusesHead(kind) if request.method() == "HEAD" => no_head(kind),
            HostHabit::Flaps => self.flapping(host, request),
            HostHabit::IsDead(death) => dead(death, request),
            HostHabit::IsSoft if request.path().starts_with("/gone/") => soft(),
            _ => found(request),
        }
    }

    /// The first request for each page fails, in one of three ways.
    fn flapping(&self, host: u32, request: &Request) -> Reply {
        let page = format!("{host}{}", request.path());
        if self.asked_before(&page) > 0 {
            return found(request);
        }
        match self.below(6, host, 3) {
            0 => Page::empty(503).into(),
            1 => Page::html("<title>Oops</title>").status(500).into(),
            _ => Reply::reset(),
        }
    }
}

fn found(request: &Request) -> Reply {
    let path = request.path();
    if path.starts_with("/missing/") {
        return Page::html("<title>Not found</title><h1>Not found</h1>")
            .status(404)
            .into();
    }
    if let Some(number) = path.strip_prefix("/old/") {
        return Page::redirect(301, format!("/p/{number}")).into();
    }
    if path.starts_with("/file/") {
        return Page::bytes("application/pdf", "%PDF-1.4 a file").into();
    }
    let mut body = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>A page</title>\
                    <h1 id=\"part-1\">A page</h1><a name=\"name-1\"></a><h2 id=\"sätze\">Words</h2>"
        .to_owned();
    for _ in 0..4 {
        let _ = write!(body, "<p>{PROSE}</p>");
    }
    Page::html(body).into()
}

/// 200, and a title that says that there is nothing.
fn soft() -> Reply {
    Page::html("<title>Page not found</title><h1>Oops</h1><p>Go home.</p>").into()
}

fn wall(kind: u8) -> Reply {
    let page = Page::html("<title>Just a moment...</title>");
    match kind {
        0 => page.status(999).into(),
        1 => page.status(503).header("cf-mitigated", "challenge").into(),
        _ => Page::html("<title>Access denied</title>")
            .status(403)
            .into(),
    }
}

fn no_head(kind: u8) -> Reply {
    match kind {
        0 => Page::empty(405).header("Allow", "GET").into(),
        1 => Page::empty(404).into(),
        2 => Page::empty(403).into(),
        3 => Page::empty(500).into(),
        _ => Reply::reset(),
    }
}

fn dead(death: LinkDeath, request: &Request) -> Reply {
    let path = request.path();
    match death {
        LinkDeath::Gone => Page::html("<title>Gone</title>").status(410).into(),
        LinkDeath::ServerFault => Page::html("<title>Error</title>").status(500).into(),
        LinkDeath::Circle => {
            let target = match path.strip_suffix("/b") {
                Some(first) => first.to_owned(),
                None => format!("{path}/b"),
            };
            Page::redirect(302, target).into()
        }
        _ => Page::html("<title>Not found</title>").status(404).into(),
    }
}
