//! Languages, refreshes and zoom.
//!
//! Owns the rules that look at one element and nothing around it.

use clewline_html::{Name, Namespace};

use super::Marks;
use super::known::{HTML, LANG, TABINDEX};
use crate::facts::element::Element;

/// Languages with codes of two letters (ISO 639-1), one after the other.
const LANGUAGES: &str = "\
    aaabaeafakamanarasavayazbabebgbhbibmbnbobrbscacechcocrcscucvcydadedvdzeeeleneoeseteu\
    fafffifjfofrfygagdglgngugvhahehihohrhthuhyhziaidieigiiikinioisitiuiwjajijvjwkakgkikj\
    kkklkmknkokrkskukvkwkylalblglilnloltlulvmgmhmimkmlmnmomrmsmtmynanbndnengnlnnnonrnvny\
    ocojomorospapiplpsptqurmrnrorurwsascsdsesgshsiskslsmsnsosqsrssstsusvswtatetgthtitktl\
    tntotrtstttwtyugukuruzvevivowawoxhyiyozazhzu";

/// The rules of single elements.
pub(super) fn judge(element: &Element<'_, '_>, marks: &mut Marks) {
    match element.name {
        HTML => language(element, marks),
        Name::META => {
            if element.is(Name::HTTP_EQUIV, "refresh") {
                refresh(element, marks);
            } else if element.is(Name::NAME, "viewport") {
                viewport(element, marks);
            }
        }
        _ => {}
    }
    tabindex(element, marks);
}

/// `html-lang-valid`; that there is one at all is asked of the whole page.
fn language(element: &Element<'_, '_>, marks: &mut Marks) {
    let language = element.value(LANG).unwrap_or_default();
    let language = language.trim();
    if !language.is_empty() && !is_language(language) {
        marks.push("a11y/html-lang-valid", element.byte, language);
    }
}

/// Whether the first part of a tag is a language. Of codes of three letters there are thousands.
fn is_language(tag: &str) -> bool {
    let first = tag.split(['-', '_']).next().unwrap_or_default();
    if tag.contains('_') || !first.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    let first = first.to_ascii_lowercase();
    match first.len() {
        2 => LANGUAGES
            .as_bytes()
            .as_chunks::<2>()
            .0
            .iter()
            .any(|code| code == first.as_bytes()),
        3 => true,
        _ => false,
    }
}

/// `meta-refresh`: the page changes after a while that is neither none nor longer than 20 hours.
fn refresh(element: &Element<'_, '_>, marks: &mut Marks) {
    let content = element.value(Name::CONTENT).unwrap_or_default();
    let content = content.trim_start();
    let digits = content
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(content.len());
    let (digits, rest) = content.split_at(digits);
    let is_ended = rest.is_empty()
        || rest.starts_with(|c: char| matches!(c, ';' | ',' | '.') || c.is_whitespace());
    let seconds: u64 = if is_ended {
        digits.parse().unwrap_or(0)
    } else {
        0
    };
    if (1..=72_000).contains(&seconds) {
        marks.push("a11y/meta-refresh", element.byte, content);
    }
}

/// `meta-viewport`: the page cannot be made twice as large.
fn viewport(element: &Element<'_, '_>, marks: &mut Marks) {
    let content = element.value(Name::CONTENT).unwrap_or_default();
    let mut scalable = None;
    let mut maximum = None;
    for item in content.split([';', ',']) {
        let Some((key, value)) = item.split_once('=') else {
            continue;
        };
        let (key, value) = (
            key.trim().to_ascii_lowercase(),
            value.trim().to_ascii_lowercase(),
        );
        match key.as_str() {
            "user-scalable" => scalable = Some(value),
            "maximum-scale" if value == "yes" => maximum = Some(1.0),
            "maximum-scale" => {
                maximum = leading_number(&value)
                    .filter(|scale| *scale >= 0.0)
                    .or(maximum);
            }
            _ => {}
        }
    }
    let is_fixed = scalable.is_some_and(|value| {
        value == "no" || leading_number(&value).is_some_and(|number| number > -1.0 && number < 1.0)
    });
    if is_fixed || maximum.is_some_and(|scale| scale < 2.0) {
        marks.push("a11y/meta-viewport", element.byte, &content);
    }
}

/// The number with which a text begins, as scripts read it.
fn leading_number(text: &str) -> Option<f64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `tabindex`: above zero it breaks the order of the page.
fn tabindex(element: &Element<'_, '_>, marks: &mut Marks) {
    if element.namespace != Namespace::Html {
        return;
    }
    let Some(value) = element.value(TABINDEX) else {
        return;
    };
    if leading_number(value.trim()).is_some_and(|number| number > 0.0) {
        marks.push("a11y/tabindex", element.byte, value.trim());
    }
}
