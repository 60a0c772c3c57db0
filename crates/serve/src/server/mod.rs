//! Archives served back: pages at their time, or the exact bytes through a proxy.
//!
//! Owns who may ask and who answers; `connections` has the bounds of the listener. Refuses to know how a page is rewritten and
//! what it looks like. Invariants: nothing is ever fetched; nobody is answered who was led here
//! under a foreign name (DNS rebinding) or asks from a foreign page; where scripts of pages run,
//! pages and guest have different origins, so that no page can read what the guest says.

mod answer;
mod connections;
mod guest;
mod page;
mod proxy;
mod range;
mod replay;
mod request;
mod site;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clewline_archive::Archive;
use clewline_warc::Moment;

use answer::ServerAnswer;
use connections::Converse;
pub(crate) use guest::{Guest, GuestRequest, GuestResponse};
use replay::ReplaySite;
pub(crate) use replay::path_of;
use request::{ServerRequest, Unread};
pub use site::{LocalSite, SiteAnswer};

/// The name under which a guest is asked where the pages' scripts run: it leads to the same
/// server as its address, and is another origin.
const GUEST_HOST: &str = "localhost";

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A list of captures, and pages with references that lead to captures.
    #[default]
    Pages,
    /// A proxy that answers with the bytes that were recorded.
    Proxy,
}

/// Whether the scripts of pages run. A script may send its reader into the live web, which no
/// policy can keep it from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scripts {
    /// They do not run.
    #[default]
    Blocked,
    /// They run.
    Allowed,
}

/// How an archive is served.
#[derive(Debug, Clone, Copy)]
pub struct ServeConfig {
    /// Where to listen.
    pub address: SocketAddr,
    /// What is served.
    pub mode: Mode,
    /// Whether scripts run.
    pub scripts: Scripts,
    /// The time that a proxy shows; the latest captures without one.
    pub at: Option<Moment>,
}

/// A server that listens.
#[derive(Debug)]
pub(crate) struct HttpServer {
    listener: TcpListener,
    shared: Shared,
}

#[derive(Debug)]
struct Shared {
    archive: Archive,
    config: ServeConfig,
    /// Where it listens in fact.
    address: SocketAddr,
    guest: Option<Guest>,
}

impl HttpServer {
    /// Listens; nobody is answered yet.
    pub(crate) fn bind(archive: Archive, config: ServeConfig) -> io::Result<Self> {
        let listener = TcpListener::bind(config.address)?;
        let address = listener.local_addr()?;
        let shared = Shared {
            archive,
            config,
            address,
            guest: None,
        };
        Ok(Self { listener, shared })
    }

    /// Has a guest answer paths beside the archive; a proxy has none.
    #[must_use]
    pub(crate) fn with_guest(mut self, guest: Guest) -> Self {
        self.shared.guest = Some(guest);
        self
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Answers, until the process ends.
    pub(crate) fn run(self) -> ! {
        let shared = Arc::new(self.shared);
        let converse: Arc<Converse> = Arc::new(move |stream| shared.converse(stream));
        loop {
            connections::accept(&self.listener, &converse, &AtomicBool::new(false));
        }
    }
}

impl Shared {
    fn converse(&self, stream: &mut TcpStream) -> io::Result<()> {
        let request = match ServerRequest::read(stream) {
            Ok(request) => request,
            Err(Unread::Gone(error)) => return Err(error),
            Err(Unread::Refused(status, why)) => return page::refusal(status, why).write(stream),
        };
        if self.config.mode == Mode::Proxy {
            return proxy::answer(&request, &self.archive, self.config.at, stream);
        }
        let answer = match self.objection(&request) {
            Some(why) => page::refusal(403, why),
            None => self.answer(&request),
        };
        answer.for_request(&request).write(stream)
    }

    /// Why this request is not answered: it came under a foreign name or from a foreign page.
    fn objection(&self, request: &ServerRequest) -> Option<&'static str> {
        let Some(host) = request.host.as_deref() else {
            return Some("the request names no host");
        };
        if !is_ours(host, self.address.port()) {
            return Some("the server is not known by this name; use its address or localhost");
        }
        let expected = format!("http://{host}");
        match &request.origin {
            Some(origin) if !origin.eq_ignore_ascii_case(&expected) => {
                Some("the request comes from another site")
            }
            _ => None,
        }
    }

    fn site(&self) -> ReplaySite<'_> {
        ReplaySite {
            archive: &self.archive,
            scripts: self.config.scripts,
            guest: self.guest.as_ref().map(Guest::link),
        }
    }

    fn answer(&self, request: &ServerRequest) -> ServerAnswer {
        match request.method.as_str() {
            "GET" | "HEAD" => {
                let guest = self.guest.as_ref();
                let guest = guest.filter(|_| !replay::is_from_capture(request));
                match self.config.scripts {
                    Scripts::Blocked => {
                        let answer = guest.and_then(|guest| guest.answer(&request.target));
                        answer.unwrap_or_else(|| replay::answer(request, &self.site()))
                    }
                    Scripts::Allowed => self.answer_apart(request, guest),
                }
            }
            _ => page::refusal(405, "an archive can only be read"),
        }
    }

    /// Where scripts run, the guest is asked by name and pages by address, and whoever takes the
    /// wrong one is sent to the other. Referrers would not do: a script can choose its own.
    fn answer_apart(&self, request: &ServerRequest, guest: Option<&Guest>) -> ServerAnswer {
        let path = request.target.split('?').next().unwrap_or_default();
        let host = request.host.as_deref().unwrap_or_default();
        let is_for_guest = name_in(host).eq_ignore_ascii_case(GUEST_HOST);
        // Only this machine knows the name.
        let has_name = self.address.ip().is_loopback();
        if is_for_guest {
            let answer = guest.and_then(|guest| guest.answer(&request.target));
            return answer.unwrap_or_else(|| {
                replay::found_at(&format!("http://{}{}", self.address, request.target))
            });
        }
        match guest {
            Some(guest) if guest.link().0 == path && has_name => {
                let port = self.address.port();
                replay::found_at(&format!("http://{GUEST_HOST}:{port}{}", request.target))
            }
            Some(guest) if guest.link().0 == path => page::refusal(
                403,
                "with --scripts there is no search but on the machine that serves",
            ),
            _ => replay::answer(request, &self.site()),
        }
    }
}

/// The name in a `Host` field, without its port.
fn name_in(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, digits)) if !digits.ends_with(']') => name,
        _ => host,
    }
}

/// Names lead anywhere; addresses and `localhost` don't.
fn is_ours(host: &str, port: u16) -> bool {
    let (name, named_port) = match host.rsplit_once(':') {
        Some((name, digits)) if !digits.ends_with(']') => match digits.parse() {
            Ok(named) => (name, named),
            Err(_) => return false,
        },
        _ => (host, 80),
    };
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let is_address = inner.unwrap_or(name).parse::<IpAddr>().is_ok();
    named_port == port && (is_address || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests;
