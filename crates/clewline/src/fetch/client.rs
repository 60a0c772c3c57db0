//! The HTTP implementation of the seam.
//!
//! Owns the order of events in one request: override, proxy, pool, connection, exchange, and
//! the one silent second try on a stale connection. Refuses to know robots, scope, redirects
//! and retries. Invariants: a request is sent at most once on connections that might have
//! carried it, apart from that one second try, which only happens when no byte came back; and
//! none is sent to a host that is known to have asked for a pause.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clewline_core::outcome::FailureClass;
use clewline_core::url::{CrawlUrl, Scheme};
use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::time::timeout_at;

use super::answer::{Home, HttpBody};
use super::connect::{Connector, OpenFailure, Opened, OpenedConnection, ProtocolOffer, Via};
use super::dns::{Dns, QUESTION_SEATS, Unresolved};
use super::fields::FieldPlan;
use super::flow::{FirstByte, Flow, MinimumRate};
use super::http1::{BodyReader, HeadLimits, RequestHead, ResponseHead, Target, write_request};
use super::http2::{HostProtocol, Http2Stream, SharedConnections};
use super::overrides::Overrides;
use super::pool::{Pool, Route};
use super::proxy::{ProxyKind, ProxySettings};
use super::second_try::{After, Asked, Attempt};
use super::silence::Silence;
use super::wire::{BufferPool, Wire};
use super::{FetchFailure, Fetcher, Request, Resolution, Response, Timings, tls};
use crate::CrawlError;
use crate::config::{FetchConfig, Http2Use};
use crate::exchange::{Recorder, Recording, Secrets};

/// Over how much waiting the minimum rate is averaged.
const PACE_WINDOW: Duration = Duration::from_secs(10);
/// Longest total time; a deadline must be a point in time that exists.
const LONGEST: Duration = Duration::from_hours(24);

/// Requests in flight from which one connection for all costs less than one for each.
const MANY_STREAMS: u32 = 16;

/// Only a proxy says this (RFC 9110 section 15.5.8), so it is not the answer of the server.
const PROXY_AUTHENTICATION: u16 = 407;

/// Why a fetcher can't be made. Each message begins with the setting and holds no secret.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum FetchSetupError {
    /// A header field that can't be sent.
    #[error("header: {name}: {problem}")]
    Header {
        /// The field's name, escaped.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The credentials are not `user:password`.
    #[error("user: write user:password, without control characters")]
    User,
    /// A proxy that can't be used.
    #[error("{setting}: the proxy {problem}")]
    Proxy {
        /// The option, or the variable of the environment.
        setting: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file of certificate authorities can't be read.
    #[error("cacert: {}: {source}", path.display())]
    CertificateFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file holds no certificate.
    #[error("cacert: {}: holds no usable PEM certificate", .0.display())]
    Certificates(PathBuf),
    /// A malformed `--resolve`.
    #[error("resolve: {0:?} is not HOST:PORT:ADDRESS[,ADDRESS...]")]
    Resolve(String),
    /// A malformed `--connect-to`.
    #[error("connect-to: {0:?} is not HOST1:PORT1:HOST2:PORT2")]
    ConnectTo(String),
    /// The TLS library refused its own defaults.
    #[error("tls: {0}")]
    Tls(#[source] rustls::Error),
}

/// Fetches over HTTP/1.1 and HTTP/2, with or without TLS and proxies.
pub struct HttpFetcher {
    fields: FieldPlan,
    overrides: Overrides,
    proxies: ProxySettings,
    dns: Dns,
    connector: Connector,
    pub(super) pool: Arc<Pool>,
    http2: Http2Use,
    shared: SharedConnections,
    buffers: Arc<BufferPool>,
    head_limits: HeadLimits,
    pub(super) pace: MinimumRate,
    /// Longest time from a request to the first byte.
    first_byte: Duration,
}

impl HttpFetcher {
    /// A fetcher with its own connections and DNS cache. The environment is asked for proxies
    /// if the configuration names none.
    pub fn new(config: &FetchConfig) -> Result<Self, CrawlError> {
        let vars = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let proxies = ProxySettings::new(config, vars)?;
        Ok(Self::with_proxies(config, proxies)?)
    }

    pub(super) fn with_proxies(
        config: &FetchConfig,
        proxies: ProxySettings,
    ) -> Result<Self, FetchSetupError> {
        let pool = Arc::new(Pool::new(config.idle_connections));
        let tls = tls::client_config(config)?;
        let patience = config.connect_timeout.min(LONGEST);
        Ok(Self {
            fields: FieldPlan::new(config)?,
            overrides: Overrides::new(&config.resolve, &config.connect_to)?,
            proxies,
            dns: Dns::new(config.dns, patience),
            connector: Connector::new(tls, patience, pool.clone(), config.max_head),
            pool,
            http2: config.http2,
            shared: SharedConnections::default(),
            buffers: Arc::default(),
            head_limits: HeadLimits {
                bytes: config.max_head,
                ..HeadLimits::default()
            },
            pace: MinimumRate::new(config.min_rate, PACE_WINDOW),
            first_byte: config.first_byte_timeout.min(LONGEST),
        })
    }

    async fn find(&self, host: &str, port: u16) -> Result<Resolution, FetchFailure> {
        let moved = self.overrides.destination(host, port);
        let (host, port) = moved.unwrap_or((host, port));
        if let Some(addresses) = self.overrides.addresses(host, port) {
            return Ok(Resolution {
                addresses: addresses.to_vec(),
                ttl: super::dns::LONGEST_TTL,
                trusted: true,
            });
        }
        let mut found = self.dns.resolve(host).await;
        // Idle connections can wait elsewhere; a question can't.
        if found == Err(Unresolved::Shortage) && self.pool.seats(QUESTION_SEATS).is_some() {
            found = self.dns.resolve(host).await;
        }
        let found = found.map_err(|error| unresolved(host, &error))?;
        Ok(Resolution {
            addresses: found.addresses.to_vec(),
            ttl: found.until.saturating_duration_since(Instant::now()),
            trusted: moved.is_some(),
        })
    }

    /// The whole of a request. What waits for the first byte is kept small, since very many do:
    /// what is needed before or after lives in boxes, and nothing is handed on by value, because
    /// a future keeps that twice.
    async fn run(&self, request: &Request) -> Result<Response, FetchFailure> {
        let deadline = Instant::now() + request.timeout.min(LONGEST);
        let mut silence = Silence::begin(request.slots.clone());
        let mut is_first_try = true;
        loop {
            request.may_leave()?;
            let (offer, pooled) = self.at_hand(request, is_first_try)?;
            let attempt = match (&pooled, is_first_try) {
                (Some(_), _) => Attempt::Reused,
                (None, true) => Attempt::Fresh,
                (None, false) => Attempt::Second,
            };
            let (wire, timings) = if let Some(wire) = pooled {
                (wire, Timings::default())
            } else {
                let patience = request.patience.unwrap_or(LONGEST).min(LONGEST);
                let connected = deadline.min(Instant::now() + patience);
                // A handshake needs far more room than the wait that follows it.
                let opening = Box::pin(self.open(request, offer, connected));
                match silence.watch(opening).await? {
                    Ok(opened) => opened,
                    Err(fault) if self.may_offer_more(&fault, offer) => {
                        self.learn(request, HostProtocol::Http2)?;
                        continue;
                    }
                    Err(fault) => return Err(*fault.failure),
                }
            };
            let flow = Flow::new(wire, self.buffers.clone(), timings, deadline, self.pace);
            let mut flow = Box::new(flow);
            flow.silence = silence;
            flow.first_byte = FirstByte::within(self.first_byte, request.first_byte);
            let asked = self.exchange(&mut flow, request).await;
            match self.after(asked, *flow, request, attempt)? {
                After::Answered(response) => return Ok(response),
                After::Again(spent) => {
                    is_first_try = false;
                    silence = spent;
                }
            }
        }
    }

    /// What a server is offered, and for the first try a connection that is there already.
    fn at_hand(
        &self,
        request: &Request,
        is_first_try: bool,
    ) -> Result<(ProtocolOffer, Option<Wire>), FetchFailure> {
        let route = self.route_of(request)?;
        let offer = self.offer(request, &route);
        let pooled = match offer {
            _ if !is_first_try => None,
            ProtocolOffer::Http1 => self.pool.take(&route),
            ProtocolOffer::Http2 => self.shared.stream(&route).map(Wire::shared),
        };
        Ok((offer, pooled))
    }

    /// What a server is offered: HTTP/2 where it pays, or where it is known to be wanted.
    fn offer(&self, request: &Request, route: &Route) -> ProtocolOffer {
        if route.scheme == Scheme::Http || self.http2 == Http2Use::Never {
            return ProtocolOffer::Http1;
        }
        let is_offered = match (self.shared.protocol(route), self.http2) {
            (Some(HostProtocol::Http1), _) | (None, Http2Use::Never) => false,
            (Some(HostProtocol::Http2), _) | (None, Http2Use::Always) => true,
            // An archive is to hold the bytes as they came.
            (None, Http2Use::Auto) => {
                request.streams >= MANY_STREAMS && request.recording.is_none()
            }
        };
        if is_offered {
            ProtocolOffer::Http2
        } else {
            ProtocolOffer::Http1
        }
    }

    /// Whether a server refused what it was offered and may be offered HTTP/2 as well.
    fn may_offer_more(&self, fault: &OpenFailure, offer: ProtocolOffer) -> bool {
        fault.wants_http2 && offer == ProtocolOffer::Http1 && self.http2 != Http2Use::Never
    }

    pub(super) fn learn(
        &self,
        request: &Request,
        protocol: HostProtocol,
    ) -> Result<(), FetchFailure> {
        self.shared.learn(&self.route_of(request)?, protocol);
        Ok(())
    }

    fn route_of(&self, request: &Request) -> Result<Route, FetchFailure> {
        self.route(request, self.proxies.choose(&request.url).is_some())
    }

    fn route(&self, request: &Request, proxied: bool) -> Result<Route, FetchFailure> {
        let url = &request.url;
        let (_, port) = self
            .overrides
            .destination(url.host(), url.port())
            .filter(|_| !proxied)
            .unwrap_or((url.host(), url.port()));
        if !proxied && request.address.is_none() {
            let message = "the request names no address to connect to";
            return Err(FetchFailure::new(FailureClass::Internal, message));
        }
        Ok(Route {
            scheme: url.scheme(),
            host: url.host().into(),
            port,
            address: request.address.filter(|_| !proxied),
        })
    }

    async fn open(
        &self,
        request: &Request,
        offer: ProtocolOffer,
        deadline: Instant,
    ) -> Result<(Wire, Timings), OpenFailure> {
        let route = self.route_of(request)?;
        if offer == ProtocolOffer::Http1 {
            return self.open_alone(request, &route, deadline).await;
        }
        // One opens the connection, and the others wait for it: each of them would get one.
        let shared = self.shared.route(&route);
        let Ok(turn) = timeout_at(deadline.into(), shared.opening.lock()).await else {
            let message = "no connection came in time";
            return Err(FetchFailure::new(FailureClass::Connect, message).into());
        };
        if let Some(stream) = shared.stream() {
            return Ok((Wire::shared(stream), Timings::default()));
        }
        if self.shared.protocol(&route) == Some(HostProtocol::Http1) {
            drop(turn);
            return self.open_alone(request, &route, deadline).await;
        }
        let (opened, timings) = self.connect(request, &route, offer, deadline).await?;
        match opened {
            OpenedConnection::Http1(wire) => {
                self.shared.learn(&route, HostProtocol::Http1);
                self.may_leave(request, route, wire, timings)
            }
            OpenedConnection::Http2(connection) => {
                let stream = connection.stream();
                shared.put(connection);
                request.may_leave()?;
                Ok((Wire::shared(stream), timings))
            }
        }
    }

    /// Opens a connection for one request at a time.
    async fn open_alone(
        &self,
        request: &Request,
        route: &Route,
        deadline: Instant,
    ) -> Result<(Wire, Timings), OpenFailure> {
        // A server may choose only what it was offered.
        let opened = self
            .connect(request, route, ProtocolOffer::Http1, deadline)
            .await?;
        let (OpenedConnection::Http1(wire), timings) = opened else {
            let message = "the server chose a protocol that was not offered";
            return Err(FetchFailure::new(FailureClass::Protocol, message).into());
        };
        self.may_leave(request, route.clone(), wire, timings)
    }

    /// Opening took a while. If the host asked for a pause meanwhile, the connection waits for its
    /// end, so that the handshake was not in vain.
    fn may_leave(
        &self,
        request: &Request,
        route: Route,
        wire: Wire,
        timings: Timings,
    ) -> Result<(Wire, Timings), OpenFailure> {
        match request.may_leave() {
            Ok(()) => Ok((wire, timings)),
            Err(withheld) => {
                self.pool.put(route, wire);
                Err(withheld.into())
            }
        }
    }

    async fn connect(
        &self,
        request: &Request,
        route: &Route,
        offer: ProtocolOffer,
        deadline: Instant,
    ) -> Result<Opened, OpenFailure> {
        let proxy = self.proxies.choose(&request.url).map(AsRef::as_ref);
        let via = match (route.address, proxy) {
            (_, Some(proxy)) => {
                let found = timeout_at(deadline.into(), self.dns.resolve(&proxy.host)).await;
                let found = found.ok().and_then(Result::ok).ok_or_else(|| {
                    FetchFailure::new(FailureClass::Proxy, "the proxy's name can't be resolved")
                })?;
                Via::Proxy(proxy, found.addresses.to_vec())
            }
            (Some(address), None) => Via::Direct(address),
            (None, None) => {
                let message = "there is neither an address nor a proxy";
                return Err(FetchFailure::new(FailureClass::Internal, message).into());
            }
        };
        self.connector.open(route, via, offer, deadline).await
    }

    /// Asks, and waits for the head of the answer.
    async fn exchange(&self, flow: &mut Flow, request: &Request) -> Result<Asked, FetchFailure> {
        let mut recorder = self.send(flow, request).await?;
        let head = flow.head(&self.head_limits, &mut recorder).await?;
        Ok((head, recorder))
    }

    /// The answer, its body still to be read.
    pub(super) fn response(
        &self,
        flow: Flow,
        head: ResponseHead,
        recorder: Option<Recorder>,
        request: &Request,
    ) -> Result<After, FetchFailure> {
        let proxied = self.proxies.choose(&request.url).is_some();
        if proxied && head.status == PROXY_AUTHENTICATION {
            if let Some(recorder) = recorder {
                recorder.discard();
            }
            return Err(flow.failure(FailureClass::Proxy, "the proxy wants other credentials"));
        }
        let reader =
            BodyReader::new(request.method(), &head).map_err(|error| flow.misframed(error))?;
        let home = Home {
            pool: self.pool.clone(),
            route: self.route(request, proxied)?,
        };
        let timings = flow.timings;
        let protocols = flow.wire.http2().map_or(&[][..], Http2Stream::protocols);
        let body = HttpBody::new(flow, &head, reader, request.max_body, home).recorded(recorder);
        Ok(After::Answered(Response {
            status: head.status,
            headers: head.headers,
            address: request.address.filter(|_| !proxied),
            timings,
            protocols,
            body: Box::new(body),
        }))
    }

    /// Sends the request. Its bytes end here: whoever waits for an answer holds none of them.
    async fn send(
        &self,
        flow: &mut Flow,
        request: &Request,
    ) -> Result<Option<Recorder>, FetchFailure> {
        let recording = request.recording.as_ref();
        let proxied = self.proxies.choose(&request.url).is_some();
        let address = request.address.filter(|_| !proxied);
        let mut recorder = recording.map(|recording| recording.begin(&request.url, address));
        if let (Some(recorder), Some(stream)) = (&mut recorder, flow.wire.http2()) {
            recorder.protocols(stream.protocols());
        }
        let bytes = self.compose(request, Secrets::Kept)?;
        flow.send(&bytes).await?;
        if let Some(recorder) = &mut recorder {
            recorder.request(self.as_shown(request, bytes)?);
        }
        Ok(recorder)
    }

    /// The request as it may be kept, given as it was sent.
    fn as_shown(&self, request: &Request, sent: Vec<u8>) -> Result<Vec<u8>, FetchFailure> {
        let recording = request.recording.as_ref();
        match recording.map(Recording::secrets) {
            Some(Secrets::Kept) => Ok(sent),
            _ => self.compose(request, Secrets::Replaced),
        }
    }

    /// The request as bytes.
    fn compose(&self, request: &Request, secrets: Secrets) -> Result<Vec<u8>, FetchFailure> {
        let url = &request.url;
        let mut fields = self.fields.fields(request);
        let relay = self
            .proxies
            .choose(url)
            .filter(|proxy| proxy.kind == ProxyKind::Http && url.scheme() == Scheme::Http);
        let target = match relay {
            Some(_) => Target::Absolute(url.as_str()),
            None => Target::Origin(url.path_and_query()),
        };
        if let Some(value) = relay.and_then(|proxy| proxy.authorization.as_ref()) {
            fields.push(("Proxy-Authorization", value.reveal().as_bytes()));
        }
        if secrets == Secrets::Replaced {
            self.fields.conceal(&mut fields);
        }
        let head = RequestHead {
            method: request.method(),
            target,
            fields: &fields,
        };
        let mut bytes = Vec::with_capacity(512);
        write_request(&mut bytes, &head)
            .map_err(|error| FetchFailure::new(FailureClass::Internal, error.to_string()))?;
        Ok(bytes)
    }
}

fn unresolved(host: &str, error: &Unresolved) -> FetchFailure {
    let class = match error {
        Unresolved::NotFound => FailureClass::DnsNotFound,
        _ => FailureClass::Dns,
    };
    FetchFailure {
        local: *error == Unresolved::Shortage,
        ..FetchFailure::new(class, format!("{host}: {error}"))
    }
}

impl Fetcher for HttpFetcher {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<Resolution, FetchFailure>> {
        Box::pin(self.find(host, port))
    }

    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Response, FetchFailure>> {
        Box::pin(async move { self.run(&request).await })
    }

    fn proxied(&self, url: &CrawlUrl) -> bool {
        self.proxies.choose(url).is_some()
    }
}

#[cfg(test)]
mod tests {
    use hickory_resolver::proto::op::ResponseCode;

    use super::*;

    fn room<F: Future>(_: fn(&'static HttpFetcher, &'static Request) -> F) -> usize {
        size_of::<F>()
    }

    /// Tens of thousands wait for their first byte at a time: what is needed only before or
    /// after that belongs into a box.
    #[test]
    fn a_request_that_waits_is_small() {
        let room = room(HttpFetcher::run);
        assert!(room <= 1024, "a request takes {room} bytes");
    }

    #[test]
    fn names_that_do_not_resolve_by_class() {
        for (error, class, local) in [
            (Unresolved::NotFound, FailureClass::DnsNotFound, false),
            (Unresolved::Timeout, FailureClass::Dns, false),
            (
                Unresolved::Server(ResponseCode::Refused),
                FailureClass::Dns,
                false,
            ),
            (Unresolved::Lookup, FailureClass::Dns, false),
            (Unresolved::Shortage, FailureClass::Dns, true),
        ] {
            let failure = unresolved("a.test", &error);
            assert_eq!((failure.class, failure.local), (class, local), "{error}");
            assert!(
                failure.message.starts_with("a.test: "),
                "{}",
                failure.message
            );
        }
    }
}
