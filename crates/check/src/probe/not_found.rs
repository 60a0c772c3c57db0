//! Titles of error pages.
//!
//! Owns the short list of what they say, in the languages of most of the web. It refuses to look at
//! bodies: a change log that says "has been removed" is no error page. Invariant: a phrase counts
//! only if it is all that a part of the title says, so that pages about errors are none.

/// What stands between the parts of a title. A hyphen only counts with blanks around it.
const SEPARATORS: [&str; 10] = ["|", " - ", " – ", " — ", "•", "·", "»", "«", "::", ": "];

/// What parts of titles say, lower-case, without the number in front.
const PHRASES: [&str; 38] = [
    "not found",
    "page not found",
    "page was not found",
    "page could not be found",
    "the page could not be found",
    "this page could not be found",
    "page cannot be found",
    "the page you requested was not found",
    "file not found",
    "content not found",
    "nothing found",
    "page does not exist",
    "this page doesn't exist",
    "page doesn't exist",
    "page no longer exists",
    "page unavailable",
    "page not available",
    "oops! page not found",
    "error",
    "page error",
    "seite nicht gefunden",
    "nicht gefunden",
    "die seite wurde nicht gefunden",
    "page non trouvée",
    "page introuvable",
    "page non trouvee",
    "página no encontrada",
    "no se encontró la página",
    "página não encontrada",
    "pagina non trovata",
    "pagina niet gevonden",
    "sidan hittades inte",
    "siden blev ikke fundet",
    "strona nie znaleziona",
    "nie znaleziono strony",
    "страница не найдена",
    "页面不存在",
    "ページが見つかりません",
];

/// Whether a title, or a first heading, says that there is no such page.
pub fn says_not_found(title: &str) -> bool {
    let mut text = title.to_lowercase().replace('’', "'");
    for separator in SEPARATORS {
        text = text.replace(separator, "\n");
    }
    text.lines().any(is_phrase)
}

fn is_phrase(part: &str) -> bool {
    let is_noise = |c: char| c.is_whitespace() || "!.…()[]:'\"-–".contains(c);
    let part = part.trim_matches(is_noise);
    let part = part.strip_prefix("http ").unwrap_or(part);
    let (number, rest) = match part.strip_prefix("error ") {
        Some(rest) => (leading_number(rest), after_number(rest)),
        None => (leading_number(part), after_number(part)),
    };
    let rest = rest.trim_matches(is_noise);
    match number {
        Some("404" | "410") => matches!(rest, "" | "error" | "gone") || PHRASES.contains(&rest),
        // "error" alone says little; with the number it was caught above.
        _ => part != "error" && PHRASES.contains(&part),
    }
}

fn leading_number(part: &str) -> Option<&str> {
    let end = part
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(part.len());
    (end > 0).then(|| &part[..end])
}

fn after_number(part: &str) -> &str {
    part.trim_start_matches(|c: char| c.is_ascii_digit())
}
