//! Events of a crawl, as server-sent events (HTML, section 9.2).
//!
//! Owns one watching thread per job that somebody looks at, and what it tells: `state`, `status`
//! (whole at first, then what changed), `url` (a sample) and `note`. It refuses to know who looks.
//! Invariants: a job that nobody looks at is not asked; however many look, it is asked once per
//! [`TICK`]; whoever reads slowly loses events and is told how many, and costs no memory beyond
//! [`RING`] events.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clewline_job::Job;
use clewline_job::log::lines::Lines;
use clewline_job::status::Status;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::fleet::FleetShelf;
use super::jobs::JobPlaces;
use super::reply::ApiProblem;
use crate::server::ServerRequest;

/// How often a job is asked.
const TICK: Duration = Duration::from_millis(500);
/// How often something is said at least.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events that wait for a reader, and that are kept for those who come back.
const RING: usize = 256;
/// URLs that are told of at once.
const MOST_URLS: usize = 10;
/// Bytes of the log that the sample is taken from.
const SAMPLED: u64 = 64 * 1024;
/// Readers of one job.
const MOST_READERS: usize = 256;

type Reader = mpsc::Sender<io::Result<Bytes>>;

/// Somebody who wants to hear, and what they heard last.
struct Joining {
    reader: Reader,
    last: Option<String>,
}

/// The jobs that are watched.
#[derive(Debug)]
pub(super) struct Watches {
    jobs: Arc<JobPlaces>,
    fleet: Option<Arc<FleetShelf>>,
    watched: Arc<Mutex<HashMap<PathBuf, Sender<Joining>>>>,
}

impl Watches {
    pub(super) fn new(jobs: Arc<JobPlaces>) -> Self {
        Self {
            jobs,
            fleet: None,
            watched: Arc::default(),
        }
    }

    /// The watch over a fleet.
    pub(super) fn of_fleet(jobs: Arc<JobPlaces>, fleet: Arc<FleetShelf>) -> Self {
        Self {
            fleet: Some(fleet),
            ..Self::new(jobs)
        }
    }

    /// The events of the fleet, if there is one.
    pub(super) fn join_fleet(
        &self,
        request: &ServerRequest,
    ) -> Result<mpsc::Receiver<io::Result<Bytes>>, ApiProblem> {
        // Nothing else is watched then, so any path stands for it.
        self.join(Path::new(""), request)
    }

    /// The events of a job from now on, or from the one that the reader heard last.
    pub(super) fn join(
        &self,
        path: &Path,
        request: &ServerRequest,
    ) -> Result<mpsc::Receiver<io::Result<Bytes>>, ApiProblem> {
        let (reader, events) = mpsc::channel(RING);
        let last = request.field("last-event-id").map(str::to_owned);
        let joining = Joining { reader, last };
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let joining = match watched.get(path) {
            Some(watch) => match watch.send(joining) {
                Ok(()) => return Ok(events),
                // Its last reader has just gone.
                Err(unsent) => unsent.0,
            },
            None => joining,
        };
        let (sender, joined) = channel();
        // The receiver is in hand.
        sender.send(joining).ok();
        let fleet = self.fleet.clone();
        let watch = Watch::new(Arc::clone(&self.jobs), path.to_owned(), fleet);
        let all = Arc::clone(&self.watched);
        let spawned = thread::Builder::new()
            .name("clewline-events".to_owned())
            .spawn(move || watch.run(&joined, &all));
        spawned.map_err(|_| ApiProblem::new(503, "the machine has no thread left"))?;
        watched.insert(path.to_owned(), sender);
        Ok(events)
    }
}

/// One watched job.
struct Watch {
    jobs: Arc<JobPlaces>,
    path: PathBuf,
    /// What is watched instead of the job.
    fleet: Option<Arc<FleetShelf>>,
    /// What identifiers of this watch begin with; another watch continues nothing of this one.
    name: String,
    readers: Vec<WatchReader>,
    ring: VecDeque<(u64, Bytes)>,
    number: u64,
    told: Map<String, Value>,
    /// The number of the last note that was told.
    noted: u64,
    log_end: Option<u64>,
    spoken_at: Instant,
}

struct WatchReader {
    events: Reader,
    missed: u64,
}

impl Watch {
    fn new(jobs: Arc<JobPlaces>, path: PathBuf, fleet: Option<Arc<FleetShelf>>) -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        Self {
            jobs,
            path,
            fleet,
            name: format!("{:08x}", RandomState::new().hash_one(0) as u32),
            readers: Vec::new(),
            ring: VecDeque::new(),
            number: 0,
            told: Map::new(),
            noted: 0,
            log_end: None,
            spoken_at: Instant::now(),
        }
    }

    /// Looks and tells until the last reader has gone.
    fn run(mut self, joined: &Receiver<Joining>, all: &Mutex<HashMap<PathBuf, Sender<Joining>>>) {
        loop {
            let next = Instant::now() + TICK;
            self.look();
            loop {
                let left = next.saturating_duration_since(Instant::now());
                match joined.recv_timeout(left) {
                    Ok(joining) => self.admit(joining),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            self.readers.retain(|reader| !reader.events.is_closed());
            if self.readers.is_empty() {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                // Whoever joined at the last moment begins the next watch.
                let Ok(joining) = joined.try_recv() else {
                    all.remove(&self.path);
                    return;
                };
                self.admit(joining);
            }
        }
    }

    /// Whoever was here before hears what was said meanwhile; others hear everything as it stands.
    fn admit(&mut self, joining: Joining) {
        self.readers.retain(|reader| !reader.events.is_closed());
        if self.readers.len() >= MOST_READERS {
            let full = message(
                "note",
                "",
                &json!({ "text": "too many readers; ask for status" }),
            );
            joining.reader.try_send(Ok(full)).ok();
            return;
        }
        let heard = joining
            .last
            .as_deref()
            .and_then(|last| last.split_once('-'));
        let heard = heard.filter(|(name, _)| *name == self.name);
        let heard: Option<u64> = heard.and_then(|(_, number)| number.parse().ok());
        let first = self.ring.front().map(|(number, _)| *number);
        let is_kept = heard
            .zip(first)
            .is_some_and(|(heard, first)| heard + 1 >= first);
        let mut reader = WatchReader {
            events: joining.reader,
            missed: 0,
        };
        if is_kept {
            let missing = self.ring.iter().filter(|(number, _)| Some(*number) > heard);
            for (_, event) in missing {
                reader.tell(event);
            }
        } else if !self.told.is_empty() {
            let id = format!("{}-{}", self.name, self.number);
            reader.tell(&message("status", &id, &Value::Object(self.told.clone())));
        }
        self.readers.push(reader);
    }

    fn look(&mut self) {
        // Between the end of a crawl and its next start a job may be silent for a moment, and so may
        // the database of a fleet.
        if let Some(fleet) = &self.fleet {
            let Ok(standing) = fleet.standing() else {
                return;
            };
            self.tell_changes(standing.json.clone());
        } else {
            let Ok(status) = self.jobs.status(&self.path) else {
                return;
            };
            self.compare(&status);
            self.sample();
        }
        if self.spoken_at.elapsed() >= HEARTBEAT {
            self.spoken_at = Instant::now();
            self.tell_all(&Bytes::from_static(b": still here\n\n"));
        }
    }

    fn compare(&mut self, status: &Status) {
        let mut shown = status.clone();
        shown.folder = None;
        // It differs at each look; `/metrics` and `status` have it.
        shown.machine = None;
        let notes = std::mem::take(&mut shown.notes);
        let Ok(Value::Object(now)) = serde_json::to_value(&shown) else {
            return;
        };
        let last = notes.last().map_or(0, |note| note.number);
        if last < self.noted {
            // The crawl was started again, and counts from 1.
            self.noted = 0;
        }
        let told = self.noted;
        for note in notes.iter().filter(|note| note.number > told) {
            self.event("note", &json!({ "text": note.text }));
        }
        self.noted = last;
        self.tell_changes(now);
    }

    /// Tells what is different now.
    fn tell_changes(&mut self, now: Map<String, Value>) {
        let mut changed: Map<String, Value> = now
            .iter()
            .filter(|(name, value)| self.told.get(*name) != Some(value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // A field that went away is told as nothing.
        let gone = self.told.keys().filter(|name| !now.contains_key(*name));
        changed.extend(gone.map(|name| (name.clone(), Value::Null)));
        if changed.is_empty() {
            return;
        }
        self.told = now;
        if let Some(state) = changed.get("state").cloned() {
            self.event(
                "state",
                &json!({ "state": state, "ended": self.told.get("ended") }),
            );
        }
        if let Some(Value::String(held)) = changed.get("held") {
            let note = json!({ "text": held });
            self.event("note", &note);
        }
        self.event("status", &Value::Object(changed));
    }

    /// Tells of the last URLs that were settled since the last look.
    fn sample(&mut self) {
        let Ok(job) = Job::open(&self.path) else {
            return;
        };
        let end = job.urls_end().0;
        let from = self.log_end.replace(end).unwrap_or(end);
        if from >= end {
            return;
        }
        let begin = from.max(end.saturating_sub(SAMPLED));
        let lines = read_lines(&job.urls_path(), (begin, end), begin > from);
        for line in lines.unwrap_or_default() {
            self.event("url", &line);
        }
    }

    fn event(&mut self, kind: &str, data: &Value) {
        self.number += 1;
        let id = format!("{}-{}", self.name, self.number);
        let event = message(kind, &id, data);
        if self.ring.len() == RING {
            self.ring.pop_front();
        }
        self.ring.push_back((self.number, event.clone()));
        self.spoken_at = Instant::now();
        self.tell_all(&event);
    }

    fn tell_all(&mut self, event: &Bytes) {
        for reader in &mut self.readers {
            reader.tell(event);
        }
    }
}

impl WatchReader {
    fn tell(&mut self, event: &Bytes) {
        if self.missed > 0 {
            let missed = message("missed", "", &json!({ "missed": self.missed }));
            if self.events.try_send(Ok(missed)).is_ok() {
                self.missed = 0;
            }
        }
        if self.events.try_send(Ok(event.clone())).is_err() {
            self.missed += 1;
        }
    }
}

/// The last few records between two offsets; the first line may be a torn one.
fn read_lines(path: &Path, (from, to): (u64, u64), is_torn: bool) -> io::Result<Vec<Value>> {
    let mut lines = Lines::open(path, from, Some(to))?;
    if is_torn {
        lines.next_line()?;
    }
    let mut last = VecDeque::new();
    while let Some(line) = lines.next_line()? {
        if last.len() == MOST_URLS {
            last.pop_front();
        }
        last.push_back(line.to_vec());
    }
    let read = last.iter().map(|line| Ok(serde_json::from_slice(line)?));
    read.collect()
}

/// An event on the wire. JSON holds no line end.
fn message(kind: &str, id: &str, data: &Value) -> Bytes {
    let mut text = format!("event: {kind}\n");
    if !id.is_empty() {
        writeln!(text, "id: {id}").expect("a string takes all text");
    }
    let mut json = data.to_string().into_bytes();
    clewline_job::escape::json_tail(&mut json, 0);
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(b"data: ");
    bytes.append(&mut json);
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_loses_events_and_is_told() {
        let (sender, mut events) = mpsc::channel(RING);
        let mut reader = WatchReader {
            events: sender,
            missed: 0,
        };
        let event = message("note", "1", &json!({ "text": "a\nb\u{2028}" }));
        for _ in 0..RING + 5 {
            reader.tell(&event);
        }
        assert_eq!(reader.missed, 5);
        for _ in 0..RING {
            assert_eq!(events.try_recv().unwrap().unwrap(), event);
        }
        reader.tell(&event);
        let told = events.try_recv().unwrap().unwrap();
        assert!(String::from_utf8_lossy(&told).contains("\"missed\":5"));
        assert_eq!(events.try_recv().unwrap().unwrap(), event);
    }

    #[test]
    fn an_event_is_a_few_lines_whatever_its_data() {
        let event = message("note", "a-1", &json!({ "text": "a\r\n\ndata: x" }));
        let text = String::from_utf8(event.to_vec()).unwrap();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.ends_with("\n\n"));
    }
}
