//! The archive of a crawl: every byte as it was sent, once, well formed, whatever was sent.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clewline::{Crawl, Summary};
use clewline_job::config::{Compression, Config, Secret};
use clewline_warc::RecordKind;
use clewline_warc::read::{Header, WarcReader};
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Reply, Site, Step, Web, links, numbered_links};

use super::support::config;

/// A record: its header and its block.
pub(crate) struct Found {
    pub(crate) header: Header,
    block: Vec<u8>,
}

impl Found {
    fn is(&self, kind: RecordKind, path: &str) -> bool {
        let is_folder = path.starts_with('/') && path.ends_with('/');
        let fits = |url: &str| url.ends_with(path) || (is_folder && url.contains(path));
        self.header.kind() == kind && self.header.target().is_some_and(fits)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.block).into_owned()
    }
}

/// The job folder of a crawl.
struct Job {
    place: TempDir,
}

impl Job {
    fn folder(&self) -> PathBuf {
        self.place.path().join("a.crawl")
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder().join("archive")).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.to_string_lossy().contains(".warc"));
        files.sort();
        files
    }

    /// Every record in order; one that cannot be read fails the test.
    fn records(&self) -> Vec<Found> {
        self.files().iter().flat_map(|file| records(file)).collect()
    }

    /// `urls.jsonl` as the archive knows it.
    fn lines(&self) -> String {
        let records = self.records();
        let metadata = records
            .iter()
            .filter(|it| it.header.kind() == RecordKind::Metadata);
        let mut lines = String::new();
        for record in metadata {
            let text = record.text();
            let line = text
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("urls-jsonl: "));
            lines.push_str(line.unwrap());
            lines.push('\n');
        }
        lines
    }

    fn urls(&self) -> String {
        fs::read_to_string(self.folder().join("urls.jsonl")).unwrap()
    }
}

pub(crate) fn records(file: &Path) -> Vec<Found> {
    let mut reader = WarcReader::new(File::open(file).unwrap());
    let mut found = Vec::new();
    while let Some(header) = reader.next_record() {
        let header = header.unwrap();
        let mut block = Vec::new();
        reader.block().read_to_end(&mut block).unwrap();
        let ending = reader.end().unwrap();
        assert!(ending.is_alone && ending.is_closed, "{}", file.display());
        let digest = header.block_digest().unwrap();
        assert_eq!(digest, clewline_warc::Digest::sha1(&block));
        found.push(Found { header, block });
    }
    found
}

fn one<'a>(found: &'a [Found], kind: RecordKind, path: &str) -> &'a Found {
    let mut fitting = found.iter().filter(|record| record.is(kind, path));
    let record = fitting
        .next()
        .unwrap_or_else(|| panic!("no {kind:?} of {path}"));
    assert!(fitting.next().is_none(), "two records {kind:?} of {path}");
    record
}

fn archived(web: &LiveWeb, change: impl FnOnce(&mut Config)) -> Job {
    let place = tempfile::tempdir().unwrap();
    let job = Job { place };
    let mut config = config(web, &["a.test/"]);
    config.output.folder = Some(job.folder());
    change(&mut config);
    run(config);
    job
}

fn run(config: Config) -> Summary {
    let summary = Crawl::from_config(config).run().unwrap().wait().unwrap();
    assert!(summary.error.is_none(), "{:?}", summary.error);
    summary
}

fn script(bytes: &[u8]) -> Reply {
    Reply::Script(vec![Step::send(bytes), Step::Close])
}

/// Odd in every way that heads and framing know.
const ODD: &[u8] = b"HTTP/1.1 200   oK then\r\nX-a:1\r\nx-A:  2 \r\nX-FOLDED: one\r\n\ttwo\r\n \
    three\r\nContent-TYPE: text/html\r\nTRANSFER-encoding: Chunked\r\nDate:\r\n\r\n\
    0005;why=\"not\";x\r\nhello\r\n006  \r\n world\r\n000;last\r\nTrailer-One: x\r\n\
    trailer-two:y\r\n\r\n";

const TWIN: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nthe same";

const CUT: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\nshort";

#[test]
fn every_byte_stands_in_the_archive_as_it_was_sent() {
    let plain = b"HTTP/1.1 200 OK\r\ncontent-type:text/plain\r\nContent-Length: 2\r\n\r\nhi";
    let hinted = [b"HTTP/1.1 103 Hm\r\nLink: </x>\r\n\r\n", &plain[..]].concat();
    let paths = [
        "/odd",
        "/hinted",
        "/cut",
        "/moved",
        "/not/this",
        "/twin/1",
        "/twin/2",
    ];
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /not\n")
        .page("/", Page::html(links(paths)))
        .page("/odd", script(ODD))
        .page("/hinted", script(&hinted))
        .under("/twin/", |_| script(TWIN))
        .page("/cut", script(CUT))
        .page("/moved", Page::redirect(301, "/odd"));
    let web = Web::new().site("a.test", site).start();
    let job = archived(&web, |config| config.limits.tries = 1);
    let found = job.records();
    assert_eq!(found[0].header.kind(), RecordKind::WarcInfo);
    assert!(
        found[0].text().contains("\r\nrobots: obey\r\n"),
        "{}",
        found[0].text()
    );
    assert_eq!(one(&found, RecordKind::Response, "/odd").block, ODD);
    assert_eq!(one(&found, RecordKind::Response, "/hinted").block, plain);
    // The same payload twice: one record has it, the other one says where it is.
    let twin = one(&found, RecordKind::Response, "/twin/");
    let again = one(&found, RecordKind::Revisit, "/twin/");
    assert_eq!(twin.block, TWIN);
    assert_eq!(again.block, TWIN[..TWIN.len() - "the same".len()]);
    let refers_to = again.header.value("WARC-Refers-To-Target-URI");
    assert_eq!(refers_to, twin.header.target());
    let cut = one(&found, RecordKind::Response, "/cut");
    assert_eq!(cut.block, CUT);
    assert_eq!(cut.header.value("WARC-Truncated"), Some("disconnect"));
    for path in ["/robots.txt", "/sitemap.xml", "/moved", "/"] {
        let response = one(&found, RecordKind::Response, &web.url("a.test", path));
        let request = one(&found, RecordKind::Request, &web.url("a.test", path));
        assert_eq!(
            request.header.value("WARC-Concurrent-To"),
            response.header.value("WARC-Record-ID")
        );
        let address = web.addr("a.test").ip().to_string();
        assert_eq!(request.header.value("WARC-IP-Address"), Some(&*address));
        assert!(
            request
                .text()
                .starts_with(&format!("GET {path} HTTP/1.1\r\n"))
        );
    }
    let front = one(&found, RecordKind::Metadata, &web.url("a.test", "/"));
    assert!(front.text().contains("/odd anchor\r\n"), "{}", front.text());
    // No exchange, and yet a record.
    assert!(
        one(&found, RecordKind::Metadata, "/not/this")
            .text()
            .contains("\"skipped\"")
    );
    assert!(
        found
            .iter()
            .all(|record| !record.is(RecordKind::Request, "/not/this"))
    );
    assert_eq!(job.lines(), job.urls());
    let index = fs::read_to_string(job.folder().join("archive/index.cdxj")).unwrap();
    let is_capture =
        |it: &&Found| matches!(it.header.kind(), RecordKind::Response | RecordKind::Revisit);
    assert_eq!(
        index.lines().count(),
        found.iter().filter(is_capture).count()
    );
    assert!(
        index.lines().is_sorted() && index.contains("warc/revisit"),
        "{index}"
    );
}

#[test]
fn nothing_that_is_sent_breaks_out_of_a_record() {
    let forged = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\r\n\r\nWARC/1.1\r\nWARC-Type: \
                  response\r\nContent-Length: 0\r\n\r\n";
    let page = "<a href='/x%0d%0aWARC-Type:%20evil'>1</a><a href='/y\r\nWARC-Type: evil'>2</a>\
                <a href='/z\u{0}\u{7f}é'>3</a><a href=/cr>4</a><title>a\r\n\r\nWARC/1.1\r\n</title>";
    let site = Site::new()
        .page("/", Page::html(page))
        .page(
            "/cr",
            Page::html("x").header("X-Evil", "a\rWARC-Type: evil"),
        )
        .page(
            "/robots.txt",
            script(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\nWARC/1.1\r\n"),
        )
        .under("/", move |_| script(forged.as_bytes()));
    let web = Web::new().site("a.test", site).start();
    let job = archived(&web, |_| {});
    let found = job.records();
    assert!(found.len() > 8, "{}", found.len());
    for record in &found {
        for (name, value) in record.header.fields() {
            // A revisit names the address of the first of equal answers, whichever that was.
            let is_address = name.ends_with("Target-URI");
            assert!(!value.contains("evil") || value.contains("%0d%0a") || is_address);
            assert!(
                !name.contains("evil") && !value.contains(char::is_control),
                "{name}: {value}"
            );
        }
        if record.header.kind() == RecordKind::Metadata {
            let known = ["urls-jsonl: {", "extractor: ", "outlink: http"];
            let sound = |line: &str| known.iter().any(|first| line.starts_with(first));
            assert!(record.text().lines().all(sound), "{}", record.text());
        }
    }
    assert_eq!(job.lines(), job.urls());
}

#[test]
fn files_rotate_and_are_whole() {
    for compression in [
        Compression::Fast,
        Compression::Balanced,
        Compression::Small,
        Compression::Zstd,
    ] {
        let site = Site::new()
            .page("/", Page::html(numbered_links("/p/", 60)))
            .under("/p/", |request| {
                Page::html(format!("{} ", request.target()).repeat(500)).into()
            });
        let web = Web::new().site("a.test", site).start();
        let job = archived(&web, |config| {
            config.output.archive.compression = compression;
            config.output.archive.file_size = 10_000;
        });
        let files = job.files();
        assert!(files.len() > 2, "{files:?}");
        let ending = match compression {
            Compression::Zstd => ".warc.zst",
            _ => ".warc.gz",
        };
        for (number, file) in files.iter().enumerate() {
            let name = file.file_name().unwrap().to_string_lossy();
            let serial = format!("-{:05}{ending}", number + 1);
            assert!(name.starts_with("a-2") && name.ends_with(&serial), "{name}");
            let found = records(file);
            assert_eq!(found[0].header.kind(), RecordKind::WarcInfo);
            assert_eq!(found[0].header.value("WARC-Filename"), Some(&*name));
            assert!(
                found[1..]
                    .iter()
                    .all(|it| it.header.kind() != RecordKind::WarcInfo)
            );
        }
        assert_eq!(job.lines(), job.urls());
    }
}

#[test]
fn runs_add_up_in_the_archive_too() {
    let site = Site::new()
        .page("/", Page::html(numbered_links("/p/", 30)))
        .under("/p/", |request| Page::html(request.target()).into());
    let web = Web::new().site("a.test", site).start();
    let job = archived(&web, |config| config.limits.pages = Some(5));
    for (pages, archive) in [(Some(10), true), (Some(15), false), (None, true)] {
        let mut config = config(&web, &["a.test/"]);
        config.output.folder = Some(job.folder());
        config.output.archive.write = archive;
        config.limits.pages = pages;
        run(config);
    }
    let (lines, urls) = (job.lines(), job.urls());
    let missing = urls.lines().filter(|line| !lines.contains(line)).count();
    assert_eq!(missing, 5, "those of the run without an archive");
    assert!(lines.lines().all(|line| urls.contains(line)));
    assert_eq!(lines.lines().count() + missing, urls.lines().count());
    assert_eq!(job.files().len(), 3);
}

#[test]
fn secrets_stay_out_unless_they_are_wanted() {
    for keep in [false, true] {
        let site = Site::new()
            .page(
                "/",
                Page::html("<a href=/in>in</a>").header("Set-Cookie", "id=hunter3"),
            )
            .page("/in", Page::html("in"));
        let web = Web::new().site("a.test", site).start();
        let job = archived(&web, |config| {
            config.fetch.user = Some(Secret::new("me:hunter2"));
            config.fetch.headers = vec![("X-Key".into(), Secret::new("hunter1"))];
            config.output.archive.keep_secrets = keep;
        });
        let found = job.records();
        let request = one(&found, RecordKind::Request, "/in").text();
        for secret in ["hunter1", "Basic bWU6aHVudGVyMg==", "id=hunter3"] {
            assert_eq!(request.contains(secret), keep, "{request}");
        }
        assert_eq!(
            request.matches("(removed)").count(),
            if keep { 0 } else { 3 }
        );
        let info = found[0].text();
        assert_eq!(info.contains("secrets: kept"), keep, "{info}");
        assert!(!info.contains("hunter"), "{info}");
    }
}

#[test]
fn without_an_archive_there_is_none() {
    let site = Site::new().page("/", Page::html("hello"));
    let web = Web::new().site("a.test", site).start();
    let job = archived(&web, |config| config.output.archive.write = false);
    assert!(!job.folder().join("archive").exists());
}
