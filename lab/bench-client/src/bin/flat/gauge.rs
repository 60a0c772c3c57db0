//! What a run takes: memory, processor time by thread, bytes on disk.
//!
//! Owns the reading of figures and the rows that are made of them. It refuses to know what is
//! run. Figures are the kernel's own; processor time comes in hundredths of a second.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clewline::measuring::DiskUse;
use serde_json::{Value, json};

use super::drive::Done;

/// The name of the thread that makes up pages; its time is nobody's.
pub(crate) const WEB_THREAD: &str = "flat-web";

/// Seconds of processor time.
#[derive(Debug, Clone, Copy, Default)]
struct Processor {
    engine: f64,
    background: f64,
}

/// One look at a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) done: Done,
    pub(crate) resident: u64,
    /// The most since the row before.
    pub(crate) peak: u64,
    pub(crate) disk: DiskUse,
    elapsed: Duration,
    /// Of the time since the row before.
    offered_per_second: f64,
    new_per_second: f64,
    /// Cores in use since the row before.
    engine: f64,
    background: f64,
}

impl Row {
    pub(crate) const HEAD: &'static str = "  new M  hosts k  pages k     s  RSS MB (peak)  offered/s    new/s  engine  backgr. \
         | per engine s: offered      new | B/URL: keys  queue | rest MB  journal MB";

    /// Offered and new links in a second of the engine's processor time.
    fn per_engine_second(&self) -> (f64, f64) {
        let engine = self.engine.max(0.001);
        (
            self.offered_per_second / engine,
            self.new_per_second / engine,
        )
    }

    /// Bytes on disk per URL, of the keys and of the queue.
    pub(crate) fn per_url(&self) -> (f64, f64) {
        let urls = self.done.new.max(1) as f64;
        (self.disk.keys as f64 / urls, self.disk.queue as f64 / urls)
    }

    pub(crate) fn line(&self) -> String {
        let (offered, new) = self.per_engine_second();
        let (keys, queue) = self.per_url();
        let Done {
            new: urls,
            hosts,
            pages,
            ..
        } = self.done;
        format!(
            "{:7.2} {:8.1} {:8.1} {:5.0} {:7.0} {:6.0} {:10.0} {:8.0} {:7.2} {:8.2} | {offered:21.0} {new:8.0} \
             | {keys:11.1} {queue:6.1} | {:7.1} {:11.1}",
            urls as f64 / 1e6,
            hosts as f64 / 1e3,
            pages as f64 / 1e3,
            self.elapsed.as_secs_f64(),
            self.resident as f64 / 1e6,
            self.peak as f64 / 1e6,
            self.offered_per_second,
            self.new_per_second,
            self.engine,
            self.background,
            self.disk.rest as f64 / 1e6,
            self.disk.journals as f64 / 1e6,
        )
    }

    pub(crate) fn json(&self) -> Value {
        let (offered, new) = self.per_engine_second();
        let (keys, queue) = self.per_url();
        json!({
            "urls": self.done.new,
            "hosts": self.done.hosts,
            "pages": self.done.pages,
            "seconds": self.elapsed.as_secs_f64().round(),
            "resident": self.resident,
            "peak_resident": self.peak,
            "offered_per_second": self.offered_per_second.round(),
            "new_per_second": self.new_per_second.round(),
            "engine_cores": hundredths(self.engine),
            "background_cores": hundredths(self.background),
            "offered_per_engine_second": offered.round(),
            "new_per_engine_second": new.round(),
            "key_bytes_per_url": hundredths(keys),
            "queue_bytes_per_url": hundredths(queue),
            "rest_bytes": self.disk.rest,
            "journal_bytes": self.disk.journals,
        })
    }
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Makes rows out of looks.
pub(crate) struct Gauge {
    began: Instant,
    last: Instant,
    done: Done,
    processor: Processor,
}

impl Gauge {
    pub(crate) fn start() -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            began: now,
            last: now,
            done: Done::default(),
            processor: processor()?,
        })
    }

    pub(crate) fn look(&mut self, done: Done, disk: DiskUse) -> Result<Row> {
        let now = Instant::now();
        let processor = processor()?;
        let seconds = (now - self.last).as_secs_f64().max(0.001);
        let row = Row {
            done,
            resident: memory("VmRSS:")?,
            peak: memory("VmHWM:")?,
            disk,
            elapsed: now - self.began,
            offered_per_second: (done.offered - self.done.offered) as f64 / seconds,
            new_per_second: (done.new - self.done.new) as f64 / seconds,
            engine: (processor.engine - self.processor.engine) / seconds,
            background: (processor.background - self.processor.background) / seconds,
        };
        forget_peak()?;
        (self.last, self.done, self.processor) = (now, done, processor);
        Ok(row)
    }
}

/// Bytes of the resident set, now or at the most.
fn memory(name: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    let kibibytes: u64 = number.context("the form of /proc/self/status")?.parse()?;
    Ok(kibibytes * 1024)
}

/// The most that was resident is counted anew from here.
fn forget_peak() -> Result<()> {
    const PEAK: &str = "5";
    Ok(fs::write("/proc/self/clear_refs", PEAK)?)
}

/// The main thread is the engine; whatever else runs works for it, but for the made-up web.
fn processor() -> Result<Processor> {
    let own = std::process::id().to_string();
    let mut sum = Processor::default();
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?;
        // A thread may end while one looks.
        let Ok(stat) = fs::read_to_string(task.path().join("stat")) else {
            continue;
        };
        let (name, ticks) = thread_ticks(&stat).context("the form of /proc/PID/task/TID/stat")?;
        if task.file_name().to_str() == Some(&own) {
            sum.engine += ticks / 100.0;
        } else if name != WEB_THREAD {
            sum.background += ticks / 100.0;
        }
    }
    Ok(sum)
}

/// The name of a thread, and the ticks that it has used.
fn thread_ticks(stat: &str) -> Option<(&str, f64)> {
    // The name in parentheses may hold anything; the numbers begin after the last one.
    let (front, numbers) = stat.rsplit_once(')')?;
    let (_, name) = front.split_once('(')?;
    let mut ticks = numbers.split_whitespace().skip(11);
    let user: f64 = ticks.next()?.parse().ok()?;
    let system: f64 = ticks.next()?.parse().ok()?;
    Some((name, user + system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_read() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 25 17 0 0 20 0 5 0";
        assert_eq!(thread_ticks(stat), Some(("a) b", 42.0)));
        assert_eq!(thread_ticks("7 (a S 1"), None);
        assert!(processor().unwrap().background >= 0.0);
        assert!(memory("VmHWM:").unwrap() > 0);
        assert!(memory("VmNone:").is_err());
    }
}
