//! Where the results go, and what is refused to protect what is there.

use std::fs;

use terrarium::{Page, Site, Web, ipv6_available};

use crate::place::{HOST, Place, Ran, garden, masked, run, web_of};

#[test]
fn a_finished_crawl_is_kept_unless_told_otherwise() {
    let web = web_of(garden());
    let place = Place::new();
    let root = web.url(HOST, "/");
    assert_eq!(place.run(&["-q", &root]).code, 0);
    let folder = place.names(".").pop().unwrap();
    let first = fs::read(place.path(&folder).join("urls.jsonl")).unwrap();
    let refused = place.run(&[&root]);
    let expected = "\
error: 127.0.0.1-PORT.crawl already holds a finished crawl

hint: to bring it up to date: clewline http://127.0.0.1:PORT/ --update-from 127.0.0.1-PORT.crawl -o 127.0.0.1-PORT-DATE.crawl
hint: name another folder with --output, or replace it with --overwrite
";
    let date = regex::Regex::new(r"\d{4}-\d\d-\d\d").unwrap();
    let talk = masked(&refused.talk, &web);
    assert_eq!(date.replace_all(&talk, "DATE"), expected);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    assert_eq!(
        fs::read(place.path(&folder).join("urls.jsonl")).unwrap(),
        first
    );
    // The command that is offered works as it stands.
    let offered = refused.talk.split(": clewline ").nth(1).unwrap();
    let words: Vec<&str> = offered.lines().next().unwrap().split(' ').collect();
    let updated = place.run(&words);
    assert_eq!(updated.code, 0, "{}", updated.talk);
    assert!(updated.out.contains("update     "), "{}", updated.out);
    fs::remove_dir_all(place.path(words[words.len() - 1])).unwrap();
    let resumed = place.run(&["resume", &folder]);
    assert!(
        resumed.talk.contains(
            "note: to bring it up to date, give the command that made it with --update-from "
        ),
        "{}",
        resumed.talk
    );
    assert_eq!(place.run(&["-q", "-o", "other", &root]).code, 0);
    fs::write(place.path(&folder).join("mark"), "").unwrap();
    assert_eq!(place.run(&["-q", "--overwrite", &root]).code, 0);
    assert!(!place.path(&folder).join("mark").exists());
    assert_eq!(place.names(".").len(), 2);
}

#[test]
fn what_is_not_clewlines_is_never_touched() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    let place = Place::new().with_file("notes.txt", "years of work");
    fs::create_dir(place.path("thesis")).unwrap();
    fs::write(place.path("thesis/chapter.tex"), "more of it").unwrap();
    for name in ["thesis", "notes.txt"] {
        let ran = place.run(&["--overwrite", "-o", name, &root]);
        let expected = format!(
            "error: {name} is there already and is not a job folder\n\n\
             hint: name another folder with --output; what is not clewline's is never replaced\n"
        );
        assert_eq!((ran.code, ran.talk, ran.out.as_str()), (2, expected, ""));
    }
    assert_eq!(
        fs::read_to_string(place.path("notes.txt")).unwrap(),
        "years of work"
    );
    assert_eq!(place.names("thesis"), ["chapter.tex"]);
    assert_eq!(
        web.log().len(),
        0,
        "nothing is asked before the folder stands"
    );
}

#[test]
fn folders_that_cannot_be_made() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    let place = Place::new().with_file("file", "");
    let ran = place.run(&["-o", "file/below", &root]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.talk);
    assert!(ran.talk.starts_with("error: file/below: "), "{}", ran.talk);
    assert!(
        ran.talk
            .ends_with("with --output, or keep nothing with --no-output\n"),
        "{}",
        ran.talk
    );
    if cfg!(target_os = "linux") {
        let ran = place.run(&["-o", "/proc/clewline", &root]);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.talk);
        assert!(
            ran.talk.starts_with("error: /proc/clewline: "),
            "{}",
            ran.talk
        );
    }
}

#[test]
fn standard_output_is_no_folder() {
    let ran = run(&["-o", "-", "example.com"]);
    let expected = "error: --output: `-` is not a folder; the report is printed anyway, \
                    --no-output keeps nothing else\n";
    assert_eq!((ran.code, ran.talk.as_str()), (2, expected));
    let ran = run(&["-o", "", "--list", "--format", "json", "example.com"]);
    let expected = "\
error: --output: `` is empty; leave the setting out for <host>.crawl
error: --list: is text, which contradicts --format json; keep one

hint: urls.jsonl in the job folder has every URL as JSON
";
    assert_eq!((ran.code, ran.talk.as_str()), (2, expected));
}

#[test]
fn no_output_leaves_nothing() {
    let web = web_of(garden());
    let place = Place::new();
    let ran = place.run(&["-q", "--no-output", &web.url(HOST, "/")]);
    assert_eq!((ran.code, place.names(".").len()), (0, 0));
    assert!(ran.out.contains("http://127.0.0.1"), "{}", ran.out);
}

#[test]
fn names_follow_from_the_roots() {
    let web = web_of(garden());
    let place = Place::new();
    let port = web.addr(HOST).port();
    place.run(&["-q", &web.url(HOST, "/")]);
    assert_eq!(place.names("."), [format!("127.0.0.1-{port}.crawl")]);
    let place = Place::new();
    let other = format!("http://localhost:{port}/");
    place.run(&["-q", "-n", "1", &web.url(HOST, "/"), &other]);
    let name = place.names(".").pop().unwrap();
    assert!(name.starts_with("crawl-20"), "{name}");
}

#[test]
fn an_ipv6_address_is_a_host_like_any_other() {
    if !ipv6_available() {
        return;
    }
    let web = Web::new().site("::1", garden()).start();
    let place = Place::new();
    let ran = place.run(&["-q", &web.url("::1", "/")]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.out.contains("\n3 pages in "), "{}", ran.out);
    let port = web.addr("::1").port();
    assert_eq!(place.names("."), [format!("ipv6---1-{port}.crawl")]);
}

#[test]
fn roots_come_from_files_and_standard_input() {
    use std::io::Write as _;
    use std::process::Stdio;

    let web = web_of(garden());
    let (a, old) = (web.url(HOST, "/a"), web.url(HOST, "/old"));
    let place = Place::new().with_file("roots.txt", &format!("# mine\n\n{a}  # the first\n"));
    let line = [
        "-q",
        "--scope",
        "page",
        "-o",
        "job",
        "-i",
        "roots.txt",
        "-i",
        "-",
    ];
    let mut child = place
        .command(&line)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{old}").unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut paths: Vec<String> = place
        .records("job")
        .iter()
        .map(|record| record.url.path().to_owned())
        .collect();
    paths.retain(|path| path != "/sitemap.xml");
    paths.sort();
    assert_eq!(paths, ["/a", "/old"]);
}

/// Runs the command where a folder can be read and not written; nothing where the system does not
/// let tests have such a place.
#[cfg(target_os = "linux")]
fn run_read_only(place: &Place, line: &[&str]) -> Option<Ran> {
    let script = "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec \"$@\"";
    let shell = ["--mount", "sh", "-c", script, "sh"];
    let possible = [&shell[..], &["true"]].concat();
    let possible = place.program("unshare", &possible).output().ok()?;
    if !possible.status.success() {
        return None;
    }
    let binary = env!("CARGO_BIN_EXE_clewline");
    let line = [&shell[..], &[binary], line].concat();
    Some(Ran::from(place.program("unshare", &line).output().unwrap()))
}

#[cfg(target_os = "linux")]
#[test]
fn a_crawl_can_be_looked_at_where_it_cannot_be_written() {
    let web = web_of(garden());
    let root = web.url(HOST, "/");
    let place = Place::new();
    assert_eq!(place.run(&["-q", "-o", "a.crawl", &root]).code, 0);
    let Some(ran) = run_read_only(&place, &["-q", "-o", "b.crawl", &root]) else {
        return;
    };
    assert_eq!(ran.code, 3, "it can be written after all");
    let seen = |line: &[&str]| {
        let ran = run_read_only(&place, line).unwrap();
        assert_eq!(ran.code, 0, "{line:?} {}", ran.talk);
        ran.out
    };
    let status = seen(&["status"]);
    let expected =
        "a.crawl: finished\n6 done, 0 queued, 0 in flight; 3 pages, 0 failed, 1 broken\n";
    assert!(status.starts_with(expected), "{status}");
    let why = seen(&["why", &web.url(HOST, "/a")]);
    assert!(why.contains("verdict      fetched\n"), "{why}");
    let without_index = seen(&["search", "gone"]);
    assert!(without_index.contains("/a\n"), "{without_index}");
    assert!(!place.path("a.crawl/index").exists());
    assert_eq!(place.run(&["index"]).code, 0);
    assert_eq!(seen(&["search", "gone"]), without_index);
    assert_eq!(
        place.run(&["-q", "-n", "1", "-o", "b.crawl", &root]).code,
        0
    );
    let status = seen(&["status", "b.crawl"]);
    assert!(status.contains("1 done, 0 queued"), "{status}");
    let held = "held: the folder cannot be written, so its queue could not be looked at\n";
    assert!(status.contains(held), "{status}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_was_renamed_is_named_as_such() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let place = Place::new();
    let asked = Arc::new(AtomicBool::new(false));
    let (from, to) = (place.path("a.crawl"), place.path("b.crawl"));
    let rename = Arc::clone(&asked);
    // The folder goes while a page is fetched, once the store is made and something is in a log:
    // pages lead to more pages until then.
    let site = Site::new()
        .pages([("/", "<a href=/a/1>a</a>")])
        .handler(move |request| {
            if !request.path().starts_with("/a/") || rename.load(Ordering::SeqCst) {
                return Page::html("").into();
            }
            if fs::metadata(from.join("urls.jsonl")).map_or(0, |log| log.len()) == 0 {
                let number: u32 = request.path()["/a/".len()..].parse().unwrap();
                return Page::html(format!("<a href=/a/{}>a</a>", number + 1)).into();
            }
            rename.store(true, Ordering::SeqCst);
            fs::rename(&from, &to).unwrap();
            Page::html("").into()
        });
    let web = web_of(site);
    let line = ["-q", "--no-sitemaps", "-o", "a.crawl", &web.url(HOST, "/")];
    let ran = place.run(&line);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.talk);
    let hint = "hint: a.crawl was renamed or removed while the crawl ran; give it that name again, \
                and the same command goes on\n";
    assert!(ran.talk.ends_with(hint), "{}", ran.talk);
    assert!(asked.load(Ordering::SeqCst));
    fs::rename(place.path("b.crawl"), place.path("a.crawl")).unwrap();
    let ran = place.run(&line);
    assert_eq!(ran.code, 0, "{}", ran.talk);
}
