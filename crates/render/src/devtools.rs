//! Commands to a browser, and what it answers and tells.
//!
//! Owns the numbers of commands, who waits for which answer, and the threads at the pipe. It refuses to
//! know what commands mean. Invariants: no command is waited for without a limit in time; what waits for the browser
//! or for its reader has a bound; when the browser ends, everybody who waits learns it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc as blocking};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::frames::MessageBuffer;
use crate::message::{BrowserEvent, BrowserMessage, CommandMessage};
use crate::rendering::RenderError;

/// The longest that an answer to a command may take.
pub(crate) const LONGEST_COMMAND: Duration = Duration::from_secs(20);

/// Events that wait for whoever reads them; the browser waits when they are so many.
const MOST_EVENTS: usize = 1024;

/// Commands that wait for a browser to read them; one that reads none is told nothing more.
const MOST_COMMANDS: usize = 16 * 1024;

/// Characters that are kept of what a browser says about a command that failed.
const LONGEST_REASON: usize = 200;

/// How often a browser that starts is looked at.
const GREETING_INTERVAL: Duration = Duration::from_millis(5);

const READ_SIZE: usize = 64 * 1024;

/// Whatever is opened is stopped until it is told where to ask.
pub(crate) fn attach_to_all() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}

/// A connection to one browser.
#[derive(Debug)]
pub(crate) struct DevTools {
    outbox: blocking::SyncSender<Vec<u8>>,
    waiting: Arc<Answers>,
    last: AtomicU64,
}

type Answers = Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>;

impl DevTools {
    /// Starts the threads that read and write; they end with the browser.
    pub(crate) fn connect(
        to: impl Write + Send + 'static,
        from: impl Read + Send + 'static,
    ) -> std::io::Result<(Self, mpsc::Receiver<BrowserEvent>)> {
        let (outbox, messages) = blocking::sync_channel(MOST_COMMANDS);
        let (events, inbox) = mpsc::channel(MOST_EVENTS);
        let waiting: Arc<Answers> = Arc::new(Mutex::new(Some(HashMap::new())));
        let answers = Arc::clone(&waiting);
        thread::Builder::new()
            .name("browser-write".into())
            .spawn(move || write(to, &messages))?;
        thread::Builder::new()
            .name("browser-read".into())
            .spawn(move || {
                read(from, &answers, &events);
                // Whoever still waits learns that nothing follows.
                *answers.lock().unwrap_or_else(PoisonError::into_inner) = None;
            })?;
        let devtools = Self {
            outbox,
            waiting,
            last: AtomicU64::new(0),
        };
        Ok((devtools, inbox))
    }

    /// Has the browser tell of whatever it opens, and waits on this thread until it agrees.
    pub(crate) fn greet(&self) -> bool {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, mut answer) = oneshot::channel();
        match &mut *self.answers() {
            Some(waiting) => waiting.insert(id, sender),
            None => return false,
        };
        self.post(id, None, "Target.setAutoAttach", &attach_to_all());
        let end = Instant::now() + LONGEST_COMMAND;
        while Instant::now() < end {
            match answer.try_recv() {
                Ok(answer) => return answer.get("error").is_none(),
                Err(oneshot::error::TryRecvError::Empty) => thread::sleep(GREETING_INTERVAL),
                Err(oneshot::error::TryRecvError::Closed) => return false,
            }
        }
        false
    }

    /// Sends a command whose answer nobody needs.
    pub(crate) fn send(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.post(id, session, method, params);
    }

    /// Sends a command whose answer nobody needs, with these bytes as its parameter `body`.
    pub(crate) fn send_with_body(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
        body: &[u8],
    ) {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let message = CommandMessage {
            id,
            session,
            method,
            params,
        };
        self.write(message.with_body(body));
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn command(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, RenderError> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        match &mut *self.answers() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(RenderError::Crashed),
        };
        self.post(id, session, method, &params);
        let answer = tokio::time::timeout(LONGEST_COMMAND, answer).await;
        if let Some(waiting) = &mut *self.answers() {
            waiting.remove(&id);
        }
        match answer {
            Ok(Ok(answer)) => result(method, answer),
            Ok(Err(_)) => Err(RenderError::Crashed),
            Err(_) => Err(RenderError::Protocol(format!("{method} is not answered"))),
        }
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Value>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, id: u64, session: Option<&str>, method: &str, params: &Value) {
        let message = CommandMessage {
            id,
            session,
            method,
            params,
        };
        self.write(message.written());
    }

    fn write(&self, mut message: String) {
        message.push('\0');
        // A browser that ended is found out by whoever reads, and one that does not read by who waits.
        let _ = self.outbox.try_send(message.into_bytes());
    }
}

pub(crate) fn result(method: &str, mut answer: Value) -> Result<Value, RenderError> {
    match answer.get("error") {
        Some(error) => {
            let reason = error["message"].as_str().unwrap_or("no reason");
            let reason: String = reason.chars().take(LONGEST_REASON).collect();
            Err(RenderError::Protocol(format!("{method}: {reason}")))
        }
        None => Ok(answer["result"].take()),
    }
}

fn write(mut to: impl Write, messages: &blocking::Receiver<Vec<u8>>) {
    while let Ok(message) = messages.recv() {
        if to.write_all(&message).is_err() {
            return;
        }
    }
}

fn read(mut from: impl Read, answers: &Answers, events: &mpsc::Sender<BrowserEvent>) {
    let mut buffer = MessageBuffer::default();
    let mut bytes = vec![0; READ_SIZE];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes) else {
            return;
        };
        let Ok(messages) = buffer.take(&bytes[..count]) else {
            return;
        };
        for message in messages {
            // What is no message is none of those that anybody waits for.
            let Some(message) = BrowserMessage::decode(message) else {
                continue;
            };
            if !deliver(message, answers, events) {
                return;
            }
        }
    }
}

/// Hands a message to whoever waits for it; false if nobody reads events any more.
fn deliver(
    message: BrowserMessage,
    answers: &Answers,
    events: &mpsc::Sender<BrowserEvent>,
) -> bool {
    let (id, answer) = match message {
        BrowserMessage::Answer(id, answer) => (id, answer),
        BrowserMessage::Event(event) => return events.blocking_send(event).is_ok(),
    };
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(waiting) = answers.as_mut().and_then(|answers| answers.remove(&id)) {
        // Whoever gave up waiting does not read it.
        let _ = waiting.send(answer);
    }
    true
}
