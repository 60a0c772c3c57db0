//! Doors, TLS, names, proxies, folders and IPv6.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use terrarium::{Certificate, Dns, Door, LiveWeb, Page, Site, Through, Web, ipv6_available};

use crate::client::{End, connect, get, read_up_to};

fn page(text: &str) -> Site {
    Site::new().page("/", Page::text(text))
}

#[test]
fn doors_open_and_shut() {
    let web = Web::new()
        .site("silent.test", page("x").at("127.0.0.4").door(Door::Silent))
        .site("reset.test", page("x").at("127.0.0.4").door(Door::Reset))
        .site(
            "refused.test",
            page("x").at("127.0.0.4").door(Door::Refused),
        )
        .site("stale.test", page("x").idle_close(Duration::ZERO))
        .start();
    let mut stream = connect(web.addr("silent.test"));
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(5)))
        .unwrap();
    assert!(stream.read(&mut [0]).is_err());
    let mut stream = connect(web.addr("reset.test"));
    assert_eq!(read_up_to(&mut stream, usize::MAX).end, End::Reset);
    assert!(TcpStream::connect(web.addr("refused.test")).is_err());
    assert_eq!(web.connections_at("127.0.0.4".parse().unwrap()), 2);
    assert!(web.log().is_empty());
    let mut stream = connect(web.addr("stale.test"));
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let answer = read_up_to(&mut stream, usize::MAX);
    assert_eq!(
        (answer.header("Connection"), answer.end),
        (None, End::Closed)
    );
}

/// The body of `/`, or why the handshake failed.
fn get_tls(web: &LiveWeb, name: &str) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(web.ca_pem().as_bytes()).expect("PEM"))
        .expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerName::try_from(name.to_owned()).expect("a name");
    let client = ClientConnection::new(Arc::new(config), server).expect("a client");
    let mut stream = StreamOwned::new(client, connect(web.tls_addr(name)));
    let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .map_err(|error| error.to_string())?;
    let answer = read_up_to(&mut stream, usize::MAX);
    Ok(String::from_utf8_lossy(answer.body()).into_owned())
}

#[test]
fn certificates_are_good_or_bad_as_asked() {
    let shared = |text: &str, kind| page(text).at("127.0.0.5").certificate(kind);
    let web = Web::new()
        .site("good.test", shared("good", Certificate::Valid))
        .site("good.test", page("plain"))
        .site("127.0.0.1", page("address").tls())
        .site("expired.test", shared("x", Certificate::Expired))
        .site("future.test", shared("x", Certificate::NotYetValid))
        .site("self.test", shared("x", Certificate::SelfSigned))
        .site("wrong.test", shared("x", Certificate::WrongHost))
        .site("stranger.test", shared("x", Certificate::UnknownIssuer))
        .start();
    assert_eq!(get_tls(&web, "good.test").unwrap(), "good");
    assert_eq!(get_tls(&web, "127.0.0.1").unwrap(), "address");
    assert_eq!(get(&web, "good.test", "/").body(), b"plain");
    assert!(
        web.tls_url("good.test", "/")
            .starts_with("https://good.test:")
    );
    for (name, why) in [
        ("expired.test", "expired"),
        ("future.test", "not valid yet"),
        ("self.test", "UnknownIssuer"),
        ("wrong.test", "not valid for name"),
        ("stranger.test", "UnknownIssuer"),
    ] {
        let error = get_tls(&web, name).unwrap_err();
        assert!(error.contains(why), "{name}: {error}");
    }
}

/// The error code, the time to live and the addresses for a name; `None` when nothing came.
fn resolve(web: &LiveWeb, name: &str, kind: u8) -> Option<(u8, u32, Vec<IpAddr>)> {
    resolve_within(web, name, kind, Duration::from_secs(20))
}

fn resolve_within(
    web: &LiveWeb,
    name: &str,
    kind: u8,
    patience: Duration,
) -> Option<(u8, u32, Vec<IpAddr>)> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(patience)).expect("a time-out");
    let mut query = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend(label.bytes());
    }
    query.extend([0, 0, kind, 0, 1]);
    socket
        .send_to(&query, web.dns_addr())
        .expect("the server listens");
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).ok()?;
    assert_eq!((&answer[..2], answer[2]), (&[7, 9][..], 0x85));
    let (mut at, mut ttl, mut addresses) = (query.len(), 0, Vec::new());
    while at < length {
        ttl = u32::from_be_bytes(answer[at + 6..at + 10].try_into().expect("four bytes"));
        let size = usize::from(answer[at + 11]);
        let data = &answer[at + 12..at + 12 + size];
        addresses.push(match size {
            4 => IpAddr::from(<[u8; 4]>::try_from(data).expect("four bytes")),
            _ => IpAddr::from(<[u8; 16]>::try_from(data).expect("sixteen bytes")),
        });
        at += 12 + size;
    }
    Some((answer[3] & 15, ttl, addresses))
}

#[test]
fn names_resolve_as_told() {
    let both = Dns::addresses(["127.0.0.2", "127.0.0.3", "::1"]).ttl(Duration::from_secs(5));
    let web = Web::new()
        .site("a.test", page("a").at("127.0.0.2"))
        .site("*.wild.test", page("w").at("127.0.0.3"))
        .name("both.test", both)
        .name("rebind.test", Dns::alternate(["127.0.0.2", "127.0.0.3"]))
        .name("fail.test", Dns::servfail())
        .name("refuse.test", Dns::refused())
        .name("empty.test", Dns::no_data())
        .name("silent.test", Dns::silent())
        .start();
    let check = |name: &str, kind: u8, code: u8, expected: &[&str]| {
        let expected: Vec<IpAddr> = expected.iter().map(|text| text.parse().unwrap()).collect();
        let (found_code, _, found) = resolve(&web, name, kind).unwrap();
        assert_eq!((found_code, found), (code, expected), "{name}");
    };
    check("a.test", 1, 0, &["127.0.0.2"]);
    check("A.Test", 1, 0, &["127.0.0.2"]);
    check("a.test", 28, 0, &[]);
    check("x.y.wild.test", 1, 0, &["127.0.0.3"]);
    check("both.test", 1, 0, &["127.0.0.2", "127.0.0.3"]);
    check("both.test", 28, 0, &["::1"]);
    check("rebind.test", 1, 0, &["127.0.0.2"]);
    check("rebind.test", 28, 0, &[]);
    check("rebind.test", 1, 0, &["127.0.0.3"]);
    check("rebind.test", 1, 0, &["127.0.0.2"]);
    check("nobody.test", 1, 3, &[]);
    check("fail.test", 1, 2, &[]);
    check("refuse.test", 1, 5, &[]);
    check("empty.test", 1, 0, &[]);
    assert_eq!(resolve(&web, "both.test", 1).unwrap().1, 5);
    assert!(resolve_within(&web, "silent.test", 1, Duration::from_millis(50)).is_none());
    // The server takes datagrams in order, so the silent one was read before this one.
    check("a.test", 1, 0, &["127.0.0.2"]);
    let silent = web
        .dns_log()
        .iter()
        .filter(|query| query.name == "silent.test")
        .count();
    assert_eq!(silent, 1);
}

#[test]
fn odd_datagrams_are_survived() {
    let web = Web::new().site("a.test", page("a")).start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let header = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for tail in [
        &[][..],
        &[63],
        &[192, 12, 0, 1, 0, 1],
        &[1, b'a'],
        &[0, 0, 1],
    ] {
        socket
            .send_to(&[&header[..], tail].concat(), web.dns_addr())
            .unwrap();
        let mut answer = [0; 512];
        let length = socket.recv(&mut answer).unwrap();
        assert_eq!((length, answer[3] & 15), (12, 1));
    }
    socket.send_to(b"x", web.dns_addr()).unwrap();
    assert!(resolve(&web, "a.test", 1).is_some());
}

/// Sends bytes to an address and reads until the server closes.
fn talk(address: SocketAddr, request: &str) -> crate::client::Answer {
    let mut stream = connect(address);
    stream
        .write_all(request.as_bytes())
        .expect("the proxy listens");
    read_up_to(&mut stream, usize::MAX)
}

const ASK: &str = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";

#[test]
fn the_http_proxy_passes_and_logs() {
    let web = Web::new().site("a.test", page("inside")).start();
    let port = web.addr("a.test").port();
    let ask = |target: &str| {
        let head = format!("GET http://{target}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        talk(web.http_proxy(), &head)
    };
    assert_eq!(ask("a.test").body(), b"inside");
    assert_eq!(ask(&format!("a.test:{port}")).body(), b"inside");
    assert_eq!(ask("b.test").status(), 502);
    assert!(web.log()[0].proxied && web.log()[0].host == "a.test");
    let tunnel = talk(
        web.http_proxy(),
        &format!("CONNECT a.test:{port} HTTP/1.1\r\n\r\n{ASK}"),
    );
    assert_eq!(tunnel.status(), 200);
    assert!(tunnel.text().ends_with("\r\n\r\ninside"));
    let log = web.proxied();
    assert_eq!(
        (log[3].through, log[3].target.as_str()),
        (Through::Connect, &*format!("a.test:{port}"))
    );
    assert!(!log[2].passed && log[3].passed);
    assert!(!web.log()[3].proxied);
}

#[test]
fn proxies_want_their_login() {
    let web = Web::new()
        .site("a.test", page("inside"))
        .proxy_login("me", "secret")
        .start();
    let ask = |login: &str| {
        let head = "GET http://a.test/ HTTP/1.1\r\nConnection: close";
        talk(web.http_proxy(), &format!("{head}\r\n{login}\r\n"))
    };
    let refused = ask("");
    assert_eq!(refused.status(), 407);
    assert!(refused.header("Proxy-Authenticate").is_some());
    assert_eq!(
        ask("Proxy-Authorization: Basic bWU6d3Jvbmc=\r\n").status(),
        407
    );
    assert_eq!(
        ask("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n").body(),
        b"inside"
    );
    let passed: Vec<bool> = web.proxied().iter().map(|entry| entry.passed).collect();
    assert_eq!(passed, [false, false, true]);
    assert_eq!(socks(&web, Some(("me", "wrong")), "a.test", 80), None);
    assert_eq!(socks(&web, None, "a.test", 80), None);
    assert_eq!(
        socks(&web, Some(("me", "secret")), "a.test", 80).as_deref(),
        Some("inside")
    );
}

/// What `/` says through the SOCKS proxy, or nothing when the proxy refuses.
fn socks(web: &LiveWeb, login: Option<(&str, &str)>, host: &str, port: u16) -> Option<String> {
    let mut stream = connect(web.socks_proxy());
    let mut two = [0; 2];
    stream
        .write_all(&[5, 1, if login.is_some() { 2 } else { 0 }])
        .ok()?;
    stream
        .read_exact(&mut two)
        .ok()
        .filter(|()| two[1] != 255)?;
    if let Some((user, password)) = login {
        let (users, passwords) = (user.len() as u8, password.len() as u8);
        let said = [
            &[1, users],
            user.as_bytes(),
            &[passwords],
            password.as_bytes(),
        ]
        .concat();
        stream.write_all(&said).ok()?;
        stream.read_exact(&mut two).ok().filter(|()| two[1] == 0)?;
    }
    let mut request = vec![5, 1, 0];
    match host.parse() {
        Ok(IpAddr::V4(ip)) => request.extend([&[1][..], &ip.octets()].concat()),
        Ok(IpAddr::V6(ip)) => request.extend([&[4][..], &ip.octets()].concat()),
        Err(_) => request.extend([&[3, host.len() as u8], host.as_bytes()].concat()),
    }
    stream
        .write_all(&[&request[..], &port.to_be_bytes()].concat())
        .ok()?;
    let mut reply = [0; 10];
    stream
        .read_exact(&mut reply)
        .ok()
        .filter(|()| reply[1] == 0)?;
    stream.write_all(ASK.as_bytes()).ok()?;
    Some(String::from_utf8_lossy(read_up_to(&mut stream, usize::MAX).body()).into_owned())
}

#[test]
fn the_socks_proxy_passes_and_logs() {
    let web = Web::new()
        .site("a.test", page("inside").at("127.0.0.6"))
        .start();
    let port = web.addr("a.test").port();
    assert_eq!(socks(&web, None, "a.test", 80).as_deref(), Some("inside"));
    assert_eq!(
        socks(&web, None, "127.0.0.6", port).as_deref(),
        Some("inside")
    );
    assert_eq!(socks(&web, None, "b.test", 80), None);
    assert_eq!(socks(&web, None, "192.0.2.1", 80), None);
    let log = web.proxied();
    assert_eq!(
        (log[0].through, log[0].target.as_str()),
        (Through::Socks, "a.test:80")
    );
    let passed: Vec<bool> = log.iter().map(|entry| entry.passed).collect();
    assert_eq!(passed, [true, true, false, false]);
}

#[test]
fn folders_are_served_and_not_left() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let web = Web::new()
        .site("a.test", Site::new().folder(folder))
        .start();
    let check =
        |path: &str, status: u16| assert_eq!(get(&web, "a.test", path).status(), status, "{path}");
    check("/behaviours/main.rs", 200);
    check("/behaviours%2Fmain.rs", 404);
    check("/behaviours/%6dain.rs", 200);
    check("/behaviours", 301);
    check("/behaviours/", 404);
    check("/../Cargo.toml", 404);
    check("/%2e%2e/Cargo.toml", 404);
    check("/%2", 404);
    let main = get(&web, "a.test", "/behaviours/main.rs");
    assert_eq!(main.body(), include_bytes!("main.rs"));
}

#[test]
fn sites_live_at_ipv6_too() {
    if !ipv6_available() {
        eprintln!("IPV6 ABSENT: no test of ::1");
        return;
    }
    let web = Web::new()
        .site("::1", page("six"))
        .site("six.test", page("6").at("::1"))
        .start();
    assert_eq!(get(&web, "[::1]", "/").body(), b"six");
    assert_eq!(get(&web, "six.test", "/").body(), b"6");
    assert!(web.url("::1", "/").starts_with("http://[::1]:"));
    assert!(web.resolve_args()[0].ends_with(":[::1]"));
}
