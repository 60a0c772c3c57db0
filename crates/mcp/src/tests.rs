//! The tools on a web on loopback.
