//! A small site that a process serves to itself.
//!
//! Owns a listener on loopback and its end. Refuses to know the pages; a function answers for each
//! path. Invariant: when the value is dropped, nobody listens any more.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::answer::{AnswerBody, ServerAnswer};
use super::connections::{self, Converse};
use super::page;
use super::request::{ServerRequest, Unread};

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
    is_over: Arc<AtomicBool>,
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
        let is_over = Arc::new(AtomicBool::new(false));
        let converse: Arc<Converse> = Arc::new(move |stream| converse(stream, &answering));
        let over = Arc::clone(&is_over);
        let thread = thread::Builder::new()
            .name("site".to_owned())
            .spawn(move || connections::accept(&listener, &converse, &over))?;
        Ok(Self {
            address,
            is_over,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

fn converse(stream: &mut TcpStream, answering: &dyn Fn(&str) -> SiteAnswer) -> io::Result<()> {
    let request = match ServerRequest::read(stream) {
        Ok(request) => request,
        Err(Unread::Gone(error)) => return Err(error),
        Err(Unread::Refused(status, why)) => return page::refusal(status, why).write(stream),
    };
    let answer = match request.method.as_str() {
        "GET" | "HEAD" => {
            let shown = answering(&request.target);
            let answer = ServerAnswer::new(shown.status, AnswerBody::Bytes(shown.body));
            let fields = shown.fields.iter();
            fields.fold(answer, |answer, (name, value)| answer.with(name, value))
        }
        _ => page::refusal(405, "this site can only be read"),
    };
    answer.for_request(&request).write(stream)
}

impl Drop for LocalSite {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // The loop looks when somebody comes.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            // A panic there was told already.
            let _ = thread.join();
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
