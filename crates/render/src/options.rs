//! How pages are rendered.
//!
//! Owns the settings of a pool of browsers and the bounds of a rendering. It refuses to know flags and
//! files. Invariant: every bound has a default.

use std::path::PathBuf;
use std::time::Duration;

/// How pages are rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserOptions {
    /// The browser; none takes the first that is installed.
    pub program: Option<PathBuf>,
    /// Pages that are rendered at the same time, each in a browser of its own.
    pub tabs: usize,
    /// Run the browser without any sandbox where it has none.
    pub no_sandbox: bool,
    /// The User-Agent that scripts see.
    pub user_agent: Option<String>,
    /// What is done with a page that is ready.
    pub behaviors: Vec<Behavior>,
    /// Elements that are clicked first, by CSS selectors: banners that cover a page.
    pub clicks: Vec<String>,
    /// The picture to take.
    pub screenshot: Option<ScreenshotArea>,
    /// What one rendering may use.
    pub bounds: RenderBounds,
    /// Which nets hold the browser; tests take some away, to see that each holds alone.
    #[doc(hidden)]
    pub nets: BrowserNets,
}

/// Which nets hold a browser back from the network.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BrowserNets {
    /// The namespace, the flags, and answers to all requests.
    #[default]
    All,
    /// The empty network namespace, without answers.
    NamespaceAlone,
    /// The flags that name a dead proxy; requests are answered, as where namespaces are forbidden.
    FlagsAlone,
    /// Nothing, so that a test sees that its page reaches the network.
    Nothing,
}

impl BrowserNets {
    /// Whether requests of the page are answered here, instead of by Chromium's own network.
    pub(crate) fn answers_requests(self) -> bool {
        matches!(self, Self::All | Self::FlagsAlone)
    }
}

impl Default for BrowserOptions {
    fn default() -> Self {
        Self {
            program: None,
            tabs: 1,
            no_sandbox: false,
            user_agent: None,
            behaviors: Vec::new(),
            clicks: Vec::new(),
            screenshot: None,
            bounds: RenderBounds::default(),
            nets: BrowserNets::default(),
        }
    }
}

/// What is done with a page that is ready, by the words of Browsertrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Behavior {
    /// Scroll to the end until nothing is added.
    Autoscroll,
    /// Click what looks clickable, and fill forms.
    Autoclick,
}

/// How much of a page a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScreenshotArea {
    /// What a window shows, as PNG.
    Viewport,
    /// The whole page, as JPEG.
    Full,
}

/// What one rendering may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderBounds {
    /// Time that passes.
    pub wall: Duration,
    /// CPU time of all processes of the browser.
    pub cpu: Duration,
    /// Memory of all processes of the browser, in bytes.
    pub memory: u64,
    /// Processes of the browser.
    pub processes: usize,
    /// Bytes of the DOM as HTML.
    pub dom: usize,
    /// Parts per page.
    pub parts: u32,
    /// Bytes of all parts of a page.
    pub part_bytes: u64,
    /// Workers per page.
    pub workers: u32,
    /// URLs that are noted of each kind.
    pub noted: usize,
    /// Pages after which a browser is replaced.
    pub pages_per_browser: u32,
}

/// Bytes of a mebibyte.
const MEBIBYTE: u64 = 1024 * 1024;

impl RenderBounds {
    /// What holds unless somebody says otherwise.
    pub(crate) const STANDARD: Self = Self {
        wall: Duration::from_mins(1),
        cpu: Duration::from_secs(20),
        memory: 1024 * MEBIBYTE,
        processes: 40,
        dom: 16 * 1024 * 1024,
        parts: 100,
        part_bytes: 64 * MEBIBYTE,
        workers: 16,
        noted: 1000,
        pages_per_browser: 200,
    };
}

impl Default for RenderBounds {
    fn default() -> Self {
        Self::STANDARD
    }
}
