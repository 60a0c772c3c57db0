//! What the web sends and what users entrust to the command: neither leaks.

use std::fs;
use std::path::Path;

use terrarium::{Page, Site, Web};

use crate::place::{HOST, Place, Ran, garden, web_of};

/// A site whose every text tries to steer a terminal.
fn hostile() -> Site {
    let esc = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}";
    let home = format!(
        "<title>{esc}</title><a href='/{esc}'>x</a><a href='/moved'>y</a><a href='/typed'>z</a>\
         <a href='/?q={esc}'>w</a><a href='/cookie'>v</a>"
    );
    Site::new()
        .page("/", Page::html(home))
        .page(
            "/moved",
            Page::redirect(302, format!("/to{esc}").into_bytes()),
        )
        .page("/typed", Page::bytes(&format!("text/{esc}"), "x"))
        .page(
            "/cookie",
            Page::html("").header("Set-Cookie", format!("a={esc}")),
        )
}

#[test]
fn nothing_from_a_page_steers_the_terminal() {
    let web = web_of(hostile());
    let root = web.url(HOST, "/");
    for form in [
        &["-vv"][..],
        &["--list"],
        &["--format", "json"],
        &["-v", "--color", "never"],
    ] {
        let ran = Place::new().run(&[form, &["-t", "1", &root]].concat());
        assert_eq!(ran.code, 0, "{form:?} {}", ran.talk);
        for text in [&ran.out, &ran.talk] {
            let bad = |c: char| c != '\n' && clewline_job::escape::is_steering(c);
            assert!(!text.contains(bad), "{form:?} {text:?}");
        }
        assert!(web.log().count("/moved") > 0 && web.log().count("/typed") > 0);
    }
}

/// Everything that a run wrote, to streams and to disk.
fn traces(ran: &Ran, folder: &Path) -> String {
    let mut text = format!("{}{}", ran.out, ran.talk);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let nothing = Ran {
                code: 0,
                out: String::new(),
                talk: String::new(),
            };
            text.push_str(&traces(&nothing, &path));
        } else {
            text.push_str(&String::from_utf8_lossy(&fs::read(path).unwrap()));
        }
    }
    text
}

#[test]
fn secrets_are_sent_and_never_told() {
    let web = Web::new()
        .site("a.test", garden())
        .proxy_login("me", "hunter4")
        .start();
    let proxy = format!("http://me:hunter4@{}", web.http_proxy());
    let place = Place::new();
    let line = [
        "-vv",
        "-u",
        "me:hunter2",
        "-H",
        "X-Key: hunter3",
        "-x",
        &proxy,
        "-o",
        "job",
    ];
    let ran = place.run(&[&line[..], &[&web.url("a.test", "/")]].concat());
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let log = web.log();
    let hit = log.iter().find(|hit| hit.path() == "/a").unwrap();
    assert_eq!(hit.header("X-Key"), Some("hunter3"));
    // The Base64 of me:hunter2, as RFC 7617 wants it.
    assert_eq!(hit.header("Authorization"), Some("Basic bWU6aHVudGVyMg=="));
    assert!(hit.proxied);
    let traces = traces(&ran, &place.path("job"));
    assert!(traces.contains("X-Key"), "job.toml names the field");
    for secret in ["hunter", "bWU6aHVudGVy"] {
        assert!(!traces.contains(secret), "{secret} in {traces}");
    }
}

#[test]
fn a_wrong_password_of_a_proxy_is_not_repeated() {
    let web = Web::new()
        .site("a.test", garden())
        .proxy_login("me", "right")
        .start();
    let proxy = format!("http://me:hunter2@{}", web.http_proxy());
    let root = web.url("a.test", "/");
    let ran = Place::new().run(&["-q", "--no-output", "-t", "1", "-x", &proxy, &root]);
    assert!(
        !ran.talk.contains("hunter2") && !ran.out.contains("hunter2"),
        "{ran:?}"
    );
}

#[test]
fn a_proxy_of_the_environment_is_used() {
    let web = Web::new().site("a.test", garden()).start();
    let (proxy, root) = (
        format!("http://{}", web.http_proxy()),
        web.url("a.test", "/"),
    );
    let [resolve] = &web.resolve_args()[..] else {
        panic!("one site");
    };
    let check = |variables: &[(&str, &str)], expected: bool| {
        let before = web.proxied().len();
        let place = Place::new();
        let line = ["-q", "--no-output", "-n", "1", "--resolve", resolve, &root];
        let mut command = place.command(&line);
        let ran = Ran::from(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(ran.code, 0, "{variables:?} {}", ran.talk);
        assert_eq!(web.proxied().len() > before, expected, "{variables:?}");
    };
    check(&[], false);
    check(&[("http_proxy", &proxy)], true);
    check(&[("HTTP_PROXY", &proxy)], true);
    check(&[("ALL_PROXY", &proxy)], true);
    check(&[("https_proxy", &proxy)], false);
    check(&[("http_proxy", &proxy), ("no_proxy", "a.test")], false);
}
