//! The dashboard of a crawl, and how a browser is opened.
//!
//! Owns the flags `--dashboard`, `--bind`, `--token-file` and `--open` of a crawl, where a token comes
//! from, and the program that opens a page. Refuses to know what the dashboard shows.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use clewline_serve::{AccessToken, AppConfig, Dashboard, JobCommands, ReadAccess, ServeError};

use super::{Bind, bind};
use crate::Failure;
use crate::job::ctl;
use crate::message::{Speaker, shown};
use crate::settings::problem::Problem;

/// The variable that may hold the token.
pub(super) const TOKEN_VARIABLE: &str = "CLEWLINE_TOKEN";

/// Flags that show a crawl in a browser.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Dashboard")]
pub(crate) struct DashboardFlags {
    /// Show the crawl in a browser while it runs
    #[arg(long)]
    pub(crate) dashboard: bool,
    /// Where the dashboard listens [default: 127.0.0.1:8020]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = bind, requires = "dashboard")]
    bind: Option<Bind>,
    /// The dashboard asks for the token in the first line of this file, and lets its holder steer
    #[arg(long, value_name = "FILE", requires = "dashboard")]
    token_file: Option<PathBuf>,
    /// Open a browser: with the dashboard, or with the report at the end
    #[arg(long)]
    pub(crate) open: bool,
}

impl DashboardFlags {
    fn address(&self) -> SocketAddr {
        let usual = bind("127.0.0.1").expect("this is an address");
        self.bind.unwrap_or(usual).socket()
    }

    /// Starts the dashboard of a crawl, if one is wanted.
    pub(crate) fn start(&self, folder: Option<&Path>) -> Result<Option<Dashboard>, Failure> {
        if !self.dashboard {
            return Ok(None);
        }
        let Some(folder) = folder else {
            let message = "needs a job folder, and this crawl leaves none";
            return Err(Failure::Usage(vec![Problem::new("--dashboard", message)]));
        };
        let token = chosen_token(self.token_file.as_deref())?;
        let reading = match token {
            Some(_) => ReadAccess::ByToken,
            None => ReadAccess::Open,
        };
        let app = AppConfig {
            commands: token.is_some().then(steering_commands),
            token,
            reading,
            origin: None,
        };
        match Dashboard::start(folder, self.address(), app) {
            Ok(dashboard) => Ok(Some(dashboard)),
            Err(error @ ServeError::OpenToAll(_)) => Err(super::refused(&error)),
            Err(error) => Err(error.into()),
        }
    }
}

/// A crawl is steered from within; it starts no other.
fn steering_commands() -> JobCommands {
    let no = "this dashboard belongs to one crawl; `clewline serve --control` starts others";
    JobCommands {
        start: Box::new(move |_| Err(no.to_owned())),
        resume: Box::new(move |_| Err(no.to_owned())),
        figure: Box::new(ctl::change),
    }
}

/// The token of a file or of the environment.
pub(super) fn chosen_token(file: Option<&Path>) -> Result<Option<AccessToken>, Failure> {
    let wrong = |place: &str, error: clewline_serve::TokenError| {
        Failure::Usage(vec![Problem::new(place, error.to_string())])
    };
    if let Some(path) = file {
        let token = AccessToken::from_file(path);
        return token
            .map(Some)
            .map_err(|error| wrong("--token-file", error));
    }
    match std::env::var(TOKEN_VARIABLE) {
        Ok(text) if !text.is_empty() => {
            let token = AccessToken::new(&text);
            token
                .map(Some)
                .map_err(|error| wrong(TOKEN_VARIABLE, error))
        }
        _ => Ok(None),
    }
}

/// Opens a page in the browser that the user likes: `BROWSER`, or the system's own way.
pub(crate) fn open_browser(page: &str, speaker: &Speaker) {
    let named = std::env::var_os("BROWSER").filter(|name| !name.is_empty());
    let usual = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(named.unwrap_or_else(|| usual.into()));
    command
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            let waiting = std::thread::Builder::new().name("browser".to_owned());
            waiting.spawn(move || child.wait().ok()).ok();
        }
        Err(error) => {
            let note = format!("no browser could be started ({error}); open {page}");
            speaker.note(&shown(&note));
        }
    }
}
