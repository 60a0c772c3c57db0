//! Pages in passages: where they are cut, and what must hold for any page.

use proptest::prelude::*;

use super::*;

fn shown(markdown: &str) -> Vec<(String, String)> {
    passages(markdown)
        .into_iter()
        .map(|passage| (passage.path(), passage.words))
        .collect()
}

fn prose(words: usize) -> String {
    let words: Vec<_> = (0..words).map(|n| format!("word{n}")).collect();
    words.join(" ") + " end."
}

#[test]
fn short_sections_share_a_passage_and_its_path() {
    let markdown = "# Map\n\nIntro.\n\n## put\n\nAdds.\n\n## get\n\nFinds.\n";
    let all = "Intro.\n\n## put\n\nAdds.\n\n## get\n\nFinds.";
    assert_eq!(shown(markdown), [("Map".to_owned(), all.to_owned())]);
    let two = "## put\n\nAdds.\n\n## get\n\nFinds.\n";
    assert_eq!(shown(two), [(String::new(), two.trim_end().to_owned())]);
}

#[test]
fn long_sections_are_apart_and_begin_with_their_path() {
    let text = prose(180);
    let markdown = format!("# A\n\n## B\n\n{text}\n\n## C\n\n{text}\n");
    let found = shown(&markdown);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], ("A".to_owned(), format!("## B\n\n{text}")));
    assert_eq!(found[1], ("A > C".to_owned(), text.clone()));
    let whole = &passages(&markdown)[1];
    assert_eq!(whole.text(), format!("A > C\n\n{text}"));
}

#[test]
fn code_and_tables_stay_whole() {
    let code = format!(
        "```java\n{}\n```",
        "# no heading | x\n\nint x;\n".repeat(200)
    );
    let rows = format!(
        "| a | b |\n| --- | --- |\n{}",
        "| some | cells |\n".repeat(300)
    );
    let markdown = format!("# A\n\n{}\n\n{code}\n\n{rows}\n\nAfter.\n", prose(100));
    let found = passages(&markdown);
    assert!(found.iter().any(|passage| passage.words.contains(&code)));
    assert!(
        found
            .iter()
            .any(|passage| passage.words.contains(rows.trim_end()))
    );
    assert!(found.iter().all(|passage| passage.headings == ["A"]));
    let indented = format!(
        "- item\n\n  ````\n  {}\n  ````\n",
        "``` x\n  # y\n".repeat(300)
    );
    assert!(
        passages(&indented)
            .iter()
            .any(|passage| passage.words.matches("````").count() == 2)
    );
}

#[test]
fn huge_code_is_cut_at_a_line() {
    let line = "x".repeat(99);
    let markdown = format!("```\n{}```\n", format!("{line}\n").repeat(400));
    let found = passages(&markdown);
    assert!(found.len() > 1);
    for passage in &found {
        assert!(passage.words.chars().count() <= LONGEST_WHOLE);
        assert!(passage.words.lines().all(|one| one == line || one == "```"));
    }
}

#[test]
fn ids_depend_on_url_path_and_words() {
    let id = |url: &str, markdown: &str| passages(markdown)[0].id(url);
    let first = id("http://a.test/", "# A\n\nText.\n");
    assert_eq!(first.len(), 32);
    assert_eq!(first, id("http://a.test/", "# A\n\nText.\n\n"));
    assert_ne!(first, id("http://b.test/", "# A\n\nText.\n"));
    assert_ne!(first, id("http://a.test/", "# B\n\nText.\n"));
    assert_ne!(first, id("http://a.test/", "# A\n\nText!\n"));
}

#[test]
fn a_change_leaves_other_passages_as_they_were() {
    let page = |word: &str| {
        let sections = (0..9).map(|n| {
            let last = if n == 4 { word } else { "same" };
            format!("## S{n}\n\n{} {last}", prose(170))
        });
        let sections: Vec<_> = sections.collect();
        format!("# Page\n\n{}\n", sections.join("\n\n"))
    };
    let ids = |markdown: &str| {
        passages(markdown)
            .iter()
            .map(|one| one.id("u"))
            .collect::<Vec<_>>()
    };
    let (old, new) = (ids(&page("old")), ids(&page("new")));
    assert_eq!(old.len(), new.len());
    assert_eq!(old.iter().filter(|id| !new.contains(id)).count(), 1);
}

proptest! {
    #[test]
    fn any_text_is_covered_once(markdown in "(#{1,7} [a-c ]{0,9}\n|```[a-z]{0,3}\n|\\| x \\|\n|- [a-z.é]{0,80} |> |\n|[a-z. ]{0,400}){0,60}") {
        crate::fuzzing::passages(markdown.as_bytes());
    }
}
