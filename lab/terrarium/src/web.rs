//! The web as a whole: sites under names, their listeners, and the thread that runs them.
//!
//! Owns start, stop and the map from names to addresses. Refuses to know what sites answer.
//! Invariant: everything binds to loopback, and dropping a [`LiveWeb`] ends every task, socket
//! and thread that it started.

pub(crate) mod town;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::Socket;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime;
use tokio::sync::{Semaphore, oneshot, watch};

use crate::dns::{Dns, NameServer, Query};
use crate::proxy::{self, Proxied, Proxies};
use crate::referee::Log;
use crate::reply::Reply;
use crate::serve::serve;
use crate::site::{Door, Site};
use crate::tls::Authority;
use town::{Gate, Place, Town};

/// Each listener serves at most this many connections at once.
const MAX_CONNECTIONS: usize = 50_000;
/// Pause after a failed accept, which is nearly always a lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);
/// A web under construction. `start` makes a [`LiveWeb`] of it.
///
/// ```
/// use terrarium::{Page, Site, Web};
/// let web = Web::new()
///     .site("a.test", Site::new().page("/", Page::html("<a href=/b>b</a>")))
///     .start();
/// assert_eq!(web.log().count("/"), 0);
/// ```
#[derive(Default)]
pub struct Web {
    sites: Vec<(String, Site)>,
    names: Vec<(String, Dns)>,
    proxies: Proxies,
}

impl Web {
    /// A web without sites.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a site. The name is a host name, `*.` and a host name, or a loopback address.
    /// A name may stand twice: once plain and once with TLS.
    #[must_use]
    pub fn site(mut self, name: &str, site: Site) -> Self {
        self.sites.push((name.to_ascii_lowercase(), site));
        self
    }

    /// Says what the name server answers for a name, or for `*.` and a name. Without it every
    /// site's name stands for its address, and other names do not exist.
    #[must_use]
    pub fn name(mut self, name: &str, dns: Dns) -> Self {
        self.names.push((name.to_ascii_lowercase(), dns));
        self
    }

    /// Makes both proxies require this login.
    #[must_use]
    pub fn proxy_login(mut self, user: &str, password: &str) -> Self {
        self.proxies.login = Some((user.to_owned(), password.to_owned()));
        self
    }

    /// Starts all listeners.
    ///
    /// # Panics
    /// When a socket cannot be bound or a thread not be started; see [`Web::try_start`].
    pub fn start(self) -> LiveWeb {
        self.try_start().expect("the web could not be started")
    }

    /// Starts all listeners, or says why that is impossible here.
    pub fn try_start(self) -> io::Result<LiveWeb> {
        let authority = Authority::new()?;
        let (town, gates) = town::build(self.sites, &authority)?;
        let names = Arc::new(NameServer::new(&town, self.names));
        let proxies = Arc::new(self.proxies);
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let inside = runtime.enter();
        let dns = bind_udp()?;
        let dns_addr = dns.local_addr()?;
        runtime.spawn(Arc::clone(&names).serve(dns));
        let http_proxy = listen(&town, &proxies, proxy::http)?;
        let socks_proxy = listen(&town, &proxies, proxy::socks)?;
        // A refused port stays bound, so that nobody else gets it, but does not listen.
        let (reserved, open): (Vec<_>, Vec<_>) = gates
            .into_iter()
            .partition(|(_, gate)| gate.door == Door::Refused);
        for (socket, gate) in open {
            let listener = TcpListener::from_std(socket.into())?;
            let (town, gate) = (Arc::clone(&town), Arc::new(gate));
            runtime.spawn(attend(listener, town, gate));
        }
        drop(inside);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("terrarium".to_owned())
            .spawn(move || {
                let _ = runtime.block_on(stopped);
            })?;
        Ok(LiveWeb {
            town,
            names,
            proxies,
            dns_addr,
            http_proxy,
            socks_proxy,
            ca_pem: authority.pem(),
            stop: Some(stop),
            thread: Some(thread),
            _reserved: reserved.into_iter().map(|(socket, _)| socket).collect(),
        })
    }
}

/// A running web. Dropping it stops everything.
pub struct LiveWeb {
    town: Arc<Town>,
    names: Arc<NameServer>,
    proxies: Arc<Proxies>,
    dns_addr: SocketAddr,
    http_proxy: SocketAddr,
    socks_proxy: SocketAddr,
    ca_pem: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _reserved: Vec<Socket>,
}

impl LiveWeb {
    /// Address and port of a site; the plain one if the name stands for two.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn addr(&self, name: &str) -> SocketAddr {
        self.town
            .named(name, None)
            .expect("there is a site of this name")
            .address
    }

    /// Address and port of a site with TLS.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn tls_addr(&self, name: &str) -> SocketAddr {
        self.town
            .named(name, Some(true))
            .expect("there is a TLS site of this name")
            .address
    }

    /// The URL of a path on a site; the plain one if the name stands for two.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn url(&self, name: &str, path: &str) -> String {
        let place = self
            .town
            .named(name, None)
            .expect("there is a site of this name");
        place.origin() + path
    }

    /// The `https` URL of a path on a site.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn tls_url(&self, name: &str, path: &str) -> String {
        let place = self
            .town
            .named(name, Some(true))
            .expect("there is a TLS site of this name");
        place.origin() + path
    }

    /// One `name:port:address` for each named site, as `--resolve` takes them. Wildcards are left
    /// out; they are for the DNS server.
    pub fn resolve_args(&self) -> Vec<String> {
        let places = self.town.places.iter();
        let named = places.filter(|place| place.literal().is_none() && !place.name.contains('*'));
        let argument = |place: &Place| {
            let (name, port) = (&place.name, place.address.port());
            match place.address.ip() {
                IpAddr::V4(ip) => format!("{name}:{port}:{ip}"),
                IpAddr::V6(ip) => format!("{name}:{port}:[{ip}]"),
            }
        };
        named.map(argument).collect()
    }

    /// The certificate of the web's own authority, to be trusted by the client.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Where the name server listens (UDP).
    pub fn dns_addr(&self) -> SocketAddr {
        self.dns_addr
    }

    /// What the name server was asked.
    pub fn dns_log(&self) -> Vec<Query> {
        self.names.log()
    }

    /// Where the HTTP proxy listens; it takes `CONNECT` and requests in absolute form.
    pub fn http_proxy(&self) -> SocketAddr {
        self.http_proxy
    }

    /// Where the SOCKS5 proxy listens.
    pub fn socks_proxy(&self) -> SocketAddr {
        self.socks_proxy
    }

    /// What was asked of the two proxies.
    pub fn proxied(&self) -> Vec<Proxied> {
        self.proxies.log()
    }

    /// What was asked so far.
    pub fn log(&self) -> Log {
        self.town.referee.log()
    }

    /// How many connections sites accepted at an address, those without any request included.
    /// A client that must not go there has a count of 0. The proxies' clients are not counted.
    pub fn connections_at(&self, address: IpAddr) -> u64 {
        self.town.referee.connections_at(address)
    }

    /// Waits until the log meets the condition; says whether it did in time. It blocks the
    /// thread, so asynchronous tests call it on a blocking thread or use a many-threaded runtime.
    pub fn wait_for(&self, condition: impl Fn(&Log) -> bool, timeout: Duration) -> bool {
        self.town.referee.wait_for(condition, timeout)
    }

    /// Adds or replaces a page of a running site, plain and TLS alike.
    ///
    /// # Panics
    /// When there is no such site.
    pub fn put(&self, name: &str, path: &str, reply: impl Into<Reply>) {
        let reply = reply.into();
        let places: Vec<_> = self
            .town
            .places
            .iter()
            .filter(|place| place.name == name)
            .collect();
        assert!(!places.is_empty(), "there is no site {name}");
        for place in places {
            place.site.put(path, reply.clone());
        }
    }
}

impl Drop for LiveWeb {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether sites can live at `::1` on this machine.
pub fn ipv6_available() -> bool {
    std::net::TcpListener::bind("[::1]:0").is_ok()
}

fn bind_udp() -> io::Result<UdpSocket> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

/// Starts a proxy; it must be called inside the runtime.
fn listen<F: Future<Output = ()> + Send + 'static>(
    town: &Arc<Town>,
    proxies: &Arc<Proxies>,
    session: fn(Arc<Town>, Arc<Proxies>, TcpStream) -> F,
) -> io::Result<SocketAddr> {
    let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    let (town, proxies) = (Arc::clone(town), Arc::clone(proxies));
    let listener = TcpListener::from_std(socket)?;
    tokio::spawn(accept(listener, move |socket| {
        session(Arc::clone(&town), Arc::clone(&proxies), socket)
    }));
    Ok(address)
}

/// Serves at a gate, through its outage if one lies ahead.
async fn attend(listener: TcpListener, town: Arc<Town>, gate: Arc<Gate>) {
    let session = {
        let gate = Arc::clone(&gate);
        move |socket| serve(Arc::clone(&town), Arc::clone(&gate), socket)
    };
    let Some(fall) = &gate.fall else {
        return accept(listener, session).await;
    };
    let mut begins = fall.begins.subscribe();
    tokio::select! {
        () = accept(listener, |socket| cut_short(fall.cut.subscribe(), session(socket))) => {}
        _ = begins.wait_for(|begins| *begins) => {}
    }
    fall.cut.send_replace(true);
    tokio::time::sleep(fall.outage.lasts).await;
    let spare = fall
        .spare
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(Ok(listener)) = spare.map(town::open) {
        accept(listener, session).await;
    }
}

/// A session that ends when its host goes down.
async fn cut_short(mut cut: watch::Receiver<bool>, session: impl Future<Output = ()>) {
    tokio::select! {
        () = session => {}
        _ = cut.wait_for(|cut| *cut) => {}
    }
}

async fn accept<F>(listener: TcpListener, session: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                // Beyond the bound a connection is closed at once, as a full server would.
                let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
                    continue;
                };
                let session = session(socket);
                tokio::spawn(async move {
                    session.await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
        }
    }
}
