//! The door of a rendering to the network.
//!
//! Owns the way of a request from the browser to the engine and of its answer back. It refuses to know
//! how the answer comes about. Invariant: every request is answered, at the latest when the engine
//! forgets the rendering.

use std::sync::mpsc::Sender;

use bytes::Bytes;
use clewline_core::frontier::JobId;
use clewline_render::{PartAnswer, PartFetcher, PartRefusal, PartRequest};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::super::Message;

/// A request of a page that is being rendered.
#[derive(Debug)]
pub(crate) struct PartCall {
    pub(super) page: JobId,
    pub(super) request: PartRequest,
    pub(super) reply: oneshot::Sender<PartAnswer>,
}

/// The door of one rendering.
#[derive(Debug)]
pub(super) struct PartDoor {
    pub(super) page: JobId,
    pub(super) engine: Sender<Message>,
}

impl PartFetcher for PartDoor {
    fn fetch(&self, request: PartRequest) -> BoxFuture<'_, PartAnswer> {
        let (reply, answer) = oneshot::channel();
        let is_head = request.is_head;
        let call = PartCall {
            page: self.page,
            request,
            reply,
        };
        let sent = self.engine.send(Message::Part(call));
        async move {
            let answer = match sent {
                Ok(()) => answer.await.ok(),
                Err(_) => None,
            };
            let answer = answer.unwrap_or(PartAnswer::Refused(PartRefusal::Stopping));
            if is_head {
                without_body(answer)
            } else {
                answer
            }
        }
        .boxed()
    }
}

/// The answer to HEAD. One that is kept of a GET serves as well (RFC 9111, section 4).
fn without_body(mut answer: PartAnswer) -> PartAnswer {
    if let PartAnswer::Response { body, .. } = &mut answer {
        *body = Bytes::new();
    }
    answer
}
