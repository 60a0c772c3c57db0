//! Archives on a local web server: pages replayed, and a crawl searched.
//!
//! Owns the server: its listener and bounds (`server`), the replay of captures, the proxy that
//! returns recorded bytes, a small site that a process serves to itself ([`LocalSite`]), and the
//! search page with its JSON (`search`). It refuses to know how
//! archives are opened and rewritten, and how pages are indexed and found. Invariants: nothing is
//! ever fetched; whatever comes from an archive or a request is escaped; every size that a request
//! can ask for is bounded.
//!
//! ```no_run
//! use std::path::PathBuf;
//! use clewline_serve::{Mode, Scripts, ServeConfig, ServeNotice, serve};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = ServeConfig {
//!     address: "127.0.0.1:8020".parse()?,
//!     mode: Mode::Pages,
//!     scripts: Scripts::Blocked,
//!     at: None,
//! };
//! let paths = [PathBuf::from("example.com.crawl")];
//! let Err(error) = serve(&paths, config, &mut |notice| {
//!     if let ServeNotice::Listening { address, .. } = notice {
//!         println!("open http://{address}/");
//!     }
//!     Ok(())
//! });
//! # Err(error.into())
//! # }
//! ```
#![warn(missing_docs)]

pub mod pages;
mod search;
mod server;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clewline::StoredJob;
use clewline_archive::{Archive, OpenError};

use server::HttpServer;
pub use server::{LocalSite, Mode, Scripts, ServeConfig, SiteAnswer};

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The archive cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nobody can listen at the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The caller could not pass a notice on.
    #[error("cannot report what is served: {0}")]
    Notice(#[source] io::Error),
}

/// What the caller learns before the first request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServeNotice<'a> {
    /// A file is damaged, and how; the rest of it is served.
    Damaged(&'a str),
    /// The server listens from now on.
    Listening {
        /// Where; with the port that the system picked, if it was to pick one.
        address: SocketAddr,
        /// Whether there is a search page at `/search`.
        has_search: bool,
    },
}

/// Serves what paths stand for: folders of crawls, folders of WARC files, WARC and WACZ files. If
/// exactly one of them is a crawl, it can be searched. Returns only if the server cannot start.
pub fn serve(
    paths: &[PathBuf],
    config: ServeConfig,
    tell: &mut dyn FnMut(ServeNotice<'_>) -> io::Result<()>,
) -> Result<Infallible, ServeError> {
    let archive = Archive::open(paths)?;
    for complaint in archive.complaints() {
        tell(ServeNotice::Damaged(complaint)).map_err(ServeError::Notice)?;
    }
    let mut server = HttpServer::bind(archive, config).map_err(|source| ServeError::Listen {
        address: config.address,
        source,
    })?;
    // A proxy has no pages of its own.
    let job = only_job(paths).filter(|_| config.mode == Mode::Pages);
    if let Some(job) = job {
        server = server.with_guest(search::search_of(job));
    }
    tell(ServeNotice::Listening {
        address: server.address(),
        has_search: job.is_some(),
    })
    .map_err(ServeError::Notice)?;
    server.run()
}

/// The crawl that can be searched: an index is of one job.
fn only_job(paths: &[PathBuf]) -> Option<&Path> {
    let mut jobs = paths.iter().filter(|path| StoredJob::read(path).is_ok());
    let first = jobs.next();
    first
        .filter(|_| jobs.next().is_none())
        .map(PathBuf::as_path)
}
