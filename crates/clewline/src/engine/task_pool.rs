//! The task pool: the threads on which jobs are done.
//!
//! Owns the runtime of the tasks and the jobs that were handed out and not yet given to it. Jobs
//! are given in batches, because each gift from outside may wake a thread. Refuses to know what
//! a job is. Invariant: before the engine rests, or does anything but hand out, nothing waits
//! here.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use clewline_core::frontier::{FetchJob, JobId};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::Message;
use super::completions::CompletionQueue;
use super::runner::{JobResult, RenderJob, RequestExtras};
use super::task::{self, TaskContext};

/// Jobs that are given to the threads at once, at the most.
const BATCH: usize = 32;

/// Whether what waits should be sent out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    /// More can wait.
    HasRoom,
    /// A batch is complete.
    Full,
}

/// The threads and what they are about to get.
pub(super) struct TaskPool {
    /// None once the tasks were abandoned.
    runtime: Option<Runtime>,
    context: Arc<TaskContext>,
    waiting: Vec<(FetchJob, RequestExtras)>,
    /// How to end tasks, where that may be asked for.
    aborts: Option<TaskAborts>,
}

/// How to end the tasks in flight.
type TaskAborts = Arc<Mutex<HashMap<JobId, AbortHandle>>>;

impl TaskPool {
    /// Starts the threads; each delivers its results before it rests.
    pub(super) fn start(
        context: TaskContext,
        completions: &Arc<CompletionQueue>,
    ) -> io::Result<Self> {
        let completions = Arc::clone(completions);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("clewline-tasks")
            .on_thread_park(move || completions.deliver())
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
            context: Arc::new(context),
            waiting: Vec::with_capacity(BATCH),
            aborts: None,
        })
    }

    /// From here on single tasks can be ended.
    pub(super) fn allow_aborts(&mut self) {
        self.aborts = Some(TaskAborts::default());
    }

    /// Ends a task and closes its connection; it brings no result any more.
    pub(super) fn abort(&mut self, job: JobId) {
        self.waiting.retain(|(waiting, _)| waiting.id != job);
        if let Some(task) = self.forget(job) {
            task.abort();
        }
    }

    /// A task has ended.
    pub(super) fn forget(&self, job: JobId) -> Option<AbortHandle> {
        let aborts = self.aborts.as_ref()?.lock();
        aborts.unwrap_or_else(PoisonError::into_inner).remove(&job)
    }

    /// Takes a job on, for the next time something is sent out.
    pub(super) fn take_on(&mut self, job: FetchJob, extras: RequestExtras) -> Readiness {
        self.waiting.push((job, extras));
        if self.waiting.len() >= BATCH {
            Readiness::Full
        } else {
            Readiness::HasRoom
        }
    }

    /// Gives everything that waits to the threads.
    pub(super) fn send_out(&mut self) {
        let Some(runtime) = &self.runtime else {
            return self.waiting.clear();
        };
        let context = &self.context;
        if let Some(aborts) = &self.aborts {
            let mut aborts = aborts.lock().unwrap_or_else(PoisonError::into_inner);
            for (job, extras) in self.waiting.drain(..) {
                let id = job.id;
                let task = runtime.spawn(task::run(Arc::clone(context), job, extras));
                aborts.insert(id, task.abort_handle());
            }
            return;
        }
        match self.waiting.len() {
            0 => {}
            1 => {
                for (job, extras) in self.waiting.drain(..) {
                    runtime.spawn(task::run(Arc::clone(context), job, extras));
                }
            }
            _ => {
                let jobs = std::mem::replace(&mut self.waiting, Vec::with_capacity(BATCH));
                let context = Arc::clone(context);
                // Spawned from within, they go to the queue of a thread that is awake, and
                // from there to others that look for work.
                runtime.spawn(async move {
                    for (job, extras) in jobs {
                        tokio::spawn(task::run(Arc::clone(&context), job, extras));
                    }
                });
            }
        }
    }

    /// Gives a page to the browser.
    pub(super) fn render(&self, job: RenderJob, result: JobResult, engine: Sender<Message>) {
        if let Some(runtime) = &self.runtime {
            let context = Arc::clone(&self.context);
            runtime.spawn(task::render(context, job, Box::new(result), engine));
        }
    }

    /// Tasks that still run are not waited for: their URLs stay open.
    pub(super) fn abandon(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
