//! End to end: whole crawls of webs made for the purpose, judged at the server and by the logs.

mod discovery;
mod original;
mod politeness;
mod redirects;
mod results;
mod robots;
mod scope;
mod support;
