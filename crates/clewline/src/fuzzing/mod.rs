//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns the promises of everything that reads foreign bytes; refuses to know who makes the
//! bytes. The tests run each body over its corpus and mutations of it, the targets in `fuzz/`
//! for as long as one likes. URLs, robots.txt and cookies have theirs in the core.

pub mod extract;
pub mod fleet;
pub mod http1;
pub mod rendered;
#[cfg(any(test, feature = "oracle"))]
pub mod tokenizer;
