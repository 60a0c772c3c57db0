//! What takes longer than anybody waits: the check of a job, the comparison of two.
//!
//! Owns the one thread in which something is made, and the last results. It refuses to know what is
//! made. Invariants: nothing is made unless somebody asks; one thing is made at a time, whoever asks for
//! another meanwhile is told so; results are bounded; whoever asks waits [`PATIENCE`] at most.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Results that are kept.
const MOST_KEPT: usize = 4;
/// How long whoever asks waits for what is made at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// How something stands that was asked for.
#[derive(Debug)]
pub(super) enum BackgroundResult<T> {
    /// It is being made, or will be when somebody asks after what is made now.
    Making,
    Made(Arc<T>),
    /// Why it cannot be made.
    Failed(String),
}

impl<T> Clone for BackgroundResult<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Making => Self::Making,
            Self::Made(made) => Self::Made(Arc::clone(made)),
            Self::Failed(why) => Self::Failed(why.clone()),
        }
    }
}

/// What is known of each key; the last of them was asked for last.
type CachedResults<K, T> = Vec<(K, BackgroundResult<T>)>;

#[derive(Debug)]
struct CacheState<K, T> {
    known: Mutex<CachedResults<K, T>>,
    /// Something was made.
    changed: Condvar,
}

/// Where things are made.
#[derive(Debug)]
pub(super) struct BackgroundCache<K, T> {
    name: &'static str,
    state: Arc<CacheState<K, T>>,
}

impl<K, T> BackgroundCache<K, T>
where
    K: Clone + PartialEq + Send + 'static,
    T: Send + Sync + 'static,
{
    /// A cache whose thread has this name.
    pub(super) fn new(name: &'static str) -> Self {
        let (known, changed) = (Mutex::default(), Condvar::new());
        Self {
            name,
            state: Arc::new(CacheState { known, changed }),
        }
    }

    /// How it stands with what has this key; it is begun if nothing else is being made.
    pub(super) fn ask(
        &self,
        key: &K,
        make: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> BackgroundResult<T> {
        let known = self.state.lock();
        let is_making = known
            .iter()
            .any(|(_, asked)| matches!(asked, BackgroundResult::Making));
        if !is_making && !known.iter().any(|(one, _)| one == key) {
            self.begin(known, key, make);
        } else {
            drop(known);
        }
        self.wait(key)
    }

    /// What becomes of it within our patience.
    fn wait(&self, key: &K) -> BackgroundResult<T> {
        let is_making = |known: &mut CachedResults<K, T>| {
            let mut others = known.iter();
            others.any(|(one, asked)| one == key && matches!(asked, BackgroundResult::Making))
        };
        let waited = self
            .state
            .changed
            .wait_timeout_while(self.state.lock(), PATIENCE, is_making);
        let (mut known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(at) = known.iter().position(|(one, _)| one == key) else {
            return BackgroundResult::Making;
        };
        let found = known.remove(at);
        let asked = found.1.clone();
        known.push(found);
        asked
    }

    fn begin(
        &self,
        mut known: MutexGuard<'_, CachedResults<K, T>>,
        key: &K,
        make: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) {
        if known.len() >= MOST_KEPT {
            known.remove(0);
        }
        known.push((key.clone(), BackgroundResult::Making));
        drop(known);
        let (state, own) = (Arc::clone(&self.state), key.clone());
        let begun = thread::Builder::new()
            .name(self.name.to_owned())
            .spawn(move || {
                let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
                let asked = match ended {
                    Ok(Ok(thing)) => BackgroundResult::Made(Arc::new(thing)),
                    Ok(Err(why)) => BackgroundResult::Failed(why),
                    Err(_) => BackgroundResult::Failed("this build broke over it".to_owned()),
                };
                state.put(&own, asked);
            });
        if let Err(error) = begun {
            self.state
                .put(key, BackgroundResult::Failed(error.to_string()));
        }
    }
}

impl<K: PartialEq, T> CacheState<K, T> {
    fn lock(&self) -> MutexGuard<'_, CachedResults<K, T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: &K, asked: BackgroundResult<T>) {
        if let Some((_, stands)) = self.lock().iter_mut().find(|(one, _)| one == key) {
            *stands = asked;
        }
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Asks until it is made; what is asked for is begun once.
    fn made(cache: &BackgroundCache<u32, u32>, key: u32) -> Arc<u32> {
        loop {
            match cache.ask(&key, move || Ok(key * 10)) {
                BackgroundResult::Made(made) => return made,
                BackgroundResult::Making => thread::yield_now(),
                BackgroundResult::Failed(why) => panic!("{why}"),
            }
        }
    }

    #[test]
    fn one_thing_is_made_at_a_time_and_results_stay() {
        let cache: BackgroundCache<u32, u32> = BackgroundCache::new("test");
        let (go, wait) = mpsc::channel::<()>();
        let first = cache.ask(&1, move || {
            wait.recv().ok();
            Ok(10)
        });
        assert!(matches!(first, BackgroundResult::Making));
        let other = cache.ask(&2, || panic!("nothing else is begun"));
        assert!(matches!(other, BackgroundResult::Making));
        go.send(()).unwrap();
        assert_eq!(*made(&cache, 1), 10);
        assert_eq!(*made(&cache, 2), 20);
        let again = cache.ask(&1, || panic!("it is there"));
        assert!(matches!(again, BackgroundResult::Made(_)));
    }

    #[test]
    fn results_are_bounded_and_the_oldest_goes_first() {
        let cache: BackgroundCache<u32, u32> = BackgroundCache::new("test");
        for key in 0..10 {
            made(&cache, key);
        }
        assert_eq!(cache.state.lock().len(), MOST_KEPT);
        let kept = cache.ask(&9, || panic!("it is there"));
        assert!(matches!(kept, BackgroundResult::Made(_)));
        let again = loop {
            if let BackgroundResult::Made(made) = cache.ask(&0, || Ok(1)) {
                break made;
            }
            thread::yield_now();
        };
        assert_eq!(*again, 1, "what was dropped is made anew");
    }

    #[test]
    fn what_breaks_is_told_and_hinders_nothing() {
        let cache: BackgroundCache<u32, u32> = BackgroundCache::new("test");
        let fail = || loop {
            match cache.ask(&1, || panic!("on purpose")) {
                BackgroundResult::Failed(why) => return why,
                _ => thread::yield_now(),
            }
        };
        assert!(fail().contains("broke"));
        assert_eq!(*made(&cache, 2), 20);
    }
}
