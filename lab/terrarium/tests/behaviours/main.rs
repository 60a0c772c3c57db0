//! Each behaviour of the web as a raw client sees it.

mod client;
mod codings;
mod hostile;
mod network;
mod pages;
mod trouble;
