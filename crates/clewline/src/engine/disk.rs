//! Room on the disk: the crawl pauses before there is none.
//!
//! Owns the watch over the free space of the job folder. It looks once a second and tells when
//! the space falls below what must stay free, and when there is enough again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline_core::frontier::Moment;
use clewline_platform::free_bytes;

/// How often it looks.
const EVERY: Duration = Duration::from_secs(1);

/// What changed since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskChange {
    /// Less than that is free now.
    Low {
        /// Bytes that are free.
        free: u64,
    },
    /// There is enough again.
    Fine,
}

/// Watches the disk of a folder.
#[derive(Debug)]
pub(super) struct DiskWatch {
    folder: Option<PathBuf>,
    least: u64,
    low: bool,
    looked: Option<Moment>,
}

impl DiskWatch {
    /// Watches over `least` free bytes; without a folder there is nothing to watch.
    pub(super) fn new(folder: Option<&Path>, least: u64) -> Self {
        Self {
            folder: folder.map(Path::to_path_buf),
            least,
            low: false,
            looked: None,
        }
    }

    /// Whether there is too little room to go on.
    pub(super) const fn is_low(&self) -> bool {
        self.low
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self, now: Moment) -> Option<DiskChange> {
        let folder = self.folder.as_deref()?;
        if self.looked.is_some_and(|last| now < last + EVERY) {
            return None;
        }
        self.looked = Some(now);
        // A disk that cannot be asked says so when it is written to.
        let free = free_bytes(folder)?;
        self.judge(free)
    }

    fn judge(&mut self, free: u64) -> Option<DiskChange> {
        let low = free < self.least;
        let changed = std::mem::replace(&mut self.low, low) != low;
        changed.then_some(if low {
            DiskChange::Low { free }
        } else {
            DiskChange::Fine
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_only_what_changes() {
        let mut watch = DiskWatch::new(Some(Path::new(".")), 1000);
        assert_eq!(watch.judge(5000), None);
        assert_eq!(watch.judge(999), Some(DiskChange::Low { free: 999 }));
        assert!(watch.is_low());
        assert_eq!(watch.judge(10), None);
        assert_eq!(watch.judge(1000), Some(DiskChange::Fine));
        assert!(!watch.is_low());
    }

    #[test]
    fn looks_once_a_second_and_only_where_there_is_a_folder() {
        let mut watch = DiskWatch::new(Some(Path::new(".")), u64::MAX);
        assert!(matches!(
            watch.look(Moment::ZERO),
            Some(DiskChange::Low { .. })
        ));
        watch.low = false;
        assert_eq!(watch.look(Moment::from_millis(900)), None);
        assert!(watch.look(Moment::from_secs(1)).is_some());
        assert_eq!(DiskWatch::new(None, u64::MAX).look(Moment::ZERO), None);
    }
}
