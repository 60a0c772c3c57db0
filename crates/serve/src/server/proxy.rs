//! A proxy that answers with what was recorded.
//!
//! Owns the requests that a proxy gets. Invariant: an answer is the recorded head and body, byte
//! for byte; tunnels are refused, because what they hide cannot be answered.

use std::io::{self, Write};
use std::net::TcpStream;

use clewline_archive::{Archive, ContentError};
use clewline_warc::Moment;

use super::page;
use super::proxy_wire::{self, Unread};
use super::request::ServerRequest;

/// Answers the one request of a connection.
pub(super) fn converse(
    stream: &mut TcpStream,
    archive: &Archive,
    at: Option<Moment>,
) -> io::Result<()> {
    match proxy_wire::read(stream) {
        Ok(request) => answer(&request, archive, at, stream),
        Err(Unread::Gone(error)) => Err(error),
        Err(Unread::Refused(status, why)) => {
            proxy_wire::write(page::refusal(status, why), "", stream)
        }
    }
}

fn answer(
    request: &ServerRequest,
    archive: &Archive,
    at: Option<Moment>,
    stream: &mut TcpStream,
) -> io::Result<()> {
    let method = request.method.as_str();
    match method {
        "GET" | "HEAD" => {}
        "CONNECT" => {
            let why = "this proxy opens no tunnels: ask for the https page with http, \
                or use clewline serve without --proxy";
            return proxy_wire::write(page::refusal(501, why), method, stream);
        }
        _ => {
            let answer = page::refusal(405, "an archive can only be read");
            return proxy_wire::write(answer, method, stream);
        }
    }
    let url = &request.target;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let answer = page::refusal(400, "this is a proxy; name it in the settings of a browser");
        return proxy_wire::write(answer, method, stream);
    }
    match recorded(url, archive, at, request) {
        Ok(Some((head, mut body))) => {
            stream.write_all(&head)?;
            io::copy(&mut body, stream)?;
            stream.flush()
        }
        Ok(None) => proxy_wire::write(page::missing(url), method, stream),
        Err(error) => proxy_wire::write(page::broken(url, &error), method, stream),
    }
}

type Recorded = (Vec<u8>, Box<dyn io::Read>);

fn recorded(
    url: &str,
    archive: &Archive,
    at: Option<Moment>,
    request: &ServerRequest,
) -> Result<Option<Recorded>, ContentError> {
    let Some(found) = archive.closest(url, at)? else {
        return Ok(None);
    };
    let (mut head, mut body) = archive.read(&found)?.exact();
    if head.is_empty() {
        let kind: String = found
            .capture
            .mime
            .chars()
            .filter(|c| matches!(c, ' '..='~'))
            .collect();
        head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n").into_bytes();
    }
    if request.method == "HEAD" {
        body = Box::new(io::empty());
    }
    Ok(Some((head, body)))
}
