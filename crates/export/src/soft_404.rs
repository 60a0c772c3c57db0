//! Pages that say "not found" and answer as if they were.
//!
//! Owns the titles by which such a page is known. It judges by the title alone, which every record
//! has, so that no body is read. Invariant: a page about such errors ("HTTP 404", "How to make a 404
//! page") is not taken for one: a whole part of the title must say it, and nothing else.

/// What such pages say, in lower case and without signs.
const PHRASES: [&str; 24] = [
    "404",
    "404 error",
    "404 error page not found",
    "404 file not found",
    "404 not found",
    "404 page not found",
    "error 404",
    "error 404 not found",
    "file not found",
    "not found",
    "not found 404",
    "oops page not found",
    "page cannot be found",
    "page does not exist",
    "page introuvable",
    "page not found",
    "page not found 404",
    "pagina niet gevonden",
    "pagina non trovata",
    "página no encontrada",
    "página não encontrada",
    "seite nicht gefunden",
    "the page you requested was not found",
    "страница не найдена",
];

/// What separates the parts of a title.
const SEPARATORS: [char; 8] = ['|', '-', '–', '—', '·', ':', '«', '»'];

/// Whether the title is that of a page which is not there.
pub(crate) fn is_soft_404(title: &str) -> bool {
    let is_phrase = |part: &str| PHRASES.binary_search(&plain(part).as_str()).is_ok();
    is_phrase(title) || title.split(SEPARATORS).any(is_phrase)
}

/// Words in lower case, one space between them.
fn plain(text: &str) -> String {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_missing_pages_are_known() {
        assert!(PHRASES.is_sorted());
        for title in [
            "404 Not Found",
            "404 - Page not found",
            "Example | Page Not Found!",
            "Not found",
            "Error 404 (Not Found)",
            "Seite nicht gefunden – Beispiel",
            "404",
        ] {
            assert!(is_soft_404(title), "{title}");
        }
        for title in [
            "HTTP 404",
            "How to make a 404 page",
            "Lost and found, not found elsewhere",
            "Peugeot 404 - Wikipedia article",
            "Room 404",
            "",
        ] {
            assert!(!is_soft_404(title), "{title}");
        }
    }
}
