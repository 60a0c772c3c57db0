//! An HTTP proxy and a SOCKS5 proxy into the web.
//!
//! Owns the proxies' side of both protocols and the log of what went through. Refuses to leave
//! loopback: it reaches the web's sites by name, at their own port or at 80 and 443, and loopback
//! addresses. Invariant: nothing passes without the login, if one is required.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::reply::Page;
use crate::serve::{self, Connection, Next, Request};
use crate::web::town::Town;

/// The log keeps at most this many entries.
const MAX_ENTRIES: usize = 1_000_000;
/// RFC 1928 section 3: no method is acceptable.
const NO_METHOD: u8 = 0xFF;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;

/// How a request came to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Through {
    /// A `CONNECT` tunnel of the HTTP proxy.
    Connect,
    /// A request in absolute form to the HTTP proxy.
    Absolute,
    /// A SOCKS5 connection.
    Socks,
}

/// One thing asked of a proxy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proxied {
    /// When it was asked.
    pub at: Instant,
    /// In which way.
    pub through: Through,
    /// Host and port as the client wrote them; empty if it failed to log in.
    pub target: String,
    /// Whether it was let through: the login was right and the target is known.
    pub passed: bool,
}

/// The proxies' login and log.
#[derive(Default)]
pub(crate) struct Proxies {
    pub(crate) login: Option<(String, String)>,
    log: Mutex<Vec<Proxied>>,
}

impl Proxies {
    pub(crate) fn log(&self) -> Vec<Proxied> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note(&self, through: Through, target: &str, passed: bool) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() < MAX_ENTRIES {
            let (at, target) = (Instant::now(), target.to_owned());
            log.push(Proxied {
                at,
                through,
                target,
                passed,
            });
        }
    }

    fn admits(&self, request: &Request) -> bool {
        let Some((user, password)) = &self.login else {
            return true;
        };
        let wanted = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        request.header("proxy-authorization") == Some(wanted.as_str())
    }
}

/// Serves one connection to the HTTP proxy.
pub(crate) async fn http(town: Arc<Town>, proxies: Arc<Proxies>, socket: TcpStream) {
    let Ok(mut connection) = Connection::open(Box::new(socket), 0) else {
        return;
    };
    while let Ok(Next::Keep) = http_turn(&town, &proxies, &mut connection).await {}
}

async fn http_turn(
    town: &Town,
    proxies: &Proxies,
    connection: &mut Connection,
) -> io::Result<Next> {
    let Some(request) = connection.read_request().await? else {
        return Ok(Next::End);
    };
    let target = request.authority().unwrap_or_default().to_owned();
    let connect = request.method() == "CONNECT";
    let through = if connect {
        Through::Connect
    } else {
        Through::Absolute
    };
    if !proxies.admits(&request) {
        proxies.note(through, "", false);
        let page = Page::empty(407).header("Proxy-Authenticate", "Basic realm=\"terrarium\"");
        return serve::reply(town, connection, &request, page.into()).await;
    }
    if connect {
        let reached = reach(town, &target, 443);
        proxies.note(through, &target, reached.is_some());
        let Some(address) = reached else {
            return serve::reply(town, connection, &request, Page::empty(502).into()).await;
        };
        let upstream = TcpStream::connect(address).await;
        let Ok(upstream) = upstream else {
            return serve::reply(town, connection, &request, Page::empty(502).into()).await;
        };
        connection
            .send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await?;
        return connection.tunnel(upstream).await;
    }
    let address = reach(town, &target, 80);
    let place = address.and_then(|address| town.at(address, request.host()));
    proxies.note(through, &target, place.is_some());
    serve::answer(town, place, connection, request).await
}

/// Serves one connection to the SOCKS5 proxy (RFC 1928).
pub(crate) async fn socks(town: Arc<Town>, proxies: Arc<Proxies>, socket: TcpStream) {
    let _ = socks_session(&town, &proxies, socket).await;
}

async fn socks_session(town: &Town, proxies: &Proxies, mut client: TcpStream) -> io::Result<()> {
    if !socks_login(proxies, &mut client).await? {
        proxies.note(Through::Socks, "", false);
        return Ok(());
    }
    let [_version, command, _reserved, kind] = read_array(&mut client).await?;
    let host = match kind {
        1 => IpAddr::from(read_array::<4>(&mut client).await?).to_string(),
        4 => format!("[{}]", IpAddr::from(read_array::<16>(&mut client).await?)),
        3 => String::from_utf8_lossy(&read_counted(&mut client).await?).into_owned(),
        _ => return socks_reply(&mut client, 8).await,
    };
    let port = u16::from_be_bytes(read_array(&mut client).await?);
    let target = format!("{host}:{port}");
    let reached = reach(town, &target, port);
    proxies.note(Through::Socks, &target, command == 1 && reached.is_some());
    let Some(address) = reached else {
        return socks_reply(&mut client, 4).await;
    };
    if command != 1 {
        return socks_reply(&mut client, 7).await;
    }
    let Ok(mut upstream) = TcpStream::connect(address).await else {
        return socks_reply(&mut client, 5).await;
    };
    socks_reply(&mut client, 0).await?;
    tokio::io::copy_bidirectional(&mut client, &mut upstream)
        .await
        .map(drop)
}

/// The choice of a method and, where one is required, the login of RFC 1929.
async fn socks_login(proxies: &Proxies, client: &mut TcpStream) -> io::Result<bool> {
    let [version] = read_array(client).await?;
    let methods = read_counted(client).await?;
    let wanted = if proxies.login.is_some() {
        LOGIN
    } else {
        NO_LOGIN
    };
    if version != 5 || !methods.contains(&wanted) {
        client.write_all(&[5, NO_METHOD]).await?;
        return Ok(false);
    }
    client.write_all(&[5, wanted]).await?;
    let Some((user, password)) = &proxies.login else {
        return Ok(true);
    };
    let [_version] = read_array(client).await?;
    let said = (read_counted(client).await?, read_counted(client).await?);
    let right = said.0 == user.as_bytes() && said.1 == password.as_bytes();
    client.write_all(&[1, u8::from(!right)]).await?;
    Ok(right)
}

async fn socks_reply(client: &mut TcpStream, code: u8) -> io::Result<()> {
    client.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

async fn read_array<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Reads bytes whose number comes first, in one byte.
async fn read_counted(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let [count] = read_array(client).await?;
    let mut bytes = vec![0; usize::from(count)];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Where a target is: a site by name, at its own port or the usual one, or a loopback address.
fn reach(town: &Town, target: &str, usual_port: u16) -> Option<SocketAddr> {
    let (host, port) = match target.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (target, usual_port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let sites = [town.named(host, Some(false)), town.named(host, Some(true))];
    let mut addresses = sites.iter().flatten().map(|place| place.address);
    let usual = match port {
        80 => sites[0].map(|place| place.address),
        443 => sites[1].map(|place| place.address),
        _ => None,
    };
    let literal = host.parse().ok().filter(IpAddr::is_loopback);
    let literal = literal.map(|ip| SocketAddr::new(ip, port));
    addresses
        .find(|address| address.port() == port)
        .or(usual)
        .or(literal)
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let number = u32::from_be_bytes(padded);
        for place in 0..4 {
            let digit = ALPHABET[(number >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= group.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}
