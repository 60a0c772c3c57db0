//! A job of `check URL` that is brought up to date.
//!
//! Owns the order in which a new crawl takes the place of the last one, and what is left of the last
//! one: a copy whose archive holds what did not change. It refuses to know what is checked. Invariants:
//! at any moment either the old job or the new one can be found under its name, or the next run finds
//! what it needs to put it there; nobody is asked for `--overwrite`; at most [`MOST_EARLIER`] earlier
//! crawls are kept, then everything is fetched anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clewline_job::failpoint::{Point, pass};
use clewline_job::folder::{MARKER, STATE};
use clewline_job::{JobFile, JobStanding};

/// The folder of what a check keeps in a job.
pub(crate) const FOLDER: &str = "check";
/// Earlier crawls, in that folder; their archives hold bodies that did not change since.
const EARLIER: &str = "earlier";
/// After so many updates a job is fetched as a whole again, so that what it refers to does not grow.
const MOST_EARLIER: usize = 8;
/// What ends the name of a folder in which the next crawl grows.
const NEXT: &str = ".next";
/// What ends the name of a job that was replaced and is about to go.
const REPLACED: &str = ".replaced";
/// A job without it cannot be asked what it knows.
const INDEX: &str = "archive/index.cdxj";

/// Where the crawl of a check writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JobPlace {
    /// Into the job itself: it is new, or unfinished.
    Itself,
    /// Beside the job, which it replaces in the end.
    Beside {
        folder: PathBuf,
        /// The crawl that it asks for changes of.
        update_from: Option<PathBuf>,
    },
}

/// The job that a check keeps.
#[derive(Debug)]
pub(crate) struct KeptJob {
    path: PathBuf,
}

impl KeptJob {
    /// A job under a name, after whatever a run that was killed left of it is in order.
    pub(crate) fn find(path: &Path) -> anyhow::Result<Self> {
        let job = Self {
            path: path.to_owned(),
        };
        job.mend()
            .with_context(|| format!("{} cannot be put in order", path.display()))?;
        Ok(job)
    }

    /// Where the next crawl writes.
    pub(crate) fn prepare(&self) -> anyhow::Result<JobPlace> {
        let next = self.next();
        if !is_complete(&self.path) {
            return Ok(JobPlace::Itself);
        }
        let update_from = self
            .set_aside(&next)
            .with_context(|| format!("{} cannot be updated", self.path.display()))?;
        Ok(JobPlace::Beside {
            folder: next,
            update_from,
        })
    }

    /// Puts the crawl that grew beside the job into its place.
    pub(crate) fn replace(&self) -> anyhow::Result<()> {
        self.take_place()
            .with_context(|| format!("{} cannot be replaced", self.path.display()))
    }

    fn next(&self) -> PathBuf {
        beside(&self.path, NEXT)
    }

    /// What a run left that was killed. A crawl that came to its end takes its place now, and a job
    /// that lost its name gets it back.
    fn mend(&self) -> io::Result<()> {
        let replaced = beside(&self.path, REPLACED);
        if is_complete(&self.next()) && (self.path.exists() || replaced.exists()) {
            self.take_place()?;
        } else if !self.path.exists() && replaced.exists() {
            fs::rename(&replaced, &self.path)?;
        }
        if self.path.exists() {
            remove(&replaced)?;
        }
        Ok(())
    }

    /// The steps may be repeated from any of them.
    fn take_place(&self) -> io::Result<()> {
        let (next, replaced) = (self.next(), beside(&self.path, REPLACED));
        let kept = self.path.join(FOLDER);
        if kept.exists() {
            remove(&next.join(FOLDER))?;
            pass(Point::BeforeRename);
            fs::rename(&kept, next.join(FOLDER))?;
        }
        if self.path.exists() {
            remove(&replaced)?;
            pass(Point::BeforeRename);
            fs::rename(&self.path, &replaced)?;
        }
        pass(Point::BeforeRename);
        fs::rename(&next, &self.path)?;
        pass(Point::BeforeRename);
        remove(&replaced)
    }

    /// Keeps the job as an earlier one that the next crawl can ask. Its files are linked, not copied,
    /// where the file system can. Where a crawl is under way already, its earlier one is there, too.
    fn set_aside(&self, next: &Path) -> io::Result<Option<PathBuf>> {
        if !self.path.join(INDEX).is_file() {
            return Ok(None);
        }
        let folder = std::path::absolute(self.path.join(FOLDER).join(EARLIER))?;
        let mut numbers: Vec<usize> = numbers_in(&folder)?;
        numbers.sort_unstable();
        let newest = numbers.last().copied().unwrap_or(0);
        let is_under_way = standing(next).is_some();
        if is_under_way {
            return Ok((newest > 0).then(|| folder.join(newest.to_string())));
        }
        // Killed after the copy was made, a run finds it.
        let last = folder.join(newest.to_string());
        if newest > 0 && fs::read(last.join(MARKER))? == fs::read(self.path.join(MARKER))? {
            return Ok(Some(last));
        }
        if numbers.len() >= MOST_EARLIER {
            return Ok(None);
        }
        let copy = folder.join((newest + 1).to_string());
        let unfinished = beside(&copy, NEXT);
        remove(&unfinished)?;
        link_below(&self.path, &unfinished, &[FOLDER, STATE])?;
        fs::rename(&unfinished, &copy)?;
        Ok(Some(copy))
    }

    /// Forgets the earlier crawls of a job that needs none: it was fetched as a whole.
    pub(crate) fn forget_earlier(&self) -> io::Result<()> {
        remove(&self.path.join(FOLDER).join(EARLIER))
    }
}

/// How far a job is; none if there is no job.
fn standing(path: &Path) -> Option<JobStanding> {
    JobFile::read(path).ok().map(|job| job.standing)
}

/// Whether nothing of a job is left to do: it came to its end, or to that of a budget.
fn is_complete(path: &Path) -> bool {
    JobFile::read(path).is_ok_and(|job| match job.standing {
        JobStanding::Finished => true,
        JobStanding::Unfinished => job
            .ended
            .is_some_and(|ended| ended.starts_with("stopped by --")),
        JobStanding::Unreached => false,
    })
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn numbers_in(folder: &Path) -> io::Result<Vec<usize>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<usize>().ok()));
    }
    Ok(numbers)
}

/// The same files in another folder, but for some names at its top.
fn link_below(from: &Path, to: &Path, without: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if without.iter().any(|left_out| name == *left_out) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            link_below(&source, &target, &[])?;
        } else if kind.is_file() && fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job as far as its standing goes: finished, with a word by which it is known again.
    fn job(path: &Path, word: &str, finished: bool) {
        fs::create_dir_all(path.join("archive")).unwrap();
        let text = format!(
            "format = 1\nfinished = {finished}\ndurable = true\nseed = \"00000000000000ff\"\n"
        );
        fs::write(path.join(MARKER), text).unwrap();
        fs::write(path.join(INDEX), word).unwrap();
    }

    fn word(path: &Path) -> String {
        fs::read_to_string(path.join(INDEX)).unwrap_or_default()
    }

    #[test]
    fn a_run_that_was_killed_while_it_replaced_a_job_is_finished_by_the_next() {
        type Step<'a> = &'a dyn Fn(&Path, &Path, &Path);
        let steps: [Step<'_>; 4] = [
            &|_, _, _| {},
            &|old, next, _| fs::rename(old.join(FOLDER), next.join(FOLDER)).unwrap(),
            &|old, _, replaced| fs::rename(old, replaced).unwrap(),
            &|old, next, _| fs::rename(next, old).unwrap(),
        ];
        for killed_after in 0..steps.len() {
            let place = tempfile::tempdir().unwrap();
            let old = place.path().join("a.crawl");
            let (next, replaced) = (beside(&old, NEXT), beside(&old, REPLACED));
            job(&old, "old", true);
            job(&next, "new", true);
            fs::create_dir(old.join(FOLDER)).unwrap();
            fs::write(old.join(FOLDER).join("external.jsonl"), "kept").unwrap();
            for step in &steps[..=killed_after] {
                step(&old, &next, &replaced);
            }
            KeptJob::find(&old).unwrap();
            assert_eq!(word(&old), "new", "after step {killed_after}");
            let kept = fs::read_to_string(old.join(FOLDER).join("external.jsonl"));
            assert_eq!(kept.unwrap(), "kept", "after step {killed_after}");
            assert!(!next.exists() && !replaced.exists());
        }
    }

    #[test]
    fn an_unfinished_update_changes_nothing_and_is_continued() {
        let place = tempfile::tempdir().unwrap();
        let old = place.path().join("a.crawl");
        job(&old, "old", true);
        let kept = KeptJob::find(&old).unwrap();
        let first = kept.prepare().unwrap();
        let JobPlace::Beside {
            folder,
            update_from,
        } = &first
        else {
            panic!("{first:?}");
        };
        assert_eq!(word(update_from.as_ref().unwrap()), "old");
        assert_eq!(KeptJob::find(&old).unwrap().prepare().unwrap(), first);
        job(folder, "half", false);
        assert_eq!(KeptJob::find(&old).unwrap().prepare().unwrap(), first);
        assert_eq!(
            (word(&old).as_str(), word(folder).as_str()),
            ("old", "half")
        );
        job(folder, "new", true);
        kept.replace().unwrap();
        assert_eq!(word(&old), "new");
        assert_eq!(word(update_from.as_ref().unwrap()), "old");
    }

    #[test]
    fn a_job_that_is_new_or_unfinished_is_written_itself() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.crawl");
        let prepared = || KeptJob::find(&path).unwrap().prepare().unwrap();
        assert_eq!(prepared(), JobPlace::Itself);
        job(&path, "half", false);
        assert_eq!(prepared(), JobPlace::Itself);
    }

    #[test]
    fn a_job_that_was_updated_often_is_fetched_as_a_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.crawl");
        job(&path, "old", true);
        for number in 1..=MOST_EARLIER {
            let folder = path.join(FOLDER).join(EARLIER).join(number.to_string());
            job(&folder, &number.to_string(), false);
        }
        let prepared = KeptJob::find(&path).unwrap().prepare().unwrap();
        let folder = beside(&path, NEXT);
        let update_from = None;
        let expected = JobPlace::Beside {
            folder,
            update_from,
        };
        assert_eq!(prepared, expected);
    }
}
