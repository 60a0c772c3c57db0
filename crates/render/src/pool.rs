//! The browsers at hand.
//!
//! Owns which browsers run, who uses them and when one is replaced. It refuses to know what happens on a
//! page. Invariant: a browser renders one page at a time, and one that failed renders no other page.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::options::BrowserOptions;
use crate::part::PartFetcher;
use crate::rendering::{RenderError, RenderInput, Rendering};

/// Browsers without a network, which render pages.
#[derive(Debug)]
pub struct BrowserPool {
    options: BrowserOptions,
}

impl BrowserPool {
    /// Finds a browser and a sandbox, and starts the first one.
    pub fn launch(options: BrowserOptions) -> Result<Self, LaunchError> {
        match &options.program {
            Some(program) if !program.is_file() => {
                Err(LaunchError::NotInstalled(Some(program.clone())))
            }
            _ => Ok(Self { options }),
        }
    }

    /// Renders a page whose parts come from `parts`. A future that is dropped ends the browser that
    /// works on it.
    #[expect(clippy::unused_async, reason = "the browser follows in the next step")]
    pub async fn render(
        &self,
        page: RenderInput,
        parts: Arc<dyn PartFetcher>,
    ) -> Result<Rendering, RenderError> {
        let (_, _) = (page, parts);
        let tabs = self.options.tabs;
        Err(RenderError::NotLaunched(format!("{tabs} tabs")))
    }
}

/// Why no page can be rendered on this machine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// There is no browser.
    #[error("{}", missing(.0.as_deref()))]
    NotInstalled(Option<PathBuf>),
    /// Chromium has no sandbox here.
    #[error(
        "the browser has no sandbox here: the system forbids user namespaces. In a container, allow them \
         with --security-opt seccomp=unconfined, or run as another user than root; \
         --no-browser-sandbox renders without a sandbox"
    )]
    NoSandbox,
    /// The browser started and failed.
    #[error("the browser {program} does not start: {problem}")]
    Failed {
        /// The browser.
        program: PathBuf,
        /// What it said.
        problem: String,
    },
}

fn missing(program: Option<&std::path::Path>) -> String {
    let install = "install Debian's package chromium-headless-shell (or chromium)";
    match program {
        Some(program) => format!("there is no browser {}: {install}", program.display()),
        None => format!("there is no browser on this machine: {install}"),
    }
}
