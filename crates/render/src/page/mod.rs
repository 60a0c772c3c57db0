//! One rendering: a page from its first byte to its DOM.
//!
//! Owns what runs at the same time: the steps of the page ([`steps`]), the answers to its requests
//! ([`events`]) and the look at what the browser uses. It refuses to know how browsers start. Invariant: a
//! rendering ends in its time, whatever the page does.

mod answer;
mod events;
pub(crate) mod fuzzing;
mod notes;
mod request;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use self::events::PageEvents;
use self::steps::{PageReading, PageSteps};
use crate::launch::Browser;
use crate::options::{BrowserOptions, RenderBounds};
use crate::part::PartFetcher;
use crate::rendering::{RenderError, RenderInput, Rendering};
use crate::usage::{ProcessMeter, ProcessUsage};

/// How often the processes of a browser are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// What the steps of a page wait for.
#[derive(Debug, Clone, Default)]
struct PageProgress {
    /// The session of the page.
    session: Option<String>,
    is_loaded: bool,
    /// How often a budget of virtual time was used up.
    budgets: u64,
    /// Requests that wait for answers.
    in_flight: usize,
}

/// Renders a page in a browser that does nothing else.
pub(crate) async fn render(
    browser: &mut Browser,
    options: &BrowserOptions,
    input: &RenderInput,
    parts: Arc<dyn PartFetcher>,
) -> Result<Rendering, RenderError> {
    let start = Instant::now();
    let bounds = &options.bounds;
    let (progress, seen) = watch::channel(PageProgress::default());
    // What a browser used for its start is its first page's.
    let before = browser.usage;
    // Nobody could hold a browser to its bounds that nothing looks at.
    let meter = browser.meter.take().ok_or(RenderError::Crashed)?;
    let mut look = Look {
        meter: Some(meter),
        usage: before,
    };
    let devtools = &browser.devtools;
    let context = devtools
        .command(None, "Target.createBrowserContext", json!({}))
        .await?;
    let context = context["browserContextId"].as_str().unwrap_or_default();
    let refusal = json!({ "behavior": "deny", "browserContextId": context, "eventsEnabled": true });
    devtools.send(None, "Browser.setDownloadBehavior", &refusal);
    let steps = PageSteps::new(devtools, options, input, (context, seen, start));
    let mut events = PageEvents::new(devtools, options, input, (context, progress, parts));
    let mut steps = std::pin::pin!(steps.run());
    let end = sleep_until(start + bounds.wall);
    let mut end = std::pin::pin!(end);
    let mut looks = interval_at(start + LOOK_INTERVAL, LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let read = loop {
        tokio::select! {
            read = &mut steps => break read?,
            () = &mut end => return Err(RenderError::TimedOut(bounds.wall)),
            event = browser.events.recv() => match event {
                Some(event) => events.take(&event)?,
                None => return Err(RenderError::Crashed),
            },
            Some((request, answer)) = events.answers() => events.give(&request, answer),
            _ = looks.tick() => {
                look.look().await;
                check(look.usage, before, bounds)?;
            }
        }
    };
    let close = json!({ "browserContextId": context });
    devtools.send(None, "Target.disposeBrowserContext", &close);
    look.look().await;
    let cpu = look.usage.cpu.saturating_sub(before.cpu);
    let rendering = finish(events, read, cpu, start.elapsed());
    browser.pages += 1;
    browser.usage = look.usage;
    browser.meter = look.meter;
    Ok(rendering)
}

fn finish(events: PageEvents<'_>, read: PageReading, cpu: Duration, wall: Duration) -> Rendering {
    let notes = events.into_notes();
    Rendering {
        html: read.html,
        title: read.title,
        requested: notes.requested,
        navigated: notes.navigated,
        passing_links: read.passing_links,
        screenshot: read.screenshot,
        thumbnail: read.thumbnail,
        unsent: notes.unsent,
        refused: notes.refused,
        over_limit: notes.over_limit,
        is_truncated: read.is_truncated,
        is_unready: read.is_unready,
        cpu,
        wall,
    }
}

/// Whether a browser is within its bounds.
fn check(
    now: ProcessUsage,
    before: ProcessUsage,
    bounds: &RenderBounds,
) -> Result<(), RenderError> {
    if now.memory > bounds.memory {
        return Err(RenderError::TooMuchMemory(bounds.memory));
    }
    if now.processes > bounds.processes {
        return Err(RenderError::TooManyProcesses(bounds.processes));
    }
    if now.cpu.saturating_sub(before.cpu) > bounds.cpu {
        return Err(RenderError::TooMuchCpu(bounds.cpu));
    }
    Ok(())
}

/// Looks at processes on a thread that may wait for files.
struct Look {
    meter: Option<ProcessMeter>,
    usage: ProcessUsage,
}

impl Look {
    async fn look(&mut self) {
        let Some(mut meter) = self.meter.take() else {
            return;
        };
        let measured = tokio::task::spawn_blocking(move || {
            let usage = meter.measure();
            (meter, usage)
        });
        if let Ok((meter, usage)) = measured.await {
            self.meter = Some(meter);
            self.usage = usage;
        }
    }
}
