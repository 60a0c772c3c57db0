//! Rung 3: an event loop with callbacks.
//!
//! The operating system knows which sockets have news; one call (`epoll`, `kqueue`, here by way
//! of `mio`) waits for all of them at once and costs nothing meanwhile. For each socket we leave
//! a note what to do when it is ready: a callback. The waste of the rung below is gone.
//!
//! What is gone, too, is the function. To fetch a page took one of them on the first rung; here
//! it is torn into three, and what they share moves from local variables into a `Fetcher`. And
//! when something fails, the stack leads back to the loop and no further: see the trace that
//! this program prints for its first error.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ladder::{
    Addresses, Answer, Crawl, MAX_ANSWER, Options, PORTION, Task, Trace, climb, request, too_large,
};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};

/// So often the loop looks for fetchers whose time is over.
const TICK: Duration = Duration::from_millis(500);
/// Events that are taken at a time.
const EVENTS: usize = 1024;

fn main() -> ExitCode {
    climb(100, |crawl, options| {
        let mut event_loop = EventLoop::new(crawl, options)?;
        event_loop.run()?;
        Ok(event_loop.crawl)
    })
}

/// What to do when a socket is ready. A callback takes the fetcher out of the loop, and either
/// puts it back with the next callback or ends it: there is nobody to return to.
type Callback = fn(Fetcher, &mut EventLoop<'_>);

struct EventLoop<'a> {
    poll: Poll,
    waiting: HashMap<Token, (Fetcher, Callback)>,
    next_token: usize,
    crawl: Crawl,
    addresses: Addresses,
    options: &'a Options,
    trace: Trace,
}

impl<'a> EventLoop<'a> {
    fn new(crawl: Crawl, options: &'a Options) -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            waiting: HashMap::new(),
            next_token: 0,
            crawl,
            addresses: Addresses::new(options.connect_to),
            options,
            trace: Trace::new("callbacks", options.quiet),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut checked = Instant::now();
        loop {
            self.start_fetchers();
            if self.crawl.is_finished() {
                return Ok(());
            }
            match self.poll.poll(&mut events, Some(TICK)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                if let Some((fetcher, callback)) = self.waiting.remove(&event.token()) {
                    callback(fetcher, self);
                }
            }
            if checked.elapsed() >= TICK {
                checked = Instant::now();
                self.end_late_fetchers(checked);
            }
        }
    }

    fn start_fetchers(&mut self) {
        while self.waiting.len() < self.options.tasks()
            && let Some(task) = self.crawl.next_task()
        {
            Fetcher::fetch(task, self);
        }
    }

    fn end_late_fetchers(&mut self, now: Instant) {
        let late = self.waiting.iter();
        let late = late.filter(|(_, (fetcher, _))| fetcher.deadline < now);
        let late: Vec<Token> = late.map(|(token, _)| *token).collect();
        for (fetcher, _) in late
            .iter()
            .filter_map(|token| self.waiting.remove(token))
            .collect::<Vec<_>>()
        {
            fetcher.fail(ErrorKind::TimedOut.into(), self);
        }
    }

    fn registry(&self) -> &Registry {
        self.poll.registry()
    }
}

/// A page under way, and all that its callbacks must hand on to each other.
struct Fetcher {
    task: Task,
    token: Token,
    stream: TcpStream,
    deadline: Instant,
    answer: Vec<u8>,
}

impl Fetcher {
    /// The first piece: begin to connect. When the socket can be written to, it is connected.
    fn fetch(task: Task, event_loop: &mut EventLoop<'_>) {
        let token = Token(event_loop.next_token);
        event_loop.next_token += 1;
        let connected = event_loop
            .addresses
            .of(&task.url)
            .and_then(TcpStream::connect);
        let registered = connected.and_then(|mut stream| {
            let registry = event_loop.registry();
            registry.register(&mut stream, token, Interest::WRITABLE)?;
            Ok(stream)
        });
        match registered {
            Err(error) => _ = event_loop.crawl.settle(task, Err(error)),
            Ok(stream) => {
                let fetcher = Self {
                    task,
                    token,
                    stream,
                    deadline: Instant::now() + event_loop.options.timeout,
                    answer: Vec::new(),
                };
                event_loop.waiting.insert(token, (fetcher, Self::connected));
            }
        }
    }

    /// The second piece: the connection stands, or could not be made. Send the request.
    fn connected(mut self, event_loop: &mut EventLoop<'_>) {
        // A request is smaller than any socket's buffer: it goes out whole or not at all.
        let sent = self.stream.write_all(&request(&self.task.url));
        let (token, registry) = (self.token, event_loop.registry());
        let waits =
            sent.and_then(|()| registry.reregister(&mut self.stream, token, Interest::READABLE));
        match waits {
            Ok(()) => _ = event_loop.waiting.insert(token, (self, Self::readable)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                event_loop.waiting.insert(token, (self, Self::connected));
            }
            Err(error) => self.fail(error, event_loop),
        }
    }

    /// The third piece: there is something to read. It may be called many times.
    fn readable(mut self, event_loop: &mut EventLoop<'_>) {
        let mut portion = [0; PORTION];
        loop {
            match self.stream.read(&mut portion) {
                Ok(0) => return self.finish(event_loop),
                Ok(count) => self.answer.extend_from_slice(&portion[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    event_loop
                        .waiting
                        .insert(self.token, (self, Self::readable));
                    return;
                }
                Err(error) => return self.fail(error, event_loop),
            }
            if self.answer.len() > MAX_ANSWER {
                return self.fail(too_large(), event_loop);
            }
        }
    }

    fn finish(self, event_loop: &mut EventLoop<'_>) {
        match Answer::parse(&self.answer) {
            Ok(answer) => _ = event_loop.crawl.settle(self.task, Ok(answer)),
            Err(error) => self.fail(error, event_loop),
        }
    }

    /// Somewhere something failed. On the first rung an error returned to who had asked for the
    /// page. Here the caller is the loop, and who asked is long gone from the stack: we can only
    /// hope that the fetcher has kept what one needs to know.
    #[inline(never)]
    fn fail(self, error: io::Error, event_loop: &mut EventLoop<'_>) {
        event_loop.trace.show(&error);
        event_loop.crawl.settle(self.task, Err(error));
    }
}
