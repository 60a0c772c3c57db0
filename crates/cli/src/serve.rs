//! The verb `serve`: an archive shown again, and searched; and the app over jobs.
//!
//! Owns the flags and what is said on the way. It refuses to know how pages are replayed and
//! found, and how jobs are shown; the crate `clewline-serve` does.

mod commands;
pub(crate) mod dashboard;
mod fleet;

use std::io::{Write as _, stdout};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use clewline_serve::{
    AccessToken, AppConfig, Mode, ReadAccess, Scripts, ServeConfig, ServeError, ServeNotice,
    ServedFleet,
};
use clewline_warc::Moment;

use self::dashboard::chosen_token;
use crate::Failure;
use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};
use crate::settings::problem::Problem;
use crate::stop::Stop;

/// Where it listens unless it is told otherwise.
const PORT: u16 = 8020;

pub(crate) const SERVE_HELP: &str = "\
Replays pages as they were. A crawl can also be searched, at /search and, as JSON, at
/api/search. Of a folder in which crawls lie every crawl is shown, running or not. For
programs there are /api/v1 (described at /api/v1/openapi.json) and /metrics. A fleet is shown
as one job with its workers by `clewline serve postgres://… --job NAME`.

Without --control nothing can be changed. With it, whoever has the token may start, steer
and delete crawls. An address that others can reach needs a token in any case: in
--token-file or in CLEWLINE_TOKEN, with at least 22 characters.";

/// What to serve, and where.
#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a command are switches"
)]
pub(crate) struct ServeArguments {
    /// A folder with crawls in it, folders of crawls or of WARC files, WARC or WACZ files
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// With the address of a fleet's database as PATH: show this job
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Listen on this port; 0 picks a free one [default: 8020]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Listen on this address, so that others can connect
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1", value_parser = bind)]
    bind: Bind,
    /// Run as an HTTP proxy that returns the recorded bytes
    #[arg(long)]
    proxy: bool,
    /// Show the captures closest to this time, such as 2026 or 20261115
    #[arg(long, value_name = "TIME", requires = "proxy", value_parser = moment)]
    at: Option<Moment>,
    /// Allow page scripts to run (they may navigate to the live web)
    #[arg(long, conflicts_with = "proxy")]
    scripts: bool,
    /// Let whoever has the token start, steer and delete crawls
    #[arg(long, conflicts_with = "proxy")]
    control: bool,
    /// Ask for the token in the first line of this file
    #[arg(long, value_name = "FILE", conflicts_with = "proxy")]
    token_file: Option<PathBuf>,
    /// Also answer to this origin, under which a reverse proxy shows the server
    #[arg(long, value_name = "ORIGIN", conflicts_with = "proxy")]
    origin: Option<String>,
    /// Let crawls that are started here ask private addresses
    #[arg(long, requires = "control")]
    allow_private: bool,
    /// Open a browser
    #[arg(long, conflicts_with = "proxy")]
    open: bool,
}

/// An address of this machine, with or without a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bind {
    address: IpAddr,
    port: Option<u16>,
}

/// Reads `127.0.0.1`, `::1`, `localhost`, and each with a port. Other names lead anywhere, and
/// the server would not answer to them.
pub(crate) fn bind(text: &str) -> Result<Bind, String> {
    if let Ok(address) = text.parse() {
        let port = None;
        return Ok(Bind { address, port });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None if host.eq_ignore_ascii_case("localhost") => Some(Ipv4Addr::LOCALHOST.into()),
        None => host.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    };
    let Some(address) = address else {
        return Err("is no address; try 127.0.0.1:8080, [::1]:8080 or localhost:8080".to_owned());
    };
    let port = port.map(str::parse).transpose();
    let port = port.map_err(|_| "has a port that is no number from 0 to 65535".to_owned())?;
    Ok(Bind { address, port })
}

impl Bind {
    /// The address with its own port or the usual one.
    pub(crate) fn socket(self) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(PORT))
    }
}

impl ServeArguments {
    /// Who may do what. Without a token of their own, operators get a random one.
    fn app(&self) -> Result<AppConfig, Failure> {
        let chosen = chosen_token(self.token_file.as_deref())?;
        let reading = match chosen {
            Some(_) => ReadAccess::ByToken,
            None => ReadAccess::Open,
        };
        let token = match chosen {
            None if self.control => Some(AccessToken::random()?),
            chosen => chosen,
        };
        let commands = self
            .control
            .then(|| commands::job_commands(self.allow_private));
        Ok(AppConfig {
            token,
            reading,
            commands,
            origin: self.origin.clone(),
        })
    }

    /// The fleet that is to be shown, if a path is the address of its database.
    fn fleet(&self) -> Result<Option<ServedFleet>, Failure> {
        let refused = |flag: &str, message: &str| Failure::Usage(vec![Problem::new(flag, message)]);
        let mut paths = self.paths.iter();
        let Some(address) = paths.find_map(|path| crate::fleet::address(Some(path))) else {
            return match self.job {
                Some(_) => Err(refused(
                    "--job",
                    "names a job of a fleet; the address of its database is missing",
                )),
                None => Ok(None),
            };
        };
        if self.paths.len() > 1 {
            return Err(refused(
                "PATH",
                "is a fleet and something else; serve them apart",
            ));
        }
        let of_archives = [
            ("--proxy", self.proxy),
            ("--scripts", self.scripts),
            ("--allow-private", self.allow_private),
        ];
        if let Some((flag, _)) = of_archives.into_iter().find(|(_, is_given)| *is_given) {
            return Err(refused(
                flag,
                "needs a folder; `clewline fleet merge` makes one of a fleet",
            ));
        }
        fleet::served(address, self.job.as_deref()).map(Some)
    }

    /// Where to listen. A port may be named in two ways, but not be two.
    fn address(&self) -> Result<SocketAddr, Problem> {
        let port = match (self.bind.port, self.port) {
            (Some(bound), Some(port)) if bound != port => {
                let message = format!("is {port}, but --bind names the port {bound}");
                return Err(Problem::new("--port", message).with_hint("leave one of them out"));
            }
            (bound, port) => bound.or(port).unwrap_or(PORT),
        };
        Ok(SocketAddr::new(self.bind.address, port))
    }
}

fn moment(text: &str) -> Result<Moment, String> {
    let moment = Moment::from_timestamp(text).or_else(|| Moment::parse(text));
    moment.ok_or_else(|| "is no time; try 20261115 or 2026-11-15".to_owned())
}

/// Serves until Ctrl-C.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<ExitStatus, Failure> {
    let address = arguments.address();
    let address = address.map_err(|problem| Failure::Usage(vec![problem]))?;
    let stop = Stop::prepare()?;
    stop.listen(|| std::process::exit(i32::from(ExitStatus::Done.code())))?;
    let config = ServeConfig {
        address,
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
    let fleet = arguments.fleet()?;
    let speaker = Speaker::new(Colour::Auto);
    let app = arguments.app()?;
    // Whoever chose a token knows it.
    let is_made = app.reading == ReadAccess::Open;
    let link = app
        .token
        .as_ref()
        .map(AccessToken::link)
        .filter(|_| is_made);
    let mut tell = |notice: ServeNotice<'_>| {
        match notice {
            ServeNotice::Damaged(complaint) => speaker.note(&shown(complaint)),
            ServeNotice::Listening {
                address,
                has_search,
            } => {
                let mut out = stdout().lock();
                let path = link.as_deref();
                let said = invitation(address, config.mode, has_search, path);
                out.write_all(said.as_bytes())?;
                out.flush()?;
                if arguments.open {
                    let url = format!("http://{address}{}", path.unwrap_or("/"));
                    dashboard::open_browser(&url, &speaker);
                }
            }
            _ => {}
        }
        Ok(())
    };
    let served = match fleet {
        Some(fleet) => clewline_serve::serve_fleet(fleet, config.address, app, &mut tell),
        None => clewline_serve::serve(&arguments.paths, config, app, &mut tell),
    };
    let Err(error) = served;
    Err(match error {
        ServeError::Listen { address, source } => anyhow::Error::new(source)
            .context(format!(
                "cannot listen on {address}; another --port may be free"
            ))
            .into(),
        ServeError::Notice(error) => error.into(),
        error @ (ServeError::OpenToAll(_) | ServeError::Origin(_)) => refused(&error),
        error => error.into(),
    })
}

/// What no server is started with.
pub(crate) fn refused(error: &ServeError) -> Failure {
    let message = error.to_string();
    let problem = if matches!(error, ServeError::Origin(_)) {
        Problem::new("--origin", message)
    } else {
        let hint = "name a file with --token-file, or set CLEWLINE_TOKEN";
        Problem::new("--bind", message).with_hint(hint)
    };
    Failure::Usage(vec![problem])
}

/// The line that says where to look.
fn invitation(address: SocketAddr, mode: Mode, has_search: bool, link: Option<&str>) -> String {
    if let Some(link) = link {
        return format!("open http://{address}{link} to steer crawls; Ctrl-C ends it\n");
    }
    match mode {
        Mode::Proxy => format!("HTTP proxy at {address}; Ctrl-C ends it\n"),
        Mode::Pages if has_search => {
            format!("open http://{address}/ , or /search there; Ctrl-C ends it\n")
        }
        Mode::Pages => format!("open http://{address}/ ; Ctrl-C ends it\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, expected) in [
            ("127.0.0.1", Ok(("127.0.0.1", None))),
            ("127.0.0.1:8080", Ok(("127.0.0.1", Some(8080)))),
            ("0.0.0.0:0", Ok(("0.0.0.0", Some(0)))),
            ("::1", Ok(("::1", None))),
            ("[2001:db8::5:1]", Ok(("2001:db8::5:1", None))),
            ("[::1]:0", Ok(("::1", Some(0)))),
            ("localhost", Ok(("127.0.0.1", None))),
            ("LocalHost:8080", Ok(("127.0.0.1", Some(8080)))),
            ("", Err("no address")),
            (":8080", Err("no address")),
            ("::1]:80", Err("no address")),
            ("[127.0.0.1]:80", Err("no address")),
            ("example.com:80", Err("no address")),
            ("http://127.0.0.1:80", Err("no address")),
            ("127.0.0.1:", Err("a port")),
            ("127.0.0.1:http", Err("a port")),
            ("[::1]:65536", Err("a port")),
        ] {
            match (bind(text), expected) {
                (Ok(found), Ok((address, port))) => {
                    assert_eq!(
                        (found.address.to_string(), found.port),
                        (address.into(), port)
                    );
                }
                (Err(said), Err(wanted)) => assert!(said.contains(wanted), "{text}: {said}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
