//! Rung 2: non-blocking sockets, asked again and again.
//!
//! A non-blocking socket never puts anybody to sleep. What cannot be done at once fails with
//! `WouldBlock`, and the program is free to look after another socket. So one thread can wait
//! for many pages. What is missing is a way to learn *which* socket has news: this program asks
//! all of them, all the time. It is as fast as the rungs above it, and keeps a whole processor
//! busy with hearing "no".

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Instant;

use ladder::{
    Addresses, Answer, Crawl, MAX_ANSWER, Options, PORTION, Task, climb, request, too_large,
};
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};

fn main() -> ExitCode {
    climb(100, |crawl, options| Ok(crawl_all(crawl, options)))
}

fn crawl_all(mut crawl: Crawl, options: &Options) -> Crawl {
    let addresses = Addresses::new(options.connect_to);
    let mut fetches: Vec<Fetch> = Vec::new();
    let mut questions: u64 = 0;
    loop {
        while fetches.len() < options.tasks()
            && let Some(task) = crawl.next_task()
        {
            let deadline = Instant::now() + options.timeout;
            match addresses.of(&task.url).and_then(connect) {
                Ok(stream) => fetches.push(Fetch::new(task, stream, deadline)),
                Err(error) => _ = crawl.settle(task, Err(error)),
            }
        }
        if fetches.is_empty() && crawl.is_finished() {
            options.debug(&format!("asked {questions} times whether there is news"));
            return crawl;
        }
        // Here goes the processor: round and round, until one of them has something.
        let mut index = 0;
        while index < fetches.len() {
            questions += 1;
            match fetches[index].step() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => index += 1,
                result => _ = crawl.settle(fetches.swap_remove(index).task, result),
            }
        }
    }
}

/// Begins to connect. A blocking socket would return when the connection stands; this one
/// returns at once and says "in progress".
fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// A page under way. What a thread would keep on its stack stands here: how far we are.
struct Fetch {
    task: Task,
    stream: TcpStream,
    deadline: Instant,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Fetch {
    fn new(task: Task, stream: TcpStream, deadline: Instant) -> Self {
        Self {
            request: request(&task.url),
            task,
            stream,
            deadline,
            answer: Vec::new(),
        }
    }

    /// Does what can be done now. `WouldBlock` means: ask me again.
    fn step(&mut self) -> io::Result<Answer> {
        if Instant::now() > self.deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        while !self.request.is_empty() {
            // There is no question "are you connected?": one tries to write.
            let sent = self.stream.write(&self.request).map_err(not_yet)?;
            self.request.drain(..sent);
        }
        let mut portion = [0; PORTION];
        loop {
            let count = self.stream.read(&mut portion)?;
            if count == 0 {
                return Answer::parse(&self.answer);
            }
            self.answer.extend_from_slice(&portion[..count]);
            if self.answer.len() > MAX_ANSWER {
                return Err(too_large());
            }
        }
    }
}

/// Some systems say "not connected" while the connection is in progress.
fn not_yet(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::NotConnected => ErrorKind::WouldBlock.into(),
        _ => error,
    }
}
