//! A server that does exactly what a script says, and tells what it saw.

use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;

/// One thing a server does on a connection.
#[derive(Clone)]
pub(super) enum Step {
    /// Reads a request head and reports it.
    Request,
    /// Reads this many bytes and reports them.
    Bytes(usize),
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends single bytes for ever, with a pause after each.
    Drip(Duration),
    /// Waits until the client closes.
    Hang,
    /// Resets the connection.
    Reset,
    /// Closes the connection without ending TLS first.
    Abandon,
    /// Connects to this port and passes bytes both ways.
    Relay(u16),
}

/// What a server saw, with the number of the connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Request(usize, String),
    Bytes(usize, Vec<u8>),
    /// The client closed while the server hung.
    Closed(usize),
}

pub(super) struct Server {
    pub(super) port: u16,
    seen: UnboundedReceiver<Seen>,
}

pub(super) fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

impl Server {
    /// The n-th connection follows the n-th script; further ones are closed at once.
    pub(super) async fn start(scripts: Vec<Vec<Step>>) -> Self {
        Self::start_with(scripts, None).await
    }

    pub(super) async fn start_with(scripts: Vec<Vec<Step>>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (report, seen) = unbounded_channel();
        tokio::spawn(accept(listener, Arc::new(scripts), tls, report));
        Self { port, seen }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The next thing that happened.
    pub(super) async fn saw(&mut self) -> Seen {
        let seen = tokio::time::timeout(super::PATIENCE, self.seen.recv()).await;
        seen.unwrap().unwrap()
    }

    /// The next request, which must have come on this connection.
    pub(super) async fn request(&mut self, connection: usize) -> String {
        match self.saw().await {
            Seen::Request(number, text) if number == connection => text,
            other => panic!("a request on connection {connection}, not {other:?}"),
        }
    }
}

async fn accept(
    listener: TcpListener,
    scripts: Arc<Vec<Vec<Step>>>,
    tls: Option<TlsAcceptor>,
    report: UnboundedSender<Seen>,
) {
    for number in 0.. {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let script = scripts.get(number).cloned().unwrap_or_default();
        let (tls, report) = (tls.clone(), report.clone());
        tokio::spawn(async move {
            if script.iter().any(|step| matches!(step, Step::Reset)) {
                SockRef::from(&stream)
                    .set_linger(Some(Duration::ZERO))
                    .unwrap();
            }
            match tls {
                None => follow(script, stream, number, report).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        follow(script, stream, number, report).await;
                    }
                }
            }
        });
    }
}

async fn follow<S>(script: Vec<Step>, mut stream: S, number: usize, report: UnboundedSender<Seen>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for step in script {
        match step {
            Step::Request => {
                let Some(text) = head(&mut stream).await else {
                    return;
                };
                let _ = report.send(Seen::Request(number, text));
            }
            Step::Bytes(count) => {
                let mut bytes = vec![0; count];
                if stream.read_exact(&mut bytes).await.is_err() {
                    return;
                }
                let _ = report.send(Seen::Bytes(number, bytes));
            }
            Step::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
            Step::Drip(pause) => {
                while stream.write_all(b"x").await.is_ok() && stream.flush().await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            }
            Step::Hang => {
                while matches!(stream.read(&mut [0; 1024]).await, Ok(1..)) {}
                let _ = report.send(Seen::Closed(number));
            }
            Step::Reset | Step::Abandon => return,
            Step::Relay(port) => {
                let mut other = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut other).await;
            }
        }
    }
    // A proper end, so that TLS clients see one.
    let _ = stream.shutdown().await;
}

async fn head<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(bytes).unwrap())
}
