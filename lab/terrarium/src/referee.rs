//! The referee: what was asked, when, and how much of it at once.
//!
//! Owns the log and the counters of requests in progress. Refuses to know what is served or what
//! is polite: it measures, the test judges. Invariant: it never accuses falsely. A request counts
//! as done *before* its last bytes are sent, so a client that waits for the end of one answer is
//! never seen with two requests in progress.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The log keeps at most this many requests; later ones are only counted.
pub(crate) const MAX_HITS: usize = 2_000_000;
/// Of each request at most this many bytes are kept.
pub(crate) const MAX_RAW: usize = 16 << 10;

/// One request that reached a site.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// When its first byte was read.
    pub at: Instant,
    /// When its answer was about to be complete, or its connection ended.
    pub done_at: Option<Instant>,
    /// Number of the connection, in order of arrival; 0 for those to the HTTP proxy.
    pub connection: u64,
    /// The client's address.
    pub peer: SocketAddr,
    /// The address it asked.
    pub local: SocketAddr,
    /// Name of the site that answered.
    pub site: String,
    /// Host asked for, in lower case and without port; the site's name if none was said.
    pub host: String,
    /// Method of the request.
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// The head of the request as it came, up to 16 KiB of it.
    pub raw: Vec<u8>,
    /// Bytes of the answer handed to the socket.
    pub bytes_sent: u64,
    /// Status of the answer, if it was a page.
    pub status: Option<u16>,
    /// Requests in progress for this host at arrival, this one included.
    pub concurrent_for_host: usize,
    /// Requests in progress at this IP address at arrival, this one included.
    pub concurrent_at_address: usize,
    /// Whether it was in absolute form, as it is when it came through the HTTP proxy.
    pub proxied: bool,
}

impl Hit {
    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The first header of this name, if its value is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All headers in order, as sent, without outer blanks; lines that are not text are left out.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.raw.split(|&byte| byte == b'\n').skip(1);
        lines.filter_map(|line| {
            let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
            Some((name.trim(), value.trim()))
        })
    }
}

/// What was asked, in order of arrival. It can be read like a slice of [`Hit`].
#[derive(Clone, Debug, Default)]
pub struct Log {
    hits: Vec<Hit>,
    dropped: u64,
}

impl Deref for Log {
    type Target = [Hit];

    fn deref(&self) -> &[Hit] {
        &self.hits
    }
}

impl<'a> IntoIterator for &'a Log {
    type Item = &'a Hit;
    type IntoIter = std::slice::Iter<'a, Hit>;

    fn into_iter(self) -> Self::IntoIter {
        self.hits.iter()
    }
}

impl Log {
    /// How many requests came after the log was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Only the requests for this host (or answered by the site of this name).
    #[must_use]
    pub fn of(&self, host: &str) -> Self {
        self.filtered(|hit| hit.host == host || hit.site == host)
    }

    /// Only the requests that reached this address.
    #[must_use]
    pub fn at_address(&self, address: IpAddr) -> Self {
        self.filtered(|hit| hit.local.ip() == address)
    }

    /// Only the requests that this test accepts.
    #[must_use]
    pub fn filtered(&self, accept: impl Fn(&Hit) -> bool) -> Self {
        let hits = self
            .hits
            .iter()
            .filter(|hit| accept(hit))
            .cloned()
            .collect();
        Self {
            hits,
            dropped: self.dropped,
        }
    }

    /// The shortest time between the arrivals of two requests for a host.
    pub fn smallest_gap(&self, host: &str) -> Option<Duration> {
        self.gap(|hit| hit.host == host || hit.site == host)
    }

    /// The shortest time between the arrivals of two requests at an address.
    pub fn smallest_gap_at(&self, address: IpAddr) -> Option<Duration> {
        self.gap(|hit| hit.local.ip() == address)
    }

    fn gap(&self, accept: impl Fn(&Hit) -> bool) -> Option<Duration> {
        let arrivals = self.arrivals(accept);
        arrivals.windows(2).map(|pair| pair[1] - pair[0]).min()
    }

    /// Arrivals in order of time, which differs from the log's order when a slow head is overtaken.
    fn arrivals(&self, accept: impl Fn(&Hit) -> bool) -> Vec<Instant> {
        let accepted = self.hits.iter().filter(|hit| accept(hit));
        let mut arrivals: Vec<Instant> = accepted.map(|hit| hit.at).collect();
        arrivals.sort_unstable();
        arrivals
    }

    /// The most requests for a host that were in progress at once.
    pub fn greatest_concurrency(&self, host: &str) -> usize {
        let hits = self
            .hits
            .iter()
            .filter(|hit| hit.host == host || hit.site == host);
        hits.map(|hit| hit.concurrent_for_host).max().unwrap_or(0)
    }

    /// The most requests at an address that were in progress at once.
    pub fn greatest_concurrency_at(&self, address: IpAddr) -> usize {
        let hits = self.hits.iter().filter(|hit| hit.local.ip() == address);
        hits.map(|hit| hit.concurrent_at_address).max().unwrap_or(0)
    }

    /// The most requests that arrived within any span of this length, its end excluded.
    /// For one host: `log.of(host).greatest_rate(window)`.
    pub fn greatest_rate(&self, window: Duration) -> usize {
        let mut recent: VecDeque<Instant> = VecDeque::new();
        let mut greatest = 0;
        for arrival in self.arrivals(|_| true) {
            while recent
                .front()
                .is_some_and(|first| arrival - *first >= window)
            {
                recent.pop_front();
            }
            recent.push_back(arrival);
            greatest = greatest.max(recent.len());
        }
        greatest
    }

    /// How many requests had this path, or this whole target if it has a query.
    pub fn count(&self, path: &str) -> usize {
        self.hits
            .iter()
            .filter(|hit| hit.path() == path || hit.target == path)
            .count()
    }

    /// The targets asked of a host, in order of arrival, repetitions included.
    pub fn paths(&self, host: &str) -> Vec<String> {
        let hits = self
            .hits
            .iter()
            .filter(|hit| hit.host == host || hit.site == host);
        hits.map(|hit| hit.target.clone()).collect()
    }

    /// How many connections carried these requests.
    pub fn connections(&self) -> usize {
        self.hits
            .iter()
            .map(|hit| hit.connection)
            .collect::<HashSet<_>>()
            .len()
    }

    /// Whether every request in the log has ended.
    pub fn settled(&self) -> bool {
        self.hits.iter().all(|hit| hit.done_at.is_some())
    }
}

#[derive(Default)]
struct Book {
    log: Log,
    in_host: HashMap<String, usize>,
    in_address: HashMap<IpAddr, usize>,
    connected: HashMap<IpAddr, u64>,
    connections: u64,
}

/// The log under its lock, with the bell that rings at each change.
#[derive(Default)]
pub(crate) struct Referee {
    book: Mutex<Book>,
    bell: Condvar,
}

impl Referee {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> Log {
        self.book().log.clone()
    }

    /// Counts a connection and numbers it.
    pub(crate) fn connected(&self, address: IpAddr) -> u64 {
        let mut book = self.book();
        *book.connected.entry(address).or_default() += 1;
        book.connections += 1;
        let number = book.connections;
        drop(book);
        self.bell.notify_all();
        number
    }

    pub(crate) fn connections_at(&self, address: IpAddr) -> u64 {
        self.book().connected.get(&address).copied().unwrap_or(0)
    }

    /// Notes the arrival of a request; fills in what only the referee knows.
    pub(crate) fn begin(referee: &Arc<Self>, mut hit: Hit) -> Ticket {
        let mut book = referee.book();
        let (host, address) = (hit.host.clone(), hit.local.ip());
        hit.concurrent_for_host = increment(book.in_host.entry(host.clone()).or_default());
        hit.concurrent_at_address = increment(book.in_address.entry(address).or_default());
        let index = (book.log.hits.len() < MAX_HITS).then_some(book.log.hits.len());
        match index {
            Some(_) => book.log.hits.push(hit),
            None => book.log.dropped += 1,
        }
        drop(book);
        referee.bell.notify_all();
        let referee = Arc::clone(referee);
        Ticket {
            referee,
            index,
            host,
            address,
            bytes: 0,
            open: true,
        }
    }

    pub(crate) fn wait_for(&self, condition: impl Fn(&Log) -> bool, timeout: Duration) -> bool {
        let waited = self
            .bell
            .wait_timeout_while(self.book(), timeout, |book| !condition(&book.log));
        let (_book, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
        !timed_out.timed_out()
    }
}

/// A request in progress; it ends at the latest when the ticket is dropped.
pub(crate) struct Ticket {
    referee: Arc<Referee>,
    index: Option<usize>,
    host: String,
    address: IpAddr,
    bytes: u64,
    open: bool,
}

impl Ticket {
    /// A ticket for what is no request to a site: it counts nowhere.
    pub(crate) fn blank(referee: &Arc<Referee>, address: IpAddr) -> Self {
        let (referee, host) = (Arc::clone(referee), String::new());
        Self {
            referee,
            index: None,
            host,
            address,
            bytes: 0,
            open: false,
        }
    }

    /// Notes with which status the request will be answered.
    pub(crate) fn answer(&self, status: Option<u16>) {
        self.amend(&mut self.referee.book(), |hit| hit.status = status);
    }

    /// Notes that the answer is about to be complete, with so many bytes in all. It is told
    /// before the last bytes go out, so that a client that has them finds them in the log.
    pub(crate) fn finish(&mut self, bytes: u64) {
        if !self.open && self.bytes == bytes {
            return;
        }
        self.bytes = bytes;
        let mut book = self.referee.book();
        if self.open {
            decrement(&mut book.in_host, &self.host);
            decrement(&mut book.in_address, &self.address);
            self.amend(&mut book, |hit| hit.done_at = Some(Instant::now()));
        }
        self.amend(&mut book, |hit| hit.bytes_sent = bytes);
        drop(book);
        self.open = false;
        self.referee.bell.notify_all();
    }

    fn amend(&self, book: &mut Book, change: impl FnOnce(&mut Hit)) {
        if let Some(hit) = self.index.and_then(|index| book.log.hits.get_mut(index)) {
            change(hit);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.finish(self.bytes);
    }
}

fn increment(counter: &mut usize) -> usize {
    *counter += 1;
    *counter
}

fn decrement<K: std::hash::Hash + Eq>(counters: &mut HashMap<K, usize>, key: &K) {
    if let Some(counter) = counters.get_mut(key) {
        *counter = counter.saturating_sub(1);
        if *counter == 0 {
            counters.remove(key);
        }
    }
}
