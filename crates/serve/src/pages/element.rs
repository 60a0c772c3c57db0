//! Pieces that several pages have: URLs, figures, empty states, forms.
//!
//! Owns their HTML. Refuses to know the pages. Invariant: every text that is given is escaped.

use std::fmt::{Arguments, Write as _};

use clewline_job::escape;
use clewline_job::look::Icon;

/// The longest URL that is shown and linked whole.
const LONGEST_URL: usize = 2_048;
/// Characters at the end of a URL that stay when its middle is left out.
const TAIL: usize = 24;

/// Appends what is formatted.
pub(super) fn push(out: &mut String, parts: Arguments<'_>) {
    out.write_fmt(parts)
        .expect("writing to a string does not fail");
}

/// A URL with its host dimmed. Where there is no room its middle is left out, and it is whole again
/// while it has the focus and when it is copied.
pub(super) fn url(text: &str, link: Option<&str>) -> String {
    let whole: String = text.chars().take(LONGEST_URL).collect();
    let path_at = whole.find("://").map_or(0, |at| {
        let rest = at + 3;
        whole[rest..]
            .find(['/', '?', '#'])
            .map_or(whole.len(), |path| rest + path)
    });
    let (origin, path) = whole.split_at(path_at);
    let length = path.chars().count();
    let tail_at = path
        .char_indices()
        .nth(length.saturating_sub(TAIL))
        .map_or(path.len(), |(at, _)| at);
    let (head, tail) = path.split_at(tail_at);
    let [title, origin, head, tail] = [&whole, origin, head, tail].map(|part| escape::html(part));
    let inner =
        format!("<span class=head><i>{origin}</i>{head}</span><span class=tail>{tail}</span>");
    match link {
        Some(link) => format!(
            "<a class=\"url cut\" href=\"{}\" title=\"{title}\">{inner}</a>",
            escape::html(link)
        ),
        None => format!("<span class=\"url cut\" title=\"{title}\">{inner}</span>"),
    }
}

/// A path with one parameter.
pub(super) fn link(path: &str, name: &str, value: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair(name, value)
        .finish();
    format!("{path}?{query}")
}

/// One sentence, and what to do next as a command or nothing.
pub(super) fn empty(sentence: &str, command: &str) -> String {
    let mut out = format!("<p class=empty>{}", escape::html(sentence));
    if !command.is_empty() {
        push(
            &mut out,
            format_args!(" <code>{}</code>", escape::html(command)),
        );
    }
    out.push_str("</p>");
    out
}

/// A button with an icon and a word.
pub(super) fn button(icon: Icon, word: &str, attributes: &str) -> String {
    format!(
        "<button {attributes}>{} {}</button>",
        icon.svg(),
        escape::html(word)
    )
}

/// The sentence that opens a page, and lines below it.
pub(super) fn opening(sentence: &str, more: &str) -> String {
    let mut out = format!(
        "<section id=overview class=open><h1>{}</h1>",
        escape::html(sentence)
    );
    if !more.is_empty() {
        push(
            &mut out,
            format_args!("<p class=soft>{}</p>", escape::html(more)),
        );
    }
    out.push_str("</section>");
    out
}
