//! Each test plays the store: a thread that reads whole requests from real connections and answers as
//! the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use object_store::aws::AmazonS3Builder;
use object_store::client::HttpRequestBody;
use object_store::{BackoffConfig, ObjectStoreExt as _, RetryConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio::runtime::{Builder, Runtime};

use super::*;

const OK: &str = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 2\r\n\r\nok";

trait Wire: Read + Write + Send {}
impl<S: Read + Write + Send> Wire for S {}

/// What the store reads of one request: its head and its body.
type Asked = (String, Vec<u8>);

/// A store that answers the requests of its n-th connection with the n-th list of answers, and then
/// closes it. What it was asked comes through the channel, and an empty head when it closes.
fn store(tls: Option<Arc<ServerConfig>>, script: Vec<Vec<&'static str>>) -> (u16, Receiver<Asked>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    thread::spawn(move || {
        for answers in script {
            let (tcp, _) = listener.accept().unwrap();
            let wire: Box<dyn Wire> = match &tls {
                None => Box::new(tcp),
                Some(config) => {
                    let session = ServerConnection::new(Arc::clone(config)).unwrap();
                    Box::new(StreamOwned::new(session, tcp))
                }
            };
            let mut wire = BufReader::new(wire);
            for answer in answers {
                let Ok(asked) = request(&mut wire) else { break };
                tell.send(asked).ok();
                wire.get_mut().write_all(answer.as_bytes()).ok();
                wire.get_mut().flush().ok();
            }
            drop(wire);
            tell.send(Asked::default()).ok();
        }
    });
    (port, told)
}

fn request(wire: &mut impl BufRead) -> io::Result<Asked> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if wire.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    wire.read_exact(&mut body)?;
    Ok((head, body))
}

struct Client {
    runtime: Runtime,
    client: HttpClient,
}

impl Client {
    fn new(options: &ClientOptions) -> Self {
        Self::trusting(None, options)
    }

    fn trusting(authorities: Option<&Path>, options: &ClientOptions) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connector = StoreConnector::new(authorities).unwrap();
        let client = connector.connect(options).unwrap();
        Self { runtime, client }
    }

    fn put(&self, url: &str, body: &[u8]) -> Result<String, HttpError> {
        let body = HttpRequestBody::from(body.to_vec());
        let request = hyper::Request::put(url).body(body).unwrap();
        self.runtime.block_on(async {
            let bytes = self
                .client
                .execute(request)
                .await?
                .into_body()
                .bytes()
                .await?;
            Ok(String::from_utf8(bytes.to_vec()).unwrap())
        })
    }
}

fn plain() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

#[test]
fn one_connection_serves_request_after_request() {
    let (port, told) = store(None, vec![vec![OK; 3]]);
    let client = Client::new(&plain());
    let body = vec![7; 300_000];
    for _ in 0..3 {
        let answer = client.put(&format!("http://127.0.0.1:{port}/a/b%20c?x=1"), &body);
        assert_eq!(answer.unwrap(), "ok");
        let (head, got) = told.recv().unwrap();
        assert!(
            head.starts_with("PUT /a/b%20c?x=1 HTTP/1.1\r\n"),
            "{head:?}"
        );
        let host = format!("host: 127.0.0.1:{port}\r\n");
        assert!(
            head.contains(&host) && head.contains("user-agent: clewline/"),
            "{head:?}"
        );
        assert_eq!(got, body);
    }
}

#[test]
fn a_connection_that_was_closed_in_between_is_replaced() {
    let (port, told) = store(None, vec![vec![OK], vec![OK], vec![OK]]);
    let client = Client::new(&plain());
    for _ in 0..3 {
        let answer = client.put(&format!("http://127.0.0.1:{port}/"), b"x");
        assert_eq!(answer.unwrap(), "ok");
        assert_ne!(told.recv().unwrap(), Asked::default());
        // The connection is closed before the next request is made.
        assert_eq!(told.recv().unwrap(), Asked::default());
    }
}

#[test]
fn a_request_that_meets_a_closed_connection_was_not_sent_and_is_sent_again() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let ((close, closing), (tell, closed)) = (channel::<()>(), channel());
    let server = thread::spawn(move || {
        for _ in 0..2 {
            let mut wire = BufReader::new(listener.accept().unwrap().0);
            request(&mut wire).unwrap();
            wire.get_mut().write_all(OK.as_bytes()).unwrap();
            closing.recv().unwrap();
            drop(wire);
            tell.send(()).unwrap();
        }
    });
    let client = Client::new(&plain());
    for _ in 0..2 {
        assert_eq!(client.put(&url, b"x").unwrap(), "ok");
        // The connection learns that its answer has ended, and waits.
        client.runtime.block_on(async {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        });
        // It is closed while nobody looks after it.
        close.send(()).unwrap();
        closed.recv().unwrap();
    }
    server.join().unwrap();
}

#[test]
fn errors_say_whether_to_try_again() {
    let short = plain().with_timeout(Duration::from_millis(200));
    let partly = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart";
    let table = [
        (
            "cut before the head",
            "HTTP/1.1 20",
            HttpErrorKind::Interrupted,
        ),
        ("cut in the body", partly, HttpErrorKind::Interrupted),
        ("no HTTP", "SSH-2.0-x\r\n\r\n", HttpErrorKind::Decode),
    ];
    for (what, answer, kind) in table {
        let (port, _told) = store(None, vec![vec![answer]]);
        let error = Client::new(&plain()).put(&format!("http://127.0.0.1:{port}/"), b"x");
        assert_eq!(error.unwrap_err().kind(), kind, "{what}");
    }
    // The second list is never used up, so the connection stays open without another word.
    for answer in ["", partly] {
        let (port, _told) = store(None, vec![vec![answer, OK]]);
        let error = Client::new(&short).put(&format!("http://127.0.0.1:{port}/"), b"x");
        assert_eq!(
            error.unwrap_err().kind(),
            HttpErrorKind::Timeout,
            "{answer:?}"
        );
    }
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let error = Client::new(&plain()).put(&format!("http://127.0.0.1:{port}/"), b"x");
    assert_eq!(error.unwrap_err().kind(), HttpErrorKind::Connect);
}

#[test]
fn a_handshake_that_never_ends_counts_as_connecting() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let options = ClientOptions::new().with_connect_timeout(Duration::from_millis(200));
    let error = Client::new(&options).put(&format!("https://127.0.0.1:{port}/"), b"x");
    let error = error.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Connect);
    assert!(error.to_string().contains("within 200ms"), "{error}");
}

#[test]
fn large_bodies_have_more_time() {
    assert_eq!(time_for(0), Duration::ZERO);
    assert_eq!(time_for(SLOWEST / 2), Duration::from_millis(500));
    assert_eq!(time_for(32 << 20), Duration::from_secs(512));
}

/// A store of this authority, whose certificate is for this name.
fn certified(authority: &CertifiedIssuer<'_, KeyPair>, name: &str) -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into());
    Arc::new(config.unwrap())
}

#[test]
fn only_a_trusted_certificate_for_the_name_is_accepted() {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();

    let table = [
        ("127.0.0.1", Some(file.as_path()), true),
        ("127.0.0.1", None, false),
        ("elsewhere.invalid", Some(file.as_path()), false),
    ];
    for (name, trusted, accepted) in table {
        let config = certified(&authority, name);
        let (port, _told) = store(Some(config), vec![vec![OK, OK]]);
        let client = Client::trusting(trusted, &ClientOptions::new());
        let url = format!("https://127.0.0.1:{port}/");
        if accepted {
            assert_eq!(client.put(&url, b"x").unwrap(), "ok");
            assert_eq!(client.put(&url, b"x").unwrap(), "ok");
            continue;
        }
        let error = client.put(&url, b"x").unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Unknown, "{name} {trusted:?}");
        assert!(error.to_string().contains("SSL_CERT_FILE"), "{error}");
        // Whoever uploads gives up at once, instead of waiting for a store that is away.
        let told = object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        };
        assert!(matches!(told.into(), UploadError::Unusable(_)));
    }
    std::fs::write(&file, "no certificate").unwrap();
    let error = StoreConnector::new(Some(&file)).unwrap_err().to_string();
    assert!(error.contains("authority.pem"), "{error}");
}

#[test]
fn what_is_not_supported_is_named() {
    let connector = StoreConnector::new(None).unwrap();
    let with = |key, value: &str| connector.connect(&ClientOptions::new().with_config(key, value));
    for (key, value, name) in [
        (Key::ProxyUrl, "http://proxy.invalid", "AWS_PROXY_URL"),
        (
            Key::AllowInvalidCertificates,
            "true",
            "AWS_ALLOW_INVALID_CERTIFICATES",
        ),
        (Key::Timeout, "soon", "AWS_TIMEOUT: soon"),
    ] {
        let error = with(key, value).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    assert!(with(Key::Timeout, "2 minutes").is_ok());
    let error = Client::new(&ClientOptions::new()).put("http://127.0.0.1:9/", b"x");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("AWS_ALLOW_HTTP"), "{error}");
}

#[test]
fn a_store_that_stumbles_is_asked_again() {
    let busy = "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n";
    let (port, told) = store(None, vec![vec![busy], vec!["HTTP/1.1 2"], vec![OK]]);
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        base: 2.0,
    };
    let store = AmazonS3Builder::new()
        .with_endpoint(format!("http://127.0.0.1:{port}"))
        .with_bucket_name("crawls")
        .with_access_key_id("test")
        .with_secret_access_key("secret")
        .with_client_options(plain())
        .with_retry(RetryConfig {
            backoff,
            max_retries: 3,
            retry_timeout: Duration::from_mins(1),
        })
        .with_http_connector(StoreConnector::new(None).unwrap())
        .build()
        .unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let name = "urls/1".into();
    let put = store.put(&name, b"a batch".to_vec().into());
    runtime.block_on(put).unwrap();
    let asked: Vec<Asked> = told.iter().filter(|asked| !asked.0.is_empty()).collect();
    assert_eq!(asked.len(), 3);
    assert!(
        asked
            .iter()
            .all(|(head, body)| { head.starts_with("PUT /crawls/urls/1 ") && body == b"a batch" })
    );
}

#[test]
fn addresses_of_both_families_are_endpoints() {
    let endpoint = |url: &str| Endpoint::new(&url.parse().unwrap());
    assert_eq!(endpoint("https://[::1]/x"), endpoint("https://[::1]:443/"));
    assert_ne!(endpoint("https://a.b/x"), endpoint("http://a.b/x"));
    assert_ne!(endpoint("http://a.b/x"), endpoint("http://a.b:8080/x"));
    assert_eq!(endpoint("ftp://a.b/x"), None);
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return;
    };
    let SocketAddr::V6(address) = listener.local_addr().unwrap() else {
        panic!("an address of the other family");
    };
    let accepted = thread::spawn(move || listener.accept().map(|(wire, _): (TcpStream, _)| wire));
    let options = plain().with_timeout(Duration::from_millis(300));
    let client = Client::new(&options);
    let error = client.put(&format!("http://{address}/"), b"").unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Timeout);
    drop(accepted.join().unwrap().unwrap());
}
