//! The browser of a crawl, if it renders pages.
//!
//! Owns the way from the settings to something that renders one page. It refuses to know which pages
//! are rendered and where their parts come from. Invariant: without a wish of the user there is none.

use std::sync::Arc;

use clewline_render::{
    Behavior, BrowserOptions, BrowserPool, LaunchError, PartFetcher, RenderBounds, RenderError,
    RenderInput, Rendering, ScreenshotArea,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::config::{Config, PageBehavior, PictureArea, RenderConfig, RenderUse};

/// Renders one page, whose parts come from the fetcher.
pub(crate) type RenderPage = Arc<
    dyn Fn(RenderInput, Arc<dyn PartFetcher>) -> BoxFuture<'static, Result<Rendering, RenderError>>
        + Send
        + Sync,
>;

/// Starts the browser that a configuration asks for.
pub(crate) fn launch(config: &Config) -> Result<Option<RenderPage>, LaunchError> {
    if config.render.when == RenderUse::Never {
        return Ok(None);
    }
    let pool = Arc::new(BrowserPool::launch(options(config))?);
    Ok(Some(Arc::new(move |page, parts| {
        let pool = Arc::clone(&pool);
        async move { pool.render(page, parts).await }.boxed()
    })))
}

/// Pages that are rendered at the same time.
pub(crate) fn tabs(config: &RenderConfig) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    config.tabs.map_or_else(cores, |tabs| tabs as usize).max(1)
}

fn options(config: &Config) -> BrowserOptions {
    let render = &config.render;
    BrowserOptions {
        program: render.browser.clone(),
        tabs: tabs(render),
        no_sandbox: render.no_sandbox,
        user_agent: Some(config.fetch.agent()),
        behaviors: render.behaviors.iter().copied().map(behavior).collect(),
        clicks: render.clicks.clone(),
        screenshot: render.screenshot.map(|area| match area {
            PictureArea::Window => ScreenshotArea::Viewport,
            PictureArea::Full => ScreenshotArea::Full,
        }),
        bounds: RenderBounds {
            wall: render.timeout,
            ..RenderBounds::default()
        },
        ..BrowserOptions::default()
    }
}

const fn behavior(behavior: PageBehavior) -> Behavior {
    match behavior {
        PageBehavior::Autoscroll => Behavior::Autoscroll,
        PageBehavior::Autoclick => Behavior::Autoclick,
    }
}
