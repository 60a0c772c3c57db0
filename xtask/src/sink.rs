//! A proxy that answers nothing and remembers who asked.
//!
//! Owns the witness of what a browser sends into the network: with every request led here, what
//! it asked for is known, and none of it leaves the machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

/// The line that ends the sink.
const END: &str = "END";

/// How long a connection may say nothing, and how much of its first line is kept.
const SILENCE: Duration = Duration::from_secs(1);
const LONGEST_LINE: u64 = 4096;

/// A sink at work.
pub(crate) struct Sink {
    address: SocketAddr,
    thread: JoinHandle<Vec<String>>,
}

impl Sink {
    /// Opens a sink on a free port.
    pub(crate) fn open() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let thread = thread::spawn(move || first_lines(&listener));
        Ok(Self { address, thread })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes it; answers the first line of each request. Connections are taken in order, so
    /// nothing that was sent before is missed.
    pub(crate) fn close(self) -> Result<Vec<String>> {
        let mut last = TcpStream::connect(self.address).context("the sink is gone")?;
        writeln!(last, "{END}")?;
        self.thread.join().map_err(|_| anyhow!("the sink failed"))
    }
}

fn first_lines(listener: &TcpListener) -> Vec<String> {
    let lines = listener
        .incoming()
        .filter_map(|stream| first_line(&stream.ok()?));
    lines.take_while(|line| line != END).collect()
}

fn first_line(stream: &TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(SILENCE)).ok()?;
    let mut line = Vec::new();
    let mut reader = BufReader::new(stream.take(LONGEST_LINE));
    reader.read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8_lossy(&line).trim().to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_before_the_end_is_remembered() {
        let sink = Sink::open().unwrap();
        for request in [
            "GET http://a.test/ HTTP/1.1\r\n\r\n",
            "",
            "CONNECT b.test:443\r\n",
        ] {
            let mut stream = TcpStream::connect(sink.address()).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
        }
        let lines = sink.close().unwrap();
        assert_eq!(lines, ["GET http://a.test/ HTTP/1.1", "CONNECT b.test:443"]);
    }
}
