//! A real documentation site behind nginx: Debian's openjdk-17-doc.
//!
//! Owns the server's configuration and life. One process, on its own core, on three ports of
//! loopback: as fast as it can, a tenth of a second late, and with an access log. The delay is
//! made by nginx itself, with the sleep of its echo module, which holds a timer and no thread;
//! the Lua module's sleep took a tenth more processor time.

use std::cell::Cell;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::super::measure::processor_seconds;
use super::free_ports;
use crate::real_site::TEMPORARY_PATHS;
use crate::{Workspace, real_site, tools};

/// The page that counts the requests.
const STATUS: &str = "/bench-status";

/// What is added to each answer of the late port.
const DELAY: Duration = Duration::from_millis(100);

/// Answers by which it is seen how late they really are.
const SOUNDINGS: usize = 21;

/// How long nginx may take to begin.
const PATIENCE: Duration = Duration::from_secs(10);

/// A port of the server, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Fast,
    /// Every answer comes after [`DELAY`].
    Late,
    /// Every request is written down.
    Logged,
}

/// What the site is made of.
pub(crate) struct Files {
    nginx: PathBuf,
    echo_module: PathBuf,
    pub(crate) pages: PathBuf,
}

impl Files {
    /// Finds or fetches them. The packages are unpacked, not installed: the documentation would
    /// bring a whole Java with it.
    pub(crate) fn find(workspace: &Workspace) -> Result<Self> {
        let nginx = real_site::nginx(workspace)?;
        let echo = tools::unpacked(workspace, "libnginx-mod-http-echo")?;
        let pages = tools::unpacked(workspace, "openjdk-17-doc")?
            .join("usr/share/doc/openjdk-17-jre-headless/api");
        ensure!(
            pages.join("index.html").is_file(),
            "the package openjdk-17-doc has no pages in {}",
            pages.display()
        );
        Ok(Self {
            nginx,
            echo_module: echo.join("usr/lib/nginx/modules/ngx_http_echo_module.so"),
            pages,
        })
    }

    /// The version that the pages name at their end.
    pub(crate) fn version(&self) -> Result<String> {
        let page = fs::read_to_string(self.pages.join("index.html"))?;
        let (_, rest) = page
            .split_once("<!-- Version ")
            .context("the pages' version")?;
        Ok(rest.split(" -->").next().unwrap_or_default().to_owned())
    }
}

/// The server at work.
pub(crate) struct Nginx {
    child: Child,
    folder: PathBuf,
    ports: [u16; 3],
    /// Requests for the status page itself.
    own: Cell<u64>,
}

impl Nginx {
    /// Starts the server and waits until it answers.
    pub(crate) fn start(files: &Files, scratch: &Path) -> Result<Self> {
        let folder = scratch.join("nginx");
        fs::create_dir_all(&folder)?;
        let ports = free_ports()?;
        fs::write(folder.join("nginx.conf"), configuration(files, ports))?;
        let child = Command::new(&files.nginx)
            .arg("-p")
            .arg(&folder)
            .args(["-e", "error.log", "-c", "nginx.conf"])
            .stdin(Stdio::null())
            .stderr(fs::File::create(folder.join("stderr"))?)
            .spawn()
            .context("nginx does not start")?;
        let server = Self {
            child,
            folder,
            ports,
            own: Cell::new(0),
        };
        server.wait()?;
        Ok(server)
    }

    fn wait(&self) -> Result<()> {
        let begun = Instant::now();
        while self.answered().is_err() {
            if begun.elapsed() > PATIENCE {
                let said = fs::read_to_string(self.folder.join("stderr")).unwrap_or_default();
                bail!("nginx does not answer: {said}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The root of the site at one of the doors.
    pub(crate) fn url(&self, door: Door) -> String {
        format!("http://127.0.0.1:{}/", self.ports[door as usize])
    }

    fn connect(&self, door: Door) -> Result<TcpStream> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[door as usize]));
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Requests answered at all doors since the start, those of the harness left out.
    pub(crate) fn answered(&self) -> Result<u64> {
        let answer = ask(self.connect(Door::Fast)?, STATUS)?;
        let all = requests(&answer).context("the form of nginx's status page")?;
        self.own.update(|own| own + 1);
        Ok(all - self.own.get())
    }

    /// How long an answer of the late door takes at the least, one at a time: the timers of the
    /// server count in milliseconds and add one more to most of them.
    pub(crate) fn answer_time(&self) -> Result<Duration> {
        let mut least = Duration::MAX;
        for _ in 0..SOUNDINGS {
            let stream = self.connect(Door::Late)?;
            let asked = Instant::now();
            ask(stream, "/robots.txt")?;
            least = least.min(asked.elapsed());
        }
        ensure!(least >= DELAY, "the late door answers after {least:?}");
        Ok(least)
    }

    /// Seconds of processor time so far.
    pub(crate) fn processor_seconds(&self) -> Result<f64> {
        processor_seconds(self.child.id())
    }

    /// Forgets what was asked for at the logged door.
    pub(crate) fn clear_log(&self) -> Result<()> {
        // Emptied in place: the server holds the file open, for appending.
        Ok(fs::write(self.log(), "")?)
    }

    /// The paths that were asked for at the logged door, in order.
    pub(crate) fn log_text(&self) -> Result<String> {
        Ok(fs::read_to_string(self.log())?)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("access.log")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // One process without children, so that nothing is left behind.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The answer to a request for a path, to its end.
fn ask(mut stream: TcpStream, path: &str) -> Result<String> {
    // At once: a second small packet would wait until the first is acknowledged.
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The third number of the line below the headings.
fn requests(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    lines.find(|line| line.contains("accepts handled requests"))?;
    lines.next()?.split_whitespace().nth(2)?.parse().ok()
}

/// One process, and no file outside of its folder. What is late looks for the page of a folder
/// itself: nginx's own way there passes the first location again, and would sleep twice.
fn configuration(files: &Files, ports: [u16; 3]) -> String {
    let [fast, late, logged] = ports;
    let delay = DELAY.as_secs_f64();
    format!(
        r#"load_module "{}";
daemon off;
master_process off;
worker_rlimit_nofile 65536;
pid nginx.pid;
events {{ worker_connections 32768; }}
http {{
  types {{
    text/html html;
    image/svg+xml svg;
  }}
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  open_file_cache max=20000 inactive=1h;
  open_file_cache_errors on;
  {TEMPORARY_PATHS}
  log_format path '$request_uri';
  root "{}";
  server {{
    listen 127.0.0.1:{fast} backlog=16384;
    location = {STATUS} {{ stub_status; }}
  }}
  server {{
    listen 127.0.0.1:{late} backlog=16384;
    location / {{
      echo_sleep {delay};
      echo_exec @late;
    }}
    location @late {{ try_files ${{uri}}index.html $uri =404; }}
  }}
  server {{
    listen 127.0.0.1:{logged} backlog=16384;
    access_log access.log path;
  }}
}}
"#,
        files.echo_module.display(),
        files.pages.display()
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn requests_are_the_third_number() {
        let status = "HTTP/1.1 200 OK\r\n\r\nActive connections: 1 \nserver accepts handled \
                      requests\n 69 70 10250 \nReading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!(super::requests(status), Some(10250));
        assert_eq!(super::requests("404"), None);
    }
}
