//! Does a crawl become dearer the more it knows? `growth VERB …`, figures as JSON.
//!
//! Owns two questions to the frontier alone and one to a whole crawl, without a network.
//! `decisions`: how many pages can the frontier hand out and settle in a second of processor time,
//! with very many hosts? `pages`: what does a page cost it when so many URLs are known, in memory or on
//! disk? `crawl`: what does a page cost a crawl then, reading it included? `seed` makes the store
//! of a crawl that was begun know URLs of other sites, for a race with it. Processor time is
//! that of the whole process, so that the store's own threads count, too.

mod answers;
mod crawl;
mod decisions;
mod known;
mod pages;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Hand out and settle pages of many hosts
    Decisions {
        #[arg(long, default_value_t = 100_000)]
        hosts: usize,
        /// Pages of each host
        #[arg(long, default_value_t = 5)]
        pages: usize,
    },
    /// Settle pages while so many URLs are known
    Pages {
        #[arg(long)]
        known: u64,
        /// Pages to settle in each round
        #[arg(long, default_value_t = 3000)]
        pages: usize,
        /// Where the state goes, which must not exist and stays; in memory otherwise
        #[arg(long)]
        folder: Option<PathBuf>,
        /// What the store may take of the memory, as --memory of a crawl, in MiB
        #[arg(long, default_value_t = 256)]
        memory: u64,
    },
    /// Crawl pages that are made up while so many URLs are known, in memory
    Crawl {
        #[arg(long)]
        known: u64,
        /// Pages to crawl in each round
        #[arg(long, default_value_t = 12_000)]
        pages: usize,
    },
    /// Make the store of a crawl know URLs of other sites
    Seed {
        /// The folder of the store
        #[arg(long)]
        folder: PathBuf,
        #[arg(long)]
        known: u64,
    },
}

fn main() -> Result<()> {
    let figures = match Arguments::parse().verb {
        Verb::Decisions { hosts, pages } => decisions::measure(hosts, pages),
        Verb::Pages {
            known,
            pages,
            folder: None,
            ..
        } => pages::in_memory(known, pages)?,
        Verb::Pages {
            known,
            pages,
            folder: Some(folder),
            memory,
        } => pages::on_disk(&folder, known, pages, memory << 20)?,
        Verb::Crawl { known, pages } => crawl::measure(known, pages)?,
        Verb::Seed { folder, known } => pages::seed(&folder, known)?,
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{figures}")?;
    Ok(out.flush()?)
}

/// Processor time of the process so far.
fn processor() -> Duration {
    spent(ClockId::ProcessCPUTime)
}

/// Processor time of this thread so far.
fn thread_time() -> Duration {
    spent(ClockId::ThreadCPUTime)
}

fn spent(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
