//! The crew: the threads on which jobs are done.
//!
//! Owns the runtime of the tasks and the jobs that were handed out and not yet given to it. Jobs
//! are given in batches, because each gift from outside may wake a thread. Refuses to know what
//! a job is. Invariant: before the engine rests, or does anything but hand out, nothing waits
//! here.

use std::io;
use std::sync::Arc;

use clewline_core::frontier::Job;
use tokio::runtime::Runtime;

use super::post::Post;
use super::task::{self, Passport, Workshop};

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
pub(super) struct Crew {
    /// None once the tasks were abandoned.
    runtime: Option<Runtime>,
    workshop: Arc<Workshop>,
    waiting: Vec<(Job, Passport)>,
}

impl Crew {
    /// Starts the threads; each delivers the post before it rests.
    pub(super) fn start(workshop: Workshop, post: &Arc<Post>) -> io::Result<Self> {
        let post = Arc::clone(post);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("clewline-tasks")
            .on_thread_park(move || post.deliver())
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
            workshop: Arc::new(workshop),
            waiting: Vec::with_capacity(BATCH),
        })
    }

    /// Takes a job on, for the next time something is sent out.
    pub(super) fn take_on(&mut self, job: Job, passport: Passport) -> Readiness {
        self.waiting.push((job, passport));
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
        let workshop = &self.workshop;
        match self.waiting.len() {
            0 => {}
            1 => {
                for (job, passport) in self.waiting.drain(..) {
                    runtime.spawn(task::run(Arc::clone(workshop), job, passport));
                }
            }
            _ => {
                let jobs = std::mem::replace(&mut self.waiting, Vec::with_capacity(BATCH));
                let workshop = Arc::clone(workshop);
                // Spawned from within, they go to the queue of a thread that is awake, and
                // from there to others that look for work.
                runtime.spawn(async move {
                    for (job, passport) in jobs {
                        tokio::spawn(task::run(Arc::clone(&workshop), job, passport));
                    }
                });
            }
        }
    }

    /// Tasks that still run are not waited for: their URLs stay open.
    pub(super) fn abandon(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
