//! Logs that go through a store and come back as they were: through a shared folder, and through a
//! server that speaks S3 (moto, a package of Python), if there is one.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use clewline_job::archive::Position;
use clewline_job::merge::{BatchLine, name_of};
use clewline_upload::{Downloaded, UploadError, Uploader, download};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

const WORKER: u64 = 0x1234;
const FILES: [&str; 2] = [
    "j-20261118000000-00001.warc.gz",
    "j-20261118000000-00002.warc.gz",
];

/// The folder of a worker that writes batch after batch.
struct Writing {
    folder: PathBuf,
    line: BatchLine,
}

impl Writing {
    fn new(folder: PathBuf) -> Self {
        for below in ["links", "archive"] {
            fs::create_dir_all(folder.join(below)).unwrap();
        }
        fs::write(folder.join("fleet.json"), "{\"worker\":4660}").unwrap();
        fs::write(folder.join("job.toml"), "format = 1\n").unwrap();
        let line = BatchLine::default();
        Self { folder, line }
    }

    fn append(&self, file: &str, text: &str) -> u64 {
        let path = self.folder.join(file);
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
        fs::metadata(path).unwrap().len()
    }

    /// Writes a batch, and its line.
    fn batch(&mut self, serial: u64) -> BatchLine {
        let number = self.line.batch + 1;
        let file = FILES[usize::try_from(serial).unwrap() - 1];
        let offset = self.append(
            &format!("archive/{file}.open"),
            &format!("member {number}."),
        );
        self.line = BatchLine {
            batch: number,
            urls: self.append("urls.jsonl", &format!("{{\"line\":{number}}}\n")),
            links: self.append("links/00000.links", &format!("links of {number};")),
            archive: Position { serial, offset }.offset().0,
        };
        let text = serde_json::to_string(&self.line).unwrap();
        self.append("batches.jsonl", &format!("{text}\n"));
        self.line
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    /// Everything came back as it was written.
    fn check(&self, found: &Downloaded, name: &str) {
        let [folder] = &found.folders[..] else {
            panic!("{found:?}");
        };
        assert!(folder.ends_with(name), "{}", folder.display());
        for file in [
            "urls.jsonl",
            "links/00000.links",
            "batches.jsonl",
            "fleet.json",
            "job.toml",
        ] {
            assert_eq!(
                fs::read_to_string(folder.join(file)).unwrap(),
                self.text(file),
                "{file}"
            );
        }
        for file in FILES {
            let whole = self.text(&format!("archive/{file}.open"));
            let name = folder.join("archive").join(file);
            assert_eq!(fs::read_to_string(name).unwrap(), whole);
        }
    }
}

/// Uploads five batches over two files of the archive, and fetches them again.
fn there_and_back(address: &str, place: &Path) {
    let mut writing = Writing::new(place.join("w"));
    let mut uploader = Uploader::open(address, "a/job", WORKER).unwrap();
    uploader.describe(&writing.folder).unwrap();
    let first = writing.batch(1);
    let cost = uploader.upload(&writing.folder, &first).unwrap();
    let length = |file: &str| writing.text(file).len() as u64;
    let expected = length("urls.jsonl")
        + length("links/00000.links")
        + length("batches.jsonl")
        + length(&format!("archive/{}.open", FILES[0]));
    assert_eq!((cost.requests, cost.bytes), (4, expected));
    writing.batch(1);
    // Two batches in one call, over the end of a file.
    let third = writing.batch(2);
    assert_eq!(
        uploader.upload(&writing.folder, &third).unwrap().requests,
        5
    );
    // Nothing is new.
    assert_eq!(
        uploader.upload(&writing.folder, &third).unwrap().requests,
        0
    );
    let last = writing.batch(2);
    uploader.upload(&writing.folder, &last).unwrap();
    fs::write(
        writing.folder.join("fleet.json"),
        "{\"worker\":4660,\"tenures\":[]}",
    )
    .unwrap();
    uploader.describe(&writing.folder).unwrap();

    let name = name_of(WORKER);
    let addresses = [
        (address.to_owned(), name.as_str()),
        (format!("{address}/a_job"), &name),
        (format!("{address}/a_job/{name}"), "worker-0"),
    ];
    for (number, (from, name)) in addresses.iter().enumerate() {
        let into = place.join(format!("back{number}"));
        writing.check(&download(from, &into).unwrap(), name);
    }
    let nothing = download(&format!("{address}/nobody"), &place.join("none")).unwrap_err();
    assert!(matches!(nothing, UploadError::Unusable(_)), "{nothing}");
}

#[test]
fn a_shared_folder_gives_back_what_it_got() {
    let place = tempfile::tempdir().unwrap();
    let address = format!("file://{}/shared", place.path().display());
    there_and_back(&address, place.path());
    let store = place.path().join("shared/a_job").join(name_of(WORKER));
    let urls = store.join("urls");
    let mut names: Vec<PathBuf> = fs::read_dir(&urls)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let back = |number: u32| download(&address, &place.path().join(format!("again{number}")));

    // An upload whose answer was lost was made again, and longer.
    let whole = fs::read(place.path().join("w/urls.jsonl")).unwrap();
    let longer = urls.join(format!("{:020}-{:020}", 0, whole.len()));
    fs::write(&longer, &whole).unwrap();
    let found = back(0).unwrap();
    assert_eq!(
        fs::read(found.folders[0].join("urls.jsonl")).unwrap(),
        whole
    );
    fs::remove_file(longer).unwrap();
    // What no line speaks of may have holes.
    let beyond = urls.join(format!("{:020}-{:020}", whole.len() + 7, whole.len() + 9));
    fs::write(beyond, "??").unwrap();
    assert!(back(1).is_ok());
    // What one speaks of may not, and no object may be cut short.
    let taken = fs::read(&names[1]).unwrap();
    fs::remove_file(&names[1]).unwrap();
    let error = back(2).unwrap_err().to_string();
    assert!(
        error.contains("urls is not whole") && error.contains("are missing"),
        "{error}"
    );
    fs::write(&names[1], &taken[1..]).unwrap();
    let error = back(3).unwrap_err().to_string();
    assert!(error.contains("holds"), "{error}");
    fs::write(&names[1], &taken).unwrap();
    back(4).unwrap();
}

#[test]
fn logs_that_were_cut_back_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let address = format!("file://{}/shared", place.path().display());
    let mut writing = Writing::new(place.path().join("w"));
    let mut uploader = Uploader::open(&address, "job", WORKER).unwrap();
    let first = writing.batch(1);
    let second = writing.batch(1);
    uploader.upload(&writing.folder, &second).unwrap();
    let error = uploader.upload(&writing.folder, &first).unwrap_err();
    assert!(matches!(error, UploadError::Unusable(_)), "{error}");
    for address in ["ftp://host/x", "no address", "s3://key:secret@bucket/x"] {
        let error = Uploader::open(address, "job", WORKER).unwrap_err();
        assert!(matches!(error, UploadError::Unusable(_)), "{error}");
        assert!(!error.to_string().contains("secret@"), "{error}");
    }
}

/// The certificate of a server and its key, as PEM files in a folder.
struct Certified {
    certificate: PathBuf,
    key: PathBuf,
    trusts: Arc<ClientConfig>,
}

impl Certified {
    fn new(folder: &Path) -> Self {
        let pair = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let signed = params.self_signed(&pair).unwrap();
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
        fs::write(&certificate, signed.pem()).unwrap();
        fs::write(&key, pair.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(signed.der().clone()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let trusts = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            certificate,
            key,
            trusts: Arc::new(trusts),
        }
    }
}

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    /// Starts moto on any port, which it names, with TLS if there is a certificate.
    fn start(program: &Path, tls: Option<&Certified>) -> Self {
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", "0"]);
        if let Some(tls) = tls {
            command.arg("-s").arg("-c").arg(&tls.certificate);
            command.arg("-k").arg(&tls.key);
        }
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(talk.read_line(&mut line).unwrap() > 0, "moto ended");
            if let Some((_, port)) = line.trim().rsplit_once("://127.0.0.1:") {
                break port.trim().parse().unwrap();
            }
        };
        // What it says of each request is read, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut talk, &mut std::io::sink()));
        Self { child, port }
    }

    fn make_bucket(&self, name: &str, tls: Option<&Certified>) {
        let request =
            format!("PUT /{name} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        let mut tcp = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut answer = Vec::new();
        match tls {
            None => {
                tcp.write_all(request.as_bytes()).unwrap();
                tcp.read_to_end(&mut answer).unwrap();
            }
            Some(tls) => {
                let name = "127.0.0.1".try_into().unwrap();
                let session = ClientConnection::new(Arc::clone(&tls.trusts), name).unwrap();
                let mut stream = StreamOwned::new(session, tcp);
                stream.write_all(request.as_bytes()).unwrap();
                // The server may close without the end of TLS.
                stream.read_to_end(&mut answer).ok();
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains(" 200 "), "{answer}");
    }
}

/// The server's program: named, on the path, or where `cargo xtask test` put it.
fn moto() -> Option<PathBuf> {
    let named = env::var_os("CLEWLINE_MOTO").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join("moto_server"));
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let ours = target.join("packages/moto/bin/moto_server");
    named
        .into_iter()
        .chain(on_path)
        .chain([ours])
        .find(|program| program.is_file())
}

/// Set for the process that speaks to the server: the environment of a test is not its own to change.
const PART: &str = "CLEWLINE_TEST_S3";

/// Runs one of the parts below against a store at this address; answers what it said.
fn part(name: &str, endpoint: &str, authority: Option<&Path>) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture"])
        .env(PART, "1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "a-secret-of-tests")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ENDPOINT", endpoint)
        .env_remove("SSL_CERT_FILE");
    if endpoint.starts_with("http:") {
        command.env("AWS_ALLOW_HTTP", "true");
    }
    if let Some(authority) = authority {
        command.env("SSL_CERT_FILE", authority);
    }
    let output = command.output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");
    assert!(!talk.contains("a-secret-of-tests"), "{talk}");
    talk
}

#[test]
fn s3_gives_back_what_it_got() {
    let Some(program) = moto() else {
        eprintln!("SKIPPED: no S3 server is here; `cargo xtask test` installs moto (PyPI)");
        return;
    };
    let server = Server::start(&program, None);
    server.make_bucket("crawls", None);
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    let talk = part("the_part_that_speaks_s3", &endpoint, None);
    assert!(talk.contains("spoke S3"), "{talk}");

    let folder = tempfile::tempdir().unwrap();
    let tls = Certified::new(folder.path());
    let server = Server::start(&program, Some(&tls));
    server.make_bucket("crawls", Some(&tls));
    let endpoint = format!("https://127.0.0.1:{}", server.port);
    let talk = part("the_part_that_speaks_s3", &endpoint, Some(&tls.certificate));
    assert!(talk.contains("spoke S3"), "{talk}");
    // Nobody vouches for this server but the file.
    let talk = part("the_part_that_is_deceived", &endpoint, None);
    assert!(
        talk.contains("is not trusted") && talk.contains("SSL_CERT_FILE"),
        "{talk}"
    );
}

#[test]
fn the_part_that_is_deceived() {
    if env::var_os(PART).is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let writing = Writing::new(place.path().join("w"));
    let mut uploader = Uploader::open("s3://crawls/x", "job", WORKER).unwrap();
    let error = uploader.describe(&writing.folder).unwrap_err();
    eprintln!("{error}");
    assert!(matches!(error, UploadError::Unusable(_)), "{error}");
}

#[test]
fn the_part_that_speaks_s3() {
    if env::var_os(PART).is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    there_and_back("s3://crawls/some/prefix", place.path());
    let mut uploader = Uploader::open("s3://no-such-bucket/x", "job", WORKER).unwrap();
    let error = uploader.describe(&place.path().join("w")).unwrap_err();
    eprintln!("spoke S3; {error} {error:?} {uploader:?}");
    assert!(matches!(error, UploadError::Unusable(_)), "{error}");
}

#[test]
fn a_store_that_does_not_answer_is_away() {
    if env::var_os(PART).is_some() {
        return;
    }
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let talk = part("the_part_that_finds_nobody", &endpoint, None);
    assert!(talk.contains("is away"), "{talk}");
}

#[test]
fn the_part_that_finds_nobody() {
    if env::var_os(PART).is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let writing = Writing::new(place.path().join("w"));
    let mut uploader = Uploader::open("s3://crawls/x", "job", WORKER).unwrap();
    let error = uploader.describe(&writing.folder).unwrap_err();
    eprintln!("the store is away: {error} {error:?}");
    assert!(matches!(error, UploadError::Away(_)), "{error}");
}
