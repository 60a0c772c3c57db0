//! What becomes of folders that are there already.

use super::*;

fn config(overwrite: bool) -> Config {
    let mut config = Config::default();
    config.output.overwrite = overwrite;
    config
}

#[test]
fn folders_are_refused_or_replaced_by_their_marker() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.crawl");
    let folder = JobFolder::open(&path, &config(false)).unwrap();
    let again = |overwrite| JobFolder::open(&path, &config(overwrite));
    assert!(matches!(again(false), Err(FolderError::InUse { .. })));
    let close = |standing| folder.close(&config(false), standing, "finished");
    close(FolderState::Finished).unwrap();
    drop(folder);
    assert!(matches!(again(false), Err(FolderError::Finished(_))));
    fs::write(path.join("urls.jsonl"), "old").unwrap();
    again(true).unwrap();
    assert!(!path.join("urls.jsonl").exists());
}

#[test]
fn a_crawl_that_reached_nothing_is_in_nobodys_way() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.crawl");
    let folder = JobFolder::open(&path, &config(false)).unwrap();
    let close = |standing| folder.close(&config(false), standing, "finished");
    close(FolderState::Unreached).unwrap();
    drop(folder);
    fs::write(path.join("urls.jsonl"), "old").unwrap();
    JobFolder::open(&path, &config(false)).unwrap();
    assert!(!path.join("urls.jsonl").exists());
}

#[test]
fn foreign_folders_are_never_touched() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("thesis.tex"), "years of work").unwrap();
    let refused = JobFolder::open(place.path(), &config(true));
    assert!(matches!(refused, Err(FolderError::Foreign(_))));
    assert!(place.path().join("thesis.tex").exists());
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    JobFolder::open(&empty, &config(false)).unwrap();
}

#[test]
fn a_crawl_that_was_killed_before_its_marker_begins_again() {
    let place = tempfile::tempdir().unwrap();
    for (name, begins) in [("state/lock", true), ("state/thesis", false)] {
        let path = place.path().join(name.replace('/', "-"));
        fs::create_dir_all(path.join(STATE)).unwrap();
        fs::write(path.join(name), "").unwrap();
        let opened = JobFolder::open(&path, &config(false));
        assert_eq!(opened.is_ok(), begins, "{name}");
    }
}

#[test]
fn a_marker_that_changed_is_damage_and_says_what_helps() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.crawl");
    drop(JobFolder::open(&path, &config(false)).unwrap());
    let file = path.join(MARKER);
    let text = fs::read_to_string(&file).unwrap();
    let check = |changed: String, expected: Option<Remedy>| {
        fs::write(&file, changed).unwrap();
        let remedy = match JobFolder::open(&path, &config(false)) {
            Err(FolderError::Damaged { remedy, .. }) => Some(remedy),
            opened => opened.map(|_| None).unwrap(),
        };
        assert_eq!(remedy, expected);
    };
    let edited = text.replace("rescope = false", "rescope = true");
    check(edited.clone(), Some(Remedy::RemoveCheckLine));
    check(
        text.replace("finished", "fjnished"),
        Some(Remedy::StartAfresh),
    );
    check(String::new(), Some(Remedy::StartAfresh));
    let (_, without) = edited.split_once('\n').unwrap();
    check(without.to_owned(), None);
    check(edited, Some(Remedy::RemoveCheckLine));
    JobFolder::open(&path, &config(true)).unwrap();
}

#[test]
fn a_newer_format_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join(MARKER), "format = 99\nfinished = true\n").unwrap();
    let refused = JobFolder::open(place.path(), &config(true));
    assert!(matches!(
        refused,
        Err(FolderError::Newer { format: 99, .. })
    ));
}

#[test]
fn no_secret_reaches_the_folder() {
    use crate::config::Secret;
    let place = tempfile::tempdir().unwrap();
    let mut config = config(false);
    config.fetch.user = Some(Secret::new("me:hunter2"));
    config.fetch.proxy = Some(Secret::new("http://x:hunter2@proxy.test"));
    config.fetch.headers = vec![("X-Key".into(), Secret::new("hunter2"))];
    let path = place.path().join("a.crawl");
    JobFolder::open(&path, &config).unwrap();
    let text = fs::read_to_string(path.join(MARKER)).unwrap();
    assert!(
        text.contains("X-Key") && !text.contains("hunter2"),
        "{text}"
    );
}
