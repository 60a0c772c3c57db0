//! Archives on a local web server: pages replayed, and a crawl searched.
//!
//! Owns the server: its listener and bounds (`server`), the replay of captures, the proxy that
//! returns recorded bytes, a small site that a process serves to itself ([`LocalSite`]), the
//! search page with its JSON (`search`), and the app over jobs with its REST, events and metrics
//! (`app`). It refuses to know how archives are opened and rewritten, how pages are indexed and
//! found, and how a crawl works. Invariants: nothing is ever fetched; whatever comes from an archive
//! or a request is escaped; every size that a request can ask for is bounded.
//!
//! ```no_run
//! use std::path::PathBuf;
//! use clewline_serve::{AppConfig, Mode, Scripts, ServeConfig, ServeNotice, serve};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = ServeConfig {
//!     address: "127.0.0.1:8020".parse()?,
//!     mode: Mode::Pages,
//!     scripts: Scripts::Blocked,
//!     at: None,
//! };
//! let paths = [PathBuf::from("example.com.crawl")];
//! let Err(error) = serve(&paths, config, AppConfig::default(), &mut |notice| {
//!     if let ServeNotice::Listening { address, .. } = notice {
//!         println!("open http://{address}/");
//!     }
//!     Ok(())
//! });
//! # Err(error.into())
//! # }
//! ```
#![warn(missing_docs)]

mod app;
pub mod pages;
mod search;
mod server;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use clewline_archive::{Archive, OpenError};
use tokio::sync::oneshot;

use app::access::Access;
pub use app::access::{AccessToken, TokenError};
use app::{App, JobPlaces};
pub use app::{
    FleetCounts, FleetStanding, FleetSteer, JobCommands, NewJob, STARTABLE, ServedFleet,
};
use server::{ArchiveShelf, HttpServer, ServerOrigin};
pub use server::{LocalSite, Mode, Scripts, ServeConfig, SiteAnswer};

/// Ports that are tried for a dashboard, from the one that is asked for on.
const MOST_PORTS: u16 = 20;

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
    /// Others can reach the address, and nobody asks them for a token.
    #[error("others can reach {0}, so the server needs a token")]
    OpenToAll(SocketAddr),
    /// The origin of the reverse proxy is none.
    #[error("`{0}` is no origin such as https://crawl.example.com")]
    Origin(String),
    /// The system lets no server run.
    #[error("the server cannot run: {0}")]
    Run(#[source] io::Error),
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

/// Who may do what with jobs.
#[derive(Debug, Default)]
pub struct AppConfig {
    /// What gives the right to read and, with commands, to operate.
    pub token: Option<AccessToken>,
    /// Whether reading needs the token, too. It always does where others can reach the server.
    pub reading: ReadAccess,
    /// What may be done with jobs; without it they can only be looked at.
    pub commands: Option<JobCommands>,
    /// The origin under which a reverse proxy shows the server: `https://crawl.example.com`.
    pub origin: Option<String>,
}

/// Who may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAccess {
    /// Whoever reaches the server.
    #[default]
    Open,
    /// Whoever has the token.
    ByToken,
}

impl AppConfig {
    fn access(&self, address: SocketAddr) -> Result<Access, ServeError> {
        let is_reachable = !address.ip().is_loopback();
        if is_reachable && self.token.is_none() {
            return Err(ServeError::OpenToAll(address));
        }
        let is_open = !is_reachable && self.reading == ReadAccess::Open && self.origin.is_none();
        let is_open = is_open || self.token.is_none();
        Ok(Access::new(
            self.token.clone(),
            is_open,
            self.commands.is_some(),
        ))
    }

    fn origin(&self) -> Result<Option<ServerOrigin>, ServeError> {
        let Some(text) = &self.origin else {
            return Ok(None);
        };
        let origin = ServerOrigin::parse(text);
        Ok(Some(
            origin.ok_or_else(|| ServeError::Origin(text.clone()))?,
        ))
    }
}

/// Serves what paths stand for: folders of crawls, folders of WARC files, WARC and WACZ files, or a
/// folder in which crawls lie. If exactly one of them is a crawl, it can be searched. Returns only if
/// the server cannot start.
pub fn serve(
    paths: &[PathBuf],
    config: ServeConfig,
    app: AppConfig,
    tell: &mut dyn FnMut(ServeNotice<'_>) -> io::Result<()>,
) -> Result<Infallible, ServeError> {
    let jobs = Arc::new(JobPlaces::from_paths(paths));
    let has_jobs = !jobs.all().is_empty();
    let archive = if jobs.is_folder() {
        ArchiveShelf::live(Arc::clone(&jobs))
    } else {
        match Archive::open(paths) {
            // A crawl that has just begun has nothing archived yet.
            Err(OpenError::Empty { .. }) if has_jobs => ArchiveShelf::live(Arc::clone(&jobs)),
            opened => {
                let archive = opened?;
                for complaint in archive.complaints() {
                    tell(ServeNotice::Damaged(complaint)).map_err(ServeError::Notice)?;
                }
                ArchiveShelf::fixed(archive)
            }
        }
    };
    let access = match config.mode {
        Mode::Pages => app.access(config.address)?,
        // A proxy has archived bytes and nothing else.
        Mode::Proxy => Access::new(None, true, false),
    };
    let origin = app.origin()?;
    let own = App::new(Arc::clone(&jobs), access, app.commands);
    let mut server = bind(archive, config, own)?.with_origin(origin);
    // A proxy has no pages of its own.
    let job = only_job(&jobs).filter(|_| config.mode == Mode::Pages);
    if let Some(job) = &job {
        server = server.with_guest(search::search_of(job));
    }
    tell(ServeNotice::Listening {
        address: server.address(),
        has_search: job.is_some(),
    })
    .map_err(ServeError::Notice)?;
    server.run().map_err(ServeError::Run)
}

/// Serves a fleet as one job. It has no folder, so nothing of it is replayed or searched. Returns only
/// if the server cannot start.
pub fn serve_fleet(
    fleet: ServedFleet,
    address: SocketAddr,
    app: AppConfig,
    tell: &mut dyn FnMut(ServeNotice<'_>) -> io::Result<()>,
) -> Result<Infallible, ServeError> {
    let (access, origin) = (app.access(address)?, app.origin()?);
    let own = App::of_fleet(fleet, access, app.commands);
    let config = ServeConfig {
        address,
        mode: Mode::Pages,
        scripts: Scripts::Blocked,
        at: None,
    };
    let none = ArchiveShelf::live(Arc::new(JobPlaces::from_paths(&[])));
    let server = bind(none, config, own)?.with_origin(origin);
    tell(ServeNotice::Listening {
        address: server.address(),
        has_search: false,
    })
    .map_err(ServeError::Notice)?;
    server.run().map_err(ServeError::Run)
}

fn bind(archive: ArchiveShelf, config: ServeConfig, app: App) -> Result<HttpServer, ServeError> {
    HttpServer::bind(archive, config, app).map_err(|source| ServeError::Listen {
        address: config.address,
        source,
    })
}

/// The crawl that can be searched: an index is of one job.
fn only_job(jobs: &JobPlaces) -> Option<PathBuf> {
    match jobs.all().as_slice() {
        [(_, only)] => Some(only.clone()),
        _ => None,
    }
}

/// The app over one job, in the process of its crawl, until it is dropped. Nobody pays for it but
/// whoever looks: its thread sleeps until somebody connects.
#[derive(Debug)]
pub struct Dashboard {
    address: SocketAddr,
    /// Dropping it ends the server.
    alive: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Dashboard {
    /// Listens at an address, or at the next port that is free if this one is taken.
    pub fn start(job: &Path, address: SocketAddr, app: AppConfig) -> Result<Self, ServeError> {
        let jobs = Arc::new(JobPlaces::from_job(job));
        let (access, origin) = (app.access(address)?, app.origin()?);
        let own = App::new(Arc::clone(&jobs), access, app.commands);
        let listener = next_free(address)?;
        let config = ServeConfig {
            address,
            mode: Mode::Pages,
            scripts: Scripts::Blocked,
            at: None,
        };
        let shelf = ArchiveShelf::live(jobs);
        let at = |source| ServeError::Listen { address, source };
        let server = HttpServer::from_listener(listener, shelf, config, own).map_err(at)?;
        let server = server.with_origin(origin);
        let address = server.address();
        let (alive, end) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("clewline-serve".to_owned())
            .spawn(move || {
                let end = async { drop(end.await) };
                // The crawl goes on without its dashboard.
                server.run_until(end).ok();
            })
            .map_err(ServeError::Run)?;
        Ok(Self {
            address,
            alive: Some(alive),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was told already.
            thread.join().ok();
        }
    }
}

fn next_free(address: SocketAddr) -> Result<std::net::TcpListener, ServeError> {
    let mut tried = address;
    loop {
        match std::net::TcpListener::bind(tried) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let next = tried.port().checked_add(1);
                let next = next.filter(|next| next - address.port() < MOST_PORTS);
                let Some(next) = next else {
                    let source = error;
                    return Err(ServeError::Listen { address, source });
                };
                tried.set_port(next);
            }
            bound => return bound.map_err(|source| ServeError::Listen { address, source }),
        }
    }
}
