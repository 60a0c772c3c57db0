//! Getting through a proxy to a server.
//!
//! Owns HTTP CONNECT (RFC 9110 section 9.3.6) and SOCKS5 (RFC 1928, RFC 1929). Refuses to know
//! which proxy to use and what travels through the tunnel. Invariant: when a function here
//! returns well, the next byte on the stream is the server's.

use std::io;

use clewline_core::url::host_ip;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::http1::{HeadLimits, HeadReader, HeadStep, Method, RequestHead, Target, write_request};
use super::proxy::Proxy;

/// Longest answer of a proxy to CONNECT.
const ANSWER_LIMIT: usize = 16 * 1024;

/// Why a proxy did not make the connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum TunnelError {
    /// The connection to the proxy failed.
    #[error("the connection to the proxy failed: {}", .0.kind())]
    Io(#[from] io::Error),
    /// What came is neither HTTP nor SOCKS.
    #[error("the proxy's answer makes no sense")]
    Nonsense,
    /// Wrong or missing user and password.
    #[error("the proxy wants other credentials")]
    Credentials,
    /// The proxy answered CONNECT with a status other than success.
    #[error("the proxy answered {0}")]
    Status(u16),
    /// The proxy could not or would not connect (RFC 1928 section 6).
    #[error("the proxy refused: {0}")]
    Refused(&'static str),
}

/// Asks an HTTP proxy for a tunnel to `host:port`.
pub(crate) async fn connect(
    stream: &mut TcpStream,
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<(), TunnelError> {
    let authority = format!("{host}:{port}");
    let mut fields = vec![("Host", authority.as_bytes())];
    if let Some(value) = &proxy.authorization {
        fields.push(("Proxy-Authorization", value.reveal().as_bytes()));
    }
    let mut out = Vec::new();
    let head = RequestHead {
        method: Method::Connect,
        target: Target::Authority(&authority),
        fields: &fields,
    };
    write_request(&mut out, &head).map_err(|_| TunnelError::Credentials)?;
    stream.write_all(&out).await?;
    match connect_status(stream).await? {
        200..=299 => Ok(()),
        407 => Err(TunnelError::Credentials),
        status => Err(TunnelError::Status(status)),
    }
}

/// Reads the answer to CONNECT. In TLS the client speaks first, so bytes behind the head are
/// not the server's and the tunnel can't be trusted.
async fn connect_status(stream: &mut TcpStream) -> Result<u16, TunnelError> {
    let limits = HeadLimits {
        bytes: ANSWER_LIMIT,
        ..HeadLimits::default()
    };
    let mut reader = HeadReader::new(&limits);
    let mut buffer = Vec::with_capacity(512);
    loop {
        if stream.read_buf(&mut buffer).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        loop {
            match reader.read(&buffer).map_err(|_| TunnelError::Nonsense)? {
                HeadStep::NeedMore => break,
                HeadStep::Informational { consumed, .. } => drop(buffer.drain(..consumed)),
                HeadStep::Complete(head) => {
                    let clean = buffer.len() == head.raw_len || !matches!(head.status, 200..=299);
                    return clean.then_some(head.status).ok_or(TunnelError::Nonsense);
                }
            }
        }
    }
}

/// Asks a SOCKS5 proxy for a connection to `host:port`; names are for the proxy to resolve.
pub(crate) async fn socks5(
    stream: &mut TcpStream,
    proxy: &Proxy,
    host: &str,
    port: u16,
) -> Result<(), TunnelError> {
    const NO_AUTHENTICATION: u8 = 0;
    const PASSWORD: u8 = 2;
    let offer: &[u8] = match proxy.user {
        Some(_) => &[5, 2, NO_AUTHENTICATION, PASSWORD],
        None => &[5, 1, NO_AUTHENTICATION],
    };
    stream.write_all(offer).await?;
    let mut choice = [0; 2];
    stream.read_exact(&mut choice).await?;
    match choice {
        [5, NO_AUTHENTICATION] => {}
        [5, PASSWORD] => log_in(stream, proxy).await?,
        [5, _] => return Err(TunnelError::Credentials),
        _ => return Err(TunnelError::Nonsense),
    }
    stream.write_all(&connect_message(host, port)?).await?;
    read_reply(stream).await
}

/// RFC 1929.
async fn log_in(stream: &mut TcpStream, proxy: &Proxy) -> Result<(), TunnelError> {
    let (user, password) = proxy.user.as_ref().ok_or(TunnelError::Credentials)?;
    let mut message = vec![1];
    for part in [user.reveal(), password.reveal()] {
        message.push(u8::try_from(part.len()).map_err(|_| TunnelError::Credentials)?);
        message.extend_from_slice(part.as_bytes());
    }
    stream.write_all(&message).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    if answer[1] == 0 {
        Ok(())
    } else {
        Err(TunnelError::Credentials)
    }
}

fn connect_message(host: &str, port: u16) -> Result<Vec<u8>, TunnelError> {
    let mut message = vec![5, 1, 0];
    match host_ip(host) {
        Some(std::net::IpAddr::V4(address)) => {
            message.push(1);
            message.extend_from_slice(&address.octets());
        }
        Some(std::net::IpAddr::V6(address)) => {
            message.push(4);
            message.extend_from_slice(&address.octets());
        }
        None => {
            let length = u8::try_from(host.len());
            message.push(3);
            message.push(length.map_err(|_| TunnelError::Refused("the host name is too long"))?);
            message.extend_from_slice(host.as_bytes());
        }
    }
    message.extend_from_slice(&port.to_be_bytes());
    Ok(message)
}

async fn read_reply(stream: &mut TcpStream) -> Result<(), TunnelError> {
    let mut start = [0; 4];
    stream.read_exact(&mut start).await?;
    let [5, reply, _, kind] = start else {
        return Err(TunnelError::Nonsense);
    };
    if reply != 0 {
        return Err(TunnelError::Refused(refusal(reply)));
    }
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(stream.read_u8().await?),
        _ => return Err(TunnelError::Nonsense),
    };
    let mut bound = [0; 257];
    stream.read_exact(&mut bound[..length + 2]).await?;
    Ok(())
}

/// The texts of RFC 1928 section 6.
const fn refusal(reply: u8) -> &'static str {
    match reply {
        2 => "its rules do not allow it",
        3 => "the network is unreachable",
        4 => "the host is unreachable",
        5 => "the server refused the connection",
        6 => "the time to live expired",
        _ => "it failed",
    }
}
