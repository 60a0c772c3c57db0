//! Rung 5: a queue, workers, and a runtime that others wrote.
//!
//! The executor and the reactor of the rung below exist in better: tokio. What is left to write
//! is the crawler. N workers take URLs from a queue and put what they find back into it. The
//! crawl is over when every URL that was put in has been done (`join`); then the workers, who
//! wait for more, are cancelled. Since a worker holds its connection, it can use it again.
//!
//! Ctrl-C ends the crawl early and the report is printed all the same; a second Ctrl-C skips the
//! list and leaves the summary.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ladder::{
    Addresses, Answer, Crawl, Framing, MAX_ANSWER, Options, PORTION, Report, Task, conclude,
    prepare, request_alive, too_large,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::signal::ctrl_c;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;
use url::Url;

/// The exit code of a program that was interrupted, as shells have it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let Some(options) = prepare(100) else {
        return ExitCode::SUCCESS;
    };
    // One thread is enough: it never waits for a page, only for the next event.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let ended = runtime.and_then(|runtime| runtime.block_on(crawl_all(&options)));
    ended.unwrap_or_else(|error| {
        options.error(&error.to_string());
        ExitCode::from(2)
    })
}

async fn crawl_all(options: &Options) -> io::Result<ExitCode> {
    let crawler = Arc::new(Crawler {
        queue: Queue::new(Crawl::new(options).map_err(io::Error::other)?),
        addresses: Arc::new(Addresses::new(options.connect_to)),
        options: options.clone(),
    });
    let mut workers = JoinSet::new();
    for _ in 0..options.tasks() {
        workers.spawn(Arc::clone(&crawler).work());
    }
    let code = tokio::select! {
        () = crawler.queue.join() => ExitCode::SUCCESS,
        _ = ctrl_c() => {
            eprintln!("Interrupted");
            ExitCode::from(INTERRUPTED)
        }
    };
    // Cancelling is dropping: a future that is not polled again has simply ended where it was.
    workers.shutdown().await;
    let crawler = Arc::into_inner(crawler).expect("the workers have ended");
    report(crawler.queue.into_crawl(), options.clone()).await?;
    Ok(code)
}

/// Prints the report, and hears Ctrl-C meanwhile.
async fn report(crawl: Crawl, options: Options) -> io::Result<()> {
    let report = Report::new(options.tasks(), crawl.into_parts());
    let hurry = Arc::new(AtomicBool::new(false));
    let hurried = Arc::clone(&hurry);
    let mut printing = spawn_blocking(move || conclude(&report, &options, &hurried));
    loop {
        tokio::select! {
            printed = &mut printing => return printed.map_err(io::Error::other)?,
            _ = ctrl_c() => {
                eprintln!("Interrupted");
                hurry.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// URLs that wait for a worker. It knows how many are under way, so that one can wait for the
/// moment when all are done: an empty queue alone does not mean that.
struct Queue {
    crawl: Mutex<Crawl>,
    /// As many permits as there are URLs to take.
    available: Semaphore,
    finished: Notify,
}

impl Queue {
    fn new(crawl: Crawl) -> Self {
        Self {
            available: Semaphore::new(crawl.todo()),
            finished: Notify::new(),
            crawl: Mutex::new(crawl),
        }
    }

    /// The next URL; waits until there is one.
    async fn get(&self) -> Option<Task> {
        self.available.acquire().await.ok()?.forget();
        self.crawl().next_task()
    }

    /// Puts back what a URL brought, and counts it as done.
    fn task_done(&self, task: Task, result: io::Result<Answer>) {
        let mut crawl = self.crawl();
        self.available.add_permits(crawl.settle(task, result));
        if crawl.is_finished() {
            self.finished.notify_one();
        }
    }

    /// Waits until everything that was ever put in is done.
    async fn join(&self) {
        self.finished.notified().await;
    }

    fn crawl(&self) -> MutexGuard<'_, Crawl> {
        self.crawl.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_crawl(self) -> Crawl {
        self.crawl
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

struct Crawler {
    queue: Queue,
    addresses: Arc<Addresses>,
    options: Options,
}

/// An open connection, and where it leads.
type Kept = Option<(SocketAddr, TcpStream)>;

impl Crawler {
    /// The life of a worker. It has no end of its own; it is cancelled.
    async fn work(self: Arc<Self>) {
        let mut kept = None;
        while let Some(task) = self.queue.get().await {
            let fetch = self.fetch(&task.url, &mut kept);
            let result = timeout(self.options.timeout, fetch).await;
            let result = result.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            self.queue.task_done(task, result);
        }
    }

    /// Fetches a page, over the connection of the page before if it is still good.
    async fn fetch(&self, url: &Url, kept: &mut Kept) -> io::Result<Answer> {
        let address = self.address(url).await?;
        let usable =
            |(leads_to, stream): &(SocketAddr, TcpStream)| *leads_to == address && is_open(stream);
        let stream = match kept.take().filter(usable) {
            Some((_, stream)) => stream,
            None => TcpStream::connect(address).await?,
        };
        let (answer, stream) = exchange(stream, url).await?;
        *kept = stream.map(|stream| (address, stream));
        Ok(answer)
    }

    /// Where to connect. The system's resolver blocks, so that goes to a thread: rung 1 is never
    /// far away.
    async fn address(&self, url: &Url) -> io::Result<SocketAddr> {
        if let Some(address) = self.addresses.known(url)? {
            return Ok(address);
        }
        let (addresses, url) = (Arc::clone(&self.addresses), url.clone());
        spawn_blocking(move || addresses.of(&url))
            .await
            .map_err(io::Error::other)?
    }
}

/// Whether the server has neither closed a connection nor said anything unasked.
fn is_open(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0]);
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Sends a request and reads its answer; gives the connection back if it can be used again.
async fn exchange(mut stream: TcpStream, url: &Url) -> io::Result<(Answer, Option<TcpStream>)> {
    stream.write_all(&request_alive(url)).await?;
    let (mut bytes, mut framing) = (Vec::new(), Framing::default());
    let mut is_whole = false;
    while !is_whole && read_some(&stream, &mut bytes).await? > 0 {
        is_whole = framing.is_whole(&bytes)?;
        if bytes.len() > MAX_ANSWER {
            return Err(too_large());
        }
    }
    let answer = Answer::parse(&bytes)?;
    let stays = is_whole && answer.keeps_alive();
    Ok((answer, stays.then_some(stream)))
}

/// Reads what comes next; 0 bytes are the end. Room is made when there is something to read, so
/// that those who wait have no buffer.
async fn read_some(stream: &TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        stream.readable().await?;
        bytes.reserve(PORTION);
        match stream.try_read_buf(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
}
