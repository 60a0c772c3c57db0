//! One connection, plain or TLS, and the buffers that are read into.
//!
//! Owns reading and writing bytes. Refuses to know HTTP, time-outs and addresses. Invariant: a
//! connection that waits for bytes holds no buffer; it borrows one when there is something to
//! read.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::descriptors::Seats;

/// How much is read at a time.
const READ: usize = 32 * 1024;
/// Buffers kept for the next reader.
const SPARE_BUFFERS: usize = 64;

/// A connection to a server.
pub(crate) struct Wire {
    stream: Stream,
    /// Given back after the stream is closed.
    _seat: Seats,
}

/// What is spoken over a connection.
pub(crate) enum Stream {
    /// Plain TCP.
    Plain(TcpStream),
    /// TLS over TCP, in a box because it is large.
    Tls(Box<TlsStream<TcpStream>>),
}

/// Buffers that no connection needs at the moment.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    spare: Mutex<Vec<Vec<u8>>>,
}

/// Bytes that were read and not yet consumed.
pub(crate) struct Input {
    bytes: Vec<u8>,
    start: usize,
    buffers: Arc<Buffers>,
}

impl Wire {
    pub(crate) const fn new(stream: Stream, seat: Seats) -> Self {
        Self {
            stream,
            _seat: seat,
        }
    }

    /// Writes everything and sees that it leaves.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes).await,
            Stream::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }

    /// Reads what is there into `input`; zero at the end of the stream. Safe to drop at any
    /// moment: either the bytes are in `input` or they are still in the socket.
    pub(crate) async fn read(&mut self, input: &mut Input) -> io::Result<usize> {
        let read = poll_fn(|context| {
            input.prepare();
            let poll = self.poll_read_buf(context, &mut input.bytes);
            if poll.is_pending() {
                input.give_back();
            }
            poll
        });
        match read.await {
            // Many servers end TLS without saying so. Where that could hide a cut body, the
            // framing knows; where it could not, browsers accept it as well.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            other => other,
        }
    }

    fn poll_read_buf(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        // The future keeps nothing between polls, so a new one each time loses nothing.
        match &mut self.stream {
            Stream::Plain(stream) => pin!(stream.read_buf(into)).poll(cx),
            Stream::Tls(stream) => pin!(stream.read_buf(into)).poll(cx),
        }
    }

    /// Waits until something came on a plain connection.
    #[cfg(test)]
    pub(super) async fn readable(&self) {
        let Stream::Plain(stream) = &self.stream else {
            unreachable!("tests of readiness are plain");
        };
        stream.readable().await.expect("the socket is open");
    }

    /// Whether the server has neither closed the connection nor sent anything that nobody asked
    /// for, as far as this machine knows by now.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        let mut context = Context::from_waker(Waker::noop());
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(&mut context, &mut buffer),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_read(&mut context, &mut buffer),
        }
        .is_pending()
    }
}

impl Buffers {
    fn take(&self) -> Vec<u8> {
        let spare = self
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        spare.unwrap_or_else(|| Vec::with_capacity(READ))
    }

    fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        // A buffer that grew for a large head is not kept.
        if spare.len() < SPARE_BUFFERS && (READ..=2 * READ).contains(&buffer.capacity()) {
            spare.push(buffer);
        }
    }
}

impl Input {
    /// Nothing yet, and no buffer.
    pub(crate) fn new(buffers: Arc<Buffers>) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            buffers,
        }
    }

    /// What was read and not consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Marks the first `count` unread bytes as done with.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.bytes.len());
        if self.start == self.bytes.len() {
            self.give_back();
        }
    }

    fn prepare(&mut self) {
        if self.bytes.capacity() == 0 {
            self.bytes = self.buffers.take();
        }
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        if self.bytes.capacity() - self.bytes.len() < READ / 2 {
            self.bytes.reserve(READ);
        }
    }

    /// Returns the buffer if nothing in it is needed.
    fn give_back(&mut self) {
        if self.unread().is_empty() && self.bytes.capacity() > 0 {
            self.buffers.put(std::mem::take(&mut self.bytes));
            self.start = 0;
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.start = self.bytes.len();
        self.give_back();
    }
}
