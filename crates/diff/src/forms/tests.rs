//! What people and programs see of a comparison, also of hostile pages.

use super::*;
use crate::edit::NoisePlace;
use crate::entry::{DiffCounts, DiffEdit, DiffEntry, DiffKind, DiffLayer, PayloadCounts};
use crate::moves::{MoveCertainty, MoveReason, PageMove};

fn edit(place: &str, removed: &str, added: &str) -> DiffEdit {
    DiffEdit {
        place: place.into(),
        layers: vec![DiffLayer::Text],
        removed: removed.into(),
        added: added.into(),
        links_removed: Vec::new(),
        links_added: Vec::new(),
    }
}

fn sample() -> Difference {
    let mut footer = DiffEntry::about(DiffKind::Changed, "https://a.test/");
    footer.pages = 10_000;
    footer.urls.push("https://a.test/x".into());
    footer.show(vec![edit("footer p", "Old Ltd", "New Ltd")]);
    let mut gone = DiffEntry::about(DiffKind::Gone, "https://a.test/gone");
    gone.to = Some("https://a.test/here".into());
    gone.certainty = Some(MoveCertainty::Likely);
    gone.reason = Some(MoveReason::Title);
    let mut moved = DiffEntry::about(DiffKind::Moved, "https://a.test/new");
    moved.from = Some("https://a.test/old".into());
    moved.to = Some("https://a.test/new".into());
    moved.certainty = Some(MoveCertainty::Sure);
    moved.reason = Some(MoveReason::SameText);
    let mut status = DiffEntry::about(DiffKind::Status, "https://a.test/s");
    status.from = Some("200".into());
    status.to = Some("403".into());
    Difference {
        counts: DiffCounts {
            compared: 10_001,
            changed: 10_000,
            gone: 1,
            moved: 1,
            status: 1,
            noise: 1,
            unreadable: 2,
            ..DiffCounts::default()
        },
        payload: PayloadCounts {
            new: 1,
            changed: 10_001,
            unchanged: 0,
            gone: 2,
        },
        entries: vec![gone, moved, status, footer],
        noise: vec![NoisePlace {
            place: "main p".into(),
            pages: 9_000,
            sample: "https://a.test/".into(),
            removed: "12:01".into(),
            added: "12:05".into(),
        }],
        moves: vec![PageMove {
            from: "https://a.test/old".into(),
            to: "https://a.test/new".into(),
            certainty: MoveCertainty::Sure,
            reason: MoveReason::SameText,
        }],
        is_part: false,
    }
}

fn written(form: DiffForm, difference: &Difference, shows_noise: bool) -> String {
    let head = DiffHead {
        names: ["a.crawl", "b.crawl"],
        shows_noise,
        in_colour: false,
    };
    let mut out = Vec::new();
    form.write(difference, &head, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn text_is_read_from_its_end() {
    let expected = "\
Gone
  https://a.test/gone   likely https://a.test/here (same title)

Moved
  https://a.test/old → https://a.test/new   (same text)

Other status
  1 page: 200 → 403
    https://a.test/s

Changed
  10,000 pages: text
    https://a.test/
    https://a.test/x
    … and 9,998 more
    footer p (text)
    - Old Ltd
    + New Ltd

10,000 pages changed, 1 is gone, 1 moved, 1 has another status; 10,001 pages compared.
1 page differed by noise only.
2 pages could not be read then or now, and are compared with nothing.
Noise was masked in 1 place; --show-noise prints it.
By payload, as --update-from counts: 1 new, 10,001 changed, 0 unchanged, 2 gone.
";
    assert_eq!(written(DiffForm::Text, &sample(), false), expected);
    let with_noise = written(DiffForm::Text, &sample(), true);
    let noise = "  9,000 pages: main p\n    https://a.test/\n    - 12:01\n    + 12:05\n";
    assert!(with_noise.contains(noise), "{with_noise}");
}

#[test]
fn markdown_is_short() {
    let expected = "\
# `a.crawl` → `b.crawl`

**10,000 pages changed, 1 is gone, 1 moved, 1 has another status; 10,001 pages compared.**

- 1 page differed by noise only.
- 2 pages could not be read then or now, and are compared with nothing.
- By payload, as --update-from counts: 1 new, 10,001 changed, 0 unchanged, 2 gone.

## Gone

- `https://a.test/gone`, likely `https://a.test/here` (same title)

## Moved

- `https://a.test/old` → `https://a.test/new` (same text)

## Other status

- `1 page: 200 → 403` (`https://a.test/s`)

## Changed

- 10,000 pages: text (`https://a.test/`, `https://a.test/x`, … 9,998 more)
  - `footer p`: `Old Ltd` → `New Ltd`
";
    assert_eq!(written(DiffForm::Markdown, &sample(), false), expected);
}

#[test]
fn lines_of_json_say_what_they_are() {
    let lines = written(DiffForm::Jsonl, &sample(), true);
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let types: Vec<_> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "summary", "entry", "entry", "entry", "entry", "move", "noise"
        ]
    );
    assert_eq!(lines[0]["payload"]["changed"], 10_001);
    assert_eq!(lines[1]["reason"], "title");
    assert_eq!(lines[4]["edits"][0]["removed"], "Old Ltd");
    assert_eq!(lines[5]["certainty"], "sure");
}

/// What a page may write to get out of its place.
const HOSTILE: &str = "</p><script>x</script>\u{1b}[2J\u{202e}`*|```\n# x \"'";

#[test]
fn hostile_pages_stay_in_their_place() {
    let mut difference = sample();
    difference.entries.clear();
    let mut entry = DiffEntry::about(DiffKind::Changed, format!("https://a.test/{HOSTILE}"));
    entry.show(vec![edit("main p", HOSTILE, HOSTILE)]);
    difference.entries.push(entry);
    difference.noise[0].removed = HOSTILE.into();
    for form in DiffForm::ALL {
        let text = written(form, &difference, true);
        let is_steering = |c: char| c != '\n' && clewline_job::escape::is_steering(c);
        assert!(!text.contains(is_steering), "{form:?}: {text}");
        match form {
            DiffForm::Html => {
                assert!(!text.contains("<script"), "{text}");
                let policy = "default-src 'none'; style-src 'sha256-";
                assert!(text.contains(policy));
                assert!(!text.contains("src=") && !text.contains("url("));
            }
            // No line begins with what a page wrote.
            DiffForm::Text => assert!(!text.contains("\n#"), "{text}"),
            DiffForm::Markdown => assert!(text.contains("```` </p>"), "{text}"),
            DiffForm::Jsonl => assert_eq!(text.lines().count(), 4),
        }
    }
}

#[test]
fn nothing_is_told_in_one_sentence() {
    let empty = Difference {
        counts: DiffCounts {
            compared: 7,
            same: 7,
            ..DiffCounts::default()
        },
        payload: PayloadCounts::default(),
        entries: Vec::new(),
        noise: Vec::new(),
        moves: Vec::new(),
        is_part: true,
    };
    let text = written(DiffForm::Text, &empty, false);
    let expected = "Nothing changed; 7 pages compared.\n\
        The new crawl did not come to its end: what is missing may be there.\n\
        By payload, as --update-from counts: 0 new, 0 changed, 0 unchanged, 0 gone.\n";
    assert_eq!(text, expected);
}

/// Writes comparisons to the folder named by `CLEWLINE_SAMPLE_SITES`, to look at them.
#[test]
fn samples_can_be_looked_at() {
    let mut hostile = sample();
    let long = format!("https://a.test/{}<script>", "long-segment-".repeat(23));
    let mut entry = DiffEntry::about(DiffKind::Changed, &long);
    let attack = "عنوان الصفحة \u{202e}<script>alert(1)</script> 存在しない";
    entry.show(vec![edit(attack, &long, attack)]);
    hostile.entries.push(entry);
    let empty = Difference {
        entries: Vec::new(),
        noise: Vec::new(),
        moves: Vec::new(),
        counts: DiffCounts::default(),
        ..sample()
    };
    let folder = std::env::var_os("CLEWLINE_SAMPLE_SITES").map(std::path::PathBuf::from);
    for (name, difference) in [("few", sample()), ("hostile", hostile), ("empty", empty)] {
        let page = written(DiffForm::Html, &difference, true);
        assert!(!page.contains("<script"), "{name}");
        assert_eq!(page.matches("<h1>").count(), 1, "{name}");
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("diff-{name}.html")), page).unwrap();
        }
    }
}
