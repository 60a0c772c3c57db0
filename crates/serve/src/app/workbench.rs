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
pub(super) enum Workpiece<T> {
    /// It is being made, or will be when somebody asks after what is made now.
    Making,
    Made(Arc<T>),
    /// Why it cannot be made.
    Failed(String),
}

impl<T> Clone for Workpiece<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Making => Self::Making,
            Self::Made(made) => Self::Made(Arc::clone(made)),
            Self::Failed(why) => Self::Failed(why.clone()),
        }
    }
}

/// What is known of each key; the last of them was asked for last.
type KnownThings<K, T> = Vec<(K, Workpiece<T>)>;

#[derive(Debug)]
struct Bench<K, T> {
    known: Mutex<KnownThings<K, T>>,
    /// Something was made.
    changed: Condvar,
}

/// Where things are made.
#[derive(Debug)]
pub(super) struct Workbench<K, T> {
    name: &'static str,
    bench: Arc<Bench<K, T>>,
}

impl<K, T> Workbench<K, T>
where
    K: Clone + PartialEq + Send + 'static,
    T: Send + Sync + 'static,
{
    /// A bench whose thread has this name.
    pub(super) fn new(name: &'static str) -> Self {
        let (known, changed) = (Mutex::default(), Condvar::new());
        Self {
            name,
            bench: Arc::new(Bench { known, changed }),
        }
    }

    /// How it stands with what has this key; it is begun if nothing else is being made.
    pub(super) fn ask(
        &self,
        key: &K,
        make: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Workpiece<T> {
        let known = self.bench.lock();
        let is_making = known
            .iter()
            .any(|(_, asked)| matches!(asked, Workpiece::Making));
        if !is_making && !known.iter().any(|(one, _)| one == key) {
            self.begin(known, key, make);
        } else {
            drop(known);
        }
        self.wait(key)
    }

    /// What becomes of it within our patience.
    fn wait(&self, key: &K) -> Workpiece<T> {
        let is_making = |known: &mut KnownThings<K, T>| {
            let mut others = known.iter();
            others.any(|(one, asked)| one == key && matches!(asked, Workpiece::Making))
        };
        let waited = self
            .bench
            .changed
            .wait_timeout_while(self.bench.lock(), PATIENCE, is_making);
        let (mut known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(at) = known.iter().position(|(one, _)| one == key) else {
            return Workpiece::Making;
        };
        let found = known.remove(at);
        let asked = found.1.clone();
        known.push(found);
        asked
    }

    fn begin(
        &self,
        mut known: MutexGuard<'_, KnownThings<K, T>>,
        key: &K,
        make: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) {
        if known.len() >= MOST_KEPT {
            known.remove(0);
        }
        known.push((key.clone(), Workpiece::Making));
        drop(known);
        let (bench, own) = (Arc::clone(&self.bench), key.clone());
        let begun = thread::Builder::new()
            .name(self.name.to_owned())
            .spawn(move || {
                let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
                let asked = match ended {
                    Ok(Ok(thing)) => Workpiece::Made(Arc::new(thing)),
                    Ok(Err(why)) => Workpiece::Failed(why),
                    Err(_) => Workpiece::Failed("this build broke over it".to_owned()),
                };
                bench.put(&own, asked);
            });
        if let Err(error) = begun {
            self.bench.put(key, Workpiece::Failed(error.to_string()));
        }
    }
}

impl<K: PartialEq, T> Bench<K, T> {
    fn lock(&self) -> MutexGuard<'_, KnownThings<K, T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: &K, asked: Workpiece<T>) {
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
    fn made(bench: &Workbench<u32, u32>, key: u32) -> Arc<u32> {
        loop {
            match bench.ask(&key, move || Ok(key * 10)) {
                Workpiece::Made(made) => return made,
                Workpiece::Making => thread::yield_now(),
                Workpiece::Failed(why) => panic!("{why}"),
            }
        }
    }

    #[test]
    fn one_thing_is_made_at_a_time_and_results_stay() {
        let bench: Workbench<u32, u32> = Workbench::new("test");
        let (go, wait) = mpsc::channel::<()>();
        let first = bench.ask(&1, move || {
            wait.recv().ok();
            Ok(10)
        });
        assert!(matches!(first, Workpiece::Making));
        let other = bench.ask(&2, || panic!("nothing else is begun"));
        assert!(matches!(other, Workpiece::Making));
        go.send(()).unwrap();
        assert_eq!(*made(&bench, 1), 10);
        assert_eq!(*made(&bench, 2), 20);
        let again = bench.ask(&1, || panic!("it is there"));
        assert!(matches!(again, Workpiece::Made(_)));
    }

    #[test]
    fn results_are_bounded_and_the_oldest_goes_first() {
        let bench: Workbench<u32, u32> = Workbench::new("test");
        for key in 0..10 {
            made(&bench, key);
        }
        assert_eq!(bench.bench.lock().len(), MOST_KEPT);
        let kept = bench.ask(&9, || panic!("it is there"));
        assert!(matches!(kept, Workpiece::Made(_)));
        let again = loop {
            if let Workpiece::Made(made) = bench.ask(&0, || Ok(1)) {
                break made;
            }
            thread::yield_now();
        };
        assert_eq!(*again, 1, "what was dropped is made anew");
    }

    #[test]
    fn what_breaks_is_told_and_hinders_nothing() {
        let bench: Workbench<u32, u32> = Workbench::new("test");
        let fail = || loop {
            match bench.ask(&1, || panic!("on purpose")) {
                Workpiece::Failed(why) => return why,
                _ => thread::yield_now(),
            }
        };
        assert!(fail().contains("broke"));
        assert_eq!(*made(&bench, 2), 20);
    }
}
