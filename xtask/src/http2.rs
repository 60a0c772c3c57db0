//! `cargo xtask http2`: what HTTP/2 costs beside HTTP/1.1, against a server that others wrote.
//!
//! Owns nginx with TLS and both protocols over the pages of openjdk-17-doc, and the comparison of crawls that
//! differ in their protocol alone: what was asked, how far apart, the processor time of a page and the
//! memory of a stream that waits. It refuses to know how a crawl works. Invariant: both are measured in turns,
//! so that whatever else the machine does meets both.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::machine;
use crate::bench::measure::Stopwatch;
use crate::passage::{Passage, grouped};
use crate::real_site::{Files, Server, TEMPORARY_PATHS};
use crate::stage::say;
use crate::words::number;
use crate::{Workspace, tools};

const HELP: &str = "\
cargo xtask http2 [OPTIONS]   crawl nginx over HTTP/1.1 and over HTTP/2, and compare

  --pages N     pages of a crawl whose time is taken [default: 3000]
  --rounds N    crawls of each kind [default: 7]
  --program F   the crawler whose time is taken [default: that of the tests]
  --save        keep the result in docs/benchmarks.md
";

/// The result stands between these lines of the page.
const PASSAGE: Passage = Passage {
    begin: "<!-- http2: written by cargo xtask http2 --save -->",
    end: "<!-- end of http2 -->",
};
const PAGE: &str = "docs/benchmarks.md";

/// The longest that one crawl may take.
const LONGEST: Duration = Duration::from_mins(3);
/// Requests in flight of the crawls whose time is taken.
const IN_FLIGHT: &str = "64";
/// The distance that the polite crawl keeps, and what clocks may be apart.
const DELAY: Duration = Duration::from_millis(50);
const TOLERANCE: Duration = Duration::from_millis(2);
/// Distances that are taken together: the server's log is late now and then.
const IN_A_ROW: usize = 10;
/// Polite crawls until the distance is as it should be.
const MEASUREMENTS: usize = 8;
/// Hosts and streams of each in the crawl whose memory is looked at.
const HOSTS: usize = 20;
const STREAMS: usize = 100;
/// How far the goals are.
const MOST_COST: f64 = 1.1;
const MOST_STREAM: f64 = 5.0 * 1024.0;

/// What the site forbids to everybody.
const FORBIDDEN: &str = "/java.desktop/";

/// Over what a crawl goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

impl Protocol {
    const ALL: [Self; 2] = [Self::Http1, Self::Http2];

    const fn flag(self) -> &'static str {
        match self {
            Self::Http1 => "never",
            Self::Http2 => "always",
        }
    }

    /// As nginx names it.
    const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2.0",
        }
    }
}

/// What was measured of both, in the order of [`Protocol::ALL`].
#[derive(Debug)]
struct Figures {
    pages: usize,
    asked: usize,
    gaps: [Duration; 2],
    /// Microseconds of processor time per page.
    cost: [f64; 2],
    /// Bytes per request that waits.
    waiting: [f64; 2],
}

/// Runs the verb with the words after `http2`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let (mut pages, mut rounds, mut save) = (3000, 7, false);
    let mut program = workspace.target.join("ci/clewline");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--pages" => pages = number(word, &mut words)?,
            "--rounds" => rounds = number(word, &mut words)?,
            "--save" => save = true,
            "--program" => program = words.next().context("--program needs a file")?.into(),
            "--help" | "-h" => {
                say(HELP);
                return Ok(());
            }
            _ => bail!("{word} is not known to http2\n\n{HELP}"),
        }
    }
    let site = SecureSite::start(workspace, program)?;
    let asked = site.compare_recall()?;
    let figures = Figures {
        pages,
        asked,
        gaps: site.gaps()?,
        cost: site.costs(pages, rounds)?,
        waiting: [
            site.waiting(Protocol::Http1)?,
            site.waiting(Protocol::Http2)?,
        ],
    };
    let result = figures.table();
    say(&result);
    figures.check()?;
    if save {
        PASSAGE.rewrite(&workspace.root.join(PAGE), &result)?;
        say(&format!("kept in {PAGE}"));
    }
    Ok(())
}

impl Figures {
    fn ratio(&self) -> f64 {
        self.cost[1] / self.cost[0]
    }

    fn table(&self) -> String {
        let machine = machine::describe();
        let text = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
        let millis = self.gaps.map(|gap| gap.as_secs_f64() * 1e3);
        let kilobytes = self.waiting.map(|bytes| bytes / 1024.0);
        format!(
            "nginx with TLS 1.3, {}, {}, in turns on a machine with other work.\n\n\
             | | HTTP/1.1 | HTTP/2 | goal |\n|---|--:|--:|---|\n\
             | URLs asked for, none twice and none that robots.txt forbids | {asked} | {asked} | the same |\n\
             | smallest distance with `--delay 50ms`, mean of ten in a row | {:.1} ms | {:.1} ms | 50 ms |\n\
             | processor time of a page, {IN_FLIGHT} in flight, {} pages, the least of each | {:.0} µs | {:.0} µs | at most 1.1 times: {:.2} |\n\
             | memory of a request that waits, {HOSTS} hosts with {STREAMS} each | {:.1} KB | {:.1} KB | at most 5 KB over HTTP/2 |",
            text("date"),
            text("processor"),
            millis[0],
            millis[1],
            grouped(self.pages as f64),
            self.cost[0],
            self.cost[1],
            self.ratio(),
            kilobytes[0],
            kilobytes[1],
            asked = grouped(self.asked as f64),
        )
    }

    fn check(&self) -> Result<()> {
        for gap in self.gaps {
            ensure!(gap + TOLERANCE >= DELAY, "a gap of {gap:?}, not {DELAY:?}");
        }
        let ratio = self.ratio();
        ensure!(ratio <= MOST_COST, "HTTP/2 costs {ratio:.2} times as much");
        let waiting = self.waiting[1];
        ensure!(
            waiting <= MOST_STREAM,
            "a stream that waits needs {waiting:.0} bytes"
        );
        Ok(())
    }
}

/// nginx over TLS.
struct SecureSite<'a> {
    workspace: &'a Workspace,
    program: PathBuf,
    server: Server,
    folder: PathBuf,
}

impl<'a> SecureSite<'a> {
    fn start(workspace: &'a Workspace, program: PathBuf) -> Result<Self> {
        let folder = workspace.target.join("http2");
        let certificates = workspace.target.join("http2-certificates");
        fs::create_dir_all(&certificates)?;
        certify(&certificates)?;
        let pages = tools::unpacked(workspace, "openjdk-17-doc")?
            .join("usr/share/doc/openjdk-17-jre-headless/api/java.base");
        let echo = tools::unpacked(workspace, "libnginx-mod-http-echo")?
            .join("usr/lib/nginx/modules/ngx_http_echo_module.so");
        let files = Files::serving(workspace, pages)?;
        let server = Server::start_as(&files, &folder, &|pages, port| {
            configuration(&echo, pages, (&folder, &certificates), port)
        })?;
        fill(&folder)?;
        Ok(Self {
            workspace,
            program,
            server,
            folder,
        })
    }

    /// The crawler, into a folder of its own.
    fn crawler(&self, protocol: Protocol, roots: &[String], flags: &[&str]) -> Vec<String> {
        let authority = self
            .workspace
            .target
            .join("http2-certificates/authority.pem");
        let mut words = vec![self.program.display().to_string(), "crawl".to_owned()];
        words
            .extend(["--no-config", "--quiet", "--overwrite", "--noproxy", "*"].map(str::to_owned));
        words.extend(["--http2", protocol.flag(), "--no-archive"].map(str::to_owned));
        words.extend(["--cacert".to_owned(), authority.display().to_string()]);
        let output = self.folder.join("site.crawl").display().to_string();
        words.extend(["--output".to_owned(), output]);
        words.extend(flags.iter().map(ToString::to_string));
        words.extend_from_slice(roots);
        words
    }

    fn root(&self) -> String {
        format!(
            "https://127.0.0.1:{}/java/util/package-summary.html",
            self.server.port()
        )
    }

    fn crawl(&self, protocol: Protocol, flags: &[&str]) -> Result<Vec<Hit>> {
        let log = self.folder.join("access.log");
        fs::write(&log, "")?;
        let words = self.crawler(protocol, &[self.root()], flags);
        let (program, words) = words.split_first().context("a program")?;
        let mut command = tools::within(&LONGEST.as_secs().to_string(), Path::new(program));
        let status = command.args(words).status().context("the crawler")?;
        ensure!(status.success(), "the crawl ended with {status}");
        let hits: Vec<Hit> = fs::read_to_string(log)?
            .lines()
            .filter_map(Hit::parse)
            .collect();
        let foreign = hits
            .iter()
            .filter(|hit| hit.protocol != protocol.name())
            .count();
        ensure!(
            foreign == 0,
            "{foreign} requests did not go over {}",
            protocol.name()
        );
        Ok(hits)
    }

    /// Both ask for the same, once, and for nothing that is forbidden.
    fn compare_recall(&self) -> Result<usize> {
        let mut asked = Vec::new();
        for protocol in Protocol::ALL {
            let hits = self.crawl(
                protocol,
                &["--speed", "max", "--host-concurrency", IN_FLIGHT],
            )?;
            let paths: BTreeSet<String> = hits.iter().map(|hit| hit.path.clone()).collect();
            ensure!(paths.len() == hits.len(), "something was asked for twice");
            let is_forbidden = |path: &&String| path.starts_with(FORBIDDEN);
            ensure!(
                !paths.iter().any(|path| is_forbidden(&path)),
                "robots.txt was broken"
            );
            asked.push(paths);
        }
        let differ = asked[0].symmetric_difference(&asked[1]).count();
        ensure!(
            differ == 0,
            "{differ} URLs were asked for over one protocol only"
        );
        ensure!(
            asked[0].len() > 100,
            "the site has only {} URLs",
            asked[0].len()
        );
        Ok(asked[0].len())
    }

    /// The smallest distance between two requests of a polite crawl. A busy machine may notice one late, so
    /// that the distance to the next looks too short, but does not do so every time.
    fn gaps(&self) -> Result<[Duration; 2]> {
        let mut gaps = [Duration::ZERO; 2];
        for (gap, protocol) in gaps.iter_mut().zip(Protocol::ALL) {
            for _ in 0..MEASUREMENTS {
                *gap = self.gap(protocol)?.max(*gap);
                if *gap + TOLERANCE >= DELAY {
                    break;
                }
            }
        }
        Ok(gaps)
    }

    fn gap(&self, protocol: Protocol) -> Result<Duration> {
        let flags = ["--delay", "50ms", "--max-pages", "60"];
        let mut hits = self.crawl(protocol, &flags)?;
        hits.sort_by(|a, b| a.at.total_cmp(&b.at));
        let least = hits
            .windows(IN_A_ROW + 1)
            .map(|hits| (hits[IN_A_ROW].at - hits[0].at) / IN_A_ROW as f64);
        let least = least.fold(f64::INFINITY, f64::min);
        Ok(Duration::try_from_secs_f64(least).unwrap_or(Duration::ZERO))
    }

    /// Microseconds of processor time per page, the least of so many crawls in turns.
    fn costs(&self, pages: usize, rounds: usize) -> Result<[f64; 2]> {
        let stopwatch = Stopwatch::new(&self.folder, LONGEST);
        let mut least = [f64::INFINITY; 2];
        let limit = pages.to_string();
        for round in 0..rounds {
            for (least, protocol) in least.iter_mut().zip(Protocol::ALL) {
                let flags = [
                    "--speed",
                    "max",
                    "--host-concurrency",
                    IN_FLIGHT,
                    "--max-pages",
                    &limit,
                ];
                let words = self.crawler(protocol, &[self.root()], &flags);
                let cost = stopwatch.run(&words)?;
                let micros = (cost.user + cost.system) * 1e6 / pages as f64;
                say(&format!(
                    "round {round}: {} {micros:.0} µs",
                    protocol.name()
                ));
                *least = least.min(micros);
            }
        }
        Ok(least)
    }

    /// Bytes of memory per request that waits: what the crawler holds with many to each host, less what it
    /// holds with one.
    fn waiting(&self, protocol: Protocol) -> Result<f64> {
        let many = self.held(protocol, "many")?;
        let one = self.held(protocol, "one")?;
        Ok((many - one) / (HOSTS * (STREAMS - 1)) as f64)
    }

    /// Bytes that the crawler holds when everything was asked for and nothing answered.
    fn held(&self, protocol: Protocol, page: &str) -> Result<f64> {
        let port = self.server.port();
        let names = (0..HOSTS).map(|host| format!("h{host}.test"));
        let roots: Vec<String> = names
            .clone()
            .map(|name| format!("https://{name}:{port}/{page}.html"))
            .collect();
        let mut flags = vec![
            "--speed".to_owned(),
            "max".to_owned(),
            "--no-sitemaps".to_owned(),
        ];
        for name in names {
            flags.extend(["--resolve".to_owned(), format!("{name}:{port}:127.0.0.1")]);
        }
        let at_once = (HOSTS * STREAMS * 2).to_string();
        flags.extend(["--concurrency", &at_once, "--host-concurrency", "100"].map(str::to_owned));
        flags.extend(["--shared-addresses", "127.0.0.1/32"].map(str::to_owned));
        flags.extend(["--first-byte-timeout", "5m", "--timeout", "5m"].map(str::to_owned));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let words = self.crawler(protocol, &roots, &flags);
        let late = if page == "many" { STREAMS } else { 1 };
        let before = self.requests()?;
        let mut crawler = Running::start(&words)?;
        // Each host is asked for its robots.txt, its page and what that leads to.
        let wanted = before + (HOSTS * (2 + late)) as u64;
        let began = Instant::now();
        while self.requests()? < wanted {
            ensure!(
                began.elapsed() < LONGEST,
                "only {} of {wanted} requests came",
                self.requests()?
            );
            ensure!(
                crawler.0.try_wait()?.is_none(),
                "the crawl ended before its time"
            );
            thread::sleep(Duration::from_millis(50));
        }
        crawler.memory()
    }

    /// Requests that nginx has seen, those for this number left out.
    fn requests(&self) -> Result<u64> {
        let mut stream = UnixStream::connect(self.folder.join(STATUS))?;
        stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let mut lines = answer
            .lines()
            .skip_while(|line| !line.contains("handled requests"));
        let numbers = lines.nth(1).context("the form of nginx's status")?;
        let numbers: Vec<u64> = numbers
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [accepted, _, requests] = numbers[..] else {
            bail!("the form of nginx's status: {numbers:?}");
        };
        let _ = accepted;
        Ok(requests)
    }
}

/// A crawler that is ended with this value.
struct Running(Child);

impl Running {
    fn start(words: &[String]) -> Result<Self> {
        let (program, words) = words.split_first().context("a program")?;
        let mut command = Command::new(program);
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Ok(Self(command.spawn().context("the crawler")?))
    }

    /// Memory that is its own and not a file's, in bytes.
    fn memory(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        Ok(number.context("the form of /proc/PID/status")? * 1024.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A line of nginx's log.
#[derive(Debug, PartialEq)]
struct Hit {
    at: f64,
    protocol: String,
    path: String,
}

impl Hit {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self {
            at: words.next()?.parse().ok()?,
            protocol: words.next()?.to_owned(),
            path: words.next()?.to_owned(),
        })
    }
}

/// An authority, and a certificate of all names that the site is asked by.
fn certify(folder: &Path) -> Result<()> {
    let openssl = tools::installed(&["openssl"], &["openssl"])?;
    let run = |words: &[&str]| {
        let mut command = tools::within("60", &openssl);
        tools::quiet(command.args(words).current_dir(folder))
    };
    let mut names = "basicConstraints=CA:FALSE\nsubjectAltName=IP:127.0.0.1".to_owned();
    for host in 0..HOSTS {
        write!(names, ",DNS:h{host}.test")?;
    }
    fs::write(folder.join("names"), names)?;
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let authority = ["req", "-x509", "-days", "30", "-subj", "/CN=authority"];
    let files = ["-keyout", "authority.key", "-out", "authority.pem"];
    run(&[&authority[..], &key, &files].concat())?;
    let wish = [
        "req", "-subj", "/CN=site", "-keyout", "site.key", "-out", "site.csr",
    ];
    run(&[&wish[..], &key].concat())?;
    let sign = [
        "x509", "-req", "-in", "site.csr", "-days", "30", "-extfile", "names",
    ];
    let by = [
        "-CA",
        "authority.pem",
        "-CAkey",
        "authority.key",
        "-CAcreateserial",
    ];
    run(&[&sign[..], &by, &["-out", "site.pem"]].concat())
}

/// Pages of our own: a robots.txt, and what leads to answers that do not come.
fn fill(folder: &Path) -> Result<()> {
    let own = folder.join("own");
    fs::create_dir_all(&own)?;
    fs::write(
        own.join("robots.txt"),
        format!("User-agent: *\nDisallow: {FORBIDDEN}\n"),
    )?;
    for (name, count) in [("many", STREAMS), ("one", 1)] {
        let mut links = String::new();
        for number in 0..count {
            writeln!(links, "<a href=/late/{number}>x</a>")?;
        }
        let mut page = File::create(own.join(format!("{name}.html")))?;
        page.write_all(links.as_bytes())?;
    }
    Ok(())
}

/// The socket in the server's folder at which it tells what it was asked.
const STATUS: &str = "status.socket";

/// One process, and no file outside of its folder. nginx closes a connection of HTTP/2 after a thousand
/// requests unless it is told otherwise, which would be measured.
fn configuration(
    echo: &Path,
    pages: &Path,
    (folder, certificates): (&Path, &Path),
    port: u16,
) -> String {
    let status = folder.join(STATUS);
    format!(
        r#"load_module "{echo}";
daemon off;
master_process off;
worker_rlimit_nofile 65536;
pid nginx.pid;
events {{ worker_connections 16384; }}
http {{
  log_format path '$msec $server_protocol $request_uri';
  access_log access.log path;
  {TEMPORARY_PATHS}
  types {{ text/html html; text/css css; text/plain txt; }}
  keepalive_requests 1000000000;
  ssl_certificate "{certificates}/site.pem";
  ssl_certificate_key "{certificates}/site.key";
  ssl_protocols TLSv1.3;
  server {{
    listen 127.0.0.1:{port} ssl http2 backlog=16384;
    http2_max_concurrent_streams 256;
    root "{pages}";
    location = /robots.txt {{ root own; }}
    location = /many.html {{ root own; }}
    location = /one.html {{ root own; }}
    location /late/ {{ echo_sleep 300; echo late; }}
  }}
  server {{
    listen unix:{status};
    access_log off;
    location = /status {{ stub_status; }}
  }}
}}
"#,
        echo = echo.display(),
        pages = pages.display(),
        certificates = certificates.display(),
        status = status.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_log_are_read() {
        let hit = Hit::parse("1763550000.125 HTTP/2.0 /a/b.html").unwrap();
        assert_eq!(
            (hit.at, &*hit.protocol, &*hit.path),
            (1_763_550_000.125, "HTTP/2.0", "/a/b.html")
        );
        assert_eq!(Hit::parse("late"), None);
    }
}
