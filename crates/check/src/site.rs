//! The site as a table: every URL of a job in a few dozen bytes, and how they hang together.
