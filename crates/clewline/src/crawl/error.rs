//! Why a crawl could not start or go on.
//!
//! Owns the error of the library's door. It refuses to know what helps; the command does.

use std::path::PathBuf;

use clewline_core::fleet::BusError;
use clewline_core::scope::PatternError;
use clewline_core::url::UrlError;
use thiserror::Error;

use crate::config::ConfigProblem;
use crate::engine::EngineError;
use crate::fetch::FetchSetupError;
use crate::folder::{FolderError, Remedy};
use crate::store::StoreError;

/// Why a crawl could not start or go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// A root is not a URL that can be crawled; credentials in it are not repeated.
    #[error("{0:?} {1}")]
    Root(String, #[source] UrlError),
    /// The configuration has these problems.
    #[error("{}", list(.0))]
    Config(Vec<ConfigProblem>),
    /// A pattern of the scope.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The network side could not be set up.
    #[error(transparent)]
    Fetch(Box<dyn std::error::Error + Send + Sync>),
    /// No page can be rendered on this machine.
    #[error("{0}")]
    Browser(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The cookie file.
    #[error("{}: {source}", path.display())]
    Cookies {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The job folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The state of the crawl.
    #[error("{source}")]
    Store {
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
        /// What helps.
        remedy: Remedy,
    },
    /// The fleet's database.
    #[error(transparent)]
    Fleet(#[from] BusError),
    /// The crawl could not go on.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<StoreError> for CrawlError {
    fn from(source: StoreError) -> Self {
        Self::Store {
            source: source.into(),
            remedy: Remedy::StartAfresh,
        }
    }
}

impl From<FetchSetupError> for CrawlError {
    fn from(source: FetchSetupError) -> Self {
        Self::Fetch(source.into())
    }
}

fn list(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
