//! The examples, run as programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use terrarium::{LiveWeb, Page, Site, Web};

/// The path of an example, built first where only this test was.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let path = profile
        .join("examples")
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION);
    if !path.exists() {
        build_example(name, profile);
    }
    path
}

fn build_example(name: &str, profile: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile_name = match profile.file_name().and_then(|name| name.to_str()).unwrap() {
        "debug" => "dev",
        other => other,
    };
    let status = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--package",
            "clewline",
            "--example",
            name,
        ])
        .args(["--profile", profile_name, "--target-dir"])
        .arg(profile.parent().unwrap())
        .status()
        .unwrap();
    assert!(status.success(), "the example {name} does not compile");
}

/// What an example prints for a web at an address that needs no name.
fn run_example(name: &str, web: &LiveWeb, path: &str) -> String {
    let url = web.url("127.0.0.1", path);
    let output = Command::new(example(name)).arg(&url).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {url}: {error}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.replace(url.strip_suffix(path).unwrap(), "")
}

#[test]
fn example_hello() {
    let site = Site::new()
        .page("/", Page::html("<title>Home</title><a href=/a>a</a>"))
        .page("/a", Page::html("<title>A</title>"))
        .page("/sitemap.xml", Page::xml("<urlset/>"));
    let web = Web::new().site("127.0.0.1", site).start();
    let mut lines: Vec<String> = run_example("hello", &web, "/")
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(lines.pop().unwrap(), "3 URLs");
    lines.sort_unstable();
    assert_eq!(lines, ["200 / Home", "200 /a A", "200 /sitemap.xml -"]);
}

#[test]
fn example_own_extractor() {
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /sitemap.xml")
        .page(
            "/README.md",
            Page::bytes(
                "text/markdown",
                "# Read me\n[next](docs/next.md \"n\") [home](/)",
            ),
        )
        .page("/docs/next.md", Page::bytes("text/markdown", "# Next\n"))
        .page("/", Page::html("<title>Home</title>"));
    let web = Web::new().site("127.0.0.1", site).start();
    let text = run_example("own_extractor", &web, "/README.md");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["/ Home", "/README.md Read me", "/docs/next.md Next"]
    );
}

#[test]
fn example_own_log() {
    let site = Site::new()
        .page("/", Page::html("<a href=/gone>g</a><a href=/a>a</a>"))
        .page("/a", Page::html("<a href=/gone>g</a>"))
        .page("/gone", Page::empty(410));
    let web = Web::new().site("127.0.0.1", site).start();
    assert_eq!(run_example("own_log", &web, "/"), "/gone on /\n3 pages\n");
}
