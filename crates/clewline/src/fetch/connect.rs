//! Making connections.
//!
//! Owns TCP, the way through a proxy and the TLS handshake, with one time limit over all of
//! them. Refuses to know HTTP requests and which address is right. Invariant: without a proxy
//! it connects to exactly the address it was given, which is the one that was checked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clewline_core::outcome::FailureClass;
use clewline_core::url::Scheme;
use rustls::ProtocolVersion;
use tokio::net::TcpStream;
use tokio::time::timeout_at;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::http2::{self, Http2Connection};
use super::pool::{Pool, Route};
use super::proxy::{Proxy, ProxyKind};
use super::tls::TlsOffers;
use super::wire::{Stream, Wire};
use super::{FetchFailure, Timings, tls, tunnel};
use crate::descriptors::{self, Seats};

/// Makes connections for all requests.
pub(crate) struct Connector {
    tls: TlsOffers,
    timeout: Duration,
    pool: Arc<Pool>,
    /// Largest head of an answer.
    max_head: usize,
}

/// What stands between us and the server.
pub(crate) enum Via<'a> {
    /// Nothing.
    Direct(IpAddr),
    /// A proxy, and its own addresses in the order in which they should be tried.
    Proxy(&'a Proxy, Vec<IpAddr>),
}

/// A socket and its seat.
type Dialled = (TcpStream, Seats);

/// A new connection and how long it took.
pub(crate) type Opened = (OpenedConnection, Timings);

/// What a new connection speaks.
pub(crate) enum OpenedConnection {
    Http1(Wire),
    Http2(Http2Connection),
}

/// Why there is no connection.
pub(crate) struct OpenFailure {
    pub(crate) failure: Box<FetchFailure>,
    /// The server refuses whoever does not offer HTTP/2.
    pub(crate) wants_http2: bool,
}

impl From<FetchFailure> for OpenFailure {
    fn from(failure: FetchFailure) -> Self {
        Self {
            failure: Box::new(failure),
            wants_http2: false,
        }
    }
}

/// What a server is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolOffer {
    Http1,
    /// HTTP/2, else HTTP/1.1.
    Http2,
}

impl FetchFailure {
    /// A failure before anything was read.
    pub(super) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            timings: Timings::default(),
            wire: 0,
            local: false,
            withheld: None,
            cut_short: false,
        }
    }
}

impl Connector {
    pub(crate) const fn new(
        tls: TlsOffers,
        timeout: Duration,
        pool: Arc<Pool>,
        max_head: usize,
    ) -> Self {
        Self {
            tls,
            timeout,
            pool,
            max_head,
        }
    }

    /// Opens a connection that is ready for a request.
    pub(crate) async fn open(
        &self,
        route: &Route,
        via: Via<'_>,
        offer: ProtocolOffer,
        deadline: Instant,
    ) -> Result<Opened, OpenFailure> {
        let begun = Instant::now();
        let deadline = deadline.min(begun + self.timeout);
        let (stream, seat) = match &via {
            Via::Direct(address) => {
                self.dial(
                    SocketAddr::new(*address, route.port),
                    FailureClass::Connect,
                    deadline,
                )
                .await?
            }
            Via::Proxy(proxy, addresses) => {
                let (mut stream, seat) = self.dial_proxy(proxy, addresses, deadline).await?;
                enter(&mut stream, proxy, route, deadline).await?;
                (stream, seat)
            }
        };
        let mut timings = Timings {
            connect: Some(begun.elapsed()),
            ..Timings::default()
        };
        if route.scheme == Scheme::Http {
            let wire = Wire::new(Stream::Plain(stream), seat);
            return Ok((OpenedConnection::Http1(wire), timings));
        }
        let begun = Instant::now();
        let stream = self.secure(stream, &route.host, offer, deadline).await;
        let stream = stream.map_err(|fault| OpenFailure {
            failure: Box::new(FetchFailure {
                timings,
                ..*fault.failure
            }),
            ..fault
        })?;
        timings.tls = Some(begun.elapsed());
        let (_, session) = stream.get_ref();
        if session.alpn_protocol() != Some(http2::ALPN) {
            let wire = Wire::new(Stream::Tls(stream), seat);
            return Ok((OpenedConnection::Http1(wire), timings));
        }
        let is_tls_12 = session.protocol_version() == Some(ProtocolVersion::TLSv1_2);
        let beginning = Http2Connection::begin(*stream, seat, is_tls_12, self.max_head);
        match timeout_at(deadline.into(), beginning).await {
            Ok(Ok(connection)) => Ok((OpenedConnection::Http2(connection), timings)),
            Ok(Err(error)) => {
                let message = format!("HTTP/2 failed: {error}");
                Err(with_timings(FailureClass::Protocol, &message, timings))
            }
            Err(_) => {
                let message = "HTTP/2 took too long to begin";
                Err(with_timings(FailureClass::Timeout, message, timings))
            }
        }
    }

    /// Connects; if descriptors have run out all the same, because others in this process or on
    /// this machine have them, closes the idle connections and tries once more.
    async fn dial(
        &self,
        to: SocketAddr,
        class: FailureClass,
        deadline: Instant,
    ) -> Result<Dialled, FetchFailure> {
        let seat = self.pool.seats(1).ok_or_else(|| FetchFailure {
            local: true,
            ..FetchFailure::new(
                class,
                format!("no connection to {to}: no descriptor is free"),
            )
        })?;
        let dial = async {
            match TcpStream::connect(to).await {
                Err(error) if descriptors::ran_out(&error) => {
                    self.pool.clear();
                    TcpStream::connect(to).await
                }
                other => other,
            }
        };
        match timeout_at(deadline.into(), dial).await {
            Ok(Ok(stream)) => {
                // Requests are written whole; waiting to fill a packet would only delay them.
                // A socket that can't be told so still works.
                let _ = stream.set_nodelay(true);
                Ok((stream, seat))
            }
            Ok(Err(error)) => {
                let message = format!("no connection to {to}: {error}");
                let local = is_local(&error, to);
                Err(FetchFailure {
                    local,
                    ..FetchFailure::new(class, message)
                })
            }
            Err(_) => {
                let message = format!("no connection to {to}: it took too long");
                Err(FetchFailure::new(class, message))
            }
        }
    }

    async fn dial_proxy(
        &self,
        proxy: &Proxy,
        addresses: &[IpAddr],
        deadline: Instant,
    ) -> Result<Dialled, FetchFailure> {
        let none = "the proxy has no address";
        let mut failure = FetchFailure::new(FailureClass::Proxy, none);
        for address in addresses {
            let to = SocketAddr::new(*address, proxy.port);
            match self.dial(to, FailureClass::Proxy, deadline).await {
                Ok(dialled) => return Ok(dialled),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn secure(
        &self,
        stream: TcpStream,
        host: &str,
        offer: ProtocolOffer,
        deadline: Instant,
    ) -> Result<Box<TlsStream<TcpStream>>, OpenFailure> {
        let fault = |message: String| FetchFailure::new(FailureClass::Tls, message);
        let name = tls::server_name(host)
            .ok_or_else(|| fault("the host name can't stand in a certificate".to_owned()))?;
        let config = match offer {
            ProtocolOffer::Http1 => &self.tls.http1,
            ProtocolOffer::Http2 => &self.tls.http2,
        };
        let handshake = TlsConnector::from(Arc::clone(config)).connect(name, stream);
        match timeout_at(deadline.into(), handshake).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            Ok(Err(error)) => Err(OpenFailure {
                wants_http2: tls::wants_other_protocol(&error),
                failure: Box::new(FetchFailure::new(
                    tls::class_of(&error),
                    tls::explain(&error),
                )),
            }),
            Err(_) => Err(fault("the TLS handshake took too long".to_owned()).into()),
        }
    }
}

/// A failure behind a handshake.
fn with_timings(class: FailureClass, message: &str, timings: Timings) -> OpenFailure {
    let failure = FetchFailure {
        timings,
        ..FetchFailure::new(class, message)
    };
    failure.into()
}

/// Speaks to the proxy until what follows is between us and the server. An HTTP proxy is asked
/// for a tunnel only where TLS needs one.
async fn enter(
    stream: &mut TcpStream,
    proxy: &Proxy,
    route: &Route,
    deadline: Instant,
) -> Result<(), FetchFailure> {
    let enter = async {
        match (proxy.kind, route.scheme) {
            (ProxyKind::Socks5, _) => tunnel::socks5(stream, proxy, &route.host, route.port).await,
            (ProxyKind::Http, Scheme::Https) => {
                tunnel::connect(stream, proxy, &route.host, route.port).await
            }
            (ProxyKind::Http, Scheme::Http) => Ok(()),
        }
    };
    let fault = |message: String| FetchFailure::new(FailureClass::Proxy, message);
    match timeout_at(deadline.into(), enter).await {
        Ok(result) => result.map_err(|error| fault(error.to_string())),
        Err(_) => Err(fault("the proxy took too long".to_owned())),
    }
}

/// Whether this machine lacks something that other connections will give back.
pub(super) fn is_shortage(error: &io::Error) -> bool {
    descriptors::ran_out(error) || clewline_platform::lacks_memory(error)
}

/// Whether this machine is at fault. A missing local address means that the ports have run out,
/// but for IPv6 it may also mean that there is no IPv6 here, which is no reason to try again.
fn is_local(error: &io::Error, to: SocketAddr) -> bool {
    let no_port = error.kind() == io::ErrorKind::AddrNotAvailable;
    is_shortage(error) || (no_port && to.is_ipv4())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn faults_of_this_machine() {
        use rustix::io::Errno;
        for (errno, four, six) in [
            (Errno::MFILE, true, true),
            (Errno::NFILE, true, true),
            (Errno::NOBUFS, true, true),
            (Errno::NOMEM, true, true),
            (Errno::ADDRNOTAVAIL, true, false),
            (Errno::CONNREFUSED, false, false),
            (Errno::NETUNREACH, false, false),
        ] {
            let error = io::Error::from(errno);
            let local = |to: &str| is_local(&error, to.parse().unwrap());
            assert_eq!(
                (local("192.0.2.1:80"), local("[2001:db8::1]:80")),
                (four, six),
                "{errno}"
            );
        }
    }
}
