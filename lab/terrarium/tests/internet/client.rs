//! A client that does one thing after the other: ask, read to the end, close.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use terrarium::LiveInternet;

/// How long an answer may take on a busy machine, and where some never come.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_WITH_THE_SICK: Duration = Duration::from_secs(2);
/// Longer answers are cut, as those without end must be.
const MOST: usize = 4 << 20;

/// An answer whose framing was sound.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// Everything as it came.
    pub(crate) raw: Vec<u8>,
}

/// A stream of either kind.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Asks for a path over the proxy.
pub(crate) struct Client {
    proxy: SocketAddr,
    trust: Arc<ClientConfig>,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Client {
    pub(crate) fn new(internet: &LiveInternet) -> Self {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(internet.ca_pem().as_bytes());
        roots.add(authority.unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let trust = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            proxy: internet.proxy_addr(),
            trust: Arc::new(trust),
            cookies: BTreeMap::new(),
        }
    }

    /// The answer to a GET, if one comes that is whole.
    pub(crate) fn get(&mut self, url: &url::Url) -> io::Result<Answer> {
        let host = url.host_str().unwrap().to_owned();
        let mut stream = TcpStream::connect(self.proxy)?;
        stream.set_read_timeout(Some(match url.path() {
            "/ailing" => PATIENCE_WITH_THE_SICK,
            _ => PATIENCE,
        }))?;
        let cookie = self.cookies.get(&host);
        let cookie = cookie.map_or(String::new(), |cookie| format!("Cookie: {cookie}\r\n"));
        let fields = format!(
            "Host: {}\r\nAccept-Encoding: gzip, br\r\n{cookie}Connection: close\r\n\r\n",
            &url[url::Position::BeforeHost..url::Position::AfterPort]
        );
        let raw = if url.scheme() == "https" {
            let port = url.port_or_known_default().unwrap();
            write!(stream, "CONNECT {host}:{port} HTTP/1.1\r\n\r\n")?;
            let mut answer = [0; 1024];
            let length = stream.read(&mut answer)?;
            if !answer[..length].starts_with(b"HTTP/1.1 200") {
                return parse(answer[..length].to_vec());
            }
            let name = ServerName::try_from(host.clone()).unwrap();
            let tls = ClientConnection::new(Arc::clone(&self.trust), name).unwrap();
            let target = &url[url::Position::BeforePath..];
            let request = format!("GET {target} HTTP/1.1\r\n{fields}");
            exchange(&mut StreamOwned::new(tls, stream), &request)?
        } else {
            exchange(&mut stream, &format!("GET {url} HTTP/1.1\r\n{fields}"))?
        };
        let answer = parse(raw)?;
        if let Some(cookie) = answer.headers.get("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            let jar = self.cookies.entry(host).or_default();
            if !jar.contains(pair) {
                *jar = if jar.is_empty() {
                    pair.to_owned()
                } else {
                    format!("{jar}; {pair}")
                };
            }
        }
        Ok(answer)
    }
}

fn exchange(stream: &mut dyn Stream, request: &str) -> io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while answer.len() < MOST {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

fn parse(raw: Vec<u8>) -> io::Result<Answer> {
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let mut at = 0;
    let (status, headers) = loop {
        let rest = &raw[at..];
        let end = rest.windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.filter(|end| *end < 64 << 10).ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        at += end + 4;
        let status = head
            .strip_prefix("HTTP/1.1 ")
            .and_then(|line| line.get(..3));
        let status: u16 = status
            .and_then(|code| code.parse().ok())
            .ok_or_else(broken)?;
        let fields = head
            .split("\r\n")
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        let fields = fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        if status >= 200 {
            break (status, fields.collect::<BTreeMap<_, _>>());
        }
    };
    let body = &raw[at..];
    let body = if headers.contains_key("transfer-encoding") {
        let text = body.strip_suffix(b"\r\n0\r\n\r\n").ok_or_else(broken)?;
        let line = text
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(broken)?;
        text[line + 1..].to_vec()
    } else if let Some(length) = headers.get("content-length") {
        let length: usize = length.parse().map_err(|_| broken())?;
        body.get(..length).ok_or_else(broken)?.to_vec()
    } else {
        body.to_vec()
    };
    let body = decoded(headers.get("content-encoding").map(String::as_str), body)?;
    Ok(Answer {
        status,
        headers,
        body,
        raw,
    })
}

fn decoded(coding: Option<&str>, body: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    match coding {
        Some("gzip") => {
            let decoder = flate2::read::GzDecoder::new(&body[..]);
            decoder.take(MOST as u64).read_to_end(&mut out)?;
        }
        Some("br") => brotli::BrotliDecompress(&mut &body[..], &mut out)?,
        _ => out = body,
    }
    Ok(out)
}
