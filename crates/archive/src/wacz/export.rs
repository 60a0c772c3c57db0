//! Writing a package.
//!
//! Owns the order of its members, the compressed index with the index of its pieces, the list of
//! pages and the list of everything with digests. Invariant: a package that could not be finished
//! does not stand under its name.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek as _, Write as _};
use std::path::Path;

use aws_lc_rs::digest;
use clewline_job::archive::{Archive, FileRecords, PACKAGED, WarcLocation};
use clewline_warc::cdxj::{self, Capture};
use clewline_warc::read::Watched;
use clewline_warc::{Digest, Moment};
use serde_json::{Value, json};

use super::zip::ZipWriter;
use crate::output::{ExistingOutput, OutputError};
use crate::title;

/// The version of WACZ.
const VERSION: &str = "1.1.1";
/// Lines of the index that are compressed together.
const BLOCK: usize = 1024;
/// Memory for sorting the index.
const SORTING: usize = 16 << 20;
/// The compressed index.
const INDEX: &str = "index.cdx.gz";

/// What a package holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageSummary {
    /// Captures in the index.
    pub captures: u64,
    /// Pages in the list.
    pub pages: u64,
}

/// Writes a package. `tell` hears how many bytes of how many were packed.
pub fn export(
    archive: &Archive,
    path: &Path,
    existing: ExistingOutput,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<PackageSummary, OutputError> {
    if existing == ExistingOutput::Keep && path.exists() {
        let path = path.to_owned();
        return Err(OutputError::FileExists { path });
    }
    written(archive, path, tell).map_err(|source| OutputError::Write {
        path: path.to_owned(),
        source,
    })
}

fn written(
    archive: &Archive,
    path: &Path,
    tell: &mut dyn FnMut(u64, u64),
) -> io::Result<PackageSummary> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let out = tempfile::NamedTempFile::new_in(folder)?;
    let mut package = Package {
        zip: ZipWriter::new(BufWriter::new(out.reopen()?)),
        resources: Vec::new(),
    };
    let names = names_of(archive.places());
    let total = archive.places().iter().map(|place| place.length).sum();
    let mut done = 0;
    let mut packed = |count| {
        done += count;
        tell(done, total);
    };
    for (place, name) in archive.places().iter().zip(&names) {
        let contents = place.open()?.take(whole_length(place)?);
        let contents = Watched::new(contents, &mut packed);
        package.add(&format!("{PACKAGED}{name}"), contents)?;
    }
    let lines = Lines::for_archive(archive, &names, folder)?;
    package.add_index(lines.sorted)?;
    package.add("pages/pages.jsonl", lines.pages)?;
    package.add_list(&lines.latest)?;
    let file = package.zip.finish()?;
    file.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    set_readable(out.as_file())?;
    out.persist(path).map_err(|error| error.error)?;
    Ok(lines.packed)
}

/// Temporary files are private; packages are files as others.
#[cfg(unix)]
fn set_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_readable(_: &File) -> io::Result<()> {
    Ok(())
}

/// Names in the package: those of the files, and another one for the second of a name.
fn names_of(places: &[WarcLocation]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for place in places {
        let plain = place.name.replace(['/', '\\'], "-");
        let mut name = plain.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{number}-{plain}");
            number += 1;
        }
        names.push(name);
    }
    names
}

/// How much of a file is whole: all of it, unless it is still written.
fn whole_length(place: &WarcLocation) -> io::Result<u64> {
    if place.path.extension().is_none_or(|ending| ending != "open") {
        return Ok(place.length);
    }
    let mut records = FileRecords::whole(BufReader::new(place.open()?));
    let mut whole = 0;
    while let Ok(Some(_)) = records.next_record()? {
        match records.end()? {
            Ok(ending) if ending.length > 0 => whole = ending.offset + ending.length,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Ok(whole)
}

/// The index and the pages of an archive.
struct Lines {
    sorted: File,
    pages: File,
    /// The timestamp of the latest capture.
    latest: String,
    packed: PackageSummary,
}

impl Lines {
    fn for_archive(archive: &Archive, names: &[String], folder: &Path) -> io::Result<Self> {
        let mut lines = BufWriter::new(tempfile::tempfile_in(folder)?);
        let mut pages = BufWriter::new(tempfile::tempfile_in(folder)?);
        let header = json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"});
        writeln!(pages, "{header}")?;
        let mut latest = String::new();
        let mut packed = PackageSummary {
            captures: 0,
            pages: 0,
        };
        archive.each::<io::Error>(|_, held| {
            let title = is_page(&held.capture).then(|| archive.read(&held));
            let title = title.and_then(Result::ok).and_then(title::from_content);
            let place = held.place;
            let mut capture = held.capture;
            capture.filename.clone_from(&names[place]);
            if capture.timestamp > latest {
                latest.clone_from(&capture.timestamp);
            }
            if is_page(&capture) {
                writeln!(pages, "{}", page(&capture, title))?;
                packed.pages += 1;
            }
            packed.captures += 1;
            writeln!(lines, "{}", capture.line())
        })?;
        let mut sorted = BufWriter::new(tempfile::tempfile_in(folder)?);
        let lines = BufReader::new(rewound(lines)?);
        cdxj::sort(lines, &mut sorted, SORTING, folder)?;
        Ok(Self {
            sorted: rewound(sorted)?,
            pages: rewound(pages)?,
            latest,
            packed,
        })
    }
}

fn rewound(out: BufWriter<File>) -> io::Result<File> {
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

fn is_page(capture: &Capture) -> bool {
    let is_html = matches!(capture.mime.as_str(), "text/html" | "application/xhtml+xml");
    is_html && capture.status == "200"
}

fn page(capture: &Capture, title: Option<String>) -> Value {
    let named = format!("{} {}", capture.timestamp, capture.url);
    let mut page = json!({
        "id": Digest::sha1(named.as_bytes()).base32().to_ascii_lowercase(),
        "url": capture.url,
        "ts": date(&capture.timestamp),
    });
    if let Some(title) = title {
        page["title"] = title.into();
    }
    page
}

/// A timestamp as a date of JSON.
fn date(timestamp: &str) -> String {
    let moment = Moment::from_timestamp(timestamp);
    let digits = moment.map_or_else(|| "19700101000000".to_owned(), Moment::timestamp);
    format!(
        "{}-{}-{}T{}:{}:{}Z",
        &digits[..4],
        &digits[4..6],
        &digits[6..8],
        &digits[8..10],
        &digits[10..12],
        &digits[12..14]
    )
}

struct Package {
    zip: ZipWriter<BufWriter<File>>,
    resources: Vec<Value>,
}

impl Package {
    fn add(&mut self, name: &str, contents: impl Read) -> io::Result<()> {
        let mut hasher = digest::Context::new(&digest::SHA256);
        let length = self.zip.add(name, contents, |bytes| hasher.update(bytes))?;
        self.resources.push(json!({
            "name": name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase(),
            "path": name,
            "hash": hash(&hasher.finish()),
            "bytes": length,
        }));
        Ok(())
    }

    /// The index in pieces that can be read alone, and where each begins.
    fn add_index(&mut self, sorted: File) -> io::Result<()> {
        let mut out = BufWriter::new(tempfile::tempfile()?);
        let mut pieces = format!(
            "!meta 0 {}\n",
            json!({"format": "cdxj-gzip-1.0", "filename": INDEX})
        );
        let mut lines = BufReader::new(sorted).split(b'\n');
        let mut offset = 0_u64;
        loop {
            let block: Vec<Vec<u8>> = lines.by_ref().take(BLOCK).collect::<io::Result<_>>()?;
            let Some(first) = block.first() else { break };
            let first = String::from_utf8_lossy(first);
            let mut words = first.splitn(3, ' ');
            let key = words.next().unwrap_or_default();
            let time = words.next().unwrap_or_default();
            let piece = compressed(&block)?;
            let sha = hash(&digest::digest(&digest::SHA256, &piece));
            let length = piece.len();
            let place =
                json!({"offset": offset, "length": length, "digest": sha, "filename": INDEX});
            writeln!(pieces, "{key} {time} {place}").expect("a string takes all text");
            out.write_all(&piece)?;
            offset += length as u64;
        }
        self.add(&format!("indexes/{INDEX}"), rewound(out)?)?;
        self.add("indexes/index.idx", pieces.as_bytes())
    }

    /// The list of all members, and its digest.
    fn add_list(&mut self, latest: &str) -> io::Result<()> {
        let list = json!({
            "profile": "data-package",
            "wacz_version": VERSION,
            "software": concat!("clewline/", env!("CARGO_PKG_VERSION")),
            "created": date(latest),
            "resources": std::mem::take(&mut self.resources),
        });
        let list = serde_json::to_vec_pretty(&list)?;
        let sum = hash(&digest::digest(&digest::SHA256, &list));
        let signed = json!({"path": "datapackage.json", "hash": sum});
        self.add("datapackage.json", &list[..])?;
        self.add(
            "datapackage-digest.json",
            serde_json::to_vec_pretty(&signed)?.as_slice(),
        )
    }
}

fn compressed(lines: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    for line in lines {
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }
    out.finish()
}

fn hash(digest: &digest::Digest) -> String {
    let mut text = "sha256:".to_owned();
    for byte in digest.as_ref() {
        write!(text, "{byte:02x}").expect("a string takes all text");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clewline_job::Job;
    use clewline_job::pages::PageNeeds;
    use clewline_job::rebuild::{Derived, ReadAnswer};

    use super::*;
    use crate::samples::write;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

    #[test]
    fn packages_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.warc.gz");
        let pages: Vec<String> = (0..2500).map(|n| format!("http://a.test/{n:05}")).collect();
        let pages: Vec<_> = pages
            .iter()
            .map(|url| (url.as_str(), "2020", HEAD, url.as_bytes()))
            .collect();
        write(&path, &pages);
        let other = folder.path().join("b");
        fs::create_dir(&other).unwrap();
        let other = other.join("a.warc.gz");
        let titled = b"<title>O&amp;O</title>other";
        write(&other, &[("http://b.test/", "2021", HEAD, titled)]);
        let archive = Archive::open(&[path, other]).unwrap();
        let [first, second] = ["x.wacz", "y.wacz"].map(|name| folder.path().join(name));
        let packed = export(&archive, &first, ExistingOutput::Keep, &mut |_, _| {}).unwrap();
        assert_eq!((packed.captures, packed.pages), (2501, 2501));
        export(&archive, &second, ExistingOutput::Keep, &mut |_, _| {}).unwrap();
        assert!(fs::read(&first).unwrap() == fs::read(&second).unwrap());
        let refused = export(&archive, &first, ExistingOutput::Keep, &mut |_, _| {});
        assert!(matches!(refused, Err(OutputError::FileExists { .. })));
        export(&archive, &first, ExistingOutput::Replace, &mut |_, _| {}).unwrap();

        // All members are stored as they are.
        let package = fs::read(&first).unwrap();
        let line = br#""title":"O&O","ts":"2021-01-01T00:00:00Z","url":"http://b.test/"}"#;
        assert!(memchr::memmem::find(&package, line).is_some());

        let read = Archive::open(&[first]).unwrap();
        assert_eq!(read.file_count(), 2);
        for (url, expected) in [
            ("http://a.test/02499", "http://a.test/02499"),
            ("http://b.test/", "<title>O&amp;O</title>other"),
        ] {
            let held = read.closest(url, None).unwrap().unwrap();
            let mut body = String::new();
            let content = read.read(&held).unwrap();
            content
                .decoded()
                .unwrap()
                .read_to_string(&mut body)
                .unwrap();
            assert_eq!(body, expected);
        }
    }

    #[test]
    fn a_package_opens_as_a_job_without_logs() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(format!("{name}.warc.gz")));
        for (path, url) in paths.iter().zip(["http://a.test/", "http://b.test/"]) {
            write(path, &[(url, "2020", HEAD, url.as_bytes())]);
        }
        let archive = Archive::open(&paths).unwrap();
        let package = folder.path().join("x.wacz");
        export(&archive, &package, ExistingOutput::Keep, &mut |_, _| {}).unwrap();
        let read: &ReadAnswer<'_> = &|_, header, _| {
            let record = serde_json::json!({
                "v": 1, "url": header.target()?, "key": "000102030405060708090a0b0c0d0e0f",
                "outcome": "fetched", "wire_bytes": 1, "body_bytes": 2, "links": 0,
                "new_links": 0, "depth": 1, "kind": "anchor", "tries": 1, "timings": {},
                "fetched_at": "2026-11-15T12:00:00.500Z",
            });
            let record = serde_json::from_value(record).unwrap();
            let links = Vec::new();
            Some(Derived { record, links })
        };
        let job = Job::open(&package).unwrap();
        let needs = PageNeeds {
            body: Some(100),
            ..PageNeeds::default()
        };
        let pages = job.pages(needs).unwrap().reading_answers(read);
        let mut seen = Vec::new();
        for page in pages {
            let page = page.unwrap();
            let answer = page.answer.unwrap().unwrap();
            assert_eq!(answer.head, HEAD);
            assert_eq!(answer.body, page.record.url.as_str().as_bytes());
            seen.push(page.record.url.as_str().to_owned());
        }
        assert_eq!(seen, ["http://a.test/", "http://b.test/"]);
    }

    #[test]
    fn names_are_apart() {
        let place = |name: &str| WarcLocation {
            name: name.to_owned(),
            path: PathBuf::new(),
            base: 0,
            length: 0,
        };
        let names = names_of(&["a", "a", "2-a", "x/a"].map(place));
        assert_eq!(names, ["a", "2-a", "2-2-a", "x-a"]);
    }
}
