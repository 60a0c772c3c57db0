//! Pages that look empty without JavaScript.
//!
//! Owns the rule by which an HTML page is a shell: it has a script and hardly any text, and no links to
//! speak of or an element that waits to be filled; without links, little text is as good as none where
//! there is such an element or a `noscript`. Text is what stands outside of scripts, styles, templates, `noscript` and titles. It
//! refuses to know what follows from that. Invariants: at most [`MARKUP`] bytes of a page are kept and
//! read a second time, and none of a page that has many links; a page that redirects is no shell.

use std::borrow::Cow;

use clewline_html::{MarkupToken, Name, TagAttributes, Tokens};

/// Markup that is looked at. A page with more says something without scripts.
const MARKUP: usize = 16 * 1024;

/// A page with more references than this says something without scripts.
const MOST_REFERENCES: usize = 30;

/// A page with a script and less text than this is empty, …
const HARDLY_ANY: usize = 200;
/// … or with less than this, where something else says that it waits for scripts.
const LITTLE: usize = 600;

/// A page with so many links has something to say, unless scripts fill an element of it.
const SOME_LINKS: usize = 2;

/// Elements that the usual frameworks fill, by their `id`.
const ROOTS: [&str; 12] = [
    "root",
    "app",
    "__next",
    "__nuxt",
    "___gatsby",
    "svelte",
    "main-app",
    "app-root",
    "react-root",
    "ember-application",
    "q-app",
    "mount",
];

const TEMPLATE: Name = Name::new(b"template");
/// What Angular fills.
const APP_ROOT: Name = Name::new(b"app-root");

/// What the reader of links sees anyway, and what rules out most pages without a second look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signs {
    /// Anchors with nothing but a reference, each as often as it was met.
    pub(super) anchors: usize,
    /// A script element began.
    pub(super) has_script: bool,
}

/// The markup of a page as it streams by, as long as it may be a shell.
#[derive(Debug, Default)]
pub(super) struct ShellWatch {
    kept: Vec<u8>,
    is_over: bool,
}

impl ShellWatch {
    /// A piece of the page was read, which now has these signs and so many different references.
    pub(super) fn note(&mut self, piece: &[u8], signs: Signs, references: usize) {
        if self.is_over {
            return;
        }
        let references = references.max(signs.anchors);
        if references > MOST_REFERENCES || self.kept.len() + piece.len() > MARKUP {
            self.is_over = true;
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(piece);
        }
    }

    /// How much it keeps.
    pub(super) fn held(&self) -> usize {
        self.kept.len()
    }

    /// Whether the page may still be a shell.
    pub(super) const fn is_open(&self) -> bool {
        !self.is_over
    }

    /// Whether the page was a shell.
    pub(super) fn finish(self, signs: Signs) -> bool {
        signs.has_script && !self.is_over && is_shell(&String::from_utf8_lossy(&self.kept))
    }
}

/// What the rule looks at.
#[expect(clippy::struct_excessive_bools, reason = "each is a sign of its own")]
#[derive(Debug, Default)]
struct Marks {
    text: usize,
    links: usize,
    has_script: bool,
    has_noscript: bool,
    has_root: bool,
    redirects: bool,
}

/// Whether a page looks empty without JavaScript.
pub(crate) fn is_shell(html: &str) -> bool {
    let marks = Marks::read(html, LITTLE);
    let most = if marks.has_noscript {
        LITTLE
    } else {
        HARDLY_ANY
    };
    let says_nothing = marks.links < SOME_LINKS && marks.text < most;
    let most_beside_root = if marks.links < SOME_LINKS {
        LITTLE
    } else {
        HARDLY_ANY
    };
    let waits = marks.has_root && marks.text < most_beside_root;
    marks.has_script && !marks.redirects && (waits || says_nothing)
}

/// How many bytes of text a page has, without white space.
pub(crate) fn text_size(html: &str) -> usize {
    Marks::read(html, usize::MAX).text
}

impl Marks {
    /// Reads a page until it has this much text.
    fn read(html: &str, enough: usize) -> Self {
        let mut marks = Self::default();
        let mut hidden = 0_u32;
        // The element that was just opened, if it is one that frameworks fill.
        let mut root = None;
        for token in Tokens::new(html) {
            match token {
                MarkupToken::Text(text) => {
                    let size = if hidden == 0 { size(text) } else { 0 };
                    marks.text += size;
                    root = root.filter(|_| size == 0);
                }
                MarkupToken::Raw(name, text) => {
                    // Data in a script element is none.
                    marks.has_script |= name == Name::SCRIPT && !text.trim().is_empty();
                }
                MarkupToken::Start(name, attributes) => {
                    marks.start(name, attributes, &mut hidden);
                    root = fills(name, attributes).then_some(name);
                }
                MarkupToken::End(name) => {
                    if is_hidden(name) {
                        hidden = hidden.saturating_sub(1);
                    }
                    marks.has_root |= root.take() == Some(name);
                }
            }
            // A page with links and some text does not wait for scripts any more.
            let is_static = marks.links >= SOME_LINKS && marks.text >= HARDLY_ANY;
            if marks.text >= enough || (is_static && enough == LITTLE) {
                break;
            }
        }
        marks
    }

    fn start(&mut self, name: Name, attributes: TagAttributes<'_>, hidden: &mut u32) {
        if is_hidden(name) {
            *hidden += 1;
            self.has_noscript |= name == Name::NOSCRIPT;
        }
        if name == Name::A && attributes.value("href").is_some() {
            self.links += 1;
        }
        if name == Name::SCRIPT {
            self.has_script |= attributes.value("src").is_some();
        }
        if name == Name::META {
            let is_refresh = |value: Cow<'_, str>| value.eq_ignore_ascii_case("refresh");
            self.redirects |= attributes.value("http-equiv").is_some_and(is_refresh);
        }
    }
}

/// Whether the text in an element is not shown.
fn is_hidden(name: Name) -> bool {
    name == Name::NOSCRIPT || name == TEMPLATE
}

/// Whether scripts fill this element.
fn fills(name: Name, attributes: TagAttributes<'_>) -> bool {
    name == APP_ROOT
        || attributes.iter().any(|(key, value)| match key.len() {
            2 => key.eq_ignore_ascii_case("id") && ROOTS.contains(&value),
            6 => key.eq_ignore_ascii_case("ng-app"),
            _ => false,
        })
}

fn size(text: &str) -> usize {
    text.bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beginnings as the usual tool chains write them.
    const SHELLS: [&str; 9] = [
        "<!doctype html><html><head><script type=module src=/assets/index-4f.js></script><title>Vite</title></head>\
         <body><div id=\"root\"></div></body></html>",
        "<body><noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>\
         <script src=/static/js/main.8a.js></script></body>",
        "<body><noscript><strong>We're sorry but app doesn't work properly without JavaScript enabled.</strong>\
         </noscript><div id=app></div><script src=/js/chunk-vendors.js></script></body>",
        "<body class=mat-typography><app-root></app-root><script src=main.js type=module></script></body>",
        "<body><div id=__next></div><script id=__NEXT_DATA__ type=application/json>{\"props\":{}}</script>\
         <script src=/_next/static/chunks/main.js defer></script></body>",
        "<body><div style=\"display: contents\"><script>import(\"/_app/start.js\")</script></div></body>",
        "<div id=___gatsby></div><script src=/app-1.js></script>",
        "<body><div id=app><p>Loading the catalogue, please wait a moment.</p></div><script>boot()</script>",
        "<body ng-app=shop><div ng-view></div><script src=angular.min.js></script>",
    ];

    #[test]
    fn beginnings_of_applications_are_shells() {
        for html in SHELLS {
            assert!(is_shell(html), "{html}");
        }
    }

    #[test]
    fn pages_with_text_or_without_scripts_are_none() {
        let text = "Some words that a reader came for. ".repeat(30);
        let few = "Some words that a reader came for. ".repeat(9);
        for html in [
            format!("<script src=x.js></script><div id=root>{text}</div>"),
            format!(
                "<noscript>Please enable JavaScript</noscript><script src=x.js></script><p>{text}"
            ),
            format!("<script src=x.js></script><p>{few}"),
            "<script src=x.js></script><a href=/a>a</a> <a href=/b>b</a>".to_owned(),
            "<p>short".to_owned(),
            "<script type=application/ld+json></script><p>short".to_owned(),
            "<meta http-equiv=refresh content='0; url=/a'><script>location='/a'</script>"
                .to_owned(),
        ] {
            assert!(!is_shell(&html), "{html}");
        }
    }

    #[test]
    fn what_is_not_shown_is_no_text() {
        let html = "<title>Four</title><style>a{}</style><template>no</template><p>a b <b>c</b>";
        assert_eq!(text_size(html), 3);
    }

    #[test]
    fn a_page_with_many_links_or_much_markup_is_not_kept() {
        let signs = Signs {
            anchors: 0,
            has_script: true,
        };
        let repeats = Signs {
            anchors: MOST_REFERENCES + 1,
            ..signs
        };
        let begun = || {
            let mut watch = ShellWatch::default();
            watch.note(b"<script src=x></script>", signs, 1);
            assert!(watch.held() > 0);
            watch
        };
        assert!(begun().finish(signs));
        for (signs, references) in [(signs, MOST_REFERENCES + 1), (repeats, 1)] {
            let mut watch = begun();
            assert!(watch.is_open());
            watch.note(b"<a href=x>", signs, references);
            assert!(watch.held() == 0 && !watch.is_open());
            watch.note(b"", signs, 0);
            assert!(!watch.finish(signs));
        }
        let mut watch = ShellWatch::default();
        watch.note(&vec![b' '; MARKUP + 1], signs, 0);
        assert_eq!(watch.held(), 0);
    }

    #[test]
    fn a_page_without_script_elements_is_not_looked_at() {
        let mut watch = ShellWatch::default();
        let signs = Signs::default();
        watch.note(b"<script src=x></script>", signs, 0);
        assert!(!watch.finish(signs));
    }
}
