//! Which pages a browser renders, and how.
//!
//! Owns the settings of rendering and their defaults. It refuses to know browsers. Invariant: without a
//! wish of the user no browser starts.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Which pages a browser renders, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RenderConfig {
    /// Which pages are rendered.
    pub when: RenderUse,
    /// Maximum number of pages that are rendered.
    pub limit: Option<u64>,
    /// Maximum time for one rendering, waiting for its parts included.
    pub timeout: Duration,
    /// Pages that are rendered at the same time; none is one per core.
    pub tabs: Option<u32>,
    /// The picture that is taken of each rendered page.
    pub screenshot: Option<PictureArea>,
    /// What is done with a page before it is read.
    pub behaviors: Vec<PageBehavior>,
    /// Elements that are clicked first, by CSS selectors.
    pub clicks: Vec<String>,
    /// The browser's program; none is the first one that is installed.
    pub browser: Option<PathBuf>,
    /// Render without a sandbox where the system allows none.
    pub no_sandbox: bool,
}

impl Default for RenderConfig {
    fn default() -> Self {
        Self {
            when: RenderUse::Never,
            limit: None,
            timeout: Duration::from_mins(1),
            tabs: None,
            screenshot: None,
            behaviors: Vec::new(),
            clicks: Vec::new(),
            browser: None,
            no_sandbox: false,
        }
    }
}

/// Which pages a browser renders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RenderUse {
    /// Pages that look empty without JavaScript, and a sample of the others.
    Auto,
    /// No page.
    #[default]
    Never,
    /// Every HTML page.
    Always,
}

/// How much of a page a picture shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PictureArea {
    /// What fits into a window.
    #[default]
    Window,
    /// The whole page.
    Full,
}

/// What is done with a page before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PageBehavior {
    /// Scroll until nothing is added.
    Autoscroll,
    /// Click what looks clickable, and fill forms.
    Autoclick,
}
