//! Rung 4: coroutines, made by hand.
//!
//! The same loop, but the function is back in one piece. `fetch` reads like that of the first
//! rung: connect, write, read. Where it must wait, it does not block the thread and it names no
//! callback: it returns to the loop in the middle, and is resumed in the middle. The compiler
//! keeps its local variables in a value, the future; a few hundred bytes instead of a stack.
//!
//! Nothing here is magic, so nothing is borrowed: this file has the one future that waits for a
//! socket, the wakers, and the executor. And an error comes back to who awaited it, with all he
//! knows: compare the trace of this program with that of the rung below.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::pin::Pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ladder::{
    Addresses, Answer, Crawl, MAX_ANSWER, Options, PORTION, Task, Trace, climb, request, too_large,
};
use mio::net::TcpStream;
use mio::{Events, Interest, Token};

/// So often the loop looks for sockets whose time is over.
const TICK: Duration = Duration::from_millis(500);
/// Events that are taken at a time.
const EVENTS: usize = 1024;

fn main() -> ExitCode {
    climb(100, |crawl, options| {
        let world = Rc::new(World {
            crawl: RefCell::new(crawl),
            reactor: Reactor::new()?,
            addresses: Addresses::new(options.connect_to),
            timeout: options.timeout,
            trace: RefCell::new(Trace::new("coroutines", options.quiet)),
        });
        let mut executor = Executor::default();
        executor.run(&world, options)?;
        drop(executor);
        let world = Rc::into_inner(world).expect("all coroutines have ended");
        Ok(world.crawl.into_inner())
    })
}

/// What all coroutines share. One thread runs them, one at a time: no lock is needed.
struct World {
    crawl: RefCell<Crawl>,
    reactor: Reactor,
    addresses: Addresses,
    timeout: Duration,
    trace: RefCell<Trace>,
}

/// The life of one page. An error of `fetch` returns to here, with a word of everybody on the way.
async fn visit(world: Rc<World>, task: Task) {
    let fetched = fetch(&world, &task).await;
    let result = fetched.with_context(|| format!("cannot visit {}", task.url));
    let result = result.map_err(|error| {
        let kind = error
            .downcast_ref::<io::Error>()
            .map_or(ErrorKind::Other, io::Error::kind);
        io::Error::new(kind, format!("{error:#}"))
    });
    world.crawl.borrow_mut().settle(task, result);
}

/// Fetches a page. It reads like a recipe again, and nobody sleeps.
async fn fetch(world: &World, task: &Task) -> anyhow::Result<Answer> {
    let address = world.addresses.of(&task.url).context("no address")?;
    let mut socket = Socket::connect(world, address).context("no connection")?;
    socket
        .write_all(&request(&task.url))
        .await
        .context("no connection to send on")?;
    let answer = socket.read_to_end().await.context("no answer")?;
    Ok(Answer::parse(&answer)?)
}

/// A socket whose operations wait without blocking.
struct Socket<'a> {
    stream: TcpStream,
    token: Token,
    deadline: Instant,
    world: &'a World,
}

impl<'a> Socket<'a> {
    fn connect(world: &'a World, address: std::net::SocketAddr) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        let token = world.reactor.register(&mut stream)?;
        let deadline = Instant::now() + world.timeout;
        Ok(Self {
            stream,
            token,
            deadline,
            world,
        })
    }

    async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        // The socket becomes writable when it is connected.
        self.ready().await?;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.ready().await?,
                Err(error) => return Err(self.traced(error)),
            }
        }
        Ok(())
    }

    async fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            match read_some(&mut self.stream, &mut bytes) {
                Ok(0) => return Ok(bytes),
                Ok(_) if bytes.len() > MAX_ANSWER => return Err(too_large()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.ready().await?,
                Err(error) => return Err(self.traced(error)),
            }
        }
    }

    /// Waits until there is news of the socket.
    fn ready(&self) -> Ready<'_> {
        Ready {
            reactor: &self.world.reactor,
            token: self.token,
            deadline: self.deadline,
            is_waiting: Cell::new(false),
        }
    }

    fn traced(&self, error: io::Error) -> io::Error {
        self.world.trace.borrow_mut().show(&error);
        error
    }
}

/// The buffer lives on the one stack that there is, not in a thousand waiting futures.
fn read_some(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut portion = [0; PORTION];
    let count = stream.read(&mut portion)?;
    bytes.extend_from_slice(&portion[..count]);
    Ok(count)
}

impl Drop for Socket<'_> {
    fn drop(&mut self) {
        self.world.reactor.waiting.borrow_mut().remove(&self.token);
    }
}

/// The future under all the others: something happened to a socket, or its time is over.
struct Ready<'a> {
    reactor: &'a Reactor,
    token: Token,
    deadline: Instant,
    is_waiting: Cell<bool>,
}

impl Future for Ready<'_> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if Instant::now() > self.deadline {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        let mut waiting = self.reactor.waiting.borrow_mut();
        // The reactor takes a waker out when it calls it.
        if self.is_waiting.replace(true) && !waiting.contains_key(&self.token) {
            return Poll::Ready(Ok(()));
        }
        waiting.insert(self.token, (context.waker().clone(), self.deadline));
        Poll::Pending
    }
}

/// Knows who waits for which socket. It is the loop of the rung below, without the callbacks.
struct Reactor {
    poll: RefCell<mio::Poll>,
    waiting: RefCell<HashMap<Token, (Waker, Instant)>>,
    next_token: Cell<usize>,
}

impl Reactor {
    fn new() -> io::Result<Self> {
        Ok(Self {
            poll: RefCell::new(mio::Poll::new()?),
            waiting: RefCell::default(),
            next_token: Cell::new(0),
        })
    }

    fn register(&self, stream: &mut TcpStream) -> io::Result<Token> {
        let token = Token(self.next_token.replace(self.next_token.get() + 1));
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll
            .borrow()
            .registry()
            .register(stream, token, both)?;
        Ok(token)
    }

    /// Sleeps until there is news, and wakes whom it concerns.
    fn wait(&self, events: &mut Events) -> io::Result<()> {
        match self.poll.borrow_mut().poll(events, Some(TICK)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            result => result?,
        }
        for event in &*events {
            if let Some((waker, _)) = self.waiting.borrow_mut().remove(&event.token()) {
                waker.wake();
            }
        }
        Ok(())
    }

    fn wake_the_late(&self, now: Instant) {
        let waiting = self.waiting.borrow();
        for (waker, _) in waiting.values().filter(|(_, deadline)| *deadline < now) {
            waker.wake_by_ref();
        }
    }
}

type Coroutine = Pin<Box<dyn Future<Output = ()>>>;
/// The coroutines that shall be resumed, by number.
type ReadyQueue = Arc<Mutex<Vec<usize>>>;

/// What a future gets to say "resume me": it writes the coroutine's number on the list.
struct Note {
    number: usize,
    ready: ReadyQueue,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        locked(&self.ready).push(self.number);
    }
}

/// A waker may be used by any thread, says its type; so even here the list has a lock.
fn locked(ready: &ReadyQueue) -> std::sync::MutexGuard<'_, Vec<usize>> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Resumes coroutines that were woken, until all have ended.
#[derive(Default)]
struct Executor {
    coroutines: HashMap<usize, Coroutine>,
    ready: ReadyQueue,
    next_number: usize,
}

impl Executor {
    fn run(&mut self, world: &Rc<World>, options: &Options) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut checked = Instant::now();
        loop {
            while self.coroutines.len() < options.tasks()
                && let Some(task) = next_task(world)
            {
                self.spawn(visit(Rc::clone(world), task));
            }
            let woken = std::mem::take(&mut *locked(&self.ready));
            if woken.is_empty() {
                if self.coroutines.is_empty() && world.crawl.borrow().is_finished() {
                    return Ok(());
                }
                world.reactor.wait(&mut events)?;
            }
            for number in woken {
                self.resume(number);
            }
            if checked.elapsed() >= TICK {
                checked = Instant::now();
                world.reactor.wake_the_late(checked);
            }
        }
    }

    fn spawn(&mut self, coroutine: impl Future<Output = ()> + 'static) {
        let number = self.next_number;
        self.next_number += 1;
        self.coroutines.insert(number, Box::pin(coroutine));
        self.resume(number);
    }

    fn resume(&mut self, number: usize) {
        // It may have ended since it was woken.
        let Some(coroutine) = self.coroutines.get_mut(&number) else {
            return;
        };
        let ready = Arc::clone(&self.ready);
        let waker = Waker::from(Arc::new(Note { number, ready }));
        if coroutine
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
        {
            self.coroutines.remove(&number);
        }
    }
}

fn next_task(world: &World) -> Option<Task> {
    world.crawl.borrow_mut().next_task()
}
