//! Named points at which a test ends the process, as a crash would.
//!
//! Owns the names and the environment variable `CLEWLINE_KILL_AT=NAME:N`, which aborts at the
//! N-th passing of a point. It refuses to know what the points stand between. A build without
//! debug assertions contains none of it.

/// A point on the way of a batch, of a recovery or of an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The folder and its lock are there, the marker is not.
    NewFolder,
    /// The marker is there, the state is not.
    NewMarker,
    /// The state is there, and as empty as the logs.
    NewStore,
    /// A batch is about to be appended.
    BeforeAppend,
    /// One log has the batch, the others do not.
    BetweenAppends,
    /// Every log has the batch, none is synced.
    AfterAppend,
    /// One log is synced, the others are not.
    BetweenSyncs,
    /// Every log is synced.
    AfterSync,
    /// The store is about to commit.
    BeforeCommit,
    /// The store has committed.
    AfterCommit,
    /// The commit is witnessed.
    AfterWitness,
    /// The store flushes a table.
    InFlush,
    /// The store compacts tables.
    InCompaction,
    /// A run of keys is written and synced, and no commit names it.
    RunWritten,
    /// Runs of keys are being merged.
    RunsMerging,
    /// A commit names the merged run, and its parts are still there.
    RunsReplaced,
    /// A restart found the folder and wrote its marker again.
    RecoveryBegins,
    /// A restart opened the state.
    RecoveryOpened,
    /// The tail of a log is kept aside, the log is not cut.
    BeforeCut,
    /// A log is cut, and not synced.
    AfterCut,
    /// Every log is cut.
    RecoveryEnds,
    /// A file is written, and has not its name yet.
    BeforeRename,
    /// Records of the archive are compressed, and not handed on yet.
    ArchiveHandOver,
    /// A file of the archive is full and synced, and still called `.open`.
    ArchiveBeforeRename,
    /// A file of the archive has its final name, which is not synced.
    ArchiveAfterRename,
    /// The index is sorted, and has not its name yet.
    IndexBeforeRename,
    /// The sorted index has its name, and the lines that were sorted are still there.
    IndexAfterRename,
    /// The report is written, the marker does not say finished.
    BeforeFinish,
    /// The marker says finished.
    AfterFinish,
}

#[cfg(debug_assertions)]
pub use armed::{pass, small_tables, watch};

/// Passes a point; nothing happens in this build.
#[cfg(not(debug_assertions))]
pub const fn pass(_: Point) {}

/// Watches nothing in this build.
#[cfg(not(debug_assertions))]
pub fn watch(_: Point, _: impl Fn() -> bool + Send + 'static) {}

/// The size of tables is the usual one in this build.
#[cfg(not(debug_assertions))]
pub const fn small_tables() -> Option<u64> {
    None
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::Point;

    /// How often a watched condition is looked at.
    const LOOK: Duration = Duration::from_micros(50);

    /// Tables so small that a crawl of a few hundred pages flushes and compacts them.
    const SMALL_TABLE: u64 = 8 * 1024;

    impl Point {
        /// Every point.
        pub const ALL: [Self; 29] = [
            Self::NewFolder,
            Self::NewMarker,
            Self::NewStore,
            Self::BeforeAppend,
            Self::BetweenAppends,
            Self::AfterAppend,
            Self::BetweenSyncs,
            Self::AfterSync,
            Self::BeforeCommit,
            Self::AfterCommit,
            Self::AfterWitness,
            Self::InFlush,
            Self::InCompaction,
            Self::RunWritten,
            Self::RunsMerging,
            Self::RunsReplaced,
            Self::RecoveryBegins,
            Self::RecoveryOpened,
            Self::BeforeCut,
            Self::AfterCut,
            Self::RecoveryEnds,
            Self::BeforeRename,
            Self::ArchiveHandOver,
            Self::ArchiveBeforeRename,
            Self::ArchiveAfterRename,
            Self::IndexBeforeRename,
            Self::IndexAfterRename,
            Self::BeforeFinish,
            Self::AfterFinish,
        ];

        /// The name that the environment variable takes.
        pub const fn name(self) -> &'static str {
            match self {
                Self::NewFolder => "new-folder",
                Self::NewMarker => "new-marker",
                Self::NewStore => "new-store",
                Self::BeforeAppend => "before-append",
                Self::BetweenAppends => "between-appends",
                Self::AfterAppend => "after-append",
                Self::BetweenSyncs => "between-syncs",
                Self::AfterSync => "after-sync",
                Self::BeforeCommit => "before-commit",
                Self::AfterCommit => "after-commit",
                Self::AfterWitness => "after-witness",
                Self::InFlush => "in-flush",
                Self::InCompaction => "in-compaction",
                Self::RunWritten => "run-written",
                Self::RunsMerging => "runs-merging",
                Self::RunsReplaced => "runs-replaced",
                Self::RecoveryBegins => "recovery-begins",
                Self::RecoveryOpened => "recovery-opened",
                Self::BeforeCut => "before-cut",
                Self::AfterCut => "after-cut",
                Self::RecoveryEnds => "recovery-ends",
                Self::BeforeRename => "before-rename",
                Self::ArchiveHandOver => "archive-hand-over",
                Self::ArchiveBeforeRename => "archive-before-rename",
                Self::ArchiveAfterRename => "archive-after-rename",
                Self::IndexBeforeRename => "index-before-rename",
                Self::IndexAfterRename => "index-after-rename",
                Self::BeforeFinish => "before-finish",
                Self::AfterFinish => "after-finish",
            }
        }
    }

    struct Plan {
        name: String,
        left: AtomicU64,
    }

    fn plan() -> Option<&'static Plan> {
        static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
        let plan = PLAN.get_or_init(|| {
            let text = std::env::var("CLEWLINE_KILL_AT").ok()?;
            let (name, count) = text.split_once(':')?;
            Some(Plan {
                name: name.to_owned(),
                left: AtomicU64::new(count.parse().ok()?),
            })
        });
        plan.as_ref()
    }

    /// Passes a point; the process ends here if this is the passing that was asked for.
    pub fn pass(point: Point) {
        if let Some(plan) = plan()
            && plan.name == point.name()
            && plan.left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            std::process::abort();
        }
    }

    /// Passes a point whenever a condition begins to hold. Where it is not asked for, nothing
    /// is watched.
    pub fn watch(point: Point, condition: impl Fn() -> bool + Send + 'static) {
        if plan().is_none_or(|plan| plan.name != point.name()) {
            return;
        }
        std::thread::spawn(move || {
            let mut held = false;
            loop {
                let holds = condition();
                if holds && !held {
                    pass(point);
                }
                held = holds;
                std::thread::park_timeout(LOOK);
            }
        });
    }

    /// A size of tables that makes the store flush and compact all the time, if a test wants it.
    pub fn small_tables() -> Option<u64> {
        std::env::var_os("CLEWLINE_SMALL_TABLES").map(|_| SMALL_TABLE)
    }
}
