//! A client of raw sockets that hides nothing: what it read is what came.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use terrarium::LiveWeb;

/// How the server left the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    Reset,
    StillOpen,
}

pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: End,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(crate) fn body(&self) -> &[u8] {
        let end = self
            .bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n");
        end.map_or(&[], |end| &self.bytes[end + 4..])
    }

    pub(crate) fn status(&self) -> u16 {
        self.text()
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or(0)
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let text = self.text();
        let mut lines = text.split("\r\n").take_while(|line| !line.is_empty());
        lines.find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            (key == name).then(|| value.to_owned())
        })
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the site listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time-out can be set");
    stream
}

/// Asks for a path with `Connection: close` and reads to the end, or until `limit` bytes are in.
pub(crate) fn ask(web: &LiveWeb, host: &str, path: &str, limit: usize) -> Answer {
    let mut stream = connect(web.addr(host));
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .expect("a request fits into the socket");
    read_up_to(&mut stream, limit)
}

pub(crate) fn get(web: &LiveWeb, host: &str, path: &str) -> Answer {
    ask(web, host, path, usize::MAX)
}

pub(crate) fn read_up_to(stream: &mut impl Read, limit: usize) -> Answer {
    let mut bytes = Vec::new();
    let mut portion = [0; 16 << 10];
    let end = loop {
        if bytes.len() >= limit {
            break End::StillOpen;
        }
        match stream.read(&mut portion) {
            Ok(0) => break End::Closed,
            Ok(count) => bytes.extend_from_slice(&portion[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break End::Reset,
            Err(error) => panic!("after {} bytes: {error}", bytes.len()),
        }
    };
    Answer { bytes, end }
}
