//! Text that a page shows to machines and not to people.
//!
//! Owns which attributes of an element hide what is in it, and which characters nobody sees. Only the
//! element itself is asked: style sheets and scripts are not read. It refuses to know what is done
//! about hidden text. Invariant: what remains of a text is in its order, and every character that
//! was taken out is counted.

use std::borrow::Cow;

use clewline_html::TagAttributes;
use serde::Serialize;

/// Declarations of one `style` attribute that are read.
const MOST_DECLARATIONS: usize = 100;
/// Lengths below this, in whatever unit, move a text out of sight.
const OUT_OF_SIGHT: f64 = -99.0;
/// The largest letters, in pixels, that nobody can read.
const UNREADABLE_PIXELS: f64 = 1.5;
/// The same where the unit is the size of letters around it.
const UNREADABLE_SHARE: f64 = 0.1;
/// Opacity up to which nothing is seen.
const UNSEEN_OPACITY: f64 = 0.05;

/// Classes with which well-known style sheets hide an element. In order.
const HIDING: [&str; 26] = [
    "a11y-hidden",
    "accessible-hide",
    "assistive-text",
    "cdk-visually-hidden",
    "clip-hide",
    "d-none",
    "display-none",
    "element-hidden",
    "element-invisible",
    "hidden",
    "hide",
    "invisible",
    "is-hidden",
    "is-visually-hidden",
    "off-screen",
    "offscreen",
    "screen-reader",
    "screen-reader-only",
    "screen-reader-text",
    "screenreader",
    "screenreader-only",
    "sr-only",
    "u-hidden",
    "u-visually-hidden",
    "visually-hidden",
    "visuallyhidden",
];

/// How much of a page was left out because people do not see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HiddenText {
    /// Elements with text that their own attributes hide.
    pub elements: u64,
    /// Characters in them that are no spaces, character references as written.
    pub characters: u64,
    /// Characters that are not seen anywhere: of no width, tags, marks that turn text around.
    pub invisible: u64,
}

impl HiddenText {
    /// Whether nothing was left out.
    pub const fn is_nothing(&self) -> bool {
        self.elements == 0 && self.invisible == 0
    }
}

/// Whether its own attributes hide an element from people.
pub(crate) fn hides(attributes: TagAttributes<'_>) -> bool {
    attributes.iter().any(|(name, value)| {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        is("hidden") || (is("style") && style_hides(value)) || (is("class") && class_hides(value))
    })
}

fn class_hides(names: &str) -> bool {
    let is_known = |name: &str| HIDING.binary_search(&name).is_ok();
    if !names.split_ascii_whitespace().any(is_known) {
        return false;
    }
    // `hidden md:block` and `d-none d-md-flex` are seen on wide screens.
    let shows = |name: &str| {
        let (front, shape) = name.rsplit_once([':', '-']).unwrap_or(("", name));
        let is_shape = matches!(
            shape,
            "block" | "flex" | "grid" | "inline" | "table" | "cell"
        );
        is_shape && (front.contains("d-") || name.contains(':'))
    };
    !names.split_ascii_whitespace().any(shows)
}

fn style_hides(style: &str) -> bool {
    let style = style.to_ascii_lowercase();
    let declared: Vec<(&str, &str)> = style
        .split(';')
        .take(MOST_DECLARATIONS)
        .filter_map(|one| one.split_once(':'))
        .map(|(name, value)| {
            (
                name.trim(),
                value.trim().trim_end_matches("!important").trim(),
            )
        })
        .collect();
    let value = |wanted: &str| {
        let found = declared.iter().rev().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| *value)
    };
    declared
        .iter()
        .any(|(name, value)| declaration_hides(name, value))
        || has_no_room(&value)
        || has_no_contrast(&value)
}

fn declaration_hides(name: &str, value: &str) -> bool {
    let is_small = |most: f64| number(value).is_some_and(|found| found <= most);
    match name {
        "display" => value.starts_with("none"),
        "visibility" => matches!(value, "hidden" | "collapse"),
        "content-visibility" => value == "hidden",
        "opacity" => is_small(UNSEEN_OPACITY),
        "filter" => value.contains("opacity(0"),
        "font-size" if value.ends_with("em") => is_small(UNREADABLE_SHARE),
        "font-size" => is_small(UNREADABLE_PIXELS),
        "text-indent" | "left" | "right" | "top" | "bottom" | "margin-left" | "margin-top"
        | "margin-right" | "letter-spacing" => is_small(OUT_OF_SIGHT),
        "clip" => value.contains("rect(0") || value.contains("rect(1px"),
        "clip-path" => [
            "inset(50%",
            "inset(100%",
            "circle(0",
            "polygon(0 0)",
            "polygon(0px 0px, 0",
        ]
        .iter()
        .any(|shape| value.contains(shape)),
        "transform" => {
            let moved = value
                .split_once("translate")
                .and_then(|(_, rest)| rest.split_once('('));
            let is_away = moved
                .and_then(|(_, by)| number(by))
                .is_some_and(|by| by <= OUT_OF_SIGHT);
            is_away || value.contains("scale(0)") || value.contains("scale(0,")
        }
        "color" | "-webkit-text-fill-color" => is_clear(value),
        _ => false,
    }
}

/// A box of nothing, out of which nothing may stand.
fn has_no_room<'s>(value: &impl Fn(&str) -> Option<&'s str>) -> bool {
    let is_nothing = |name: &str| value(name).and_then(number).is_some_and(|size| size <= 1.0);
    let is_cut = value("overflow").is_some_and(|how| how.starts_with("hidden") || how == "clip");
    is_cut
        && ["width", "height", "max-width", "max-height"]
            .into_iter()
            .any(is_nothing)
}

/// Letters of the colour that is behind them.
fn has_no_contrast<'s>(value: &impl Fn(&str) -> Option<&'s str>) -> bool {
    let behind = value("background-color").or_else(|| value("background"));
    let same =
        |colour: &str| behind.is_some_and(|behind| plain_colour(behind) == plain_colour(colour));
    value("color").is_some_and(same)
}

/// The common ways to write black and white as one.
fn plain_colour(colour: &str) -> String {
    let colour: String = colour.split_ascii_whitespace().collect();
    match colour.as_str() {
        "#fff" | "#ffffff" | "rgb(255,255,255)" => "white".to_owned(),
        "#000" | "#000000" | "rgb(0,0,0)" => "black".to_owned(),
        _ => colour,
    }
}

fn is_clear(colour: &str) -> bool {
    let is_without_alpha = |inner: &str| {
        let alpha = inner.trim_end_matches(')').rsplit([',', '/']).next();
        inner.matches([',', '/']).count() >= 1
            && (inner.matches(',').count() == 3 || inner.contains('/'))
            && alpha
                .and_then(number)
                .is_some_and(|alpha| alpha <= UNSEEN_OPACITY)
    };
    let function = colour
        .strip_prefix("rgb")
        .or_else(|| colour.strip_prefix("hsl"));
    colour == "transparent" || function.is_some_and(is_without_alpha)
}

/// The number that a value begins with, whatever its unit.
fn number(value: &str) -> Option<f64> {
    let value = value.trim();
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = value.find(|c| !is_part(c)).unwrap_or(value.len());
    value[..end].parse().ok()
}

/// A text without the characters that nobody sees, and how many they were.
///
/// Joiners stay where a script or an emoji needs them, and so does one variation selector behind a
/// character.
///
/// ```
/// use clewline_content::seen;
/// assert_eq!(seen("plain"), ("plain".into(), 0));
/// assert_eq!(seen("a\u{200b}b\u{e0041}"), ("ab".into(), 2));
/// ```
pub fn seen(text: &str) -> (Cow<'_, str>, u64) {
    if !text
        .chars()
        .any(|c| !c.is_ascii() && is_suspect(c) || is_control(c))
    {
        return (Cow::Borrowed(text), 0);
    }
    let (mut out, mut count) = (String::with_capacity(text.len()), 0);
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let is_kept = match c {
            '\u{200c}' | '\u{200d}' => {
                let joins = |c: char| !c.is_ascii() && !is_suspect(c) && !c.is_whitespace();
                let is_after = before.is_some_and(|c| joins(c) || is_selector(c));
                is_after && characters.peek().is_some_and(|c| joins(*c))
            }
            c if is_selector(c) => before.is_some_and(|c| !is_suspect(c) && !c.is_whitespace()),
            c => !is_suspect(c) && !is_control(c),
        };
        if is_kept {
            out.push(c);
        } else {
            count += 1;
        }
        before = Some(c);
    }
    (Cow::Owned(out), count)
}

const fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// Characters without a shape of their own (Unicode: `Default_Ignorable_Code_Point`), and marks
/// between lines.
const fn is_suspect(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(HIDING.is_sorted());
    }

    #[test]
    fn styles_hide_in_many_ways() {
        for style in [
            "display:none",
            "color: red; DISPLAY : none !important",
            "visibility:hidden",
            "visibility: collapse",
            "content-visibility: hidden",
            "opacity:0",
            "opacity: 0.01",
            "filter: opacity(0%)",
            "font-size:0",
            "font-size: 1px",
            "font-size: .01em",
            "text-indent:-9999px",
            "position:absolute;left:-10000px",
            "position: fixed; top: -100vh",
            "margin-left:-5000px",
            "clip: rect(0 0 0 0)",
            "clip: rect(1px, 1px, 1px, 1px)",
            "clip-path: inset(50%)",
            "clip-path: circle(0)",
            "transform: scale(0)",
            "transform: translateX(-9999px)",
            "color: transparent",
            "color: rgba(0,0,0,0)",
            "color: rgb(0 0 0 / 0%)",
            "-webkit-text-fill-color: transparent",
            "width:1px;height:1px;overflow:hidden",
            "max-height:0;overflow:hidden",
            "color:#fff;background:#FFFFFF",
            "color: white; background-color: white",
        ] {
            assert!(style_hides(style), "{style}");
        }
        for style in [
            "",
            "display:block",
            "display",
            "opacity:.8",
            "font-size: 12px",
            "font-size: .8em",
            "left:-10px",
            "text-indent:-2em",
            "margin-left:-15px",
            "color:#fff;background:#000",
            "color:white",
            "color: rgb(0, 0, 0)",
            "color: rgba(0,0,0,.9)",
            "height:0",
            "overflow:hidden",
            "transform: translateX(-50%)",
            "clip-path: inset(5%)",
            ";;:;a:;",
        ] {
            assert!(!style_hides(style), "{style}");
        }
    }

    #[test]
    fn classes_hide_unless_a_wide_screen_shows_them() {
        for (names, expected) in [
            ("sr-only", true),
            ("note visually-hidden", true),
            ("hidden", true),
            ("hidden md:block", false),
            ("d-none d-lg-flex", false),
            ("d-none", true),
            ("hidden-treasure", false),
            ("", false),
        ] {
            assert_eq!(class_hides(names), expected, "{names}");
        }
    }

    #[test]
    fn what_nobody_sees_is_taken_out_and_counted() {
        for (text, expected, count) in [
            ("plain\ttext\n", "plain\ttext\n", 0),
            ("a\u{200b}b\u{feff}c\u{2060}", "abc", 3),
            ("a\u{e0049}\u{e0067}b", "ab", 2),
            ("\u{202e}live\u{202c}", "live", 2),
            ("a\u{200d}b", "ab", 1),
            ("می\u{200c}خواهم", "می\u{200c}خواهم", 0),
            ("❤\u{fe0f}\u{200d}🔥", "❤\u{fe0f}\u{200d}🔥", 0),
            ("a\u{fe01}\u{fe02}\u{fe03}", "a\u{fe01}", 2),
            ("a\u{e0100}\u{e0101}", "a", 2),
            ("co\u{ad}op \u{1b}[2J", "coop [2J", 2),
        ] {
            let (found, taken) = seen(text);
            assert_eq!((found.as_ref(), taken), (expected, count), "{text:?}");
        }
    }
}
