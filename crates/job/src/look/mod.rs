//! How every page that we make looks.
//!
//! Owns the colours and the type of all pages (`tokens.css`), the frame around them, charts and
//! icons, and how a page's policy names its own script and style sheet. It refuses to know the
//! pages. Invariant: no other style sheet writes a colour, which a tidy rule checks.

mod chart;
mod frame;
mod icon;

pub use chart::{ChartForm, ChartSeries, TimeChart};
pub use frame::{FRAME_STYLE, FramePlace, MARK, PageFrame, THEME_SCRIPT, Tone, badge};
pub use icon::Icon;

use clewline_warc::{Algorithm, Hasher};

use crate::escape::base64;

/// The style sheet with the colours, light and dark; the first in each page.
pub const TOKENS: &str = include_str!("tokens.css");

/// The tokens below an element of a foreign page, whose own properties they leave alone.
pub fn tokens_below(element: &str) -> String {
    TOKENS.replace(":root", element)
}

/// A text as a source of a policy (CSP level 3, section 2.3.1), without its quotes.
pub fn policy_source(text: &str) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(text.as_bytes());
    format!("sha256-{}", base64(hasher.finish().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_named_by_its_digest() {
        // The example of CSP level 3, section 8.4.
        assert_eq!(
            policy_source("alert('Hello, world.');"),
            "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
        );
    }

    /// The luminance of a colour (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let digits = colour.trim_start_matches('#');
        let wide: String = match digits.len() {
            3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
            _ => digits.to_owned(),
        };
        let part = |at: usize| {
            let value = u8::from_str_radix(&wide[at..at + 2], 16).unwrap();
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
    }

    fn colour(name: &str, theme: usize) -> &'static str {
        let start = TOKENS.find(&format!("--{name}: light-dark(")).unwrap();
        let pair = TOKENS[start..].split_once('(').unwrap().1;
        let pair = pair.split_once(')').unwrap().0;
        pair.split(", ").nth(theme).unwrap()
    }

    #[test]
    fn text_can_be_read_on_its_ground() {
        for theme in [0, 1] {
            for (text, grounds) in [
                ("ink", &["page", "card", "mark"][..]),
                ("soft", &["page", "card"]),
                ("accent", &["page", "card", "accent-wash"]),
                ("good", &["card", "good-wash"]),
                ("warn", &["card", "warn-wash"]),
                ("bad", &["card", "bad-wash"]),
                ("on-accent", &["accent"]),
            ] {
                for ground in grounds {
                    let (one, other) = (
                        luminance(colour(text, theme)),
                        luminance(colour(ground, theme)),
                    );
                    let ratio = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                    assert!(ratio >= 4.5, "{text} on {ground} in {theme}: {ratio:.2}");
                }
            }
        }
    }
}
