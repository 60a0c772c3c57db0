//! How values are written: one or many, and times.
//!
//! Owns that a list of one may be written without brackets. It refuses to know the values.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use clewline_job::escape::visible;
use serde::de::value::{I64Deserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, IntoDeserializer as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::CheckValueError;

/// A value, or a list of such.
pub(super) fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_any(OneOrMany(PhantomData))
}

struct OneOrMany<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text in quotes or a list of such")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let one: StrDeserializer<'_, E> = text.into_deserializer();
        T::deserialize(one).map(|one| vec![one])
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        let one: I64Deserializer<E> = number.into_deserializer();
        T::deserialize(one).map(|one| vec![one])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items))
    }
}

/// `12h`, `7d`; a plain number is seconds.
pub(super) fn period<'de, D>(deserializer: D) -> Result<Option<Duration>, D::Error>
where
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Seconds(u64),
        Text(String),
    }
    match Written::deserialize(deserializer) {
        Ok(Written::Seconds(seconds)) => Ok(Some(Duration::from_secs(seconds))),
        Ok(Written::Text(text)) => parse_period(&text).map(Some).map_err(D::Error::custom),
        Err(_) => Err(D::Error::custom("is no time: write 12h or 7d in quotes")),
    }
}

/// Reads a time as people write it.
pub(super) fn parse_period(text: &str) -> Result<Duration, CheckValueError> {
    let wrong = |_| CheckValueError::Period(visible(text).into_owned());
    humantime::parse_duration(text.trim()).map_err(wrong)
}
