//! Opens connections to an object store: TCP, and TLS where the address says https.
//!
//! Owns which authorities are trusted, how long connecting may take, and what a stream looks like to
//! hyper. It refuses to know requests, proxies and buckets. Invariant: a certificate is always checked,
//! by the authorities of the file that `SSL_CERT_FILE` names, or by those that browsers trust.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::Uri;
use hyper::client::conn::http1;
use object_store::client::{HttpError, HttpErrorKind, HttpRequestBody};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::UploadError;

/// One read takes at most so much.
const READ: usize = 16 << 10;
/// A head of an answer is no longer than this.
const LONGEST_HEAD: usize = 64 << 10;

/// What sends requests over one connection.
pub(crate) type Sender = http1::SendRequest<HttpRequestBody>;

/// The certificate of a store proves nothing to us. To ask again later does not help.
#[derive(Debug, Error)]
#[error(
    "the certificate of {host} is not trusted ({why}); SSL_CERT_FILE names a PEM file with the \
     authorities to trust"
)]
pub(crate) struct UntrustedStore {
    host: String,
    why: String,
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) secure: bool,
    host: String,
    port: u16,
}

impl Endpoint {
    /// The endpoint of a whole URL.
    pub(crate) fn new(uri: &Uri) -> Option<Self> {
        let secure = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = uri.host()?;
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        Some(Self {
            secure,
            host: bare.unwrap_or(host).to_owned(),
            port: uri.port_u16().unwrap_or(if secure { 443 } else { 80 }),
        })
    }
}

/// The TLS settings that all connections to stores share.
pub(crate) fn tls(authorities: Option<&Path>) -> Result<Arc<ClientConfig>, UploadError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| UploadError::Unusable(format!("TLS cannot be set up: {error}")))?;
    let roots = roots(authorities)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The authorities that are trusted: only those of the file, if one is named.
fn roots(file: Option<&Path>) -> Result<RootCertStore, UploadError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let text = std::fs::read(path).map_err(|error| UploadError::io(path, error))?;
    let own = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(own);
    if added == 0 {
        let path = path.display();
        let what = format!("there is no certificate in {path}, which SSL_CERT_FILE names");
        return Err(UploadError::Unusable(what));
    }
    Ok(roots)
}

/// Opens a connection within this time. Its task ends with the connection, or with the runtime.
pub(crate) async fn open(
    endpoint: &Endpoint,
    tls: &Arc<ClientConfig>,
    within: Duration,
) -> Result<Sender, HttpError> {
    let opened = timeout(within, stream(endpoint, tls)).await;
    let stream = opened.map_err(|_| {
        let text = format!("{} takes no connection within {within:?}", endpoint.host);
        let error = io::Error::new(io::ErrorKind::TimedOut, text);
        HttpError::new(HttpErrorKind::Connect, error)
    })??;
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(LONGEST_HEAD)
        .handshake(stream)
        .await
        .map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn stream(endpoint: &Endpoint, tls: &Arc<ClientConfig>) -> Result<StoreStream, HttpError> {
    let host = endpoint.host.as_str();
    let failed = |error: io::Error| HttpError::new(HttpErrorKind::Connect, error);
    let tcp = TcpStream::connect((host, endpoint.port))
        .await
        .map_err(failed)?;
    tcp.set_nodelay(true).map_err(failed)?;
    if !endpoint.secure {
        return Ok(StoreStream::new(tcp));
    }
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
    let secured = TlsConnector::from(Arc::clone(tls)).connect(name, tcp).await;
    let secured = secured.map_err(|error| match distrust(&error) {
        Some(why) => {
            let host = host.to_owned();
            HttpError::new(HttpErrorKind::Unknown, UntrustedStore { host, why })
        }
        None => failed(error),
    })?;
    Ok(StoreStream::new(secured))
}

/// What is wrong with the certificate, if that is why a handshake failed.
fn distrust(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref()? {
        rustls::Error::InvalidCertificate(fault) => Some(fault.to_string()),
        _ => None,
    }
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// A stream of tokio as hyper wants it. What was read is copied once, so that no memory is handed out
/// before it is written to.
struct StoreStream {
    stream: Box<dyn Duplex>,
    read: Box<[u8]>,
}

impl StoreStream {
    fn new(stream: impl Duplex + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            read: vec![0; READ].into(),
        }
    }

    fn pinned(&mut self) -> Pin<&mut dyn Duplex> {
        Pin::new(&mut *self.stream)
    }
}

impl hyper::rt::Read for StoreStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, read } = &mut *self;
        let most = into.remaining().min(read.len());
        let mut part = ReadBuf::new(&mut read[..most]);
        ready!(Pin::new(&mut **stream).poll_read(context, &mut part))?;
        into.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for StoreStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.pinned().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned().poll_shutdown(context)
    }

    // Without these two hyper would copy an object behind the head of its request.
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.pinned().poll_write_vectored(context, parts)
    }
}
