//! The rules: what is wrong, given the facts.
//!
//! Owns the list of rules and the order in which they are asked. A rule is a pure function; it
//! refuses to read files and to know settings.
