//! Results as JSON.
//!
//! Owns the fields beside those of the search itself: where the capture of a hit is, which page
//! this is, whether one follows, and what an error looks like.

use clewline_search::{Facets, Hit, Results};
use serde::Serialize;

use super::Reply;
use super::page::capture_of;
use super::policy::SEALED;
use super::question::{MOST_PAGES, PER_PAGE, QuestionError};
use crate::server::GuestResponse;

#[derive(Serialize)]
struct Found<'a> {
    total: u64,
    page: usize,
    has_next: bool,
    hits: Vec<FoundHit<'a>>,
    facets: &'a Facets,
    took_ms: f64,
}

#[derive(Serialize)]
struct FoundHit<'a> {
    #[serde(flatten)]
    hit: &'a Hit,
    /// Where it is replayed, on this server.
    capture: String,
}

#[derive(Serialize)]
struct Wrong {
    error: String,
    /// Where the query is wrong, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    /// Pages in the index that is being made.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed: Option<u64>,
}

/// The answer to a request for JSON.
pub(crate) fn shown(reply: &Reply) -> GuestResponse {
    let text = match reply {
        Reply::Found(question, results) => {
            serde_json::to_vec(&found(question.page.unwrap_or(1), results))
        }
        Reply::Making(_, pages) => serde_json::to_vec(&Wrong {
            error: "the index is being made; ask again".to_owned(),
            column: None,
            indexed: Some(*pages),
        }),
        Reply::Refused(_, error) => serde_json::to_vec(&Wrong {
            error: error.to_string(),
            column: match error {
                QuestionError::Query(error) => Some(error.column),
                _ => None,
            },
            indexed: None,
        }),
        Reply::Broken(_, why) => serde_json::to_vec(&Wrong {
            error: why.clone(),
            column: None,
            indexed: None,
        }),
    };
    GuestResponse {
        status: reply.status(),
        content_type: "application/json",
        policy: SEALED.to_owned(),
        body: text.expect("results have string keys and finite numbers"),
    }
}

fn found(page: usize, results: &Results) -> Found<'_> {
    let hits = results.hits.iter().take(PER_PAGE);
    Found {
        total: results.total,
        page,
        has_next: results.hits.len() > PER_PAGE && page < MOST_PAGES,
        hits: hits
            .map(|hit| FoundHit {
                hit,
                capture: capture_of(&hit.url, hit.fetched_at),
            })
            .collect(),
        facets: &results.facets,
        took_ms: results.took.as_secs_f64() * 1000.0,
    }
}
