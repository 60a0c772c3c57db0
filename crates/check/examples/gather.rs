//! Gathers the facts of a job and says what that took.

use std::time::Instant;

use clewline_check::facts::{GatherOptions, gather};
use clewline_job::Job;
use clewline_platform::process;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a job folder")?;
    for _ in 0..2 {
        let began = Instant::now();
        let job = Job::open(path.as_ref())?;
        let gathered = gather(&job, &GatherOptions::default(), &mut |_| {})?;
        let rows = gathered.site.rows();
        eprintln!(
            "{:?}: {} ms, {} rows, {} links in, {} fully made, damage {:?}, {} hosts",
            gathered.progress,
            began.elapsed().as_millis(),
            rows.len(),
            rows.iter().map(|row| u64::from(row.links_in)).sum::<u64>(),
            rows.iter()
                .filter(|row| row.is(clewline_check::site::RowFlags::HTML))
                .count(),
            gathered.damage,
            gathered.site.hosts().len(),
        );
        let _ = process::thread_time();
    }
    Ok(())
}
