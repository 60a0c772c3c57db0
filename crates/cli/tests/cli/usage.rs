//! Flags, the file and the documents: everything that needs no web.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::place::{Place, Ran, run};

/// Usage errors: nothing on stdout, exit code 2, exactly this on stderr.
fn check_usage(line: &[&str], expected: &str) {
    let ran = run(line);
    assert_eq!(ran.talk, expected, "{line:?}");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line:?}");
}

fn docs(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

/// The names of all settings, as the generated reference has them.
fn keys() -> Vec<String> {
    let page = run(&["reference"]).out;
    let settings = page.split("## Some hosts").next().unwrap();
    let cell = |line: &str| Some(line.split(" | ").nth(1)?.trim_matches('`').to_owned());
    let rows = settings.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(cell).collect()
}

#[test]
fn no_arguments_print_the_short_help() {
    let ran = run(&[]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    assert_eq!(
        ran.out
            .lines()
            .filter(|line| line.starts_with("  clewline "))
            .count(),
        9
    );
}

#[test]
fn every_verb_has_help() {
    for verb in [
        "crawl",
        "inspect",
        "resume",
        "status",
        "why",
        "ctl",
        "search",
        "index",
        "warc",
        "warc ls",
        "warc verify",
        "serve",
        "export",
        "demo",
        "completions",
    ] {
        for flag in ["-h", "--help"] {
            let words: Vec<&str> = verb.split(' ').chain([flag]).collect();
            let ran = run(&words);
            assert_eq!((ran.code, ran.talk.as_str()), (0, ""), "{verb} {flag}");
            assert!(
                ran.out.contains(&format!("Usage: clewline {verb}")),
                "{}",
                ran.out
            );
        }
    }
}

#[test]
fn help_names_every_setting() {
    let ran = run(&["--help"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    let keys = keys();
    assert!(keys.len() > 50, "{keys:?}");
    for key in keys.iter().filter(|key| *key != "url") {
        let named = |word: &str| {
            // A value that may be missing stands in brackets.
            let flag = word.split("[=").next().unwrap_or_default();
            flag.trim_end_matches("...") == format!("--{key}")
        };
        let lines = ran
            .out
            .lines()
            .filter(|line| line.trim_start().starts_with('-'));
        assert!(lines.flat_map(str::split_whitespace).any(named), "--{key}");
    }
    assert!(ran.out.contains("[default: 32M]") && ran.out.contains("[default: host]"));
    assert!(
        !run(&["-h"]).out.contains("--max-repeats"),
        "the summary is short"
    );
}

#[test]
fn the_short_help_has_what_people_look_for() {
    let flags = |words: &[&str]| -> Vec<String> {
        let ran = run(words);
        let lines = ran.out.lines().map(str::trim_start);
        let flags = lines.filter(|line| line.starts_with('-'));
        let words = flags.flat_map(|line| line.split("  ").next().unwrap().split_whitespace());
        let long = words.filter(|word| word.starts_with("--"));
        long.map(|word| word.trim_end_matches("...").to_owned())
            .collect()
    };
    let usual = flags(&["-h"]);
    for flag in ["--to", "--update-from", "--contact", "--no-archive"] {
        assert!(usual.iter().any(|one| one == flag), "{flag}: {usual:?}");
    }
    let expected = [
        "--body",
        "--markdown",
        "--text",
        "--rules",
        "--whole",
        "--format",
        "--user-agent",
        "--header",
        "--user",
        "--cookies",
        "--timeout",
        "--proxy",
        "--insecure",
        "--verbose",
        "--config",
        "--no-config",
        "--show-config",
        "--help",
    ];
    assert_eq!(flags(&["inspect", "-h"]), expected);
    let whole = flags(&["inspect", "--help"]);
    assert!(whole.iter().any(|flag| flag == "--scope"), "{whole:?}");
    assert!(!whole.iter().any(|flag| flag == "--depth"), "{whole:?}");
}

#[test]
fn the_example_has_every_setting_and_loads() {
    let text = fs::read_to_string(docs("clewline.example.toml")).unwrap();
    for key in keys() {
        let named = |line: &str| {
            let line = line.trim_start_matches("# ");
            line.starts_with(&format!("{key} = ")) || line.contains(&format!("or: {key} = "))
        };
        assert!(text.lines().any(named), "{key} is not in the example");
    }
    let place = Place::new().with_file("clewline.toml", &text);
    let ran = place.run(&["crawl", "--show-config"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    assert!(
        ran.out
            .contains("# host *.slow.example: delay 5s, max-pages 1000\n")
    );
}

#[test]
fn the_reference_is_up_to_date() {
    let page = run(&["reference"]).out;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(docs("configuration.md"), &page).unwrap();
    }
    let stored = fs::read_to_string(docs("configuration.md")).unwrap_or_default();
    assert!(
        stored == page,
        "docs/configuration.md is stale: run with UPDATE_DOCS=1"
    );
}

#[test]
fn a_wrong_flag_gets_a_suggestion() {
    let ran = run(&["--dleay", "1s", "example.com"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.talk.contains("unexpected argument '--dleay'"),
        "{}",
        ran.talk
    );
    assert!(ran.talk.contains("'--delay'"), "{}", ran.talk);
}

#[test]
fn wrong_values_are_told_all_at_once() {
    check_usage(
        &[
            "example.com",
            "--delay",
            "soon",
            "-t",
            "0",
            "--scope",
            "all",
            "-d",
            "-1",
        ],
        "error: --scope: `all` is not one of page, path, host, domain, any\n\
         error: --depth: `-1` is not a whole number\n\
         error: --delay: `soon` is not a time such as 500ms, 2s, 1m30s or 1h\n\
         error: --tries: `0` is too small; the least is 1\n",
    );
}

#[test]
fn wrong_flags_and_files_are_told_together() {
    let place = Place::new().with_file("clewline.toml", "tries = 3\nmax_pages = 4\nlist = 1\n");
    let ran = place.run(&["example.com", "--rate", "fast"]);
    let expected = "error: clewline.toml:3: list: is a switch: write true or false\n\
                    error: clewline.toml:2: max_pages: is not a setting\n\
                    error: --rate: `fast` is not a rate such as 5/s or 30/m\n\n\
                    hint: for `max_pages` write `max-pages`\n";
    assert_eq!((ran.code, ran.talk.as_str()), (2, expected));
    let ran = place.run(&["example.com", "--no-config", "--show-config"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
}

#[test]
fn roots_that_cannot_be() {
    check_usage(
        &["file:///tmp/x"],
        "error: URL: `file:///tmp/x` is neither http nor https\n\n\
         hint: clewline asks web servers, not disks; serve the folder, for example with\n      \
         `python3 -m http.server`, and crawl http://localhost:8000\n",
    );
    check_usage(
        &["crwl"],
        "error: URL: `crwl` is neither a URL nor a verb\n\n\
         hint: did you mean the verb `crawl`? To ask a host of that name write http://crwl/\n",
    );
    check_usage(
        &["https://me:hunter2@example.com"],
        "error: URL: has a user name or password in it\n\n\
         hint: give them with -u user:password\n",
    );
    check_usage(
        &["crawl"],
        "error: URL: is missing: nothing to crawl\n\n\
         hint: clewline example.com, or --input-file with one URL per line\n",
    );
    check_usage(
        &["http://x/\u{1b}[31m\u{202e}", "ftp://\u{1b}[2J"],
        "error: URL: `ftp://\\x1b[2J` has the character `\\u{1b}` in its host name\n",
    );
    check_usage(
        &[
            "http://exa mple.com",
            "http://",
            "a.test:99999",
            "http://1.2.3.999/",
        ],
        "error: URL: `http://exa mple.com` has a space in its host name\n\
         error: URL: `http://` has no host name\n\
         error: URL: `a.test:99999` has a port that is no number up to 65535\n\
         error: URL: `http://1.2.3.999/` has an IP address that is none\n",
    );
}

#[test]
fn habits_of_other_tools_get_answers() {
    check_usage(
        &["-r", "example.com"],
        "error: -r: is not needed: clewline is always recursive\n\n\
         hint: leave it out; --depth N limits how far it goes\n",
    );
    check_usage(
        &["-np", "example.com"],
        "error: --max-pages: `p` is not a whole number\n\n\
         hint: wget's -np is --no-parent here\n",
    );
}

#[test]
fn going_anywhere_needs_a_contact() {
    check_usage(
        &["--scope", "any", "example.com"],
        "error: --scope: `any` leaves your own sites, so their owners must be able to reach you\n\n\
         hint: add --contact you@example.com, or a URL about your crawler\n",
    );
}

#[test]
fn show_config_tells_origins_and_keeps_secrets() {
    let place = Place::new()
        .with_file(
            "clewline.toml",
            "\ndepth = 3\ntries = 9\nuser = 'me:hunter2'\n",
        )
        .with_file("other.toml", "depth = 8\n");
    let value = |ran: &Ran, key: &str| {
        let lines = ran.out.lines();
        let mut found = lines.filter(|line| line.trim_start_matches("# ").starts_with(key));
        found
            .next()
            .unwrap()
            .split_whitespace()
            .collect::<Vec<&str>>()
            .join(" ")
    };
    let ran = place.run(&[
        "example.com",
        "--show-config",
        "--tries",
        "2",
        "-H",
        "A: hunter2",
    ]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    assert_eq!(value(&ran, "depth"), "depth = 3 # clewline.toml:2");
    assert_eq!(value(&ran, "tries"), "tries = 2 # flag");
    assert_eq!(value(&ran, "timeout"), "timeout = \"30s\" # default");
    assert_eq!(
        value(&ran, "user "),
        "# user = \"(secret)\" # clewline.toml:4"
    );
    assert_eq!(value(&ran, "header"), "# header = [\"A: (secret)\"] # flag");
    assert!(!ran.out.contains("hunter2"));

    let mut command = place.command(&["example.com", "--show-config"]);
    let ran = Ran::from(
        command
            .env("CLEWLINE_CONFIG", "other.toml")
            .output()
            .unwrap(),
    );
    assert_eq!(value(&ran, "depth"), "depth = 8 # other.toml:1");
    let mut command = place.command(&["example.com", "--show-config"]);
    let ran = Ran::from(
        command
            .env("https_proxy", "http://u:hunter2@h:1")
            .output()
            .unwrap(),
    );
    assert_eq!(
        value(&ran, "proxy"),
        "# proxy = (secret) # environment, https_proxy"
    );
}

#[test]
fn a_file_that_is_not_there_is_an_error_only_if_named() {
    let ran = run(&["example.com", "--show-config", "--config", "none.toml"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.talk.starts_with("error: none.toml: cannot be read: "),
        "{}",
        ran.talk
    );
}

#[test]
fn roots_from_standard_input() {
    let place = Place::new();
    let mut command = place.command(&["-i", "-", "--show-config"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"# mine\nexample.com\nhttp://localhost:3000/a\n")
        .unwrap();
    drop(input);
    let ran = Ran::from(child.wait_with_output().unwrap());
    let expected = "[\"https://example.com/\", \"http://localhost:3000/a\"]";
    assert!(ran.out.contains(expected), "{}{}", ran.out, ran.talk);
}

#[test]
fn completions_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell]);
        assert_eq!((ran.code, ran.talk.as_str()), (0, ""), "{shell}");
        assert!(ran.out.contains("page-requisites"), "{shell}");
    }
}

#[test]
fn the_version_names_a_commit_and_its_date() {
    let ran = run(&["-V"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    let (version, rest) = ran.out.trim_end().split_once(" (").unwrap();
    assert_eq!(
        version,
        concat!("clewline ", env!("CARGO_PKG_VERSION")),
        "{}",
        ran.out
    );
    let revision = rest.strip_suffix(')').unwrap();
    if let Some((commit, date)) = revision.split_once(' ')
        && revision != "unknown commit"
    {
        assert_eq!((commit.len(), date.len()), (10, 10), "{revision}");
        let is_hex = |letter: char| letter.is_ascii_hexdigit();
        assert!(commit.chars().all(is_hex), "{revision}");
    }
    let long = run(&["--version"]);
    let (first, second) = long.out.split_once('\n').unwrap();
    assert_eq!(first, ran.out.trim_end());
    assert!(second.starts_with("target: "), "{second}");
}

#[test]
fn every_verb_that_help_names_has_a_manual_page() {
    let place = Place::new();
    let output = place.command(&["manual", "man"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = |name: &str| {
        let path = place.path(&format!("man/{name}"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let whole = page("clewline.1");
    let rare_help = "Stay on the roots\\*(Aq hosts (same as `\\-\\-scope host`)";
    for needle in [rare_help, "\\-\\-max\\-pages", "130  interrupted", ".nf"] {
        assert!(whole.contains(needle), "{needle}");
    }
    let help = run(&["-h"]).out;
    let verbs = help.split("Commands:\n").nth(1).unwrap();
    let verbs = verbs.split("\n\n").next().unwrap().lines();
    let mut count = 0;
    for verb in verbs.filter_map(|line| line.split_whitespace().next()) {
        let page = page(&format!("clewline-{verb}.1"));
        assert!(page.contains(&format!("clewline {verb}")), "{verb}");
        count += 1;
    }
    assert!(count > 8, "{help}");
    assert!(page("clewline-warc-ls.1").contains("clewline warc ls"));
    assert!(!place.path("man/clewline-reference.1").exists());
}

#[test]
fn colour_is_used_only_when_asked_for() {
    let coloured = run(&["crawl", "--color", "always"]);
    assert!(coloured.talk.contains("\u{1b}["), "{}", coloured.talk);
    for line in [&["crawl"][..], &["crawl", "--color", "never"], &["--help"]] {
        let ran = run(line);
        assert!(
            !ran.talk.contains('\u{1b}') && !ran.out.contains('\u{1b}'),
            "{line:?}"
        );
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let place = Place::new();
    for line in [
        &["--help"][..],
        &["reference"],
        &["completions", "bash"],
        &[],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(line);
        let output = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{line:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line:?}");
    }
}
