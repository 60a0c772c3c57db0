//! A small site that a process serves to itself.
//!
//! Owns a listener on loopback and its end. Refuses to know the pages; a function answers for each
//! path. Invariant: when the value is dropped, nobody listens any more.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::answer::{AnswerBody, ServerAnswer};
use super::listener::{self, Answering, Conversation};
use super::page;
use super::request::ServerRequest;

/// What a site answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteAnswer {
    /// The status.
    pub status: u16,
    /// Fields beside the usual ones.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A site on a free port of 127.0.0.1, until it is dropped.
pub struct LocalSite {
    address: SocketAddr,
    /// Dropping it ends the loop.
    alive: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LocalSite {
    /// Listens, and has a function answer the target of every request to read. That function is
    /// made with the address in hand, since pages may name it.
    pub fn start<F>(site: impl FnOnce(SocketAddr) -> F) -> io::Result<Self>
    where
        F: Fn(&str) -> SiteAnswer + Send + Sync + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let answering = site(address);
        let answering: Arc<Answering> = Arc::new(move |request| answer(request, &answering));
        let (alive, end) = oneshot::channel::<()>();
        let thread = thread::Builder::new()
            .name("site".to_owned())
            .spawn(move || {
                let end = async { drop(end.await) };
                let conversation = Conversation::Http(answering);
                listener::serve(listener, &conversation, end).ok();
            })?;
        Ok(Self {
            address,
            alive: Some(alive),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

fn answer(request: &ServerRequest, answering: &dyn Fn(&str) -> SiteAnswer) -> ServerAnswer {
    if !request.is_reading() {
        return page::refusal(405, "this site can only be read");
    }
    let shown = answering(&request.target);
    let answer = ServerAnswer::new(shown.status, AnswerBody::Bytes(shown.body));
    let fields = shown.fields.iter();
    fields.fold(answer, |answer, (name, value)| answer.with(name, value))
}

impl Drop for LocalSite {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was told already.
            thread.join().ok();
        }
    }
}

impl fmt::Debug for LocalSite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LocalSite")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    fn ask(address: SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_site_answers_reading_requests_until_it_is_dropped() {
        let site = LocalSite::start(|address| {
            move |target| SiteAnswer {
                status: 200,
                fields: vec![("Content-Type", "text/plain".to_owned())],
                body: format!("{address} says {target}").into_bytes(),
            }
        })
        .unwrap();
        let address = site.address();
        let answer = ask(address, "GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("Content-Type: text/plain\r\n"), "{answer}");
        let body = format!("\r\n\r\n{address} says /a?b");
        assert!(answer.ends_with(&body), "{answer}");
        let answer = ask(address, "POST / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
        drop(site);
        assert!(TcpStream::connect(address).is_err());
    }
}
