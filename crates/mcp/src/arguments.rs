//! The arguments of a call.
//!
//! Owns their names, types and bounds. What is unknown is refused by name, so that a call that asks
//! for more than there is learns so. It refuses to know what tools do with them.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer::ToolAnswer;

/// Bytes of one text in a call.
const LONGEST_ARGUMENT: usize = 8 * 1024;

/// Reads the arguments of a tool.
pub(crate) fn read<'d, T: Deserialize<'d>>(given: &'d Map<String, Value>) -> Result<T, ToolAnswer> {
    for (name, value) in given {
        if value
            .as_str()
            .is_some_and(|text| text.len() > LONGEST_ARGUMENT)
        {
            let error = format!("{name} is longer than {LONGEST_ARGUMENT} bytes");
            return Err(ToolAnswer::refused(error, "say it shorter"));
        }
    }
    T::deserialize(given).map_err(|error| {
        let hint = "the schema of the tool has the names and types of its arguments";
        ToolAnswer::refused(error.to_string(), hint)
    })
}

/// What `fetch` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FetchCall {
    pub(crate) url: String,
    pub(crate) section: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) max_tokens: Option<u64>,
}

/// What `read` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadCall {
    pub(crate) url: String,
    pub(crate) job: Option<String>,
    pub(crate) at: Option<String>,
    pub(crate) section: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) max_tokens: Option<u64>,
}

/// Which part of a page is wanted, and how much.
#[derive(Debug, Clone, Default)]
pub(crate) struct PagePart {
    pub(crate) section: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) max_tokens: Option<u64>,
}

/// What `search` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchCall {
    pub(crate) query: String,
    pub(crate) job: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) max_tokens: Option<u64>,
}

/// What `crawl` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrawlCall {
    pub(crate) url: String,
    pub(crate) max_pages: Option<u64>,
    pub(crate) depth: Option<u32>,
}

/// What `status` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusCall {
    pub(crate) job: Option<String>,
}

/// What `check` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckCall {
    pub(crate) job: Option<String>,
    pub(crate) rule: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) max_tokens: Option<u64>,
}

/// A cursor is the number at which the answer goes on.
pub(crate) fn cursor(text: Option<&str>) -> Result<usize, ToolAnswer> {
    let Some(text) = text else {
        return Ok(0);
    };
    text.parse().map_err(|_| {
        let hint = "take the cursor of the answer before, or none to begin";
        ToolAnswer::refused("cursor is none that this tool gave", hint)
    })
}
