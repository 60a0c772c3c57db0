//! The browsers at hand.
//!
//! Owns which browsers run, who uses them and when one is replaced. It refuses to know what happens on a
//! page. Invariant: a browser renders one page at a time, and one that failed renders no other page.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::launch::{Browser, BrowserLauncher, LaunchError};
use crate::options::BrowserOptions;
use crate::page;
use crate::part::PartFetcher;
use crate::rendering::{RenderError, RenderInput, Rendering};

/// Browsers without a network, which render pages.
#[derive(Debug)]
pub struct BrowserPool {
    options: BrowserOptions,
    launcher: Arc<BrowserLauncher>,
    idle: Mutex<Vec<Browser>>,
    /// As many as pages that are rendered at the same time.
    turns: Semaphore,
}

impl BrowserPool {
    /// Finds a browser and a sandbox, and starts the first one.
    pub fn launch(options: BrowserOptions) -> Result<Self, LaunchError> {
        let launcher = BrowserLauncher::find(&options)?;
        let first = launcher.start()?;
        Ok(Self {
            launcher: Arc::new(launcher),
            idle: Mutex::new(vec![first]),
            turns: Semaphore::new(options.tabs.max(1)),
            options,
        })
    }

    /// Whether the browsers are in a network namespace; otherwise, flags alone keep them from the network.
    pub fn has_namespace(&self) -> bool {
        self.launcher.has_namespace()
    }

    /// Renders a page whose parts come from `parts`. A future that is dropped ends the browser that
    /// works on it.
    pub async fn render(
        &self,
        page: RenderInput,
        parts: Arc<dyn PartFetcher>,
    ) -> Result<Rendering, RenderError> {
        let turn = self.turns.acquire().await;
        let _turn = turn.expect("the turns are never closed");
        let mut browser = self.browser().await?;
        // A browser that failed is not put back, which ends it.
        let rendering = page::render(&mut browser, &self.options, &page, parts).await?;
        let bounds = &self.options.bounds;
        if browser.pages < bounds.pages_per_browser && browser.usage.memory < bounds.memory / 2 {
            self.idle().push(browser);
        }
        Ok(rendering)
    }

    /// An idle browser that still answers, or a new one.
    async fn browser(&self) -> Result<Browser, RenderError> {
        loop {
            let idle = self.idle().pop();
            let Some(browser) = idle else {
                break;
            };
            if browser.is_alive().await {
                return Ok(browser);
            }
        }
        let launcher = Arc::clone(&self.launcher);
        let started = tokio::task::spawn_blocking(move || launcher.start()).await;
        let started = started.expect("the start of a browser does not panic");
        started.map_err(|error| RenderError::NotLaunched(error.to_string()))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Browser>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
