//! Data inside a page.
//!
//! Owns how texts stand in the JSON of a page: each once, with what steers made visible and with no
//! character that could end the element.

use std::collections::HashMap;
use std::io::{self, Write};

use clewline_job::escape::visible;

use super::LONGEST_LINK;
use crate::forms::words::shortened;

/// Texts by their number; the first is the empty one.
#[derive(Default)]
pub(super) struct DataTexts {
    numbers: HashMap<Box<str>, usize>,
    texts: Vec<Box<str>>,
}

impl DataTexts {
    /// The number of a text; 0 where there is none.
    pub(super) fn optional(&mut self, text: Option<&str>) -> usize {
        text.filter(|text| !text.is_empty())
            .map_or(0, |text| self.number(text))
    }

    pub(super) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() + 1;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"[\"\"")?;
        for one in &self.texts {
            out.write_all(b",")?;
            text(one, out)?;
        }
        out.write_all(b"]")
    }
}

/// A text as JSON. It is bounded, since a URL may be 8 KB long and is shown in a row.
pub(super) fn text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let bounded = shortened(text, LONGEST_LINK);
    let json = serde_json::to_string(&visible(&bounded))?;
    out.write_all(json.replace('<', "\\u003c").as_bytes())
}
