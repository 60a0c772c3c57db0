//! The frame around every page: mark, name, state, places and the switch of the theme.
//!
//! Owns the HTML of the frame and of the mark. It refuses to know the pages. Invariant: every text
//! that is given passes `escape::html`, so that a name may be foreign.

use std::fmt::Write as _;

use crate::escape;

/// The style sheet of the frame and of what most pages have; it needs the tokens before it.
pub const FRAME_STYLE: &str = include_str!("frame.css");
/// The script that keeps the theme.
pub const THEME_SCRIPT: &str = include_str!("theme.js");

/// The longest name in the frame; the whole stands in its title.
const LONGEST_NAME: usize = 160;

/// One line winding out of a ball of thread.
pub const MARK: &str = "<svg class=mark viewBox=\"0 0 16 16\" width=20 height=20 aria-hidden=true>\
    <circle cx=7 cy=7 r=5 /><path d=\"M3 5.5Q7 3 11 6M2.4 8.5Q7 5.5 11.6 8.5M4 11Q7 8.8 10 10.8\"/>\
    <path d=\"M11 11Q13 14.5 15.5 12.5\"/></svg>";

/// Whether a state is good news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Neither good nor bad.
    #[default]
    Plain,
    /// All is well.
    Good,
    /// Somebody should look.
    Warn,
    /// Something is broken.
    Bad,
}

impl Tone {
    /// The class that colours it.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// A place that the frame leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramePlace<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Where it is.
    pub link: &'a str,
    /// How much there is, as it is shown; empty for nothing.
    pub number: String,
    /// It is the page that is shown.
    pub is_current: bool,
}

/// What stands in the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFrame<'a> {
    /// The job or site that the page is about.
    pub name: &'a str,
    /// Its state in a word.
    pub state: Option<(Tone, &'a str)>,
    /// Where the mark leads; nowhere on a page that stands alone.
    pub home: Option<&'a str>,
    /// The places, in their order.
    pub places: &'a [FramePlace<'a>],
}

impl PageFrame<'_> {
    /// The frame as HTML; the page's `<main id=main>` follows it.
    pub fn html(&self) -> String {
        let mut out = String::from("<a class=jump href=\"#main\">Skip to the content</a>");
        out.push_str("<header class=frame><div class=name>");
        match self.home {
            Some(home) => push(
                &mut out,
                format_args!(
                    "<a href=\"{}\" aria-label=\"Clewline, all jobs\">{MARK}</a>",
                    escape::html(home)
                ),
            ),
            None => out.push_str(MARK),
        }
        let whole = escape::html(self.name);
        let shown: String = self.name.chars().take(LONGEST_NAME).collect();
        let shown = escape::html(&shown);
        push(
            &mut out,
            format_args!("<b title=\"{whole}\"><bdi>{shown}</bdi></b>"),
        );
        if let Some((tone, word)) = self.state {
            out.push_str(&badge(tone, word));
        }
        out.push_str("</div>");
        self.navigation(&mut out);
        out.push_str(
            "<label class=theme><span class=quiet>Theme</span>\
             <select id=theme autocomplete=off><option value=\"\">Auto</option>\
             <option value=light>Light</option><option value=dark>Dark</option></select></label>\
             </header>",
        );
        out
    }

    fn navigation(&self, out: &mut String) {
        if self.places.is_empty() {
            return;
        }
        out.push_str("<nav aria-label=Places>");
        for place in self.places {
            let current = if place.is_current {
                " aria-current=page"
            } else {
                ""
            };
            let (link, name) = (escape::html(place.link), escape::html(place.name));
            push(out, format_args!("<a href=\"{link}\"{current}>{name}"));
            if !place.number.is_empty() {
                let number = escape::html(&place.number);
                push(out, format_args!(" <span class=soft>{number}</span>"));
            }
            out.push_str("</a>");
        }
        out.push_str("</nav>");
    }
}

/// A state in a word, with its colour.
pub fn badge(tone: Tone, word: &str) -> String {
    format!(
        "<span class=\"badge {}\">{}</span>",
        tone.class(),
        escape::html(word)
    )
}

fn push(out: &mut String, parts: std::fmt::Arguments<'_>) {
    out.write_fmt(parts)
        .expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_escapes_what_it_shows() {
        let attack = "\"><script>alert(1)</script>";
        let places = [FramePlace {
            name: attack,
            link: attack,
            number: attack.to_owned(),
            is_current: true,
        }];
        let frame = PageFrame {
            name: attack,
            state: Some((Tone::Bad, attack)),
            home: Some(attack),
            places: &places,
        };
        let html = frame.html();
        assert!(!html.contains("<script"), "{html}");
        assert!(html.contains("aria-current=page"), "{html}");
        assert!(html.contains("class=\"badge bad\""), "{html}");
    }

    #[test]
    fn a_long_name_is_cut_and_stands_whole_in_its_title() {
        let name = "ü".repeat(LONGEST_NAME + 1);
        let frame = PageFrame {
            name: &name,
            state: None,
            home: None,
            places: &[],
        };
        let html = frame.html();
        assert!(html.contains(&format!("title=\"{name}\"")), "{html}");
        assert!(
            html.contains(&format!("<bdi>{}</bdi>", "ü".repeat(LONGEST_NAME))),
            "{html}"
        );
        assert!(!html.contains("<nav"), "{html}");
    }
}
