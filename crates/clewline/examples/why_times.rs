//! How long `why` takes: asks a job folder about URLs from all over its records.
//!
//! ```sh
//! cargo run --release -p clewline --example why_times -- JOB [100]
//! ```
//!
//! A folder of 300,000 URLs is made by `terrarium serve --profile bubing --hosts 430 --pages 1000
//! --body 0.1 --mishaps 0 --latency 0` and a crawl of it with `--scope any --speed max`.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clewline::StoredJob;
use clewline_job::record::Record;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let job = PathBuf::from(words.next().ok_or("usage: why_times JOB [NUMBER]")?);
    let number = words.next().map_or(Ok(100), |word| word.parse())?;
    let mut took = Vec::new();
    for record in spread(&job, number)? {
        let began = Instant::now();
        // As the command does: nothing is known from one question to the next.
        StoredJob::read(&job)?.why(&record.url)?;
        took.push(began.elapsed());
    }
    let first = took.first().copied().unwrap_or_default();
    took.sort_unstable();
    let at = |share: usize| milliseconds(took[(took.len() - 1) * share / 100]);
    writeln!(
        stdout(),
        "{} URLs: first {}, p50 {}, p99 {}, longest {}",
        took.len(),
        milliseconds(first),
        at(50),
        at(99),
        at(100)
    )?;
    Ok(())
}

/// Records at even distances in the log.
fn spread(job: &Path, number: u64) -> Result<Vec<Record>, Box<dyn Error>> {
    let mut log = BufReader::new(File::open(job.join("urls.jsonl"))?);
    let length = log.get_ref().metadata()?.len();
    let mut records = Vec::new();
    let mut line = String::new();
    for place in 0..number {
        // Some other order than that of the log, so that no answer prepares the next.
        let place = (place * 37) % number;
        log.seek(SeekFrom::Start(length / number * place))?;
        log.read_line(&mut line)?;
        line.clear();
        log.read_line(&mut line)?;
        records.extend(serde_json::from_str::<Record>(&line));
        line.clear();
    }
    Ok(records)
}

fn milliseconds(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1000.0)
}
