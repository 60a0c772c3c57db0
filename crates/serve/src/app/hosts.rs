//! The hosts of a job, as they are asked for.
//!
//! Owns how a question is read from a request and how a cursor is written. Refuses to know how hosts
//! are ordered and cut; `clewline_job::hosts` does.

use clewline_job::hosts::{HostCursor, HostPage, HostQuestion, HostSort, MOST_ROWS};
use clewline_job::status::Cause;
use serde::Serialize;

use super::reply::{ApiProblem, parameter, wanted};
use crate::server::ServerRequest;

/// Rows of a page unless somebody wants more or less.
const USUAL_ROWS: usize = 100;
/// The longest part of a name that is looked for.
const LONGEST_PART: usize = 255;

/// Some hosts, with a cursor as text.
#[derive(Debug, Serialize)]
pub(super) struct HostList {
    #[serde(flatten)]
    pub(super) page: HostPage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<String>,
}

impl HostList {
    pub(super) fn new(mut page: HostPage) -> Self {
        let cursor = page.next.take().map(|next| written(&next));
        Self { page, cursor }
    }
}

/// Reads what is asked.
pub(super) fn question(request: &ServerRequest) -> Result<HostQuestion, ApiProblem> {
    let sort = match parameter(request, "sort") {
        None => HostSort::default(),
        Some(name) if name.is_empty() => HostSort::default(),
        Some(name) => {
            let mut known = HostSort::NAMES.into_iter();
            let found = known.find(|(known, _)| *known == name);
            let names = HostSort::NAMES.map(|(name, _)| name).join(", ");
            found
                .ok_or_else(|| ApiProblem::new(400, format!("sort is one of {names}")))?
                .1
        }
    };
    let cause = parameter(request, "cause").or_else(|| parameter(request, "is"));
    let cause: Option<Cause> = match cause {
        None => None,
        Some(name) if name.is_empty() => None,
        Some(name) => {
            let read = serde_json::from_value(serde_json::Value::String(name));
            Some(
                read.map_err(|_| ApiProblem::new(400, "cause is none of those that status names"))?,
            )
        }
    };
    let contains = parameter(request, "q").unwrap_or_default();
    if contains.len() > LONGEST_PART {
        return Err(ApiProblem::new(400, "q has at most 255 bytes"));
    }
    let after = match parameter(request, "cursor").or_else(|| parameter(request, "from")) {
        None => None,
        Some(text) => Some(read(&text).ok_or_else(ApiProblem::cursor)?),
    };
    let ascending = match parameter(request, "order").as_deref() {
        None | Some("") => sort == HostSort::Host,
        Some("up") => true,
        Some("down") => false,
        Some(_) => return Err(ApiProblem::new(400, "order is up or down")),
    };
    Ok(HostQuestion {
        sort,
        ascending,
        cause,
        contains,
        after,
        most: wanted(request, USUAL_ROWS, MOST_ROWS)?,
    })
}

fn written(cursor: &HostCursor) -> String {
    format!("{}~{}", cursor.rank, cursor.host)
}

fn read(text: &str) -> Option<HostCursor> {
    let (rank, host) = text.split_once('~')?;
    let is_host = (1..=LONGEST_PART).contains(&host.len());
    let rank = rank.parse().ok().filter(|_| is_host)?;
    Some(HostCursor {
        rank,
        host: host.to_owned(),
    })
}
