use std::collections::BTreeSet;

use super::*;

/// What the rules say of one more file in a tidy tree.
fn broken_by(path: &str, text: &str) -> Vec<&'static str> {
    let crates: BTreeSet<&str> = DEPENDENCIES.iter().map(|(name, ..)| *name).collect();
    let mut sources: Vec<Source> = crates
        .iter()
        .map(|name| Source {
            path: format!("crates/{name}/Cargo.toml"),
            text: "[package]\n".to_owned(),
        })
        .filter(|source| source.path != path)
        .collect();
    sources.push(Source {
        path: path.to_owned(),
        text: text.to_owned(),
    });
    let broken = RULES.iter().filter(|(_, rule)| !rule(&sources).is_empty());
    broken.map(|(name, _)| *name).collect()
}

#[test]
fn each_rule_can_be_broken() {
    let check = |path: &str, text: &str, expected: &[&str]| {
        assert_eq!(broken_by(path, text), expected, "{path}: {text}");
    };
    let core = "crates/core/src/a.rs";
    check(
        core,
        "//! A.\nlet now = Instant::now();\n",
        &["the core is pure"],
    );
    check(core, "//! A.\n// No `Instant::now` here.\n", &[]);
    check(
        core,
        "//! A.\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n",
        &[],
    );
    check("crates/core/src/tests.rs", "use std::fs;\n", &[]);
    check("crates/clewline/src/a.rs", "//! A.\nuse std::fs;\n", &[]);

    let upward = ["crates depend downwards"];
    check(
        "crates/core/Cargo.toml",
        "[dependencies]\ntokio = \"1\"\n",
        &upward,
    );
    check(
        "crates/core/Cargo.toml",
        "[dev-dependencies]\ntempfile = \"1\"\n",
        &[],
    );
    check(
        "crates/serve/Cargo.toml",
        "[dev-dependencies]\nclewline-core = \"1\"\n",
        &upward,
    );
    check(
        "crates/archive/Cargo.toml",
        "[dependencies]\nclewline-serve.workspace = true\n",
        &upward,
    );
    check(
        "crates/cli/Cargo.toml",
        "[dependencies]\nmutate = \"1\"\n",
        &["the product needs no laboratory"],
    );
    check(
        "crates/clewline/Cargo.toml",
        "[dev-dependencies]\nterrarium = \"1\"\n",
        &[],
    );

    let apart = ["modules keep apart"];
    check(
        "crates/clewline/src/log/a.rs",
        "//! A.\nuse crate::fetch::Fetcher;\n",
        &apart,
    );
    check(
        "crates/clewline/src/fetch.rs",
        "//! A.\nuse crate::{log};\n",
        &apart,
    );
    check(
        "crates/clewline/src/engine.rs",
        "//! A.\nuse crate::log::Log;\n",
        &[],
    );
}

#[test]
fn each_rule_of_names_and_leftovers_can_be_broken() {
    let check = |path: &str, text: &str, expected: &[&str]| {
        assert_eq!(broken_by(path, text), expected, "{path}: {text}");
    };
    check(
        "crates/cli/src/a.rs",
        "mod b;\n",
        &["modules say what they own"],
    );
    check(
        "crates/cli/src/utils.rs",
        "//! A.\n",
        &["names say something"],
    );
    check(
        "crates/cli/src/common/mod.rs",
        "//! A.\n",
        &["names say something"],
    );
    check(
        "crates/cli/src/a.rs",
        "//! A.\npub struct Twin;\npub(crate) enum Twin {}\n",
        &["type names are unique"],
    );
    check(
        "crates/clewline/src/lib.rs",
        "//! A.\npub use clewline_core::*;\n",
        &["the library shows few names"],
    );
    for leftover in LEFTOVERS {
        let text = format!("//! A.\n{leftover}\n");
        check("crates/cli/src/a.rs", &text, &["nothing is left over"]);
        check("crates/cli/src/tests.rs", &text, &["nothing is left over"]);
    }
}

#[test]
fn tests_do_not_count_as_lines() {
    let long = format!("//! A.\n{}", "code();\n".repeat(MOST_LINES));
    assert_eq!(broken_by("crates/cli/src/a.rs", &long), ["files are short"]);
    let tests = "test();\n".repeat(MOST_LINES);
    let tested = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{tests}}}\n");
    assert!(broken_by("crates/cli/src/a.rs", &tested).is_empty());
}

#[test]
fn a_missing_manifest_is_not_silence() {
    assert!(!upward_dependencies(&[]).is_empty());
}

#[test]
fn colours_stand_in_the_tokens_alone() {
    let rule: &[&str] = &["colours stand in the tokens"];
    let rust = |value: &str| format!("//! A.\nconst A: &str = \"{value}\";\n");
    let sheet = "crates/serve/src/a.css";
    for (path, text, expected) in [
        (sheet, "a { color: #fff }".to_owned(), rule),
        (sheet, "a { border: 1px solid #1F57D680 }".to_owned(), rule),
        (sheet, "a { color: rgb(0 0 0) }".to_owned(), rule),
        (sheet, "#main { color: var(--ink) }".to_owned(), &[]),
        ("website/theme/a.css", "a{color:#123456}".to_owned(), rule),
        (
            "crates/job/src/look/tokens.css",
            "a{color:#123456}".to_owned(),
            &[],
        ),
        ("crates/serve/src/a.rs", rust("a{color:#123456}"), rule),
        ("crates/serve/src/a.rs", rust("https://a.test/#abc"), &[]),
        ("crates/serve/src/tests.rs", rust("a{color:#123456}"), &[]),
    ] {
        assert_eq!(broken_by(path, &text), expected, "{path}: {text}");
    }
}
