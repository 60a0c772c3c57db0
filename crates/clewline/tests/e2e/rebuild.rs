//! Logs and views made again from the archive alone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use clewline::AnswerReader;
use clewline::Crawl;
use clewline_job::config::Compression;
use clewline_job::log::records;
use clewline_job::rebuild::{Existing, RebuildError};
use clewline_job::record::OutcomeKind;
use clewline_warc::{Block, Effort, Encoder, Moment, RecordDraft, RecordId, WarcCompression};
use terrarium::{LiveWeb, Page, Site, Web, links, numbered_links};

use super::support::config;

/// What must come out as it was.
const MADE: [&str; 3] = ["urls.jsonl", "links/00000.links", "archive/index.cdxj"];

fn site() -> LiveWeb {
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /p/7\n")
        .page("/", Page::html(numbered_links("/p/", 40)))
        .page("/moved", Page::redirect(301, "/p/1"))
        .under("/p/", |request| {
            let more = [
                "/moved",
                "/gone",
                "/p/3?s=1&b=\u{e9}",
                "http://other.test/x",
            ];
            let body = format!("<title>\u{202e}{0}</title>{0} ", request.target());
            Page::html(body.repeat(40) + &links(more)).into()
        });
    Web::new().site("a.test", site).start()
}

fn archive(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("archive")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.to_string_lossy().contains(".warc"))
        .collect();
    files.sort_unstable_by(|left, right| right.cmp(left));
    files
}

#[test]
fn what_a_crawl_wrote_comes_out_of_its_archive_again() {
    for compression in [
        Compression::Fast,
        Compression::Balanced,
        Compression::Small,
        Compression::Zstd,
    ] {
        let web = site();
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a.crawl");
        let crawl = |pages| {
            let mut config = config(&web, &["a.test/"]);
            config.output.folder = Some(folder.clone());
            config.output.archive.compression = compression;
            config.output.archive.file_size = 4_000;
            config.scope.drop_params = vec!["s".into()];
            config.limits.pages = pages;
            Crawl::from_config(config).run().unwrap().wait().unwrap()
        };
        crawl(Some(10));
        let files = archive(&folder);
        assert!(matches!(
            AnswerReader::default().rebuild(&files, &folder, Existing::Replaced, &mut |_| {}),
            Err(RebuildError::Unfinished(_))
        ));
        let report = crawl(None).report;
        let files = archive(&folder);
        assert!(files.len() > 3, "{files:?}");
        let before = MADE.map(|name| fs::read(folder.join(name)).unwrap());

        let elsewhere = place.path().join("b");
        fs::create_dir_all(elsewhere.join("archive")).unwrap();
        let rebuilt = AnswerReader::default()
            .rebuild(&files, &elsewhere, Existing::Kept, &mut |_| {})
            .unwrap();
        assert_eq!(rebuilt.lines, report.tally.done);
        assert_eq!((rebuilt.derived, rebuilt.faults), (0, 0), "{rebuilt:?}");
        for (name, before) in MADE.iter().zip(&before) {
            assert!(fs::read(elsewhere.join(name)).unwrap() == *before, "{name}");
        }
        let page = fs::read_to_string(elsewhere.join("report.html")).unwrap();
        assert!(page.contains("made from the archive alone"), "{page}");
        let left = fs::read_dir(&elsewhere).unwrap().count();
        assert_eq!(left, 4, "nothing else is left");

        let refused = AnswerReader::default().rebuild(&files, &folder, Existing::Kept, &mut |_| {});
        assert!(
            matches!(refused, Err(RebuildError::Exists(_))),
            "{refused:?}"
        );
        for name in MADE {
            fs::remove_file(folder.join(name)).unwrap();
        }
        fs::remove_file(folder.join("report.html")).unwrap();
        AnswerReader::default()
            .rebuild(&files, &folder, Existing::Kept, &mut |_| {})
            .unwrap();
        for (name, before) in MADE.iter().zip(&before) {
            assert!(fs::read(folder.join(name)).unwrap() == *before, "{name}");
        }
    }
}

#[test]
fn what_others_archived_is_told_as_far_as_it_goes() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.warc.gz");
    let date = Moment::from_timestamp("20240102030405").unwrap();
    let page =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>t</title><a href=/b>b</a>";
    let moved = b"HTTP/1.1 302 No\r\nLocation: /c\r\n\r\n";
    let mut file = File::create(&path).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    let id = |number| RecordId::numbered([4; 16], number);
    for (number, target, message) in [
        (1, "http://a.test/a", &page[..]),
        (2, "http://a.test/b", &moved[..]),
        (3, "dns:a.test", b"no answer"),
    ] {
        let (head, body) = message.split_at(message.len() - 32 * usize::from(number == 1));
        let block = Block::message(head).bytes(body);
        let draft = RecordDraft::response(id(number), date, target, block);
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
    }
    let folder = place.path().join("made");
    let rebuilt = AnswerReader::default()
        .rebuild(&[path], &folder, Existing::Kept, &mut |_| {})
        .unwrap();
    assert_eq!(
        (rebuilt.lines, rebuilt.derived, rebuilt.captures),
        (0, 2, 3)
    );
    let found: Vec<_> = records(&folder.join("urls.jsonl"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found[0].title.as_deref(), Some("t"));
    assert_eq!((found[0].links, found[0].body_bytes), (1, 32));
    assert_eq!(found[0].fetched_at, "2024-01-02T03:04:05.000Z");
    assert_eq!(found[1].outcome, OutcomeKind::Redirected);
    assert_eq!(found[1].redirect_to.as_deref(), Some("http://a.test/c"));
    let index = fs::read_to_string(folder.join("index.cdxj")).unwrap();
    assert!(index.contains("\"status\":\"200\""), "{index}");
}
