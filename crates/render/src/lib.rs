//! Pages as a browser sees them, without a network for the browser.
//!
//! Owns the browser's processes, their sandbox, the protocol, and what happens on a page until it is
//! ready ([`BrowserPool`]). It refuses to know frontiers, folders and robots.txt: whatever a page asks
//! for goes through [`PartFetcher`], its only door. Invariants: no byte leaves the browser for a network;
//! what a page can make large has a bound; a browser that hangs or dies costs one rendering.
#![warn(missing_docs)]

mod devtools;
mod frames;
#[doc(hidden)]
pub mod fuzzing;
mod launch;
mod message;
mod options;
mod page;
mod part;
mod pool;
mod rendering;
mod sandbox;
mod usage;

pub use launch::LaunchError;
#[doc(hidden)]
pub use options::BrowserNets;
pub use options::{Behavior, BrowserOptions, RenderBounds, ScreenshotArea};
pub use part::{PartAnswer, PartFetcher, PartKind, PartRefusal, PartRequest};
pub use pool::BrowserPool;
pub use rendering::{RenderError, RenderInput, Rendering, RequestFate, RequestedUrl};
