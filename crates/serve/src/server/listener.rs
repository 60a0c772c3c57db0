//! Connections and their bounds.
//!
//! Owns the loop that accepts, the seats of connections, and the times that a head, a body and a
//! write may take. `hyper` reads requests and frames answers; only the proxy speaks by itself,
//! since it owes its clients the recorded bytes. Refuses to know what is said. Invariants: a seat
//! is given back however its connection ends; whoever answers does so on a thread that may block,
//! and holds one piece of a body at a time.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;

use super::answer::{ReplyBody, ServerAnswer};
use super::page;
use super::request::ServerRequest;

/// Connections that are answered at once; more wait until one ends.
const MOST_CONNECTIONS: usize = 512;
/// How long they wait before they are sent away.
const PATIENCE: Duration = Duration::from_secs(5);
/// Memory for the stack of a thread that answers.
const STACK: usize = 1024 * 1024;
/// How long a head may take, and how long a connection without one holds a seat.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(10);
/// How long one write may take.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How long to wait when the system has no more descriptors.
const BREATH: Duration = Duration::from_millis(50);
/// The largest head: URLs within URLs are long.
pub(super) const LARGEST_HEAD: usize = 64 * 1024;
/// The most fields.
pub(super) const MOST_FIELDS: usize = 100;
/// The largest body of a request.
const LARGEST_BODY: usize = 1024 * 1024;

/// Who answers requests.
pub(super) type Answering = dyn Fn(&ServerRequest) -> ServerAnswer + Send + Sync;
/// Who speaks to a client without anybody's help.
pub(super) type Converse = dyn Fn(&mut std::net::TcpStream) -> io::Result<()> + Send + Sync;

/// How connections are served.
#[derive(Clone)]
pub(super) enum Conversation {
    /// Requests are read and answers framed for whoever answers.
    Http(Arc<Answering>),
    /// The connection is handed over as it is.
    Raw(Arc<Converse>),
}

/// Accepts and serves connections until the end.
pub(super) fn serve(
    listener: TcpListener,
    conversation: &Conversation,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(MOST_CONNECTIONS)
        .thread_name("clewline-serve")
        .thread_stack_size(STACK)
        .build()?;
    listener.set_nonblocking(true)?;
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        accept(&listener, conversation, end).await;
        Ok(())
    });
    // Threads that still answer somebody are nobody's concern any more.
    runtime.shutdown_background();
    served
}

async fn accept(
    listener: &tokio::net::TcpListener,
    conversation: &Conversation,
    end: impl Future<Output = ()>,
) {
    let seats = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut end = pin!(end);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut end => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => match timeout(PATIENCE, Arc::clone(&seats).acquire_owned()).await {
                Ok(Ok(seat)) => {
                    tokio::spawn(converse(stream, conversation.clone(), seat));
                }
                _ => send_away(&stream),
            },
            Err(error) if is_passing(&error) => {}
            // Connections that end free descriptors.
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

/// Says that every seat is taken, if the client's buffer takes it at once.
fn send_away(stream: &TcpStream) {
    let said = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
        Content-Length: 0\r\n\r\n";
    // Whoever is gone already misses nothing.
    stream.try_write(said).ok();
}

/// A connection that breaks is the other side's business.
async fn converse(stream: TcpStream, conversation: Conversation, seat: OwnedSemaphorePermit) {
    match conversation {
        Conversation::Http(answering) => {
            let mut stream = TimeoutStream::new(stream);
            stream.set_write_timeout(Some(WRITE_TIME));
            let service = service_fn(|request| reply(request, Arc::clone(&answering)));
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .keep_alive(false)
                .max_headers(MOST_FIELDS)
                .max_buf_size(LARGEST_HEAD)
                .title_case_headers(true)
                .serve_connection(TokioIo::new(Box::pin(stream)), service)
                .await
                .ok();
        }
        Conversation::Raw(converse) => {
            let Ok(mut stream) = stream.into_std() else {
                return;
            };
            let spoken = tokio::task::spawn_blocking(move || {
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(WRITE_TIME))?;
                converse(&mut stream)
            });
            spoken.await.ok();
        }
    }
    drop(seat);
}

async fn reply(
    request: Request<Incoming>,
    answering: Arc<Answering>,
) -> Result<Response<ReplyBody>, Infallible> {
    let (head, body) = request.into_parts();
    let asked = match ServerRequest::from_parts(head) {
        Ok(asked) if asked.is_reading() => Ok(asked),
        Ok(asked) => with_body(asked, body).await,
        Err(refusal) => Err(refusal),
    };
    let asked = match asked {
        Ok(asked) => asked,
        Err((status, why)) => return Ok(page::refusal(status, why).whole()),
    };
    let (told, answer) = oneshot::channel();
    let answered = tokio::task::spawn_blocking(move || answering(&asked).send(told));
    if let Ok(answer) = answer.await {
        return Ok(answer);
    }
    // Whoever answered panicked, which the process has told already.
    answered.await.ok();
    Ok(page::refusal(500, "the server failed; its own output says how").whole())
}

async fn with_body(
    mut asked: ServerRequest,
    body: Incoming,
) -> Result<ServerRequest, (u16, &'static str)> {
    match timeout(BODY_TIME, Limited::new(body, LARGEST_BODY).collect()).await {
        Ok(Ok(collected)) => {
            asked.body = collected.to_bytes();
            Ok(asked)
        }
        Ok(Err(_)) => Err((413, "the body breaks off or is larger than 1 MiB")),
        Err(_) => Err((408, "the body took too long")),
    }
}
