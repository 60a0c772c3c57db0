//! The performance of a reply on a connection.
//!
//! Owns the rendering of pages to bytes and the timing of each byte. Refuses to choose replies.
//! Invariant: a request is marked done before the last portion of its answer is sent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::{Connection, Next, PATIENCE, PORTION, Request};
use crate::generate;
use crate::referee::Ticket;
use crate::reply::{Break, Chunked, Framing, Pace, Page, Reply, Step};
use crate::web::town::Town;

/// An endless answer ends here at the latest.
const MAX_SENT: u64 = 1 << 40;

/// What will be done for one request.
pub(super) struct Plan {
    pub(super) status: Option<u16>,
    steps: Vec<Step>,
    next: Next,
}

pub(super) fn plan(reply: &Reply, request: &Request, town: &Town, delay: Duration) -> Plan {
    let mut plan = match reply {
        Reply::Page(page) => plan_page(page, request, town),
        Reply::Script(steps) => Plan {
            status: None,
            steps: steps.clone(),
            next: Next::End,
        },
        _ => plan_page(&Page::empty(500), request, town),
    };
    if !delay.is_zero() {
        plan.steps.insert(0, Step::Wait(delay));
    }
    plan
}

fn plan_page(page: &Page, request: &Request, town: &Town) -> Plan {
    let body = framed(&page.framing, coded_body(page, town));
    let keeps = page.keep_open && request.keeps_open();
    let (head, next) = head(page, body.len(), keeps, town);
    let body: Arc<[u8]> = if request.method() == "HEAD" {
        Arc::default()
    } else {
        body
    };
    let mut steps = Vec::new();
    if !page.delay.is_zero() {
        steps.push(Step::Wait(page.delay));
    }
    let (body, end) = match page.broken {
        Some((at, end)) => (body[..at.min(body.len())].into(), Some(end)),
        None => (body, None),
    };
    match (page.head_pace, page.body_pace) {
        (None, None) if body.len() < PORTION => steps.push(Step::send([&head[..], &body].concat())),
        (head_pace, body_pace) => {
            steps.push(paced(head.into(), head_pace));
            // An empty last step would mark the request as done only after the head is out.
            if !body.is_empty() {
                steps.push(paced(body, body_pace));
            }
        }
    }
    steps.extend(end.map(|end| match end {
        Break::Stall => Step::Stall,
        Break::Close => Step::Close,
        Break::Reset => Step::Reset,
    }));
    let next = if end.is_some() { Next::End } else { next };
    Plan {
        status: Some(page.status),
        steps,
        next,
    }
}

fn paced(bytes: Arc<[u8]>, pace: Option<Pace>) -> Step {
    match pace {
        Some((portion, every)) => Step::Drip {
            bytes,
            portion,
            every,
        },
        None => Step::Send(bytes),
    }
}

fn coded_body(page: &Page, town: &Town) -> Arc<[u8]> {
    let expanded = match page.expand.then(|| town.expand(&page.body)).flatten() {
        Some(expanded) => expanded.into(),
        None => Arc::clone(&page.body),
    };
    let code = |body: Arc<[u8]>, coding: &_| generate::encode(*coding, &body).into();
    page.codings.iter().fold(expanded, code)
}

fn framed(framing: &Framing, body: Arc<[u8]>) -> Arc<[u8]> {
    let Framing::Chunked(Chunked {
        size,
        extension,
        trailers,
    }) = framing
    else {
        return body;
    };
    let mut wire = Vec::new();
    for chunk in body.chunks(*size) {
        let length = format!("{:x}", chunk.len());
        wire.extend([length.as_bytes(), extension, b"\r\n", chunk, b"\r\n"].concat());
    }
    wire.extend_from_slice(b"0\r\n");
    for (name, value) in trailers {
        wire.extend([name, &b": "[..], value, b"\r\n"].concat());
    }
    wire.extend_from_slice(b"\r\n");
    wire.into()
}

/// The head, and whether the connection can be used again after the body.
fn head(page: &Page, length: usize, keeps: bool, town: &Town) -> (Vec<u8>, Next) {
    let reason = page
        .reason
        .as_deref()
        .unwrap_or(reason(page.status).as_bytes());
    let mut head = format!("HTTP/1.1 {} ", page.status).into_bytes();
    head.extend([reason, b"\r\n"].concat());
    for (name, value) in &page.headers {
        let expanded = page.expand.then(|| town.expand(value)).flatten();
        let value = expanded.as_ref().unwrap_or(value);
        head.extend([name, &b": "[..], value, b"\r\n"].concat());
    }
    if !page.codings.is_empty() {
        let names: Vec<&str> = page.codings.iter().map(|coding| coding.name()).collect();
        head.extend(format!("Content-Encoding: {}\r\n", names.join(", ")).bytes());
    }
    let own_framing = page.headers.iter().any(|(name, _)| {
        name.eq_ignore_ascii_case(b"content-length")
            || name.eq_ignore_ascii_case(b"transfer-encoding")
    });
    // RFC 9110 section 8.6: no length where there can be no body.
    let bodiless = length == 0 && matches!(page.status, 100..200 | 204 | 304);
    match page.framing {
        _ if own_framing || bodiless => {}
        Framing::Length => head.extend(format!("Content-Length: {length}\r\n").bytes()),
        Framing::Chunked(_) => head.extend(b"Transfer-Encoding: chunked\r\n"),
        Framing::UntilClose => {}
    }
    let keeps = keeps && !own_framing && !matches!(page.framing, Framing::UntilClose);
    if !keeps && !own_framing {
        head.extend(b"Connection: close\r\n");
    }
    head.extend(b"\r\n");
    (head, if keeps { Next::Keep } else { Next::End })
}

/// Performs the steps. `sent` is right even when the client goes away in the middle.
pub(super) async fn play(
    connection: &mut Connection,
    plan: &Plan,
    ticket: &mut Ticket,
    sent: &mut u64,
) -> io::Result<Next> {
    let last = plan
        .steps
        .iter()
        .rposition(|step| !matches!(step, Step::Close | Step::Cut));
    for (index, step) in plan.steps.iter().enumerate() {
        let mut desk = Desk {
            connection,
            ticket,
            sent,
            last: Some(index) == last,
        };
        match step {
            Step::Send(bytes) => desk.send(bytes, PORTION, Duration::ZERO).await?,
            Step::Drip {
                bytes,
                portion,
                every,
            } => desk.send(bytes, *portion, *every).await?,
            Step::Repeat { bytes, times } => desk.repeat(bytes, *times).await?,
            Step::Wait(duration) => connection.pause(*duration).await?,
            Step::Stall => connection.pause(PATIENCE).await?,
            Step::Close => {
                ticket.finish(*sent);
                return connection.close().await;
            }
            Step::Cut => {
                ticket.finish(*sent);
                let socket = socket2::SockRef::from(connection.stream.socket());
                socket.shutdown(std::net::Shutdown::Write)?;
                let _ = connection.pause(super::LINGER).await;
                return Ok(Next::End);
            }
            Step::Reset => {
                ticket.finish(*sent);
                reset(connection.stream.socket());
                return Ok(Next::End);
            }
        }
    }
    match plan.next {
        Next::Keep => Ok(Next::Keep),
        Next::End => {
            ticket.finish(*sent);
            connection.close().await
        }
    }
}

/// Makes the coming close of this socket a reset.
pub(super) fn reset(socket: &TcpStream) {
    let _ = socket2::SockRef::from(socket).set_linger(Some(Duration::ZERO));
}

/// The sending of one step.
struct Desk<'a> {
    connection: &'a mut Connection,
    ticket: &'a mut Ticket,
    sent: &'a mut u64,
    last: bool,
}

impl Desk<'_> {
    async fn send(&mut self, bytes: &[u8], portion: usize, every: Duration) -> io::Result<()> {
        let mut portions = bytes.chunks(portion.max(1)).peekable();
        while let Some(bytes) = portions.next() {
            let more = portions.peek().is_some();
            self.portion(bytes, self.last && !more).await?;
            if more && !every.is_zero() {
                self.connection.pause(every).await?;
            }
        }
        Ok(())
    }

    async fn repeat(&mut self, bytes: &[u8], times: u64) -> io::Result<()> {
        for round in 0..times {
            if *self.sent > MAX_SENT {
                break;
            }
            self.portion(bytes, self.last && round + 1 == times).await?;
        }
        Ok(())
    }

    async fn portion(&mut self, bytes: &[u8], final_one: bool) -> io::Result<()> {
        if final_one {
            self.ticket.finish(*self.sent + bytes.len() as u64);
        }
        self.connection.send(bytes).await?;
        *self.sent += bytes.len() as u64;
        Ok(())
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        407 => "Proxy Authentication Required",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
