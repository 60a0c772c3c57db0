//! Writing the index.
//!
//! Owns the engine's writer, where the index stands, and when an index is begun anew. Invariants:
//! what a commit holds and the place that it names go together, or neither is there; whoever
//! changes anything in the folder holds its lock, which stays when everything else is removed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::collector::TopDocs;
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::LockError;
use tantivy::query::TermQuery;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};

use crate::document::Document;
use crate::error::SearchError;
use crate::schema::{Fields, VERSION};
use crate::words;

/// The file that is locked by whoever writes.
const LOCK: &str = "writing.lock";

/// The right to write to an index, until it is dropped.
#[derive(Debug)]
pub(crate) struct WriterLock {
    folder: PathBuf,
    _file: File,
}

impl WriterLock {
    /// Takes the right, unless another has it.
    pub(crate) fn take(folder: &Path) -> Result<Self, SearchError> {
        let io = |source| SearchError::Io {
            path: folder.to_owned(),
            source,
        };
        fs::create_dir_all(folder).map_err(io)?;
        let mut options = File::options();
        let options = options.create(true).truncate(false).write(true);
        let file = options.open(folder.join(LOCK)).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                folder: folder.to_owned(),
                _file: file,
            }),
            Err(TryLockError::WouldBlock) => Err(SearchError::Busy(folder.to_owned())),
            Err(TryLockError::Error(source)) => Err(io(source)),
        }
    }

    /// Removes everything but the lock: another one that is made in its place would not be known
    /// to whoever has opened this one.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name() == LOCK {
                continue;
            }
            let removed = if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// What writing may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriterResources {
    /// Threads that write.
    threads: usize,
    /// Memory of all of them; what does not fit becomes a segment on the disk.
    memory: usize,
}

impl WriterResources {
    /// Where nothing else is to be done.
    pub(crate) const ALONE: Self = Self {
        threads: 2,
        memory: 128 * 1024 * 1024,
    };
    /// Beside a crawl that has its own memory to keep to.
    pub(crate) const BESIDE: Self = Self {
        threads: 1,
        memory: 32 * 1024 * 1024,
    };
}

/// How far an index is: the payload of its commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IndexCheckpoint {
    version: u32,
    /// The file of the archive in which it stands.
    pub(crate) file: String,
    /// The place in the archive up to which everything is indexed, as an offset of its log.
    pub(crate) position: u64,
}

impl IndexCheckpoint {
    pub(crate) const fn new(file: String, position: u64) -> Self {
        Self {
            version: VERSION,
            file,
            position,
        }
    }

    /// Where an index stands; nothing if there is none of this version.
    pub(crate) fn from_index(index: &tantivy::Index) -> Option<Self> {
        let (schema, _) = Fields::schema();
        let payload = index.load_metas().ok()?.payload?;
        let standing: Self = serde_json::from_str(&payload).ok()?;
        (standing.version == VERSION && index.schema() == schema).then_some(standing)
    }

    /// Where the index in a folder stands.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        Self::from_index(&open_engine(folder).ok()?)
    }
}

/// Opens what is in a folder and makes the words known to it.
pub(crate) fn open_engine(folder: &Path) -> tantivy::Result<tantivy::Index> {
    let index = tantivy::Index::open_in_dir(folder)?;
    teach(&index);
    Ok(index)
}

fn teach(index: &tantivy::Index) {
    let analyzer = TextAnalyzer::builder(words::WordTokenizer).build();
    index.tokenizers().register(words::NAME, analyzer);
}

/// Writes an index. There is one writer at a time.
pub(crate) struct Writer {
    lock: WriterLock,
    fields: Fields,
    engine: IndexWriter,
    reader: IndexReader,
}

impl Writer {
    /// Opens the index in a folder, or begins one.
    pub(crate) fn open(lock: WriterLock, room: WriterResources) -> Result<Self, SearchError> {
        match open_engine(&lock.folder) {
            Ok(index) => Self::new(lock, &index, room),
            Err(_) => Self::begin(lock, room),
        }
    }

    /// Begins an index; what is in the folder is removed.
    pub(crate) fn begin(lock: WriterLock, room: WriterResources) -> Result<Self, SearchError> {
        let folder = &lock.folder;
        lock.clear().map_err(|source| SearchError::Io {
            path: folder.clone(),
            source,
        })?;
        let failed = |source| engine_error(folder, source);
        let directory = MmapDirectory::open(folder).map_err(|source| failed(source.into()))?;
        let (schema, _) = Fields::schema();
        let index = tantivy::Index::create(directory, schema, tantivy::IndexSettings::default())
            .map_err(failed)?;
        teach(&index);
        Self::new(lock, &index, room)
    }

    fn new(
        lock: WriterLock,
        index: &tantivy::Index,
        room: WriterResources,
    ) -> Result<Self, SearchError> {
        let failed = |source| engine_error(&lock.folder, source);
        let (_, fields) = Fields::schema();
        let writer = index
            .writer_with_num_threads(room.threads, room.memory)
            .map_err(failed)?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(failed)?;
        Ok(Self {
            lock,
            fields,
            engine: writer,
            reader,
        })
    }

    /// Puts a page in, in place of what was known under its URL.
    pub(crate) fn put(&mut self, document: Document) -> Result<(), SearchError> {
        let document = document.bounded();
        self.remove(&document.url);
        self.engine
            .add_document(self.fields.encode(&document))
            .map(|_| ())
            .map_err(|source| engine_error(&self.lock.folder, source))
    }

    /// Takes a page out.
    pub(crate) fn remove(&mut self, url: &str) {
        self.engine
            .delete_term(Term::from_field_text(self.fields.url, url));
    }

    /// Makes everything durable, together with the place that it reaches to.
    pub(crate) fn commit(&mut self, standing: &IndexCheckpoint) -> Result<(), SearchError> {
        let failed = |source| engine_error(&self.lock.folder, source);
        let payload = serde_json::to_string(standing).map_err(|error| SearchError::Io {
            path: self.lock.folder.clone(),
            source: error.into(),
        })?;
        let mut commit = self.engine.prepare_commit().map_err(failed)?;
        commit.set_payload(&payload);
        commit.commit().map_err(failed)?;
        self.reader.reload().map_err(failed)
    }

    /// Tells where a committed page with a digest was captured.
    pub(crate) fn finder(&self) -> impl Fn(u64) -> Option<u64> + use<> {
        let (reader, fields) = (self.reader.clone(), self.fields);
        move |digest| {
            let searcher = reader.searcher();
            let term = Term::from_field_u64(fields.digest, digest);
            let query = TermQuery::new(term, IndexRecordOption::Basic);
            let top = TopDocs::with_limit(1).order_by_score();
            let found = searcher.search(&query, &top).ok()?;
            let document: TantivyDocument = searcher.doc(found.first()?.1).ok()?;
            document.get_first(fields.place)?.as_u64()
        }
    }

    /// Ends when segments that are being joined are.
    pub(crate) fn close(self) -> Result<(), SearchError> {
        let Self { lock, engine, .. } = self;
        engine
            .wait_merging_threads()
            .map_err(|source| engine_error(&lock.folder, source))
    }
}

/// What an error of the engine means.
pub(crate) fn engine_error(folder: &Path, source: TantivyError) -> SearchError {
    match source {
        TantivyError::LockFailure(LockError::LockBusy, _) => SearchError::Busy(folder.to_owned()),
        source => SearchError::Engine {
            path: folder.to_owned(),
            source,
        },
    }
}
