//! Asks an index one query per line and answers with one line of JSON for each: what was found
//! and how long it took. `cargo xtask search-quality` measures with it.

use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;

use clewline_search::{Index, Query};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = std::env::args_os()
        .nth(1)
        .ok_or("usage: ask JOB < queries")?;
    let index = Index::open(&PathBuf::from(job))?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let results = index.search(&Query::parse(&line?)?)?;
        writeln!(out, "{}", serde_json::to_string(&results)?)?;
    }
    Ok(())
}
