//! The door for assistants: a crawler and its archives as tools of the Model Context Protocol.
//!
//! Owns which tools there are, what a call may say, how long an answer may be, and the server that
//! speaks the protocol on standard input and output. It refuses to know flags and terminals. The crate
//! `rmcp` is known to one private module, and no type of it leaves. Invariants: an answer never exceeds
//! its budget and is always text that can be used; no call names a path, a command, a proxy or an
//! address that the one who started the door did not allow; what pages say is marked as foreign.
#![warn(missing_docs)]

mod answer;
mod arguments;
mod check;
mod client;
mod crawls;
mod door;
mod fetch;
mod jobs;
mod pace;
mod page;
mod rank;
mod search;
mod server;
mod status;
#[cfg(test)]
mod tests;
mod tools;

pub use answer::ToolAnswer;
pub use client::client_block;
pub use door::{AssistantDoor, DoorSettings};
pub use server::{DoorError, serve};
