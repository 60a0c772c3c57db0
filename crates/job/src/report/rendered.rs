//! Pages that a browser rendered, and those that look empty without one.
//!
//! Owns their counts. It refuses to know how pages are rendered. Invariant: a page counts once.

use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Pages that a browser rendered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RenderedPages {
    /// Rendered, whatever came of it.
    pub done: u64,
    /// Renderings that failed: the pages are as their answers alone say.
    pub failed: u64,
    /// Pages of which a visitor with the same browser could have seen more.
    pub incomplete: u64,
    /// Requests of pages that were answered.
    pub parts: u64,
    /// Links that only a browser sees.
    pub new_links: u64,
    /// CPU time of the browser, in milliseconds.
    pub cpu_millis: u64,
}

impl RenderedPages {
    pub(super) fn add(&mut self, record: &Record) {
        let Some(page) = &record.rendered else {
            return;
        };
        self.done += 1;
        self.failed += u64::from(page.error.is_some());
        self.incomplete += u64::from(page.incomplete);
        self.parts += u64::from(page.parts);
        self.new_links += u64::from(page.new_links);
        self.cpu_millis = self.cpu_millis.saturating_add(page.cpu_millis);
    }
}
