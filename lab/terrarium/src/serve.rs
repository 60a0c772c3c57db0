//! The server's side of a connection: read a head, find the site, perform the reply, again.
//!
//! Owns the connection loop and the reading of requests. Refuses to judge clients: a bad request
//! is logged and answered 400, never a panic. Invariant: every request that was read whole has
//! exactly one hit in the log, and its ticket is closed when the connection ends.

mod play;
mod request;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::referee::{Hit, MAX_RAW, Referee, Ticket};
use crate::reply::{Page, Reply};
use crate::site::Door;
use crate::web::town::{Gate, Place, Town};

use play::Plan;

pub use request::Request;

/// Heads larger than this are answered 431.
const MAX_HEAD: usize = 256 << 10;
/// Bodies of requests up to this size are read and dropped.
const MAX_REQUEST_BODY: usize = 16 << 20;
/// No stall, idle connection or blocked write outlasts this.
const PATIENCE: Duration = Duration::from_mins(10);
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(30);
/// How long the end of a client is awaited after our FIN, so that no reset destroys sent data.
const LINGER: Duration = Duration::from_secs(2);
const PORTION: usize = 16 << 10;

/// A TCP connection, plain or under TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    fn socket(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Stream for tokio_rustls::server::TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Whether a connection goes on after a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Keep,
    End,
}

/// A connection with what was read of it and not yet used.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    inbox: Vec<u8>,
    number: u64,
    peer: SocketAddr,
    local: SocketAddr,
}

/// Serves one accepted connection to its end.
pub(crate) async fn serve(town: Arc<Town>, gate: Arc<Gate>, socket: TcpStream) {
    let Ok(local) = socket.local_addr() else {
        return;
    };
    let number = town.referee.connected(local.ip());
    let stream: Box<dyn Stream> = match (gate.door, &gate.tls) {
        (Door::Reset, _) => return play::reset(&socket),
        (Door::Open, Some(acceptor)) => match timeout(HANDSHAKE, acceptor.accept(socket)).await {
            Ok(Ok(stream)) => Box::new(stream),
            _ => return,
        },
        _ => Box::new(socket),
    };
    let Ok(mut connection) = Connection::open(stream, number) else {
        return;
    };
    if gate.door == Door::Silent {
        let _ = connection.pause(PATIENCE).await;
        return;
    }
    while let Ok(Next::Keep) = turn(&town, &gate, &mut connection).await {}
}

/// One request and its reply.
async fn turn(town: &Town, gate: &Gate, connection: &mut Connection) -> io::Result<Next> {
    let Some(request) = connection.read_request().await? else {
        return Ok(Next::End);
    };
    let place = town.place(gate, request.host());
    let next = answer(town, place, connection, request).await;
    if let Some(fall) = &gate.fall {
        fall.answered();
    }
    next
}

/// Notes the hit and performs the site's reply; without a site it is 502.
pub(crate) async fn answer(
    town: &Town,
    place: Option<&Place>,
    connection: &mut Connection,
    request: Request,
) -> io::Result<Next> {
    let hit = note(connection, &request, place);
    // A client that gave up on one request and went on to the next has closed before it asked.
    // Yielding lets the task of the first see that, so that the two are not counted as one load.
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    let mut ticket = Referee::begin(&town.referee, hit);
    let site = place.map(|place| &place.site);
    let reply = match site {
        _ if !request.is_sound() => Page::empty(400).close().into(),
        Some(site) => site.answer(&request),
        None => Page::empty(502).into(),
    };
    let delay = site.map_or(Duration::ZERO, |site| site.delay);
    let plan = play::plan(&reply, &request, town, delay);
    let next = perform(connection, &plan, &mut ticket).await?;
    match site.and_then(|site| site.idle) {
        Some(idle) if next == Next::Keep && connection.inbox.is_empty() => {
            connection.idle(idle).await
        }
        _ => Ok(next),
    }
}

/// Performs a reply of the machinery itself, which is no hit of any site.
pub(crate) async fn reply(
    town: &Town,
    connection: &mut Connection,
    request: &Request,
    reply: Reply,
) -> io::Result<Next> {
    let plan = play::plan(&reply, request, town, Duration::ZERO);
    let mut ticket = Ticket::blank(&town.referee, connection.local.ip());
    perform(connection, &plan, &mut ticket).await
}

async fn perform(
    connection: &mut Connection,
    plan: &Plan,
    ticket: &mut Ticket,
) -> io::Result<Next> {
    ticket.answer(plan.status);
    let mut sent = 0;
    let ended = play::play(connection, plan, ticket, &mut sent).await;
    ticket.finish(sent);
    ended
}

fn note(connection: &Connection, request: &Request, place: Option<&Place>) -> Hit {
    let site = place.map(|place| place.name.clone()).unwrap_or_default();
    let host = request.host().map_or_else(|| site.clone(), str::to_owned);
    Hit {
        at: request.at(),
        done_at: None,
        connection: connection.number,
        peer: connection.peer,
        local: connection.local,
        site,
        host,
        method: request.method().to_owned(),
        target: request.target().to_owned(),
        raw: request.raw()[..request.raw().len().min(MAX_RAW)].to_vec(),
        bytes_sent: 0,
        status: None,
        concurrent_for_host: 0,
        concurrent_at_address: 0,
        proxied: request.is_absolute(),
    }
}

impl Connection {
    pub(crate) fn open(stream: Box<dyn Stream>, number: u64) -> io::Result<Self> {
        let socket = stream.socket();
        socket.set_nodelay(true)?;
        let (peer, local) = (socket.peer_addr()?, socket.local_addr()?);
        Ok(Self {
            stream,
            inbox: Vec::new(),
            number,
            peer,
            local,
        })
    }

    /// Passes bytes both ways until both sides have ended.
    pub(crate) async fn tunnel(&mut self, mut upstream: TcpStream) -> io::Result<Next> {
        upstream.write_all(&std::mem::take(&mut self.inbox)).await?;
        tokio::io::copy_bidirectional(&mut self.stream, &mut upstream).await?;
        Ok(Next::End)
    }

    /// Reads the next head (and drops its body); `None` when the client has closed.
    pub(crate) async fn read_request(&mut self) -> io::Result<Option<Request>> {
        let mut first = (!self.inbox.is_empty()).then(Instant::now);
        let mut searched = 0;
        loop {
            if let Some(end) = request::head_end(&self.inbox, searched) {
                let head: Vec<u8> = self.inbox.drain(..end).collect();
                let at = first.unwrap_or_else(Instant::now);
                let request = Request::parse(head).arrived(at);
                self.drop_body(request.body_length()).await?;
                return Ok(Some(request));
            }
            searched = self.inbox.len().saturating_sub(3);
            if self.inbox.len() > MAX_HEAD {
                self.send(b"HTTP/1.1 431 Too Large\r\nConnection: close\r\n\r\n")
                    .await?;
                self.close().await?;
                return Ok(None);
            }
            if timeout(PATIENCE, self.read_more()).await?? == 0 {
                return Ok(None);
            }
            first.get_or_insert_with(Instant::now);
        }
    }

    async fn read_more(&mut self) -> io::Result<usize> {
        let mut portion = [0; 4096];
        let count = self.stream.read(&mut portion).await?;
        self.inbox.extend_from_slice(&portion[..count]);
        Ok(count)
    }

    async fn drop_body(&mut self, length: usize) -> io::Result<()> {
        if length > MAX_REQUEST_BODY {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        while self.inbox.len() < length {
            if timeout(PATIENCE, self.read_more()).await?? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.inbox.drain(..length);
        Ok(())
    }

    /// Sends bytes, as long as the client takes them.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        timeout(PATIENCE, async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        })
        .await?
    }

    /// Waits, and fails as soon as the client is gone, so that its ticket does not stay open.
    async fn pause(&mut self, duration: Duration) -> io::Result<()> {
        let gone = async {
            // What a client sends ahead is kept up to a bound; then only time ends the pause.
            while self.inbox.len() <= MAX_HEAD {
                if self.read_more().await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            std::future::pending().await
        };
        timeout(duration, gone).await.unwrap_or(Ok(()))
    }

    /// Waits for the next request, and closes when none comes in time.
    async fn idle(&mut self, idle: Duration) -> io::Result<Next> {
        match timeout(idle, self.read_more()).await {
            Ok(Ok(count)) if count > 0 && !idle.is_zero() => Ok(Next::Keep),
            _ => self.close().await,
        }
    }

    /// Closes in order and waits a little for the client to close too.
    async fn close(&mut self) -> io::Result<Next> {
        self.stream.shutdown().await?;
        let mut portion = [0; 4096];
        let drain = async {
            while self.stream.read(&mut portion).await? > 0 {}
            io::Result::Ok(())
        };
        let _ = timeout(LINGER, drain).await;
        Ok(Next::End)
    }
}
