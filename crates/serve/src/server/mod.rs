//! Archives served back: pages at their time, or the exact bytes through a proxy.
//!
//! Owns who may ask and who answers; `listener` has the bounds of the listener. Refuses to know how a page is rewritten and
//! what it looks like. Invariants: nothing is ever fetched; nobody is answered who was led here
//! under a foreign name (DNS rebinding) or asks from a foreign page; where scripts of pages run,
//! pages and guest have different origins, so that no page can read what the guest says.

mod answer;
mod archive_shelf;
mod guest;
mod listener;
mod page;
mod proxy;
mod proxy_wire;
mod range;
mod replay;
mod request;
mod site;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Instant;

use clewline_warc::Moment;
use url::Url;

pub(crate) use answer::{AnswerBody, ServerAnswer};
pub(crate) use archive_shelf::ArchiveShelf;
pub(crate) use guest::{Guest, GuestRequest, GuestResponse};
use listener::{Answering, Conversation, Converse};
use replay::{ArchivedForms, ReplaySite};
pub(crate) use replay::{path_of, thumbnail_path_of};
pub(crate) use request::ServerRequest;
pub use site::{LocalSite, SiteAnswer};

use crate::app::App;
use crate::app::access::{Right, SESSION_PATH};

/// Where the server says that it lives.
const HEALTH_PATH: &str = "/healthz";

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
    archive: ArchiveShelf,
    config: ServeConfig,
    /// Where it listens in fact.
    address: SocketAddr,
    guest: Option<Guest>,
    app: App,
    /// The origin under which a reverse proxy shows the server.
    origin: Option<ServerOrigin>,
}

/// The origin of a server behind a reverse proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerOrigin {
    /// As browsers send it.
    text: String,
    /// As `Host` has it.
    host: String,
}

impl ServerOrigin {
    /// Reads `https://crawl.example.com`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let host = url.host_str()?;
        let is_bare = url.path() == "/" && url.query().is_none() && url.username().is_empty();
        let is_known = matches!(url.scheme(), "http" | "https") && is_bare;
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let text = url.origin().ascii_serialization();
        is_known.then_some(Self { text, host })
    }
}

impl HttpServer {
    /// Listens; nobody is answered yet.
    pub(crate) fn bind(archive: ArchiveShelf, config: ServeConfig, app: App) -> io::Result<Self> {
        Self::from_listener(TcpListener::bind(config.address)?, archive, config, app)
    }

    /// Takes a listener over.
    pub(crate) fn from_listener(
        listener: TcpListener,
        archive: ArchiveShelf,
        config: ServeConfig,
        app: App,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Shared {
            archive,
            config,
            address,
            guest: None,
            app,
            origin: None,
        };
        Ok(Self { listener, shared })
    }

    /// Also answers to the name that a reverse proxy shows it under.
    #[must_use]
    pub(crate) fn with_origin(mut self, origin: Option<ServerOrigin>) -> Self {
        self.shared.origin = origin;
        self
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
    pub(crate) fn run(self) -> io::Result<Infallible> {
        self.run_until(std::future::pending())?;
        unreachable!("the server has no end")
    }

    /// Answers until the end.
    pub(crate) fn run_until(self, end: impl Future<Output = ()>) -> io::Result<()> {
        let shared = Arc::new(self.shared);
        let conversation = match shared.config.mode {
            Mode::Proxy => {
                let converse: Arc<Converse> = Arc::new(move |stream| {
                    let archive = shared.archive.archive().map_err(io::Error::other)?;
                    proxy::converse(stream, &archive, shared.config.at)
                });
                Conversation::Raw(converse)
            }
            Mode::Pages => {
                let answering: Arc<Answering> = Arc::new(move |request| shared.reply(request));
                Conversation::Http(answering)
            }
        };
        listener::serve(self.listener, &conversation, end)
    }
}

impl Shared {
    /// Answers, and counts how long that took.
    fn reply(&self, request: &ServerRequest) -> ServerAnswer {
        let began = Instant::now();
        let answer = self.allowed(request);
        let times = self.app.requests();
        times.add(
            &request.method,
            request.path(),
            answer.status,
            began.elapsed(),
        );
        answer
    }

    fn allowed(&self, request: &ServerRequest) -> ServerAnswer {
        if let Some(why) = self.objection(request) {
            return page::refusal(403, why);
        }
        match request.path() {
            SESSION_PATH => return self.app.access().session(request),
            // Whether the server lives is no secret.
            HEALTH_PATH => {
                let body = AnswerBody::Bytes(b"ok\n".to_vec());
                return ServerAnswer::new(200, body).with("Content-Type", "text/plain");
            }
            _ => {}
        }
        match self.app.access().right_of(request) {
            Ok(right) => self.answer(request, right),
            Err(refusal) => refusal,
        }
    }

    /// Why this request is not answered: it came under a foreign name or from a foreign page.
    fn objection(&self, request: &ServerRequest) -> Option<&'static str> {
        let Some(host) = request.field("host") else {
            return Some("the request names no host");
        };
        if let Some(origin) = self.origin.as_ref().filter(|origin| origin.host == host) {
            let given = request.field("origin");
            let is_foreign = given.is_some_and(|given| given != origin.text);
            return is_foreign.then_some("the request comes from another site");
        }
        if !is_ours(host, self.address.port()) {
            return Some("the server is not known by this name; use its address or localhost");
        }
        let expected = format!("http://{host}");
        match request.field("origin") {
            Some(origin) if !origin.eq_ignore_ascii_case(&expected) => {
                Some("the request comes from another site")
            }
            _ => None,
        }
    }

    /// Shows what is archived.
    fn replay(&self, request: &ServerRequest) -> ServerAnswer {
        let archive = match self.archive.archive() {
            Ok(archive) => archive,
            Err(error) => return page::refusal(404, &error.to_string()),
        };
        let site = ReplaySite {
            archive: &archive,
            scripts: self.config.scripts,
            forms: if self.app.can_change() {
                ArchivedForms::Blocked
            } else {
                ArchivedForms::Sent
            },
            guest: self.guest.as_ref().map(Guest::link),
        };
        replay::answer(request, &site)
    }

    fn answer(&self, request: &ServerRequest, right: Right) -> ServerAnswer {
        // A page of the archive means a path of its own site.
        let is_captured = replay::is_from_capture(request);
        if self.config.scripts == Scripts::Allowed {
            return self.answer_apart(request, right, is_captured);
        }
        let own = || self.own(request, right);
        match (own().filter(|_| !is_captured), request.is_reading()) {
            (Some(answer), _) => answer,
            (None, true) => self.replay(request),
            (None, false) => page::refusal(405, "an archive can only be read"),
        }
    }

    /// What is not archived: the app and the guest.
    fn own(&self, request: &ServerRequest, right: Right) -> Option<ServerAnswer> {
        let guest = self.guest.as_ref().filter(|_| request.is_reading());
        let answer = guest.and_then(|guest| guest.answer(&request.target));
        let archive = || self.archive.archive().map_err(|error| error.to_string());
        answer.or_else(|| self.app.answer(request, right, &archive))
    }

    /// Where scripts run, the guest is asked by name and pages by address, and whoever takes the
    /// wrong one is sent to the other. Referrers would not do: a script can choose its own.
    fn answer_apart(
        &self,
        request: &ServerRequest,
        right: Right,
        is_captured: bool,
    ) -> ServerAnswer {
        let host = request.field("host").unwrap_or_default();
        // Only this machine knows the name.
        let has_name = self.address.ip().is_loopback();
        if name_in(host).eq_ignore_ascii_case(GUEST_HOST) {
            let answer = self.own(request, right).filter(|_| !is_captured);
            return answer.unwrap_or_else(|| {
                replay::found_at(&format!("http://{}{}", self.address, request.target))
            });
        }
        let path = request.path();
        let of_guest = self.guest.as_ref().map(Guest::link);
        let is_guest = of_guest.is_some_and(|(first, _)| first == path) || self.app.owns(path);
        match (is_guest && !is_captured, request.is_reading()) {
            (true, true) if has_name => {
                let port = self.address.port();
                replay::found_at(&format!("http://{GUEST_HOST}:{port}{}", request.target))
            }
            (true, _) => page::refusal(
                403,
                "with --scripts there is no app but under the name localhost, on the machine that \
                 serves",
            ),
            (false, true) => self.replay(request),
            (false, false) => page::refusal(405, "an archive can only be read"),
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
