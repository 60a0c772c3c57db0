//! The archive after kills: whole files, and every settled URL in it once.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use clewline_job::rebuild::Existing;
use clewline_warc::read::WarcReader;
use clewline_warc::{Digest, RecordKind};

/// Small, so that files end and begin all the time.
pub(crate) const FILE_SIZE: &str = "20k";

/// The variable that names a folder for what others shall read: the foreign tools are not here.
const KEPT: &str = "CLEWLINE_KEEP_ARCHIVES";

/// Keeps the files that are closed, if somebody asks for them: at each kill, and once more where
/// the next run cut one back to what was committed.
pub(crate) fn keep(folder: &Path) {
    let Some(kept) = std::env::var_os(KEPT) else {
        return;
    };
    // Each crawl has a folder of its own somewhere.
    let name = folder.to_string_lossy().replace(['/', '\\', ':'], "-");
    let kept = Path::new(&kept).join(name);
    fs::create_dir_all(&kept).unwrap();
    // A crawl that was killed at once has no archive yet.
    for entry in fs::read_dir(folder.join("archive")).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "gz") {
            let name = path.file_name().unwrap().to_str().unwrap();
            let bytes = fs::read(&path).unwrap();
            let digest = Digest::sha1(&bytes).base32();
            fs::write(kept.join(format!("{digest}-{name}")), bytes).unwrap();
        }
    }
}

/// The files that are closed, with their digests.
pub(crate) fn closed(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder.join("archive")).into_iter().flatten();
    let closed = entries.filter_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?.to_owned();
        let is_closed = name.ends_with(".warc.gz");
        is_closed.then(|| (name, Digest::sha1(&fs::read(&path).unwrap()).base32()))
    });
    closed.collect()
}

/// Reads every record of every file; the lines in it are those of `urls.jsonl`, byte for byte.
pub(crate) fn check(folder: &Path) {
    let mut names: Vec<String> = fs::read_dir(folder.join("archive"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".warc"))
        .collect();
    names.sort_by_key(|name| name.rsplit('-').next().map(str::to_owned));
    let mut lines = Vec::new();
    for name in &names {
        assert!(name.ends_with(".warc.gz"), "{name} is still open");
        let file = File::open(folder.join("archive").join(name)).unwrap();
        let mut reader = WarcReader::new(file);
        let mut records = 0;
        while let Some(header) = reader.next_record() {
            let header = header.unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut block = Vec::new();
            reader.block().read_to_end(&mut block).unwrap();
            let ending = reader.end().unwrap();
            assert!(ending.is_alone && ending.is_closed, "{name}");
            assert_eq!(header.block_digest(), Some(Digest::sha1(&block)), "{name}");
            assert_eq!(
                header.kind() == RecordKind::WarcInfo,
                records == 0,
                "{name}"
            );
            if header.kind() == RecordKind::Metadata {
                let line = block.split(|byte| *byte == b'\r').next().unwrap();
                lines.extend_from_slice(line.strip_prefix(b"urls-jsonl: ").unwrap());
                lines.push(b'\n');
            }
            records += 1;
        }
        assert!(records > 1, "{name} has {records} records");
    }
    let expected = fs::read(folder.join("urls.jsonl")).unwrap();
    assert!(
        lines == expected,
        "the archive tells another story than urls.jsonl"
    );
    rebuild(folder, &names);
    keep(folder);
    eprintln!("{} files of the archive are whole", names.len());
}

/// What is made from the archive alone is what the crawl wrote.
fn rebuild(folder: &Path, names: &[String]) {
    let files: Vec<_> = names
        .iter()
        .map(|name| folder.join("archive").join(name))
        .collect();
    let made = tempfile::tempdir().unwrap();
    let rebuilt = clewline::AnswerReader::default()
        .rebuild(&files, made.path(), Existing::Kept, &mut |_| {})
        .unwrap();
    assert_eq!((rebuilt.derived, rebuilt.faults), (0, 0), "{rebuilt:?}");
    for (name, original) in [
        ("urls.jsonl", "urls.jsonl"),
        ("links/00000.links", "links/00000.links"),
        ("index.cdxj", "archive/index.cdxj"),
    ] {
        let made = fs::read(made.path().join(name)).unwrap();
        let original = fs::read(folder.join(original)).unwrap();
        assert!(
            made == original,
            "{name} comes out of the archive otherwise"
        );
    }
}
