//! Dates of filters.

use clewline_warc::Moment;

/// The first second of a date: a year, a month, a day or a moment.
pub(super) fn seconds(text: &str) -> Option<i64> {
    Moment::parse(&text.to_uppercase()).map(Moment::seconds)
}
