//! A private server that speaks S3, for tests: moto, a package of Python.
//!
//! Owns its process, which ends with the value, and the environment in which a program finds it. It
//! refuses to know what is stored there. Invariant: a server that was started answers.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The password that programs are given; nobody may print it.
pub const SECRET: &str = "a-secret-of-tests";

/// A server that ends with the test.
pub struct S3Server {
    child: Child,
    port: u16,
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl S3Server {
    /// A server on any port, or nothing where the package is missing, which is said aloud.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with further arguments, as for TLS.
    pub fn start_with(arguments: &[&OsStr]) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("SKIPPED: no S3 server is here; `cargo xtask test` installs moto (PyPI)");
            return None;
        };
        let mut child = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .args(arguments)
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
        Some(Self { child, port })
    }

    /// The port that it picked.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Makes a bucket.
    pub fn make_bucket(&self, name: &str) {
        make_bucket_over(&mut self.connect(), name);
    }

    /// A connection to it.
    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// What a program must find in its environment to use this server.
    pub fn environment(&self) -> [(&'static str, String); 5] {
        environment(&format!("http://127.0.0.1:{}", self.port))
    }
}

/// Makes a bucket over a connection, which may be one with TLS.
pub fn make_bucket_over(stream: &mut (impl Read + Write), name: &str) {
    let head = format!("PUT /{name} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The server may close without the end of TLS.
    stream.read_to_end(&mut answer).ok();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains(" 200 "), "{answer}");
}

/// The environment of a program that uses a server at this address.
pub fn environment(endpoint: &str) -> [(&'static str, String); 5] {
    [
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ALLOW_HTTP", endpoint.starts_with("http:").to_string()),
        ("AWS_ENDPOINT", endpoint.to_owned()),
    ]
}

/// The server's program: named, on the path, or where `cargo xtask test` put it.
fn program() -> Option<PathBuf> {
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
