//! A job folder that an earlier build left unfinished goes on.
//!
//! `tests/earlier/7bc6dc6.tar.zst` is what build 7bc6dc6 left when it was killed in the middle of
//! the site below, with `CLEWLINE_SMALL_TABLES=1`, so that its known keys lie in runs and in rows.
//! The site was reached through a proxy: so its URLs have no port, and neither has the test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clewline::Crawl;
use clewline_job::config::{Config, Root, Secret, Speed};
use clewline_job::record::Record;
use clewline_job::report::StoppedBy;
use terrarium::{LiveWeb, Page, Site, Web, numbered_links};

use super::support::{PATIENCE, records_in};

const FIXTURE: &[u8] = include_bytes!("../earlier/7bc6dc6.tar.zst");

/// Pages of the site beside its home.
const PAGES: u32 = 160;

/// 40 pages linked at home; each of the first 80 links to two more.
fn site() -> LiveWeb {
    let site = Site::new()
        .page("/", Page::html(numbered_links("/p/", 40)))
        .under("/p/", |request| {
            let number: u32 = request.path()["/p/".len()..].parse().unwrap_or(PAGES);
            let mut text = format!("<title>{number}</title><a href=/>home</a>");
            if number < PAGES / 2 {
                let (on, far) = (number + 40, number + 80);
                let _ = write!(text, "<a href=/p/{on}>on</a><a href=/p/{far}>far</a>");
            }
            Page::html(text).into()
        });
    Web::new().site("a.test", site).start()
}

/// Unpacks a plain tar file: a header of 512 bytes before each member, padded to as much.
fn unpack(archive: &[u8], into: &Path) {
    let mut rest = archive;
    while let Some((header, behind)) = rest.split_at_checked(512)
        && header[0] != 0
    {
        let text = |field: &[u8]| {
            let end = field.iter().position(|byte| *byte == 0);
            String::from_utf8(field[..end.unwrap_or(field.len())].to_vec()).unwrap()
        };
        let path = into.join(text(&header[..100]));
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        match header[156] {
            b'5' => fs::create_dir_all(path).unwrap(),
            _ => fs::write(path, &behind[..size]).unwrap(),
        }
        rest = &behind[size.next_multiple_of(512)..];
    }
}

fn config(web: &LiveWeb, folder: &Path) -> Config {
    let mut config = Config {
        roots: vec![Root::parse("http://a.test/").unwrap()],
        ..Config::default()
    };
    config.fetch.proxy = Some(Secret::new(format!("http://{}", web.http_proxy())));
    config.politeness.speed = Some(Speed::Max);
    config.limits.time = Some(PATIENCE);
    config.output.folder = Some(folder.to_owned());
    config
}

fn paths(records: &[Record]) -> Vec<String> {
    let path = |record: &Record| record.url.as_str().replacen("http://a.test", "", 1);
    records.iter().map(path).collect()
}

#[test]
fn a_folder_of_the_first_frozen_format_is_crawled_to_its_end() {
    let place = tempfile::tempdir().unwrap();
    unpack(&zstd::decode_all(FIXTURE).unwrap(), place.path());
    let folder = place.path().join("job");
    let runs = fs::read_dir(folder.join("state/store/keys")).unwrap();
    assert!(runs.count() > 0, "known keys lie in runs");
    let before: BTreeSet<String> = paths(&records_in(&folder)).into_iter().collect();
    assert!(before.len() > 40 && before.len() < 160, "{}", before.len());

    let web = site();
    let running = Crawl::from_config(config(&web, &folder)).run().unwrap();
    let report = running.wait().unwrap().report;
    assert_eq!(report.facts.stopped_by, StoppedBy::Finished);
    assert_eq!((report.check(), report.facts.todo), (Ok(()), 0));

    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths(&records_in(&folder)) {
        *counts.entry(path).or_default() += 1;
    }
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    let pages = (0..PAGES).map(|number| format!("/p/{number}"));
    for path in pages.chain(["/".to_owned()]) {
        assert!(counts.contains_key(&path), "{path} was lost");
        let asked = usize::from(!before.contains(&path));
        assert_eq!(web.log().count(&path), asked, "{path}");
    }
}
