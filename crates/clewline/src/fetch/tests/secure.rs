//! TLS against a server whose certificates come from an authority of the test's own.

use std::io::Write;
use std::sync::Arc;

use clewline_core::outcome::FailureClass;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;

use super::server::{Server, Step, send};
use super::{FetchConfig, HASTE, class, fetch, fetcher, request};
use crate::fetch::{FetchFailure, HttpFetcher};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// An authority, as a file that `--cacert` reads, and what it issues.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: NamedTempFile,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        // Two authorities of one name would be a forgery, which is another fault.
        let name = format!("{:?}", key.public_key_raw());
        params.distinguished_name.push(DnType::CommonName, name);
        let mut file = NamedTempFile::new().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        file.write_all(certificate.pem().as_bytes()).unwrap();
        Self {
            issuer: Issuer::new(params, key),
            file,
        }
    }

    /// A server's side for these names.
    pub(super) fn acceptor(&self, names: &[&str]) -> TlsAcceptor {
        self.issue(&params(names))
    }

    fn issue(&self, params: &CertificateParams) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        acceptor(certificate.der().clone(), &key)
    }

    pub(super) fn config(&self) -> FetchConfig {
        FetchConfig {
            cacert: Some(self.file.path().to_owned()),
            ..FetchConfig::default()
        }
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    CertificateParams::new(names).unwrap()
}

fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn serving(tls: TlsAcceptor) -> Server {
    let scripts = vec![vec![Step::Request, send(OK), Step::Request, send(OK)]; 4];
    Server::start_with(scripts, Some(tls)).await
}

async fn refused(fetcher: &HttpFetcher, url: &str, class: FailureClass) -> FetchFailure {
    let failure = fetch(fetcher, request(url)).await.unwrap_err();
    assert_eq!(failure.class, class, "{}", failure.message);
    assert!(failure.timings.connect.is_some());
    failure
}

#[tokio::test]
async fn a_trusted_server_by_name_and_by_address() {
    let authority = Authority::new();
    let mut server = serving(authority.acceptor(&["a.test", "127.0.0.1"])).await;
    let fetcher = fetcher(&authority.config());
    for (connection, host) in ["a.test", "a.test.", "127.0.0.1"].iter().enumerate() {
        for reused in [false, true] {
            let url = format!("https://{host}:{}/", server.port);
            let whole = fetch(&fetcher, request(&url)).await.unwrap();
            assert_eq!(
                (whole.text.as_str(), whole.reused),
                ("ok", reused),
                "{host}"
            );
            server.request(connection).await;
        }
    }
}

#[tokio::test]
async fn faults_of_certificates_in_plain_words() {
    let authority = Authority::new();
    let mut old = params(&["a.test"]);
    old.not_before = date_time_ymd(2001, 1, 1);
    old.not_after = date_time_ymd(2002, 1, 1);
    let mut early = params(&["a.test"]);
    early.not_before = date_time_ymd(4000, 1, 1);
    let key = KeyPair::generate().unwrap();
    let own = params(&["a.test"]).self_signed(&key).unwrap();
    let mut of_authority = params(&["a.test"]);
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let of_authority = of_authority.self_signed(&key).unwrap();
    for (tls, words) in [
        (
            authority.issue(&old),
            "the certificate expired on 2002-01-01",
        ),
        (authority.issue(&early), "is not valid before 4000-01-01"),
        (
            authority.acceptor(&["b.test", "c.test"]),
            "not for this host name but for b.test, c.test",
        ),
        (acceptor(of_authority.der().clone(), &key), "is self-signed"),
        (Authority::new().acceptor(&["a.test"]), "unknown authority"),
        (acceptor(own.der().clone(), &key), "unknown authority"),
    ] {
        let server = serving(tls.clone()).await;
        let url = format!("https://a.test:{}/", server.port);
        let certificate = FailureClass::Certificate;
        let failure = refused(&fetcher(&authority.config()), &url, certificate).await;
        assert!(failure.message.contains(words), "{}", failure.message);
        let insecure = FetchConfig {
            insecure: true,
            ..FetchConfig::default()
        };
        assert_eq!(
            fetch(&fetcher(&insecure), request(&url))
                .await
                .unwrap()
                .text,
            "ok"
        );
    }
}

#[tokio::test]
async fn handshakes_that_go_wrong() {
    let hello = "HTTP/1.1 400 Bad Request\r\n\r\n";
    for (script, words) in [
        (vec![send(hello)], "does not speak TLS"),
        (vec![], "closed during the TLS handshake"),
        (
            vec![Step::Bytes(10), Step::Reset],
            "failed during the TLS handshake",
        ),
    ] {
        let server = Server::start(vec![script]).await;
        let url = format!("https://a.test:{}/", server.port);
        let fetcher = fetcher(&FetchConfig::default());
        let failure = refused(&fetcher, &url, FailureClass::Tls).await;
        assert!(failure.message.contains(words), "{}", failure.message);
    }
    let server = Server::start(vec![vec![Step::Hang]]).await;
    let url = format!("https://a.test:{}/", server.port);
    let hasty = FetchConfig {
        connect_timeout: HASTE,
        ..FetchConfig::default()
    };
    let failure = refused(&fetcher(&hasty), &url, FailureClass::Tls).await;
    assert!(
        failure.message.contains("took too long"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn an_end_without_ceremony_cuts_only_bodies_that_say_their_length() {
    let authority = Authority::new();
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\n\r\nuntil the close", None),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            Some(FailureClass::Incomplete),
        ),
        ("", Some(FailureClass::Reset)),
    ] {
        // A step that ends the script at once leaves out the close_notify.
        let script = vec![Step::Request, send(answer), Step::Abandon];
        let tls = authority.acceptor(&["a.test"]);
        let server = Server::start_with(vec![script], Some(tls)).await;
        let url = format!("https://a.test:{}/", server.port);
        let fetcher = fetcher(&authority.config());
        match expected {
            None => assert_eq!(fetch(&fetcher, request(&url)).await.unwrap().text.len(), 15),
            Some(expected) => assert_eq!(class(&fetcher, request(&url)).await, expected),
        }
    }
}

#[tokio::test]
async fn a_large_page_over_tls() {
    let authority = Authority::new();
    let text = "0123456789".repeat(30_000);
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n{text}");
    let script = vec![Step::Request, send(&answer)];
    let server = Server::start_with(vec![script], Some(authority.acceptor(&["a.test"]))).await;
    let url = format!("https://a.test:{}/", server.port);
    let whole = fetch(&fetcher(&authority.config()), request(&url))
        .await
        .unwrap();
    assert!(whole.text == text);
    assert_eq!(whole.tally.wire, answer.len() as u64);
}

#[test]
fn files_of_authorities_that_can_not_be_used() {
    let mut empty = NamedTempFile::new().unwrap();
    empty.write_all(b"-----BEGIN NONSENSE-----\n").unwrap();
    for path in [empty.path().to_owned(), empty.path().join("missing.pem")] {
        let config = FetchConfig {
            cacert: Some(path),
            ..FetchConfig::default()
        };
        let error = HttpFetcher::new(&config).err().unwrap().to_string();
        assert!(error.starts_with("cacert: "), "{error}");
    }
}
