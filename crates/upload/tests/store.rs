//! Logs that go through a store and come back as they were: through a shared folder, and through a
//! server that speaks S3 (moto, a package of Python), if there is one.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use clewline_job::archive::Position;
use clewline_job::merge::{BatchLine, name_of};
use clewline_upload::{Downloaded, UploadError, Uploader, download};
use fieldwork::s3::{self, S3Server};
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

    /// A store that has the certificate.
    fn server(&self) -> Option<S3Server> {
        let [certificate, key] = [&self.certificate, &self.key].map(|path| path.as_os_str());
        let flags = ["-s", "-c", "-k"].map(OsStr::new);
        S3Server::start_with(&[flags[0], flags[1], certificate, flags[2], key])
    }

    /// TLS over a connection to it.
    fn over(&self, tcp: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let name = "127.0.0.1".try_into().unwrap();
        let session = ClientConnection::new(Arc::clone(&self.trusts), name).unwrap();
        StreamOwned::new(session, tcp)
    }
}

/// Set for the process that speaks to the server: the environment of a test is not its own to change.
const PART: &str = "CLEWLINE_TEST_S3";

/// Runs one of the parts below against a store at this address; answers what it said.
fn part(name: &str, endpoint: &str, authority: Option<&Path>) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture"])
        .env(PART, "1")
        .envs(s3::environment(endpoint))
        .env_remove("SSL_CERT_FILE");
    if let Some(authority) = authority {
        command.env("SSL_CERT_FILE", authority);
    }
    let output = command.output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");
    assert!(!talk.contains(s3::SECRET), "{talk}");
    talk
}

#[test]
fn s3_gives_back_what_it_got() {
    let Some(server) = S3Server::start() else {
        return;
    };
    server.make_bucket("crawls");
    let endpoint = format!("http://127.0.0.1:{}", server.port());
    let talk = part("the_part_that_speaks_s3", &endpoint, None);
    assert!(talk.contains("spoke S3"), "{talk}");

    let folder = tempfile::tempdir().unwrap();
    let tls = Certified::new(folder.path());
    let server = tls.server().unwrap();
    s3::make_bucket_over(&mut tls.over(server.connect()), "crawls");
    let endpoint = format!("https://127.0.0.1:{}", server.port());
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
