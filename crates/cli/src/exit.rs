//! How the command ends.

/// The exit codes, all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The crawl came to its end.
    Done,
    /// It did, but what `--fail-on` names occurred.
    Threshold,
    /// A flag or the configuration is wrong.
    Usage,
    /// It could not continue.
    Stuck,
    /// It was stopped and can be resumed.
    Interrupted,
}

impl ExitStatus {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Threshold => 1,
            Self::Usage => 2,
            Self::Stuck => 3,
            Self::Interrupted => 130,
        }
    }
}
