//! What must hold for whatever a browser says while it renders a page.
//!
//! Owns the promises of this module for foreign messages: bounds hold, and only what may be fetched is asked
//! for. It refuses to know who makes the messages.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use serde_json::Value;
use tokio::sync::watch;

use super::PageProgress;
use super::events::{MOST_SESSIONS, PageEvents};
use super::notes::{LONGEST_METHOD, LONGEST_URL};
use super::steps::{LONGEST_TITLE, PageReading};
use crate::devtools::{DevTools, result};
use crate::frames::MessageBuffer;
use crate::message::BrowserMessage;
use crate::options::{BrowserOptions, RenderBounds};
use crate::part::{PartAnswer, PartFetcher, PartRequest};
use crate::rendering::RenderInput;

/// The bounds are small, so that few bytes reach them.
const BOUNDS: RenderBounds = RenderBounds {
    dom: 40,
    parts: 3,
    part_bytes: 64,
    workers: 2,
    noted: 3,
    ..RenderBounds::STANDARD
};

/// What every part is.
const BODY: &[u8] = b"0123456789";

/// Counts what is asked for, and answers at once.
#[derive(Default)]
struct CountingFetcher(AtomicU32);

impl PartFetcher for CountingFetcher {
    fn fetch(&self, request: PartRequest) -> BoxFuture<'_, PartAnswer> {
        let url = &request.url;
        assert!(url.starts_with("http://") || url.starts_with("https://"));
        assert!(url.len() <= LONGEST_URL);
        self.0.fetch_add(1, Ordering::Relaxed);
        ready(PartAnswer::Response {
            status: 200,
            headers: vec![("Location".to_owned(), url.as_bytes().to_vec())],
            body: Bytes::from_static(BODY),
        })
        .boxed()
    }
}

/// Hands on what a browser is told.
struct ToldPipe(Sender<Vec<u8>>);

impl Write for ToldPipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Whoever checks it may have ended.
        let _ = self.0.send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a browser is told is a command each, whatever its page named; and an answer has no more fields than
/// the server sent.
fn check_told(told: &[u8]) {
    let mut messages: Vec<&[u8]> = told.split(|byte| *byte == 0).collect();
    assert_eq!(messages.pop(), Some(&[][..]), "a command has no end");
    for message in messages {
        let message: Value = serde_json::from_slice(message).expect("a command is JSON");
        assert!(message["id"].is_u64() && message["params"].is_object());
        if message["method"] != "Fetch.fulfillRequest" {
            continue;
        }
        let bytes = |name: &str| STANDARD.decode(message["params"][name].as_str().unwrap_or("?"));
        let (fields, body) = (bytes("binaryResponseHeaders"), bytes("body"));
        assert!(body.is_ok_and(|body| body.len() <= BODY.len()));
        let fields = fields.expect("fields are base64");
        for field in fields
            .split(|byte| *byte == 0)
            .filter(|field| !field.is_empty())
        {
            let has_name = field.windows(2).any(|pair| pair == b": ");
            assert!(has_name && !field.iter().any(|byte| matches!(byte, b'\r' | b'\n')));
        }
    }
}

/// Reads the bytes from a pipe, and does about them what a rendering does. Unlike a rendering, it goes on
/// after a message that ends one.
pub(crate) fn events(data: &[u8]) {
    let pipe = io::Cursor::new(data.to_vec());
    let (sender, written) = channel();
    let (devtools, mut told) =
        DevTools::connect(ToldPipe(sender), pipe).expect("the system has threads");
    let options = BrowserOptions {
        bounds: BOUNDS,
        ..BrowserOptions::default()
    };
    let page = RenderInput {
        url: "http://a.test/".to_owned(),
        status: 200,
        headers: Vec::new(),
        body: Bytes::new(),
    };
    let asked = Arc::new(CountingFetcher::default());
    let (progress, seen) = watch::channel(PageProgress::default());
    let about = ("c", progress, asked.clone() as Arc<dyn PartFetcher>);
    let mut events = PageEvents::new(&devtools, &options, &page, about);
    let mut count = 0;
    while let Some(event) = told.blocking_recv() {
        count += 1;
        // A rendering would end here; its bounds hold all the same.
        let _ = events.take(&event);
        assert!(seen.borrow().in_flight <= BOUNDS.parts as usize);
        assert!(events.sessions() <= MOST_SESSIONS);
        if count % 2 == 0 {
            while let Some(Some((request, answer))) = events.answers().now_or_never() {
                events.give(&request, answer);
            }
        }
    }
    let decoded = decoded(data);
    let is_event = |message: &&BrowserMessage| matches!(message, BrowserMessage::Event(_));
    assert_eq!(count, decoded.iter().filter(is_event).count());
    assert!(asked.0.load(Ordering::Relaxed) <= BOUNDS.parts);
    let notes = events.into_notes();
    drop(devtools);
    let written: Vec<u8> = written.into_iter().flatten().collect();
    check_told(&written);
    assert!(
        notes
            .requested
            .iter()
            .all(|request| request.method.len() <= LONGEST_METHOD)
    );
    let requested = notes.requested.iter().map(|request| &request.url);
    assert!(notes.requested.len() <= BOUNDS.noted && notes.navigated.len() <= BOUNDS.noted);
    assert!(
        requested
            .chain(&notes.navigated)
            .all(|url| url.len() <= LONGEST_URL)
    );
}

/// Takes whatever answers a command for the answer of the script that reads the page.
pub(crate) fn answers(data: &[u8]) {
    for message in decoded(data) {
        let BrowserMessage::Answer(_, answer) = message else {
            continue;
        };
        let Ok(mut answer) = result("Runtime.evaluate", answer) else {
            continue;
        };
        let Ok(read) = PageReading::from_answer(answer["result"]["value"].take(), &BOUNDS) else {
            continue;
        };
        let title = read.title.unwrap_or_default();
        assert!(read.html.len() <= BOUNDS.dom && title.len() <= LONGEST_TITLE);
        assert!(read.passing_links.len() <= BOUNDS.noted);
        assert!(read.screenshot.is_none() && read.thumbnail.is_none());
    }
}

/// The messages, as they are decoded when they arrive in pieces.
fn decoded(data: &[u8]) -> Vec<BrowserMessage> {
    let mut buffer = MessageBuffer::default();
    let pieces = data.chunks(7).filter_map(|piece| buffer.take(piece).ok());
    let messages = pieces.flatten();
    messages.filter_map(BrowserMessage::decode).collect()
}
