//! A site: which resource answers which path, and where the site lives.
//!
//! Owns the routing of a request to a reply, and the counters behind sequences. Refuses to know
//! sockets, names and other sites. Invariant: a reply is chosen by the path alone, in this order:
//! page of the whole target, page of the path, longest matching prefix, folder, handler, 404.

use std::collections::HashMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::reply::{Handler, Page, Reply};
use crate::serve::Request;
use crate::tls::Certificate;

/// Files larger than this are not served from a folder.
const MAX_FILE: u64 = 256 << 20;
/// Handlers may answer with handlers; beyond this depth the answer is 500.
const MAX_DEPTH: usize = 16;

/// What happens to connections before any request is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Door {
    /// They are served.
    #[default]
    Open,
    /// They are accepted and then ignored; with TLS the handshake stalls.
    Silent,
    /// They are reset as soon as they are accepted.
    Reset,
    /// They are refused: nobody listens on the port.
    Refused,
}

/// A time in which nobody listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    /// Requests that are answered before.
    pub(crate) after: usize,
    pub(crate) lasts: Duration,
}

struct Resource {
    reply: Reply,
    asked: AtomicUsize,
}

impl Resource {
    fn new(reply: Reply) -> Arc<Self> {
        Arc::new(Self {
            reply,
            asked: AtomicUsize::new(0),
        })
    }
}

/// A site under construction: pages, handlers, folders, address, manners.
#[derive(Default)]
pub struct Site {
    pages: RwLock<HashMap<String, Arc<Resource>>>,
    prefixes: Vec<(String, Arc<Resource>)>,
    folders: Vec<PathBuf>,
    fallback: Option<Handler>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) certificate: Option<Certificate>,
    pub(crate) door: Door,
    pub(crate) own_port: bool,
    pub(crate) delay: Duration,
    pub(crate) idle: Option<Duration>,
    pub(crate) outage: Option<Outage>,
}

impl Site {
    /// An empty site: every path is a 404.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a page (or any other reply) at a path. A path with a query answers that query only.
    #[must_use]
    pub fn page(self, path: &str, reply: impl Into<Reply>) -> Self {
        self.put(path, reply.into());
        self
    }

    /// Adds an HTML page for each path and body.
    #[must_use]
    pub fn pages<'a>(self, pages: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        pages
            .into_iter()
            .fold(self, |site, (path, body)| site.page(path, Page::html(body)))
    }

    /// Adds a `robots.txt` of this text; without it there is none (404).
    #[must_use]
    pub fn robots(self, text: &str) -> Self {
        self.page("/robots.txt", Page::text(text))
    }

    /// Answers every path below `prefix` that is no page by this function: the infinite trap.
    #[must_use]
    pub fn under(
        mut self,
        prefix: &str,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.prefixes
            .push((prefix.to_owned(), Resource::new(Reply::handler(answer))));
        self
    }

    /// Answers by this function every path that nothing else answers.
    #[must_use]
    pub fn handler(mut self, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        self.fallback = Some(Arc::new(answer));
        self
    }

    /// A chain of redirects: `{prefix}/{hops}` leads in so many hops to `target`.
    #[must_use]
    pub fn chain(self, prefix: &str, hops: usize, target: &str) -> Self {
        let (base, target) = (format!("{prefix}/"), target.to_owned());
        self.under(&base.clone(), move |request| {
            match number_after(request, &base) {
                Some(1) => Page::redirect(302, target.as_str()).into(),
                Some(left) if left > 1 && left <= hops => {
                    Page::redirect(302, format!("{base}{}", left - 1)).into()
                }
                _ => Page::empty(404).into(),
            }
        })
    }

    /// A loop of redirects: `{prefix}/1` to `{prefix}/{length}` and back.
    #[must_use]
    pub fn redirect_loop(self, prefix: &str, length: usize) -> Self {
        let base = format!("{prefix}/");
        self.under(&base.clone(), move |request| {
            match number_after(request, &base) {
                Some(at) if at >= 1 && at <= length => {
                    Page::redirect(302, format!("{base}{}", at % length + 1)).into()
                }
                _ => Page::empty(404).into(),
            }
        })
    }

    /// An infinite calendar: every page below `prefix` links to the next and previous month and
    /// to its days, which are pages too.
    #[must_use]
    pub fn calendar(self, prefix: &str) -> Self {
        let base = format!("{}/", prefix.trim_end_matches('/'));
        self.under(&base.clone(), move |request| {
            let month = number_after(request, &base).unwrap_or(1);
            let mut targets = vec![format!("{base}{}", month.saturating_add(1))];
            targets.push(format!("{base}{}", month.saturating_sub(1)));
            targets.extend((1..=28).map(|day| format!("{base}{month}/{day}")));
            Page::html(crate::generate::links(targets)).into()
        })
    }

    /// Serves the files of a folder; content types go by the ending, folders by `index.html`.
    #[must_use]
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.folders.push(path.into());
        self
    }

    /// Puts the site at this loopback address, where it shares a port with its neighbours.
    /// Without it, a named site has an address of its own.
    ///
    /// # Panics
    /// When the text is no loopback address.
    #[must_use]
    pub fn at(mut self, address: &str) -> Self {
        let address: IpAddr = address.parse().expect("Site::at takes an IP address");
        assert!(
            address.is_loopback(),
            "a terrarium lives on loopback, {address} does not"
        );
        self.address = Some(address);
        self
    }

    /// Gives the site a port that it does not share.
    #[must_use]
    pub fn own_port(mut self) -> Self {
        self.own_port = true;
        self
    }

    /// Serves the site over TLS with a certificate of the web's own authority.
    #[must_use]
    pub fn tls(self) -> Self {
        self.certificate(Certificate::Valid)
    }

    /// Serves the site over TLS with this kind of certificate.
    #[must_use]
    pub fn certificate(mut self, certificate: Certificate) -> Self {
        self.certificate = Some(certificate);
        self
    }

    /// What happens to connections before any request. Sites with different doors do not share a
    /// port.
    #[must_use]
    pub fn door(mut self, door: Door) -> Self {
        self.door = door;
        self
    }

    /// Waits so long before every answer of the site: the latency of a far server.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Closes connections, without saying so before, that were idle for so long after an answer.
    /// Zero closes them at once, so that each reuse finds a stale connection.
    #[must_use]
    pub fn idle_close(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Goes down after so many answers and returns after this time: connections are cut, new ones
    /// refused. Zero answers mean that it is down from the start. The site has a port of its own.
    #[must_use]
    pub fn outage(mut self, after: usize, lasts: Duration) -> Self {
        self.outage = Some(Outage { after, lasts });
        self.own_port()
    }

    /// Adds or replaces a page; the counter of its sequence starts anew.
    pub(crate) fn put(&self, path: &str, reply: Reply) {
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        pages.insert(path.to_owned(), Resource::new(reply));
    }

    /// The reply to a request, with sequences, walls and handlers resolved: a page or a script.
    pub(crate) fn answer(&self, request: &Request) -> Reply {
        let Some(resource) = self.find(request) else {
            return self.answer_elsewhere(request);
        };
        let asked = resource.asked.fetch_add(1, Ordering::Relaxed);
        settle(&resource.reply, asked, request, 0)
    }

    fn find(&self, request: &Request) -> Option<Arc<Resource>> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let page = pages
            .get(request.target())
            .or_else(|| pages.get(request.path()));
        if let Some(page) = page {
            return Some(Arc::clone(page));
        }
        let matching = self
            .prefixes
            .iter()
            .filter(|(prefix, _)| request.path().starts_with(prefix));
        matching
            .max_by_key(|(prefix, _)| prefix.len())
            .map(|(_, resource)| Arc::clone(resource))
    }

    fn answer_elsewhere(&self, request: &Request) -> Reply {
        let file = self
            .folders
            .iter()
            .find_map(|folder| file_page(folder, request.path()));
        match (file, &self.fallback) {
            (Some(page), _) => page.into(),
            (None, Some(handler)) => settle(&handler(request), 0, request, 1),
            (None, None) => Page::html("<title>Not found</title>").status(404).into(),
        }
    }
}

/// Resolves what depends on the count or the request, until a page or script is left.
fn settle(reply: &Reply, asked: usize, request: &Request, depth: usize) -> Reply {
    if depth == MAX_DEPTH {
        return Page::empty(500).into();
    }
    match reply {
        Reply::Page(_) | Reply::Script(_) => reply.clone(),
        Reply::Sequence(list) => match list.get(asked).or(list.last()) {
            Some(reply) => settle(reply, asked, request, depth + 1),
            None => Page::empty(500).into(),
        },
        Reply::CookieWall(name, then) if request.has_cookie(name) => {
            settle(then, asked, request, depth + 1)
        }
        Reply::CookieWall(name, _) => Page::redirect(302, request.target())
            .header("Set-Cookie", format!("{name}=yes; Path=/"))
            .into(),
        Reply::Handler(handler) => settle(&handler(request), asked, request, depth + 1),
    }
}

fn number_after(request: &Request, base: &str) -> Option<usize> {
    let rest = request.path().strip_prefix(base)?;
    rest.split('/').next()?.parse().ok()
}

fn file_page(folder: &Path, path: &str) -> Option<Page> {
    let mut file = folder.to_path_buf();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        let segment = percent_decoded(segment)?;
        // A segment that is more than a plain name would lead out of the folder.
        if segment == ".." || segment.contains(['/', '\\', '\0']) {
            return None;
        }
        file.push(segment);
    }
    if file.is_dir() {
        if !path.ends_with('/') {
            return Some(Page::redirect(301, format!("{path}/")));
        }
        file.push("index.html");
    }
    let length = fs::metadata(&file)
        .ok()
        .filter(fs::Metadata::is_file)?
        .len();
    if length > MAX_FILE {
        return None;
    }
    Some(Page::bytes(content_type(&file), fs::read(&file).ok()?).verbatim())
}

fn percent_decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn content_type(file: &Path) -> &'static str {
    let ending = file
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "xhtml" => "application/xhtml+xml",
        "txt" | "md" => "text/plain; charset=utf-8",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "ico" => "image/x-icon",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "gz" => "application/gzip",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
