//! The list of records.
//!
//! Owns the columns and the names in JSON. A record that can't be read is told on stderr, and the
//! list goes on behind it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use clewline_job::archive::{FileRecords, ReadRecord};
use clewline_warc::http::{self, HttpHead};
use clewline_warc::read::{Header, RecordExtent};
use serde::Serialize;

use super::arguments::ListFormat;
use super::screen::Screen;
use super::{complain, open};
use crate::exit::ExitStatus;
use crate::message::shown;

/// One record.
#[derive(Serialize)]
struct Row<'a> {
    file: &'a str,
    offset: u64,
    /// Of the member; zero if other records are in it.
    length: u64,
    #[serde(rename = "type")]
    kind: &'a str,
    id: Option<&'a str>,
    date: Option<&'a str>,
    url: Option<&'a str>,
    status: Option<u16>,
    mime: Option<String>,
    payload_digest: Option<&'a str>,
    truncated: Option<&'a str>,
    block_length: u64,
}

pub(super) fn list(files: &[PathBuf], form: ListFormat) -> anyhow::Result<ExitStatus> {
    let mut out = Screen::new(stdout());
    let mut status = ExitStatus::Done;
    for path in files {
        let mut records = FileRecords::whole(open(path)?);
        loop {
            match next_entry(&mut records) {
                Ok(Ok(None)) => break,
                Ok(Ok(Some((header, message, ending)))) => {
                    let row = row_of(path, &header, message, ending);
                    write_row(&row, form, &mut out)?;
                    continue;
                }
                Ok(Err(error)) => complain(path, &error),
                Err(error) => {
                    complain(path, &error);
                    status = ExitStatus::Threshold;
                    break;
                }
            }
            status = ExitStatus::Threshold;
        }
    }
    out.finish()?;
    Ok(status)
}

/// Status and media type of a record.
type StatusAndType = (Option<u16>, Option<String>);

/// What the list says of the next record.
fn next_entry(
    records: &mut FileRecords<File>,
) -> ReadRecord<Option<(Header, StatusAndType, RecordExtent)>> {
    let header = match records.next_record()? {
        Ok(Some(header)) => header,
        Ok(None) => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error)),
    };
    let message = message_of(&header, records);
    Ok(records.end()?.map(|ending| Some((header, message, ending))))
}

/// Status and media type; what goes wrong on the way is told by the record's end.
fn message_of(header: &Header, records: &mut FileRecords<File>) -> StatusAndType {
    if !header.is_http() {
        return (None, header.value("Content-Type").map(ToOwned::to_owned));
    }
    let Ok((head, _)) = http::split(records.block()) else {
        return (None, None);
    };
    let head = HttpHead::parse(&head);
    (head.status(), head.media_type())
}

fn row_of<'a>(
    path: &'a Path,
    header: &'a Header,
    (status, mime): StatusAndType,
    ending: RecordExtent,
) -> Row<'a> {
    let file = path.file_name().and_then(|name| name.to_str());
    Row {
        file: file.unwrap_or_default(),
        offset: ending.offset,
        length: ending.length,
        kind: header.value("WARC-Type").unwrap_or("-"),
        id: header.id(),
        date: header.value("WARC-Date"),
        url: header.target(),
        status,
        mime,
        payload_digest: header.value("WARC-Payload-Digest"),
        truncated: header.value("WARC-Truncated"),
        block_length: header.length(),
    }
}

fn write_row(row: &Row<'_>, form: ListFormat, out: &mut dyn Write) -> io::Result<()> {
    if form == ListFormat::Json {
        let json = serde_json::to_string(row)?;
        return writeln!(out, "{}", ascii(&json));
    }
    let status = row
        .status
        .map_or_else(|| "-".to_owned(), |status| status.to_string());
    writeln!(
        out,
        "{:10} {:>9}  {:8}  {:27}  {status:>3}  {}",
        row.offset,
        row.block_length,
        shown(row.kind),
        shown(row.date.unwrap_or("-")),
        shown(row.url.unwrap_or("-")),
    )
}

/// JSON in which everything beyond printable ASCII is written `\uXXXX`, which means the same and
/// can't steer a terminal. Such characters stand in strings only.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, ' '..='~') {
            text.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            write!(text, "\\u{unit:04x}").expect("a string takes all text");
        }
    }
    text
}
