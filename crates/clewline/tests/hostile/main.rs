//! A bad page costs its own URL and nothing else: the crawler against a hostile web.

mod addresses;
mod answers;
mod child;
mod pages;
mod proxies;
mod redirects;
mod robots;
mod secrets;
mod sitemaps;
mod text;
mod tls;
mod traps;
mod trial;
