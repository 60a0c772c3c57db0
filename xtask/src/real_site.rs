//! A site that others wrote, served by a server that others wrote.
//!
//! Owns nginx with the pages of the package sqlite3-doc: some 750, written by hand and by
//! programs, and some 400 broken links. The binary crawls it, then `tests/real-site/walk.py` walks it with
//! Python's parsers and compares. It refuses to know what a correct crawl is; the walk does.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::stage::{Counts, Ending, say};
use crate::{Workspace, skipped, tools};

/// How often nginx may find its port taken between our look and its own.
const PORT_TRIES: usize = 5;

/// How long nginx may take to listen, and how often we look.
const START: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(10);

/// The longest that a crawl or a walk may take, in seconds.
const LONGEST: &str = "120";

/// Crawls the site and has the crawl checked.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let python = match tools::installed(&["python3"], &["python3"]) {
        Ok(python) => python,
        Err(error) => return Ok(skipped(&error)),
    };
    let server = match Files::find(workspace) {
        Ok(files) => Server::start(&files, &workspace.target.join("real-site"))?,
        Err(error) => return Ok(skipped(&error)),
    };
    let folder = server.folder.join("site.crawl");
    let report = crawl(workspace, &server, &folder, &[])?;
    let status = tools::within(LONGEST, &python)
        .arg(workspace.root.join("tests/real-site/walk.py"))
        .args([server.root().as_ref(), folder.as_path(), &report])
        .arg(server.access_log())
        .status()
        .context("python does not start")?;
    if !status.success() {
        bail!("the second opinion ended with {status}");
    }
    Ok(Ending::Ran(Counts::PASSED))
}

/// Crawls the site with the real binary and these flags; answers where the report lies that it
/// printed.
pub(crate) fn crawl(
    workspace: &Workspace,
    server: &Server,
    folder: &Path,
    flags: &[&str],
) -> Result<PathBuf> {
    let report = folder.with_extension("json");
    let binary = workspace.target.join("ci/clewline");
    let began = Instant::now();
    let status = tools::within(LONGEST, &binary)
        .args(["crawl", "--no-config", "--quiet", "--overwrite"])
        .args(["--format", "json", "--noproxy", "*"])
        .args(flags)
        .arg("--output")
        .arg(folder)
        .arg(server.root())
        .stdout(File::create(&report)?)
        .status()
        .context("the crawl does not start")?;
    if !status.success() {
        bail!("the crawl ended with {status}");
    }
    let seconds = began.elapsed().as_secs_f64();
    say(&format!("crawled {} in {seconds:.1} s", server.root()));
    Ok(report)
}

/// What is needed to serve the site.
pub(crate) struct Files {
    nginx: PathBuf,
    pages: PathBuf,
}

impl Files {
    /// Finds or fetches the server and the pages.
    pub(crate) fn find(workspace: &Workspace) -> Result<Self> {
        // Installed documentation would not do: small images leave it out.
        let pages = tools::unpacked(workspace, "sqlite3-doc")?.join("usr/share/doc/sqlite3");
        if !pages.join("index.html").is_file() {
            bail!(
                "the package sqlite3-doc has no pages in {}",
                pages.display()
            );
        }
        Self::serving(workspace, pages)
    }

    /// Finds or fetches the server, for other pages.
    pub(crate) fn serving(workspace: &Workspace, pages: PathBuf) -> Result<Self> {
        let nginx = nginx(workspace)?;
        Ok(Self { nginx, pages })
    }
}

/// The server's program, found or fetched.
pub(crate) fn nginx(workspace: &Workspace) -> Result<PathBuf> {
    Ok(match tools::program(&["nginx"]) {
        Some(nginx) => nginx,
        None => tools::unpacked(workspace, "nginx")?.join("usr/sbin/nginx"),
    })
}

/// Lines of a configuration by which nginx writes nothing outside of its folder.
pub(crate) const TEMPORARY_PATHS: &str = "client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;";

/// A running nginx; it ends with this value.
pub(crate) struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Starts nginx with all of its files in one folder, which is emptied.
    pub(crate) fn start(files: &Files, folder: &Path) -> Result<Self> {
        Self::start_as(files, folder, &configuration)
    }

    /// The same by another configuration, of the pages and a port.
    pub(crate) fn start_as(
        files: &Files,
        folder: &Path,
        configuration: &dyn Fn(&Path, u16) -> String,
    ) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        for _ in 0..PORT_TRIES {
            // nginx cannot be told to take any free port.
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
                .local_addr()?
                .port();
            fs::write(folder.join("nginx.conf"), configuration(&files.pages, port))?;
            let child = Command::new(&files.nginx)
                .arg("-p")
                .arg(folder)
                .args(["-e", "error.log", "-c", "nginx.conf"])
                .stdin(Stdio::null())
                .stderr(File::create(folder.join("stderr.log"))?)
                .spawn()
                .with_context(|| format!("{} does not start", files.nginx.display()))?;
            let folder = folder.to_owned();
            let mut server = Self {
                child,
                port,
                folder,
            };
            if server.listens()? {
                return Ok(server);
            }
        }
        let complaint = fs::read_to_string(folder.join("stderr.log")).unwrap_or_default();
        bail!("nginx does not listen: {}", complaint.trim());
    }

    /// Waits until the server listens; false if it gave up.
    fn listens(&mut self) -> Result<bool> {
        let began = Instant::now();
        while self.child.try_wait()?.is_none() && began.elapsed() < START {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return Ok(true);
            }
            thread::sleep(LOOK);
        }
        Ok(false)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Where a crawl begins.
    pub(crate) fn root(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn access_log(&self) -> PathBuf {
        self.folder.join("access.log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One process, no privileges to drop, and no file outside of its folder. The log has a line per
/// request for the walk to read.
fn configuration(pages: &Path, port: u16) -> String {
    format!(
        r#"daemon off;
master_process off;
pid nginx.pid;
events {{ worker_connections 512; }}
http {{
  log_format walk '$request_uri $http_user_agent';
  access_log access.log walk;
  {TEMPORARY_PATHS}
  types {{
    text/html html;
    text/css css;
    text/plain txt;
    image/gif gif;
    image/jpeg jpg;
    image/svg+xml svg;
    application/javascript js;
    application/pdf pdf;
  }}
  server {{
    listen 127.0.0.1:{port};
    root "{}";
  }}
}}
"#,
        pages.display()
    )
}
