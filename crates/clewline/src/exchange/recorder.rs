//! The way from a fetcher to an exchange.
//!
//! Owns what is noted while bytes come. A recording is a place that a task lays out and a
//! fetcher may fill; a recorder is at work on it. Invariant: an exchange arrives in its place
//! if and only if the head of an answer came, however the reading ended.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use clewline_core::url::CrawlUrl;
use clewline_warc::Hasher;
use clewline_warc::http::HttpHead;

use super::{Exchange, Secrets, Spool, Stored, Truncation};
use crate::headers::Headers;

/// A place for the bytes of one exchange.
#[derive(Debug, Clone)]
pub struct Recording {
    spool: Arc<Spool>,
    place: Arc<Mutex<Option<Exchange>>>,
}

impl Recording {
    /// An empty place.
    pub fn new(spool: Arc<Spool>) -> Self {
        Self {
            spool,
            place: Arc::default(),
        }
    }

    /// What becomes of secrets in the request.
    pub fn secrets(&self) -> Secrets {
        self.spool.secrets()
    }

    /// Begins to record: the request is about to be sent.
    pub fn begin(&self, url: &CrawlUrl, address: Option<IpAddr>) -> Recorder {
        Recorder {
            draft: Some(Box::new(Draft {
                exchange: Exchange {
                    url: url.clone(),
                    address,
                    started_at: SystemTime::now(),
                    request: Vec::new(),
                    status: 0,
                    media_type: None,
                    codings: String::new(),
                    response: Stored::new(Arc::clone(&self.spool)),
                    head_length: 0,
                    block_digest: self.spool.nothing(),
                    payload_digest: self.spool.nothing(),
                    payload_length: 0,
                    truncation: Some(Truncation::Unspecified),
                    protocols: &[],
                    unmodified: None,
                },
                block: Hasher::default(),
                payload: Hasher::default(),
                full: false,
            })),
            place: Arc::clone(&self.place),
        }
    }

    /// What was recorded, once the fetcher has let go of the answer.
    pub fn take(&self) -> Option<Exchange> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}

/// An exchange that is being recorded. It is complete when it is dropped.
pub struct Recorder {
    /// In a box, because a request waits for its answer with or without one.
    draft: Option<Box<Draft>>,
    place: Arc<Mutex<Option<Exchange>>>,
}

struct Draft {
    exchange: Exchange,
    block: Hasher,
    payload: Hasher,
    /// The spool took no more: what is there stays, the rest is missing.
    full: bool,
}

impl Recorder {
    /// The request as it may be shown.
    pub fn request(&mut self, bytes: Vec<u8>) {
        if let Some(draft) = &mut self.draft {
            draft.exchange.request = bytes;
        }
    }

    /// The bytes were written anew, from what these protocols brought.
    pub fn protocols(&mut self, protocols: &'static [&'static str]) {
        if let Some(draft) = &mut self.draft {
            draft.exchange.protocols = protocols;
        }
    }

    /// The head of the answer came.
    pub fn head(&mut self, raw: &[u8], status: u16, headers: &Headers) {
        let Some(draft) = &mut self.draft else { return };
        let announced = headers
            .text("content-length")
            .and_then(|text| text.trim().parse().ok());
        let room = raw.len().saturating_add(announced.unwrap_or(0));
        let exchange = &mut draft.exchange;
        exchange.response.reserve(room);
        exchange.status = status;
        exchange.codings = HttpHead::parse(raw).codings();
        exchange.media_type = headers.media_type();
        if draft.push(raw) {
            draft.block.update(raw);
        }
        draft.exchange.head_length = draft.exchange.response.len();
    }

    /// Bytes of the body came, and this is the payload among them.
    pub fn body(&mut self, raw: &[u8], payload: &[u8]) {
        if let Some(draft) = &mut self.draft
            && draft.push(raw)
        {
            if std::ptr::eq(raw, payload) {
                draft.block.update_both(&mut draft.payload, raw);
            } else {
                draft.block.update(raw);
                draft.payload.update(payload);
            }
            draft.exchange.payload_length += payload.len() as u64;
        }
    }

    /// The answer came whole.
    pub fn whole(&mut self) {
        if let Some(draft) = &mut self.draft
            && !draft.full
        {
            draft.exchange.truncation = None;
        }
    }

    /// The answer is not the server's: nothing of it is kept.
    pub fn discard(mut self) {
        self.draft = None;
    }

    /// The end of the answer is missing.
    pub fn cut(&mut self, reason: Truncation) {
        if let Some(draft) = &mut self.draft {
            draft.exchange.truncation = Some(reason);
        }
    }
}

impl Draft {
    /// Keeps bytes. A disk without room costs this exchange its end, not the page its links.
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.full = self.full || self.exchange.response.push(bytes).is_err();
        !self.full
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let Some(draft) = self
            .draft
            .take()
            .filter(|draft| draft.exchange.head_length > 0)
        else {
            return;
        };
        let Draft {
            mut exchange,
            block,
            payload,
            ..
        } = *draft;
        exchange.block_digest = block.finish();
        exchange.payload_digest = payload.finish();
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(exchange);
    }
}
