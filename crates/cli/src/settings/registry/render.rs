//! Which pages a browser renders, and how.

use std::ops::RangeInclusive;
use std::time::Duration;

use clewline_job::config::{PictureArea, RenderUse};

use super::{BUDGETS, LONGEST_PERIOD};
use crate::resolve::{folder, wire};
use crate::settings::Effective;
use crate::settings::SettingMark::{Usual, ValueOptional};

/// Words of `--render`.
pub(crate) const RENDER_WORDS: &[(&str, RenderUse)] = &[
    ("auto", RenderUse::Auto),
    ("never", RenderUse::Never),
    ("always", RenderUse::Always),
];
/// Words of `--screenshot`.
pub(crate) const SCREENSHOT_WORDS: &[(&str, PictureArea)] =
    &[("window", PictureArea::Window), ("full", PictureArea::Full)];
/// More browsers at a time fit on no machine.
const TABS: RangeInclusive<u32> = 1..=256;
/// No browser starts and reads a page in less.
const TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=LONGEST_PERIOD;

settings! { pub(super) RENDERING for Effective:
    /// Run JavaScript on pages that need it
    "render" "WHEN" => choice(config.render.when, RENDER_WORDS)
        .marked(&[Usual, ValueOptional("auto")]);
    /// Maximum number of pages to render
    "render-limit" "N" => count(config.render.limit, BUDGETS).unset("unlimited");
    /// Maximum time to render one page, waiting for its parts included
    "render-timeout" "TIME" => period(config.render.timeout, TIMES);
    /// Maximum number of pages to render at the same time, each in a browser of its own
    "render-tabs" "N" => count(config.render.tabs, TABS).default("one per core");
    /// Keep a picture of each rendered page: of what a window shows, or of the full page
    "screenshot" "AREA" => choice(config.render.screenshot, SCREENSHOT_WORDS)
        .marked(&[ValueOptional("window")]);
    /// What to do with a rendered page before it is read: autoscroll, autoclick
    "behaviors" "LIST" => items(config.render.behaviors, wire::behavior);
    /// Click this element of rendered pages first, such as the button of a banner
    "click" "SELECTOR" => list(config.render.clicks, wire::selector);
    /// The browser to use: chromium-headless-shell, chromium or chrome
    "browser" "FILE" => one(config.render.browser, folder::existing_file)
        .unset("the first that is installed");
    /// Render without a sandbox where the system allows none; only for pages that you trust
    "no-browser-sandbox" => switch(config.render.no_sandbox);
}
