//! What the API is, for programs.
//!
//! Owns `/api/v1/openapi.json` (`OpenAPI` 3.1). Invariant: it names every path that the API answers; a
//! test compares.

use super::reply::ApiReply;

/// The description, which is written by hand.
const DESCRIPTION: &str = include_str!("openapi.json");

/// The description of the API.
pub(super) fn described() -> ApiReply {
    ApiReply::text("application/json", DESCRIPTION)
}
