//! Pages walked in files of a crawl and of somebody else, from the beginning and from a place.

use std::fs::{self, File};
use std::io::BufRead;
use std::path::Path;

use clewline_core::key::Keyer;
use clewline_core::link::{Link, LinkKind};
use clewline_core::url::CrawlUrl;
use clewline_warc::read::Header;
use clewline_warc::{
    Block, Digest, Effort, Encoder, Moment, Profile, RecordDraft, RecordId, RevisitOriginal,
    WarcCompression,
};

use super::*;
use crate::archive::{LINE_FIELD, Position, RENDERED};
use crate::metadata::outlinks;
use crate::rebuild::Derived;
use crate::record::RenderedPage;
use crate::report::samples;

pub(crate) const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
const BODY: &[u8] = b"<p>twelve bytes";

/// Writes a WARC file.
pub(crate) struct Writing {
    file: File,
    encoder: Encoder,
    used: u64,
}

impl Writing {
    pub(crate) fn begin(path: &Path, software: &str) -> Self {
        let mut writing = Self {
            file: File::create(path).unwrap(),
            encoder: Encoder::new(WarcCompression::default()),
            used: 0,
        };
        writing.info(&format!("software: {software}\r\n"));
        writing
    }

    /// A warcinfo record.
    pub(crate) fn info(&mut self, text: &str) {
        let (id, block) = (self.id(), Block::plain(text.as_bytes()));
        self.put(&RecordDraft::warcinfo(id, date(), "a", block));
    }

    fn id(&mut self) -> RecordId {
        self.used += 1;
        RecordId::numbered([7; 16], self.used)
    }

    fn put(&mut self, draft: &RecordDraft<'_>) {
        self.encoder
            .encode(draft, Effort::Usual, &mut self.file)
            .unwrap();
    }

    pub(crate) fn answer(&mut self, url: &str) -> RecordId {
        self.answer_with(url, BODY)
    }

    pub(crate) fn answer_with(&mut self, url: &str, body: &[u8]) -> RecordId {
        let (id, block) = (self.id(), Block::message(HEAD).bytes(body));
        self.put(&RecordDraft::response(id, date(), url, block).payload_digest(Digest::sha1(body)));
        id
    }

    /// An answer that repeats the payload of another URL.
    fn repeat(&mut self, url: &str, target: &str) -> RecordId {
        let (id, block) = (self.id(), Block::message(HEAD));
        let profile = Profile::IdenticalPayloadDigest;
        let draft = RecordDraft::revisit(id, date(), url, profile, block);
        let original = RevisitOriginal {
            id: None,
            target,
            date: date(),
        };
        let draft = draft.refers_to(original);
        self.put(&draft.payload_digest(Digest::sha1(BODY)));
        id
    }

    pub(crate) fn line(&mut self, url: &str, of: RecordId, links: &[Link]) {
        self.line_of(&samples::record(url), of, links);
    }

    fn line_of(&mut self, record: &Record, of: RecordId, links: &[Link]) {
        let url = record.url.as_str();
        let line = serde_json::to_string(record).unwrap();
        let mut block = format!("{LINE_FIELD}: {line}\r\n").into_bytes();
        block.extend(outlinks(&links.iter().cloned().collect(), false, None));
        let (id, block) = (self.id(), Block::plain(&block));
        self.put(&RecordDraft::metadata(id, date(), url, block).concurrent_to(of));
    }
}

/// What a crawl writes of a page that a browser rendered: all of it, or all but the DOM.
fn write_rendered(writing: &mut Writing, url: &str, dom: Option<&[u8]>) {
    let id = writing.answer(url);
    writing.line_of(&rendered(url), id, &[]);
    if let Some(dom) = dom {
        let (dom_id, block) = (writing.id(), Block::plain(dom));
        let target = format!("{RENDERED}{url}");
        let draft = RecordDraft::resource(dom_id, date(), &target, block);
        writing.put(&draft.content_type("text/html").concurrent_to(id));
    }
}

fn rendered(url: &str) -> Record {
    Record {
        rendered: Some(RenderedPage::default()),
        charset: Some("windows-1252".into()),
        ..samples::record(url)
    }
}

fn date() -> Moment {
    Moment::from_timestamp("2026").unwrap()
}

pub(crate) fn no_answer(_: &Keyer, _: &Header, _: &mut dyn BufRead) -> Option<Derived> {
    None
}

const ALL: PageNeeds = PageNeeds {
    body: Some(9),
    rendered: true,
    links: true,
};

#[test]
fn a_page_is_its_record_its_answer_and_its_links() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a-1-00001.warc.gz");
    let (one, two) = ("http://a.test/1", "http://a.test/2");
    let link = Link::new(CrawlUrl::parse(two).unwrap(), LinkKind::Anchor);
    let mut writing = Writing::begin(&path, "clewline/1");
    // An answer without a line, such as that of a try that was repeated, is no page.
    writing.answer("http://a.test/robots.txt");
    let id = writing.answer(one);
    writing.line(one, id, std::slice::from_ref(&link));
    let id = writing.repeat(two, one);
    writing.line(two, id, &[]);
    drop(writing);
    let archive = CommittedArchive::open(place.path()).unwrap();
    let mut walk = ArchiveWalk::new(&archive, Position::default(), ALL, &no_answer);
    let first = walk.next().unwrap().unwrap();
    assert_eq!((first.record.url.as_str(), first.links), (one, vec![link]));
    let capture = first.capture.unwrap();
    assert_eq!(capture.head, HEAD);
    let (body, at) = walk.body(capture, || None);
    assert_eq!(body, BODY[..9], "no more than was asked for");
    let second = walk.next().unwrap().unwrap();
    assert_eq!(second.record.url.as_str(), two);
    let capture = second.capture.unwrap();
    assert!(capture.place > at, "it lies behind what it repeats");
    assert_eq!(walk.body(capture, || None), (BODY[..9].to_vec(), at));
    assert!(walk.next().is_none());
    assert_eq!(second.position, archive.end());
    // Whoever goes on has not met the payload, and is told where it is.
    let mut later = ArchiveWalk::new(&archive, first.position, ALL, &no_answer);
    let again = later.next().unwrap().unwrap();
    assert_eq!(again.record, second.record);
    let (body, _) = later.body(again.capture.unwrap(), || Some(at));
    assert_eq!(body, BODY[..9]);
    assert!(later.next().is_none());
}

#[test]
fn damage_costs_the_page_that_it_hits() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a-1-00001.warc.gz");
    let mut writing = Writing::begin(&path, "clewline/1");
    let mut ends = Vec::new();
    for url in ["http://a.test/1", "http://a.test/2", "http://a.test/3"] {
        let id = writing.answer(url);
        writing.line(url, id, &[]);
        ends.push(fs::metadata(&path).unwrap().len());
    }
    drop(writing);
    let mut bytes = fs::read(&path).unwrap();
    let hit = ends[1] as usize - 12;
    bytes[hit] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let archive = CommittedArchive::open(place.path()).unwrap();
    let mut walk = ArchiveWalk::new(&archive, Position::default(), ALL, &no_answer);
    let pages: Vec<_> = walk.by_ref().map(|page| page.unwrap().record.url).collect();
    let pages: Vec<_> = pages.iter().map(CrawlUrl::as_str).collect();
    assert_eq!(pages, ["http://a.test/1", "http://a.test/3"]);
    assert!(walk.damaged() > 0);
}

#[test]
fn what_others_archived_is_read_by_whoever_can() {
    let place = tempfile::tempdir().unwrap();
    let url = "http://a.test/1";
    let mut writing = Writing::begin(&place.path().join("b.warc.gz"), "wget");
    writing.answer(url);
    drop(writing);
    let archive = CommittedArchive::open(place.path()).unwrap();
    let read = |_: &Keyer, header: &Header, block: &mut dyn BufRead| {
        let mut whole = Vec::new();
        block.read_to_end(&mut whole).unwrap();
        assert_eq!(whole, [HEAD, BODY].concat());
        let record = samples::record(header.target()?);
        let links = Vec::new();
        Some(Derived { record, links })
    };
    let mut walk = ArchiveWalk::new(&archive, Position::default(), ALL, &read);
    let page = walk.next().unwrap().unwrap();
    assert_eq!(page.record.url.as_str(), url);
    let (body, _) = walk.body(page.capture.unwrap(), || None);
    assert_eq!(body, BODY[..9]);
    let mut walk = ArchiveWalk::new(&archive, Position::default(), ALL, &no_answer);
    assert!(walk.next().is_none());
}

/// A job of three URLs whose log has another order than its archive; the last has no capture.
fn job_of_three(place: &Path) -> [&'static str; 3] {
    let [one, two, three] = ["http://a.test/1", "http://a.test/2", "http://a.test/3"];
    let archive = place.join("archive");
    fs::create_dir(&archive).unwrap();
    let mut writing = Writing::begin(&archive.join("a-1-00001.warc.gz"), "clewline/1");
    let link = Link::new(CrawlUrl::parse(three).unwrap(), LinkKind::Anchor);
    let id = writing.answer(one);
    writing.line(one, id, std::slice::from_ref(&link));
    let id = writing.repeat(two, one);
    writing.line(two, id, &[]);
    let mut log = crate::log::UrlsLog::open(place).unwrap();
    for url in [two, one, three] {
        log.add(&samples::record(url)).unwrap();
    }
    log.sync().unwrap();
    [one, two, three]
}

fn summary(page: &JobPage) -> (String, Option<usize>, usize) {
    let body = page.answer.as_ref().and_then(|answer| answer.as_ref().ok());
    let url = page.record.url.as_str().to_owned();
    (url, body.map(|it| it.body.len()), page.links.len())
}

#[test]
fn pages_of_a_job_come_in_the_order_of_its_log() {
    let place = tempfile::tempdir().unwrap();
    let [one, two, three] = job_of_three(place.path());
    let job = Job::open(place.path()).unwrap();
    let pages: Vec<_> = job.pages(ALL).unwrap().map(Result::unwrap).collect();
    let seen: Vec<_> = pages.iter().map(summary).collect();
    let row = |url: &str, body, links| (url.to_owned(), body, links);
    let expected = [
        row(two, Some(9), 0),
        row(one, Some(9), 1),
        row(three, None, 0),
    ];
    assert_eq!(seen, expected);
    let answer = pages[1].answer.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((&answer.head[..], &answer.body[..]), (HEAD, &BODY[..9]));
    assert!(matches!(pages[2].answer, Some(Err(AnswerError::NoCapture))));
    for number in 1..4 {
        let threads = std::num::NonZero::new(number).unwrap();
        let pages = job.pages(ALL).unwrap();
        let made = pages.on_threads(threads, |page| summary(&page)).unwrap();
        let made: Vec<_> = made.map(Result::unwrap).collect();
        assert_eq!(made, expected, "{number} threads");
    }
}

#[test]
fn of_a_job_no_more_is_read_than_is_wanted() {
    let place = tempfile::tempdir().unwrap();
    let [one, two, _] = job_of_three(place.path());
    let job = Job::open(place.path()).unwrap();
    let pages = job.pages(ALL).unwrap();
    let pages = pages.only(|record| record.url.as_str() != one);
    let pages = pages.reading_only(|record| !record.url.as_str().ends_with('3'));
    let pages: Vec<_> = pages.map(Result::unwrap).collect();
    assert_eq!(pages.len(), 2);
    assert_eq!(pages[0].record.url.as_str(), two);
    assert!(pages[0].answer.is_some());
    assert!(pages[1].answer.is_none(), "it is not to be read");
    // Records alone need no archive.
    fs::remove_dir_all(place.path().join("archive")).unwrap();
    let job = Job::open(place.path()).unwrap();
    assert_eq!(job.pages(PageNeeds::default()).unwrap().count(), 3);
    assert!(matches!(job.pages(ALL), Err(PagesError::Archive(_))));
}

#[test]
fn a_warc_file_opens_as_a_job_without_logs() {
    let place = tempfile::tempdir().unwrap();
    let [one, two, _] = job_of_three(place.path());
    let file = place.path().join("archive/a-1-00001.warc.gz");
    let job = Job::open(&file).unwrap();
    assert_eq!(job.source(), JobSource::Warc);
    assert!(matches!(job.require_records(), Err(PagesError::Job(_))));
    let folder = Job::open(place.path()).unwrap();
    assert_eq!(folder.source(), JobSource::Folder);
    assert!(folder.require_records().is_ok());
    let pages: Vec<_> = job.pages(ALL).unwrap().map(Result::unwrap).collect();
    let seen: Vec<_> = pages.iter().map(summary).collect();
    let expected = [(one.to_owned(), Some(9), 1), (two.to_owned(), Some(9), 0)];
    assert_eq!(seen, expected, "in the order of the archive");
    let archive = Job::open(&place.path().join("archive")).unwrap();
    assert_eq!(archive.source(), JobSource::Warc);
    let alike = archive.pages(ALL).unwrap().map(Result::unwrap);
    let seen: Vec<_> = alike.map(|page| summary(&page)).collect();
    assert_eq!(seen[..2], expected, "a folder of WARC files is read alike");
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        Job::open(empty.path()),
        Err(PagesError::Job(JobFileError::NoJob(_)))
    ));
    let answer = pages[1].answer.as_ref().unwrap().as_ref().unwrap();
    assert_eq!(answer.head, HEAD);
    let pages = job.pages(ALL).unwrap().only(|it| it.url.as_str() == two);
    let threads = std::num::NonZero::<usize>::MIN;
    let made = pages.on_threads(threads, |page| summary(&page)).unwrap();
    let made: Vec<_> = made.map(Result::unwrap).collect();
    assert_eq!(made, expected[1..]);
    assert!(matches!(job.records(), Err(PagesError::Job(_))));
    assert!(job.links().unwrap().is_none());
    let missing = Job::open(&place.path().join("none.warc.gz"));
    assert!(matches!(missing, Err(PagesError::Job(_))));
}

#[test]
fn a_warc_file_of_others_has_the_pages_that_somebody_can_read() {
    let place = tempfile::tempdir().unwrap();
    let url = "http://a.test/1";
    let file = place.path().join("b.warc.gz");
    let mut writing = Writing::begin(&file, "wget");
    writing.answer(url);
    drop(writing);
    let job = Job::open(&file).unwrap();
    assert_eq!(job.pages(ALL).unwrap().count(), 0);
    let read = |_: &Keyer, header: &Header, _: &mut dyn BufRead| {
        let record = samples::record(header.target()?);
        let links = Vec::new();
        Some(Derived { record, links })
    };
    let pages = job.pages(ALL).unwrap().reading_answers(&read);
    let seen: Vec<_> = pages.map(|page| summary(&page.unwrap())).collect();
    assert_eq!(seen, [(url.to_owned(), Some(9), 0)]);
}

/// A DOM in UTF-8, whatever the answer was in.
const DOM: &str = "<p>\u{e9}t\u{e9} rendered";

/// A job of four pages: rendered, rendered without its DOM, plain, and rendered as the last one.
fn job_of_rendered(place: &Path) -> [&'static str; 4] {
    let urls = [
        "http://a.test/1",
        "http://a.test/2",
        "http://a.test/3",
        "http://a.test/4",
    ];
    let archive = place.join("archive");
    fs::create_dir(&archive).unwrap();
    let mut writing = Writing::begin(&archive.join("a-1-00001.warc.gz"), "clewline/1");
    write_rendered(&mut writing, urls[0], Some(DOM.as_bytes()));
    write_rendered(&mut writing, urls[1], None);
    let id = writing.answer(urls[2]);
    writing.line(urls[2], id, &[]);
    write_rendered(&mut writing, urls[3], Some(DOM.as_bytes()));
    let mut log = crate::log::UrlsLog::open(place).unwrap();
    for url in urls {
        let record = if url == urls[2] {
            samples::record(url)
        } else {
            rendered(url)
        };
        log.add(&record).unwrap();
    }
    log.sync().unwrap();
    urls
}

const RENDERED_ONES: PageNeeds = PageNeeds {
    body: Some(100),
    rendered: true,
    links: false,
};

#[test]
fn a_rendered_page_comes_with_its_dom_beside_its_body() {
    let place = tempfile::tempdir().unwrap();
    let urls = job_of_rendered(place.path());
    let folder = Job::open(place.path()).unwrap();
    let file = Job::open(&place.path().join("archive/a-1-00001.warc.gz")).unwrap();
    let said = |needs: PageNeeds, job: &Job| {
        let pages = job.pages(needs).unwrap().map(Result::unwrap);
        let said = pages.map(|page| {
            let answer = page.answer.unwrap().unwrap();
            assert_eq!(answer.body, BODY, "the raw bytes stay");
            let text = answer.text(page.record.charset.as_deref()).into_owned();
            (page.record.url.as_str().to_owned(), text)
        });
        said.collect::<Vec<_>>()
    };
    let raw = str::from_utf8(BODY).unwrap();
    let row = |url: &str, text: &str| (url.to_owned(), text.to_owned());
    for job in [&folder, &file] {
        let texts = [DOM, raw, raw, DOM];
        let expected: Vec<_> = std::iter::zip(urls, texts)
            .map(|(a, b)| row(a, b))
            .collect();
        assert_eq!(said(RENDERED_ONES, job), expected, "{:?}", job.source());
        let unasked = PageNeeds {
            rendered: false,
            ..RENDERED_ONES
        };
        let expected = urls.map(|url| row(url, raw));
        assert_eq!(said(unasked, job), expected, "{:?}", job.source());
        let pages = job.pages(ALL).unwrap().map(Result::unwrap);
        let first = pages.take(1).next().unwrap().answer.unwrap().unwrap();
        let most = &DOM.as_bytes()[..9];
        assert_eq!(first.rendered.as_deref(), Some(most), "it is bounded");
        let threads = std::num::NonZero::new(2).unwrap();
        let work = |page: JobPage| page.answer.unwrap().unwrap().rendered.is_some();
        let made = job.pages(ALL).unwrap().on_threads(threads, work).unwrap();
        let made: Vec<_> = made.map(Result::unwrap).collect();
        assert_eq!(made, [true, false, false, true]);
    }
    let reader = folder.reader().unwrap();
    let found = reader.capture(urls[0], None, 100, |_| true).unwrap();
    assert_eq!(found.answer.text(None), DOM);
    let found = reader.capture(urls[1], None, 100, |_| true).unwrap();
    assert_eq!(found.answer.text(None), raw);
}

#[test]
fn a_walk_goes_on_behind_each_rendered_page() {
    let place = tempfile::tempdir().unwrap();
    let urls = job_of_rendered(place.path());
    let archive = CommittedArchive::open(&place.path().join("archive")).unwrap();
    let walk = |from| ArchiveWalk::new(&archive, from, RENDERED_ONES, &no_answer);
    let whole: Vec<_> = walk(Position::default()).map(Result::unwrap).collect();
    let of = |page: &WalkedPage| (page.record.url.as_str().to_owned(), page.rendered.clone());
    assert_eq!(whole.len(), urls.len());
    assert_eq!(whole[3].position, archive.end());
    for (at, page) in whole.iter().enumerate() {
        let rest: Vec<_> = walk(page.position).map(|page| of(&page.unwrap())).collect();
        let expected: Vec<_> = whole[at + 1..].iter().map(of).collect();
        assert_eq!(rest, expected, "behind {}", urls[at]);
    }
}

#[test]
fn a_damaged_dom_leaves_the_page_as_it_was_answered() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a-1-00001.warc.gz");
    let mut writing = Writing::begin(&path, "clewline/1");
    write_rendered(&mut writing, "http://a.test/1", Some(DOM.as_bytes()));
    let end = fs::metadata(&path).unwrap().len();
    write_rendered(&mut writing, "http://a.test/2", Some(DOM.as_bytes()));
    drop(writing);
    let sound = fs::read(&path).unwrap();
    // The checksum, the DOM, the head of its record.
    for before in [7, 25, 60] {
        let mut bytes = sound.clone();
        bytes[end as usize - before] ^= 0xff;
        fs::write(&path, bytes).unwrap();
        let archive = CommittedArchive::open(place.path()).unwrap();
        let mut walk = ArchiveWalk::new(&archive, Position::default(), RENDERED_ONES, &no_answer);
        let doms: Vec<_> = walk.by_ref().map(|page| page.unwrap().rendered).collect();
        let expected = [None, Some(DOM.as_bytes().to_vec())];
        assert_eq!(doms, expected, "{before}");
        assert!(walk.damaged() > 0);
    }
}
