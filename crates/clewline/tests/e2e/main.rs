//! End to end: whole crawls of webs made for the purpose, judged at the server and by the logs.
#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails its test"
)]

mod archive;
mod discovery;
mod earlier;
mod endure;
mod library;
mod original;
mod pauses;
mod politeness;
mod rebuild;
mod redirects;
mod rendering;
mod rendering_parts;
mod results;
mod resume;
mod robots;
mod scope;
mod slots;
mod support;
mod update;
