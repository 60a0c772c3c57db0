//! A bound on what a server sends to no stream.
//!
//! Owns the count of bytes since a stream got something. PING, SETTINGS and the like may come at any
//! time and without end, and each costs work. Invariant: between two pieces of an answer no more than
//! [`MOST_IDLE`] bytes are read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::CONNECTION_WINDOW;

/// Bytes that may be read while nothing of them is an answer that somebody took: what the window of
/// the connection allows to wait, and a quarter more.
const MOST_IDLE: u64 = CONNECTION_WINDOW as u64 / 4 * 5;

/// Bytes that were read since a stream got something.
#[derive(Debug, Default)]
pub(super) struct IdleBytes(AtomicU64);

impl IdleBytes {
    /// A stream got something.
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn add(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes > MOST_IDLE {
            return Err(io::Error::other(
                "the server sends frames without an answer",
            ));
        }
        Ok(())
    }
}

/// A connection whose idle bytes are counted.
pub(crate) struct GuardedStream<S> {
    stream: S,
    idle: Arc<IdleBytes>,
}

impl<S> GuardedStream<S> {
    pub(super) const fn new(stream: S, idle: Arc<IdleBytes>) -> Self {
        Self { stream, idle }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        Poll::Ready(self.idle.add(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_bytes_are_bounded_and_start_anew() {
        let idle = IdleBytes::default();
        let half = MOST_IDLE as usize / 2;
        assert!(idle.add(half).is_ok() && idle.add(half).is_ok());
        idle.reset();
        assert!(idle.add(half).is_ok() && idle.add(half).is_ok());
        assert!(idle.add(2).is_err());
    }
}
