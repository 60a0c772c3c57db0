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
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
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
        let mut executor = Executor {
            coroutines: HashMap::new(),
            next_number: 0,
            woken: channel(),
        };
        executor.run(&world, options)?;
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
        let mut waiting = self.reactor.waiting.borrow_mut();
        if Instant::now() > self.deadline {
            waiting.remove(&self.token);
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
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
    checked: Cell<Instant>,
}

impl Reactor {
    fn new() -> io::Result<Self> {
        Ok(Self {
            poll: RefCell::new(mio::Poll::new()?),
            waiting: RefCell::default(),
            next_token: Cell::new(0),
            checked: Cell::new(Instant::now()),
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
        let mut waiting = self.waiting.borrow_mut();
        for event in &*events {
            if let Some((waker, _)) = waiting.remove(&event.token()) {
                waker.wake();
            }
        }
        let now = Instant::now();
        if now - self.checked.get() >= TICK {
            self.checked.set(now);
            for (waker, _) in waiting.values().filter(|(_, deadline)| *deadline < now) {
                waker.wake_by_ref();
            }
        }
        Ok(())
    }
}

/// What a future gets to say "resume me": it sends the coroutine's number to the executor.
struct Note {
    number: usize,
    woken: Sender<usize>,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        // Without an executor there is nobody left to be resumed.
        let _ = self.woken.send(self.number);
    }
}

/// Resumes coroutines that were woken, until all have ended.
struct Executor {
    coroutines: HashMap<usize, Pin<Box<dyn Future<Output = ()>>>>,
    next_number: usize,
    woken: (Sender<usize>, Receiver<usize>),
}

impl Executor {
    fn run(&mut self, world: &Rc<World>, options: &Options) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            while let Ok(number) = self.woken.1.try_recv() {
                self.resume(number);
            }
            while self.coroutines.len() < options.tasks()
                && let Some(task) = next_task(world)
            {
                let coroutine = visit(Rc::clone(world), task);
                if self.next_number == 0 {
                    let size = size_of_val(&coroutine);
                    options.debug(&format!("a coroutine takes {size} bytes, and its buffers"));
                }
                self.spawn(coroutine);
            }
            if world.crawl.borrow().is_finished() {
                return Ok(());
            }
            world.reactor.wait(&mut events)?;
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
        let woken = self.woken.0.clone();
        let waker = Waker::from(Arc::new(Note { number, woken }));
        let mut context = Context::from_waker(&waker);
        if coroutine.as_mut().poll(&mut context).is_ready() {
            self.coroutines.remove(&number);
        }
    }
}

fn next_task(world: &World) -> Option<Task> {
    world.crawl.borrow_mut().next_task()
}
