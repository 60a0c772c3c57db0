//! The HTTP/1.1 client below the S3 client.
//!
//! Owns how long a request may take, which connections are used again, and which errors are worth
//! another try: `object_store` asks for the kind of an error and tries again itself. It refuses to know
//! buckets, signatures and statuses, and follows no redirects: a signature holds for one host.
//! Invariant: a request ends after its time-out and one second for every [`SLOWEST`] bytes that it
//! carries, either way; a request is sent twice only if it was not sent at all.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{HOST, HeaderValue, USER_AGENT};
use hyper::{Response, Uri};
use object_store::ClientConfigKey as Key;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use rustls::ClientConfig;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

use crate::UploadError;
use crate::dial::{self, Endpoint, Sender};

/// A slower connection than this, in bytes a second, counts as none.
const SLOWEST: u64 = 64 << 10;
/// Connections that wait for another request, at most …
const MOST_IDLE: usize = 4;
/// … and for so long. Stores close them after about 20 seconds.
const LONGEST_IDLE: Duration = Duration::from_secs(15);
/// Used if somebody switched the time-outs off.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// What other clients of S3 can do and this one cannot; better said than left out.
const REFUSED: [Key; 3] = [Key::ProxyUrl, Key::AllowInvalidCertificates, Key::Http2Only];

/// Makes clients that trust the same authorities.
#[derive(Debug)]
pub(crate) struct StoreConnector {
    tls: Arc<ClientConfig>,
}

impl StoreConnector {
    /// Trusts the authorities of a file, or those that browsers trust.
    pub(crate) fn new(authorities: Option<&Path>) -> Result<Self, UploadError> {
        let tls = dial::tls(authorities)?;
        Ok(Self { tls })
    }
}

impl HttpConnector for StoreConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let value = |key: Key| options.get_config_value(&key);
        for key in REFUSED {
            if value(key).is_some_and(|value| value != "false") {
                let what = format!("AWS_{} is not supported", key.as_ref().to_uppercase());
                return Err(unsupported(what));
            }
        }
        let time = |key: Key, default| {
            value(key).map_or(Ok(default), |text| {
                let name = key.as_ref().to_uppercase();
                humantime::parse_duration(&text)
                    .map_err(|error| unsupported(format!("AWS_{name}: {text}: {error}")))
            })
        };
        let agent = value(Key::UserAgent);
        let agent = agent.unwrap_or_else(|| concat!("clewline/", env!("CARGO_PKG_VERSION")).into());
        Ok(HttpClient::new(StoreClient {
            tls: Arc::clone(&self.tls),
            agent: HeaderValue::from_str(&agent).map_err(|error| unsupported(error.to_string()))?,
            allow_http: value(Key::AllowHttp).is_some_and(|value| value == "true"),
            connect_timeout: time(Key::ConnectTimeout, CONNECT_TIMEOUT)?,
            timeout: time(Key::Timeout, REQUEST_TIMEOUT)?,
            idle: Mutex::default(),
        }))
    }
}

fn unsupported(what: String) -> object_store::Error {
    let source = what.into();
    object_store::Error::NotSupported { source }
}

#[derive(Debug)]
struct IdleConnection {
    endpoint: Endpoint,
    sender: Sender,
    since: Instant,
}

#[derive(Debug)]
struct StoreClient {
    tls: Arc<ClientConfig>,
    agent: HeaderValue,
    allow_http: bool,
    connect_timeout: Duration,
    timeout: Duration,
    idle: Mutex<Vec<IdleConnection>>,
}

#[async_trait]
impl HttpService for StoreClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let carried = request.body().content_length() as u64;
        let deadline = Instant::now() + self.timeout + time_for(carried);
        let answer = timeout_at(deadline, self.exchange(request)).await;
        let (head, body) = answer.map_err(|_| too_slow())??.into_parts();
        let body = TimedBody {
            body,
            deadline: Box::pin(sleep_until(deadline)),
        };
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}

impl StoreClient {
    /// Sends a request, over a connection that waits or over a new one, and takes the head of the answer.
    async fn exchange(&self, mut request: HttpRequest) -> Result<Response<Incoming>, HttpError> {
        let endpoint = self.address(&mut request)?;
        // Connections are looked after only while somebody waits for an answer: now they notice that
        // their last one has ended, or that the other side has closed them.
        tokio::task::yield_now().await;
        while let Some(mut sender) = self.take_idle(&endpoint) {
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok(self.keep(endpoint, sender, answer)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(failed(error.into_error())),
                },
            }
        }
        let mut sender = dial::open(&endpoint, &self.tls, self.connect_timeout).await?;
        let answer = sender.send_request(request).await.map_err(failed)?;
        Ok(self.keep(endpoint, sender, answer))
    }

    /// Where a request goes, which then names only the path, as HTTP/1.1 has it (RFC 9112 section 3.2).
    fn address(&self, request: &mut HttpRequest) -> Result<Endpoint, HttpError> {
        let uri = request.uri();
        let refused = |what: &str| {
            let error = io::Error::new(io::ErrorKind::Unsupported, format!("{uri}: {what}"));
            HttpError::new(HttpErrorKind::Unknown, error)
        };
        let endpoint = Endpoint::new(uri).ok_or_else(|| refused("it is no URL of HTTP"))?;
        if !endpoint.secure && !self.allow_http {
            return Err(refused("http is not used without AWS_ALLOW_HTTP=true"));
        }
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let host = HeaderValue::from_str(&authority).map_err(|_| refused("it has no host"))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path: Uri = path.parse().map_err(|_| refused("it has no path"))?;
        *request.uri_mut() = path;
        let headers = request.headers_mut();
        headers.entry(HOST).or_insert(host);
        headers.insert(USER_AGENT, self.agent.clone());
        Ok(endpoint)
    }

    /// A connection that waits for a request to this endpoint. Those that are closed or wait for too
    /// long are dropped; one whose last answer is still being read stays.
    fn take_idle(&self, endpoint: &Endpoint) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|one| !one.sender.is_closed() && one.since.elapsed() < LONGEST_IDLE);
        let found = idle
            .iter()
            .position(|one| one.endpoint == *endpoint && one.sender.is_ready());
        found.map(|at| idle.swap_remove(at).sender)
    }

    /// Keeps a connection for the next request, which takes it once this answer was read.
    fn keep<A>(&self, endpoint: Endpoint, sender: Sender, answer: A) -> A {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() == MOST_IDLE {
            idle.remove(0);
        }
        let since = Instant::now();
        idle.push(IdleConnection {
            endpoint,
            sender,
            since,
        });
        answer
    }
}

/// What so many bytes add to the time of a request.
fn time_for(bytes: u64) -> Duration {
    Duration::from_millis(bytes * 1_000 / SLOWEST)
}

fn too_slow() -> HttpError {
    let error = io::Error::new(io::ErrorKind::TimedOut, "the store takes too long");
    HttpError::new(HttpErrorKind::Timeout, error)
}

/// Why a request has no answer, or not all of it.
fn failed(error: hyper::Error) -> HttpError {
    let kind = if error.is_parse() {
        HttpErrorKind::Decode
    } else if error.is_canceled() || error.is_closed() {
        HttpErrorKind::Request
    } else {
        HttpErrorKind::Interrupted
    };
    HttpError::new(kind, error)
}

/// The body of an answer, which must come in time.
struct TimedBody {
    body: Incoming,
    deadline: Pin<Box<Sleep>>,
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            if let Some(Ok(frame)) = &frame {
                let length = frame.data_ref().map_or(0, Bytes::len);
                let later = self.deadline.deadline() + time_for(length as u64);
                self.deadline.as_mut().reset(later);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(failed)));
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Some(Err(too_slow())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests;
