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

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::http2::Http2Stream;
use crate::connections::CountedConnection;
use crate::descriptors::Seats;

/// How much is read at a time.
const READ: usize = 32 * 1024;
/// Buffers kept for the next reader.
const SPARE_BUFFERS: usize = 64;

/// A connection to a server.
pub(crate) struct Wire {
    stream: Stream,
    /// Given back after the stream is closed; a stream of a shared connection has none of its own.
    _seat: Option<(Seats, CountedConnection)>,
}

/// What is spoken over a connection.
pub(crate) enum Stream {
    /// Plain TCP.
    Plain(TcpStream),
    /// TLS over TCP, in a box because it is large.
    Tls(Box<TlsStream<TcpStream>>),
    /// A stream of HTTP/2, which reads as HTTP/1.1.
    Http2(Box<Http2Stream>),
}

/// Buffers that no connection needs at the moment. What was handed out of one may still be read;
/// then whoever takes the buffer gets other memory for it.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    spare: Mutex<Vec<BytesMut>>,
}

/// Bytes that were read and not yet consumed.
pub(crate) struct Input {
    bytes: BytesMut,
    holding: Holding,
    buffers: Arc<BufferPool>,
}

/// What an input has for its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holding {
    Nothing,
    /// A buffer of the usual size.
    Usual,
    /// One that grew for a large head, and is not kept for others.
    Grown,
}

impl Wire {
    pub(crate) fn new(stream: Stream, seat: Seats) -> Self {
        Self {
            stream,
            _seat: Some((seat, CountedConnection::open())),
        }
    }

    /// A stream of a connection that others use, too.
    pub(crate) fn shared(stream: Http2Stream) -> Self {
        Self {
            stream: Stream::Http2(Box::new(stream)),
            _seat: None,
        }
    }

    /// The stream of HTTP/2 that it is, if it is one.
    pub(crate) fn http2(&self) -> Option<&Http2Stream> {
        match &self.stream {
            Stream::Http2(stream) => Some(stream),
            Stream::Plain(_) | Stream::Tls(_) => None,
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
            Stream::Http2(stream) => stream.send(bytes).await,
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
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        // The future keeps nothing between polls, so a new one each time loses nothing.
        match &mut self.stream {
            Stream::Plain(stream) => pin!(stream.read_buf(into)).poll(cx),
            Stream::Tls(stream) => pin!(stream.read_buf(into)).poll(cx),
            Stream::Http2(stream) => stream.poll_read_buf(cx, into),
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
            // It carried its one request.
            Stream::Http2(_) => return false,
        }
        .is_pending()
    }
}

impl BufferPool {
    fn take(&self) -> BytesMut {
        let spare = self
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        spare.unwrap_or_else(|| BytesMut::with_capacity(READ))
    }

    fn put(&self, buffer: BytesMut) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_BUFFERS {
            spare.push(buffer);
        }
    }
}

impl Input {
    /// Nothing yet, and no buffer.
    pub(crate) fn new(buffers: Arc<BufferPool>) -> Self {
        Self {
            bytes: BytesMut::new(),
            holding: Holding::Nothing,
            buffers,
        }
    }

    /// What was read and not consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes
    }

    /// Marks the first `count` unread bytes as done with.
    pub(crate) fn consume(&mut self, count: usize) {
        self.bytes.advance(count.min(self.bytes.len()));
        self.give_back();
    }

    /// Hands out the first `count` unread bytes where they lie. While anybody has them, their
    /// place in the buffer is not written to.
    pub(crate) fn take(&mut self, count: usize) -> Bytes {
        let taken = self.bytes.split_to(count.min(self.bytes.len())).freeze();
        self.give_back();
        taken
    }

    fn prepare(&mut self) {
        if self.holding == Holding::Nothing {
            self.bytes = self.buffers.take();
            self.holding = Holding::Usual;
        }
        if self.bytes.is_empty() {
            // From its beginning again, which is what the processor's cache holds of it; nothing
            // is allocated, unless somebody still has what was read before.
            self.bytes.reserve(READ);
        } else if self.bytes.capacity() - self.bytes.len() < READ / 2 {
            self.holding = Holding::Grown;
            self.bytes.reserve(READ);
        }
    }

    /// Returns the buffer if nothing in it is needed.
    fn give_back(&mut self) {
        if !self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        if std::mem::replace(&mut self.holding, Holding::Nothing) == Holding::Usual {
            self.buffers.put(bytes);
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.bytes.clear();
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &mut Input, bytes: &[u8]) {
        input.prepare();
        input.bytes.extend_from_slice(bytes);
    }

    #[test]
    fn what_was_handed_out_stays_and_its_place_is_used_again() {
        let buffers = Arc::new(BufferPool::default());
        let mut input = Input::new(Arc::clone(&buffers));
        read(&mut input, b"head and body");
        let place = input.unread().as_ptr();
        input.consume("head and ".len());
        let taken = input.take("body".len());
        // Somebody else takes the buffer while the bytes are still read.
        let mut other = Input::new(Arc::clone(&buffers));
        read(&mut other, &vec![b'x'; READ]);
        assert_eq!(taken, "body");
        assert!(!std::ptr::eq(other.unread().as_ptr(), place));
        drop((taken, other));
        read(&mut input, b"next");
        let taken = input.take(4);
        drop(input);
        assert_eq!(taken, "next");
        drop(taken);
        let places = (0..5).map(|_| {
            let mut input = Input::new(Arc::clone(&buffers));
            read(&mut input, &vec![b'y'; READ - 1]);
            input.take(READ).as_ptr()
        });
        let places: Vec<_> = places.collect();
        assert!(places[1..].iter().all(|place| *place == places[1]));
        assert_eq!(buffers.spare.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_buffer_that_grew_is_not_kept() {
        let buffers = Arc::new(BufferPool::default());
        let mut input = Input::new(Arc::clone(&buffers));
        for _ in 0..3 {
            read(&mut input, &vec![b'h'; READ - 1]);
        }
        input.consume(usize::MAX);
        assert!(buffers.spare.lock().unwrap().is_empty());
    }
}
