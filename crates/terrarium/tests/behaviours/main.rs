//! Each behaviour of the web as a raw client sees it.

mod client;
mod pages;
