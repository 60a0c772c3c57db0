//! Fetching.
pub(crate) mod decode;
pub(crate) mod http1;
