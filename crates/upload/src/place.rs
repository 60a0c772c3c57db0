//! A place in an object store, asked from a thread that may wait.
//!
//! Owns the way from an address to a store, and how long passing errors are borne. Credentials come
//! from the environment, as every client of S3 takes them, and are shown nowhere. It refuses to know
//! what is stored.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, RetryConfig};
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::UploadError;
use crate::connector::StoreConnector;

/// So long a passing error is borne, within one request …
const PATIENCE: Duration = Duration::from_mins(1);
/// … and so often it is tried again, which takes a few seconds if nobody answers at all. Whoever calls
/// knows better whether to go on after that.
const MOST_TRIES: usize = 6;

/// A prefix of a store.
pub(crate) struct StorePlace {
    store: Box<dyn ObjectStore>,
    prefix: Path,
    runtime: Runtime,
}

impl std::fmt::Debug for StorePlace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A store may show its credentials.
        write!(formatter, "StorePlace({})", self.prefix)
    }
}

impl StorePlace {
    /// Opens `s3://BUCKET/PREFIX` or `file:///FOLDER`.
    pub(crate) fn open(address: &str) -> Result<Self, UploadError> {
        let unusable = |what: String| UploadError::Unusable(format!("{address}: {what}"));
        let url = Url::parse(address).map_err(|error| unusable(error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            let what = "the address of a store holds no credentials; give them as AWS_ACCESS_KEY_ID \
                        and AWS_SECRET_ACCESS_KEY";
            return Err(UploadError::Unusable(what.into()));
        }
        let (store, prefix): (Box<dyn ObjectStore>, Path) = match url.scheme() {
            "s3" => {
                let retry = RetryConfig {
                    max_retries: MOST_TRIES,
                    retry_timeout: PATIENCE,
                    ..RetryConfig::default()
                };
                let authorities = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
                let store = AmazonS3Builder::from_env()
                    .with_url(address)
                    .with_retry(retry)
                    .with_http_connector(StoreConnector::new(authorities.as_deref())?)
                    .build()?;
                let prefix = Path::from_url_path(url.path());
                (
                    Box::new(store),
                    prefix.map_err(|error| unusable(error.to_string()))?,
                )
            }
            "file" => {
                let folder = url.to_file_path();
                let folder = folder.map_err(|()| unusable("it is no path".into()))?;
                std::fs::create_dir_all(&folder)
                    .map_err(|error| UploadError::io(&folder, error))?;
                let store = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
                (Box::new(store), Path::default())
            }
            _ => return Err(unusable("only s3:// and file:// are known".into())),
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            store,
            prefix,
            runtime: runtime.map_err(|error| unusable(error.to_string()))?,
        })
    }

    fn whole(&self, name: &str) -> Path {
        self.prefix
            .parts()
            .chain(Path::from(name).parts())
            .collect()
    }

    /// Puts an object; it is there as a whole when this returns.
    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), UploadError> {
        let path = self.whole(name);
        self.runtime.block_on(self.store.put(&path, bytes.into()))?;
        Ok(())
    }

    /// Gets an object.
    pub(crate) fn get(&self, name: &str) -> Result<Vec<u8>, UploadError> {
        let path = self.whole(name);
        let bytes = self
            .runtime
            .block_on(async { self.store.get(&path).await?.bytes().await })?;
        Ok(bytes.to_vec())
    }

    /// The names of all objects here, and their lengths, sorted by name.
    pub(crate) fn list(&self) -> Result<Vec<(String, u64)>, UploadError> {
        let prefix = Some(&self.prefix).filter(|prefix| prefix.parts().next().is_some());
        let found: Vec<_> = self
            .runtime
            .block_on(self.store.list(prefix).try_collect())?;
        let mut names: Vec<(String, u64)> = found
            .iter()
            .filter_map(|object| {
                let parts: Vec<_> = object.location.prefix_match(&self.prefix)?.collect();
                let name: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
                Some((name.join("/"), object.size))
            })
            .collect();
        names.sort();
        Ok(names)
    }
}
