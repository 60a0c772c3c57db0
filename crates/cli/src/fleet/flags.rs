//! The flags of a fleet.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::settings::RESUME;
use crate::settings::arguments::SettingFlags;

pub(crate) const FLEET_HELP: &str = "\
The workers of a fleet share one crawl over a PostgreSQL database. The first one makes the job:

  clewline example.com --fleet postgres://db.example/crawls --job news -o news.crawl

and others join it from as many machines as you like:

  clewline fleet join postgres://db.example/crawls --job news -o news.crawl

`clewline status` and `clewline ctl` take the address of the database with --job, too. When the job
is done, `clewline fleet merge` makes one ordinary job folder of what the workers wrote.
The password comes from PGPASSWORD or ~/.pgpass, never from the address. docs/fleet.md tells more.";

pub(crate) const MERGE_HELP: &str = "\
Copies what counts, and leaves the folders of the workers as they are: what they were given as -o,
or the address that --upload-to named. A folder that is missing is named with the number of pages in
it. --requeue-missing queues exactly those pages again: `clewline fleet join` fetches them, and then
nothing is missing.

Exit codes: 0 done; 2 usage; 3 something is missing or damaged, also if it was queued again.";

/// What makes a crawl part of a fleet.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetFlags {
    /// Share the crawl with other machines over this database
    #[arg(long, value_name = "postgres://…", requires = "job")]
    pub(crate) fleet: Option<String>,
    /// The name of the fleet's job
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// Shards of a new job: at least four for each machine [default: 64]
    #[arg(long, value_name = "N", requires = "fleet", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) shards: Option<u32>,
    /// A worker of a new job that is silent for this long counts as dead [default: 10s]
    #[arg(long, value_name = "TIME", requires = "fleet", hide_short_help = true)]
    pub(crate) lease: Option<String>,
    /// Bring results to this S3 bucket or shared folder before they count
    #[arg(
        long,
        value_name = "s3://… or file:///…",
        requires = "fleet",
        hide_short_help = true
    )]
    pub(crate) upload_to: Option<String>,
}

/// A verb of `fleet`.
#[derive(Args)]
pub(crate) struct FleetArguments {
    #[command(subcommand)]
    pub(crate) verb: FleetVerb,
}

/// What to do with a fleet.
#[derive(Subcommand)]
pub(crate) enum FleetVerb {
    /// Join a job that is there as one more worker; -o DIR is for what it writes
    #[command(
        max_term_width = 100,
        override_usage = "clewline fleet join URL --job NAME [-o DIR] [OPTIONS]"
    )]
    Join(Box<JoinArguments>),
    /// List the jobs in a database
    List {
        /// The address of the database
        #[arg(value_name = "URL")]
        address: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a job from a database; what its workers wrote stays
    Drop {
        /// The address of the database
        #[arg(value_name = "URL")]
        address: String,
        /// The name of the job
        #[arg(long, value_name = "NAME")]
        job: String,
        /// Even while workers are at work: they end with an error
        #[arg(long)]
        force: bool,
    },
    /// Make one job folder of what the workers of a job wrote
    #[command(max_term_width = 100, after_help = MERGE_HELP)]
    Merge(MergeArguments),
}

/// A job to join.
#[derive(Args)]
pub(crate) struct JoinArguments {
    /// The address of the database
    #[arg(value_name = "URL")]
    pub(crate) address: String,
    /// The name of the job
    #[arg(long, value_name = "NAME")]
    pub(crate) job: String,
    /// Bring results to this S3 bucket or shared folder before they count
    #[arg(long, value_name = "s3://… or file:///…")]
    pub(crate) upload_to: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags<RESUME>,
}

/// What to merge.
#[derive(Args)]
pub(crate) struct MergeArguments {
    /// The address of the database, if it is still there, and the folders of the workers
    #[arg(value_name = "WORKER-FOLDER", required = true)]
    pub(crate) from: Vec<String>,
    /// The name of the job, with the address of a database
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// The folder to make
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Go on without the folders that are missing
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Put the pages that are missing back into the queue instead of merging; needs the database
    #[arg(long, conflicts_with = "allow_missing", requires = "job")]
    pub(crate) requeue_missing: bool,
}
