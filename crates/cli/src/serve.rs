//! The verb `serve`: an archive shown again, and searched.
//!
//! Owns the flags and what is said on the way. It refuses to know how pages are rewritten and
//! found; the crates `clewline-archive` and `clewline-serve` do.

use std::io::{Write as _, stdout};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use clewline::StoredJob;
use clewline_archive::Archive;
use clewline_archive::serve::{Mode, Scripts, ServeConfig, Server};
use clewline_warc::Moment;

use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};
use crate::stop::Stop;

pub(crate) const SERVE_HELP: &str = "\
Lists what was captured, and shows pages as they were. The folder of a crawl can be searched,
at /search and, as JSON, at /api/search: its index is brought up to date at the start.";

/// What to serve, and where.
#[derive(Args)]
pub(crate) struct ServeArguments {
    /// The folder of a crawl, folders of WARC files, WARC or WACZ files
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Listen on this port; any that is free with 0
    #[arg(long, value_name = "PORT", default_value_t = 8020)]
    port: u16,
    /// Listen on this address of the machine, for others to see
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Be an HTTP proxy that answers with the recorded bytes
    #[arg(long)]
    proxy: bool,
    /// What the proxy shows: captures closest to this time, such as 2026 or 20261115
    #[arg(long, value_name = "TIME", requires = "proxy", value_parser = moment)]
    at: Option<Moment>,
    /// Let scripts of pages run; they may send you to the live web
    #[arg(long, conflicts_with = "proxy")]
    scripts: bool,
}

fn moment(text: &str) -> Result<Moment, String> {
    let moment = Moment::of_timestamp(text).or_else(|| Moment::parse(text));
    moment.ok_or_else(|| "is no time; try 20261115 or 2026-11-15".to_owned())
}

/// Serves until Ctrl-C.
pub(crate) fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitStatus> {
    let stop = Stop::prepare()?;
    stop.listen(|| std::process::exit(i32::from(ExitStatus::Done.code())))?;
    let archive = Archive::open(&arguments.paths)?;
    let speaker = Speaker::new(Colour::Auto);
    for complaint in archive.complaints() {
        speaker.note(&shown(complaint));
    }
    let config = ServeConfig {
        address: SocketAddr::new(arguments.bind, arguments.port),
        mode: if arguments.proxy {
            Mode::Proxy
        } else {
            Mode::Pages
        },
        scripts: if arguments.scripts {
            Scripts::Allowed
        } else {
            Scripts::Blocked
        },
        at: arguments.at,
    };
    let mut server = Server::bind(archive, config).with_context(|| {
        let address = config.address;
        format!("cannot listen on {address}; another --port may be free")
    })?;
    let address = server.address();
    let mut line = format!("open http://{address}/ ; Ctrl-C ends it\n");
    if arguments.proxy {
        line = format!("HTTP proxy at {address}; Ctrl-C ends it\n");
    } else if let Some(job) = only_job(&arguments.paths) {
        server = server.with_guest(clewline_serve::search_of(job));
        line = format!("open http://{address}/ , or /search there; Ctrl-C ends it\n");
    }
    let mut out = stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()?;
    drop(out);
    server.run()?;
    Ok(ExitStatus::Done)
}

/// The crawl that can be searched: an index is of one job.
fn only_job(paths: &[PathBuf]) -> Option<&Path> {
    let mut jobs = paths.iter().filter(|path| StoredJob::read(path).is_ok());
    let first = jobs.next();
    first
        .filter(|_| jobs.next().is_none())
        .map(PathBuf::as_path)
}
