//! The ear of a running crawl, and the mouth of whoever speaks to one.
//!
//! Owns the threads that listen at the socket. Invariants: so many connections at once and no
//! more; each has a few seconds for its one request; nothing that a client does or does not do
//! reaches the engine but a whole, understood request.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::protocol::{
    ControlAnswer, ControlRequest, LONGEST_ANSWER, LONGEST_REQUEST, receive, send,
};
use super::{Control, ControlError, socket};
use crate::crawl::Crawl;
use crate::stored::{JobError, StoredJob};

/// Connections that are served at the same time.
const MOST_CONNECTIONS: usize = 8;

/// The time that a client has for its request, and for taking the answer.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// The time that a crawl has for its answer: longer than the engine's own patience.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Listens as long as it lives.
#[derive(Debug)]
pub(crate) struct Server {
    job: PathBuf,
    /// Closing this end wakes the thread.
    alive: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Begins to listen for a job whose lock is held.
    pub(crate) fn start(job: &Path, control: Control) -> io::Result<Self> {
        let listener = socket::listen(job)?;
        listener.set_nonblocking(true)?;
        let (alive, end) = UnixStream::pair()?;
        let thread = std::thread::Builder::new()
            .name("clewline-control".into())
            .spawn(move || listen(&listener, &end, &control))?;
        Ok(Self {
            job: job.into(),
            alive: Some(alive),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        // A socket that stays is dead and replaced by the next crawl.
        socket::remove(&self.job).ok();
    }
}

fn listen(listener: &UnixListener, end: &UnixStream, control: &Control) {
    let busy = Arc::new(AtomicUsize::new(0));
    loop {
        let mut watched = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(end, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        if !watched[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => admit(stream, control.clone(), &busy),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // No descriptor is free: the crawl needs them more, and has some again soon.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// One more connection, unless there are too many.
fn admit(mut stream: UnixStream, control: Control, busy: &Arc<AtomicUsize>) {
    if busy.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
        busy.fetch_sub(1, Ordering::AcqRel);
        let refusal = ControlAnswer::Refused("too many ask at the same time; try again".into());
        stream
            .set_write_timeout(Some(Duration::from_millis(100)))
            .ok();
        send(&mut stream, &refusal).ok();
        return;
    }
    let done = Arc::clone(busy);
    let spawned = std::thread::Builder::new()
        .name("clewline-control".into())
        .spawn(move || {
            // A client that went away or spoke nonsense needs no answer.
            serve(&mut stream, &control).ok();
            done.fetch_sub(1, Ordering::AcqRel);
        });
    if spawned.is_err() {
        busy.fetch_sub(1, Ordering::AcqRel);
    }
}

fn serve(stream: &mut UnixStream, control: &Control) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    let request = match receive(stream, LONGEST_REQUEST, REQUEST_TIME) {
        Ok(request) => request,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let refusal = ControlAnswer::Refused(format!("the request is not understood: {error}"));
            return send(stream, &refusal);
        }
        Err(error) => return Err(error),
    };
    send(stream, &answer(request, control))
}

fn answer(request: ControlRequest, control: &Control) -> ControlAnswer {
    let answered = match request {
        ControlRequest::Status => control
            .status()
            .map(|status| ControlAnswer::Status(Box::new(status))),
        ControlRequest::Look(url) => control
            .look(url)
            .map(|sight| ControlAnswer::Sight(Box::new(sight))),
        ControlRequest::Hosts(question) => control
            .hosts(*question)
            .map(|page| ControlAnswer::Hosts(Box::new(page))),
        ControlRequest::Tally => control
            .tally()
            .map(|tally| ControlAnswer::Tally(Box::new(tally))),
        ControlRequest::Change(change) => control.change(change).map(|()| ControlAnswer::Done),
        ControlRequest::Preview(pattern) => control
            .preview_exclusion(&pattern)
            .map(|preview| ControlAnswer::Preview(Box::new(preview))),
        ControlRequest::Exclude(pattern) => control.exclude(&pattern).map(|()| ControlAnswer::Done),
        ControlRequest::Add(root) => control.add(&root).map(|_| ControlAnswer::Done),
        ControlRequest::Pause => {
            control.pause();
            Ok(ControlAnswer::Done)
        }
        ControlRequest::Continue => {
            control.go_on();
            Ok(ControlAnswer::Done)
        }
        ControlRequest::Stop => {
            control.stop(Crawl::GRACE);
            Ok(ControlAnswer::Done)
        }
    };
    answered.unwrap_or_else(|error| match error {
        ControlError::Ended => ControlAnswer::Ending,
        error => ControlAnswer::Refused(error.to_string()),
    })
}

/// Asks the crawl that runs in a folder.
pub(crate) fn ask(job: &StoredJob, request: &ControlRequest) -> Result<ControlAnswer, JobError> {
    let Some(owner) = job.owner()? else {
        return Err(JobError::NotRunning(job.path.clone()));
    };
    let asked = socket::connect(&job.path).and_then(|mut stream| {
        stream.set_write_timeout(Some(REQUEST_TIME))?;
        send(&mut stream, request)?;
        receive(&mut stream, LONGEST_ANSWER, ANSWER_TIME)
    });
    match asked {
        Ok(ControlAnswer::Refused(why)) => Err(JobError::Refused(why)),
        Ok(ControlAnswer::Ending) => Err(JobError::Ending(job.path.clone())),
        Ok(answer) => Ok(answer),
        // It may have ended between the two questions.
        Err(_) if job.owner()?.is_none() => Err(JobError::NotRunning(job.path.clone())),
        Err(source) => Err(JobError::Silent {
            path: job.path.clone(),
            owner,
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::control::Asked;
    use crate::engine::Message;
    use crate::folder::STATE;

    fn said(job: &Path, line: &[u8]) -> io::Result<ControlAnswer> {
        let mut stream = socket::connect(job)?;
        stream.write_all(line)?;
        receive(&mut stream, LONGEST_ANSWER, REQUEST_TIME)
    }

    #[test]
    fn silent_clients_hold_nobody_up_and_nonsense_reaches_nobody() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join(STATE)).unwrap();
        let (engine, inbox) = channel();
        let server = Server::start(place.path(), Control::new(engine)).unwrap();
        let connect = |_| socket::connect(place.path()).unwrap();
        let silent: Vec<UnixStream> = (0..MOST_CONNECTIONS).map(connect).collect();
        let refused = said(place.path(), b"\"pause\"\n").unwrap();
        assert!(matches!(refused, ControlAnswer::Refused(why) if why.contains("too many")));
        drop(silent);
        // Their threads end in a moment.
        let done = (0..10_000)
            .filter_map(|_| said(place.path(), b"\"pause\"\n").ok())
            .find(|answer| *answer == ControlAnswer::Done);
        assert_eq!(done, Some(ControlAnswer::Done));
        assert!(matches!(inbox.recv(), Ok(Message::Asked(Asked::Pause))));
        let nonsense = said(place.path(), b"{\"change\":{\"rate\":\"x\"}}\n").unwrap();
        assert!(matches!(nonsense, ControlAnswer::Refused(why) if why.contains("not understood")));
        assert!(inbox.try_recv().is_err());
        // An engine that is gone is said to be.
        drop(inbox);
        assert_eq!(
            said(place.path(), b"\"status\"\n").unwrap(),
            ControlAnswer::Ending
        );
        drop(server);
        assert!(socket::connect(place.path()).is_err());
    }
}
