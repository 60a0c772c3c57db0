//! What is foreign stays text.

use super::*;
use crate::search::question::QuestionError;

fn text(reply: &Reply) -> String {
    String::from_utf8(shown(reply).body).unwrap()
}

#[test]
fn questions_stay_text() {
    for (query, kept) in [
        (
            "q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
            "&quot;&gt;&lt;script&gt;alert(1)",
        ),
        (
            "q=x&host=%22%3E%3Cb%3E",
            "name=host value=\"&quot;&gt;&lt;b&gt;\"",
        ),
        ("q=%1b%5B2J%E2%80%AEx", "\\x1b[2J\\u{202e}x"),
        ("q=a'b&lang=%26amp;", "a&#39;b"),
    ] {
        let question = Question::read(query);
        let page = text(&Reply::Refused(question, QuestionError::Page));
        assert!(page.contains(kept), "{query}: {page}");
        assert_eq!(page.matches("<script>").count(), 1, "{query}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{query}");
    }
    let broken = Reply::Broken(Question::read(""), "<i>\u{7}".to_owned());
    assert!(text(&broken).contains("&lt;i&gt;\\x07"));
}

#[test]
fn an_index_in_the_making_is_looked_for_again() {
    let reply = Reply::Making(Question::read("q=a"), 1_234_567);
    let page = text(&reply);
    assert!(page.contains("1,234,567 pages so far") && page.contains("http-equiv=refresh"));
    assert!(page.contains("clewline index DIR"));
    assert_eq!(shown(&reply).status, 503);
    assert!(!text(&Reply::Broken(Question::read(""), String::new())).contains("http-equiv"));
}

#[test]
fn captures_are_found_at_their_second() {
    for (seconds, path) in [
        (1_794_700_800, "/web/20261115000000/https://a.test/?b&c"),
        (0, "/web/19700101000000/https://a.test/?b&c"),
        (-5, "/web/19700101000000/https://a.test/?b&c"),
    ] {
        assert_eq!(capture_of("https://a.test/?b&c#d", seconds), path);
    }
}

/// Writes pages without results to the folder named by `CLEWLINE_SAMPLE_SITES`, to look at them.
#[test]
fn samples_can_be_looked_at() {
    let folder = std::env::var_os("CLEWLINE_SAMPLE_SITES").map(std::path::PathBuf::from);
    let refused = Question::read("q=%22open");
    for (name, reply) in [
        ("making", Reply::Making(Question::read("q=a"), 1_234_567)),
        ("refused", Reply::Refused(refused, QuestionError::Page)),
    ] {
        let page = text(&reply);
        assert_eq!(page.matches("<h1").count(), 1, "{name}");
        if let Some(folder) = &folder {
            // The sample would look again, and leave the picture.
            let page = page.replace("<meta http-equiv=refresh", "<meta name=refresh");
            std::fs::write(folder.join(format!("search-{name}.html")), page).unwrap();
        }
    }
}
