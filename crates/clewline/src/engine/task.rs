//! A job on a thread of the task pool.
//!
//! Owns that a job ends with exactly one result for the engine, whatever happens in it: a panic,
//! too, is an end. What is done is the runner's.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use clewline_core::frontier::{Ending, Failure, FetchJob};
use clewline_core::outcome::FailureClass;
use futures_util::FutureExt;

use super::Message;
use super::completions::CompletionQueue;
use super::runner::{JobResult, JobRunner, RenderJob, RequestExtras};
use crate::record::RenderedPage;

/// What all tasks of a crawl share.
pub(super) struct TaskContext {
    pub(super) runner: JobRunner,
    pub(super) completions: Arc<CompletionQueue>,
}

/// Does a job and sends its end to the engine.
pub(super) fn run(
    context: Arc<TaskContext>,
    job: FetchJob,
    extras: RequestExtras,
) -> impl Future<Output = ()> + Send {
    let id = job.id;
    let input = context.runner.prepare(job, extras);
    async move {
        let result = AssertUnwindSafe(context.runner.run(input)).catch_unwind();
        let result = result.await;
        let result =
            result.unwrap_or_else(|panic| JobResult::new(id, Ending::Failed(internal(&*panic))));
        context.completions.leave(result, Instant::now());
    }
}

/// Renders a page and sends its result, completed or as it was, to the engine.
pub(super) async fn render(
    context: Arc<TaskContext>,
    job: RenderJob,
    mut result: Box<JobResult>,
    engine: Sender<Message>,
) {
    let rendered = context.runner.render(job, &mut result);
    let gain = match AssertUnwindSafe(rendered).catch_unwind().await {
        Ok(gain) => gain,
        Err(panic) => {
            result.rendered = Some(RenderedPage {
                error: Some(internal(&*panic).message.into()),
                ..RenderedPage::default()
            });
            None
        }
    };
    // The engine is gone only when the whole crawl is being dropped.
    engine.send(Message::Rendered(result, gain)).ok();
}

fn internal(panic: &(dyn std::any::Any + Send)) -> Failure {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("a defect of the crawler: {}", words.unwrap_or("panic"));
    Failure {
        class: FailureClass::Internal,
        message: message.into(),
        excuse: None,
        connected: false,
        wire: 0,
        sent_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room<F: Future>(_: impl Fn(Arc<TaskContext>, FetchJob, RequestExtras) -> F) -> usize {
        size_of::<F>()
    }

    /// Tens of thousands wait for their first byte at a time: what is needed only after it
    /// belongs into a box.
    #[test]
    fn a_task_that_waits_is_small() {
        let room = room(run);
        assert!(room <= 640, "a task takes {room} bytes");
    }
}
