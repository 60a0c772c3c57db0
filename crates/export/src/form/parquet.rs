//! Parquet: the tables of pages, links, items and chunks.
//!
//! Owns the way from rows to column chunks, and is the only module that knows the crate
//! `parquet`. Invariant: at most [`MOST_HELD`] bytes of a table wait for their row group.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clewline_content::{Items, ReadingSpeed};
use clewline_warc::Moment;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use serde_json::Value;

use crate::ExistingOutput;
use crate::columns::{
    Cell, Column, ColumnType, ITEMS, ItemRow, LINKS, LinkRow, PAGES, PageRow, Presence,
    SCHEMA_VERSION,
};
use crate::draft::{Draft, DraftFile};
use crate::error::ExportError;
use crate::export::{ExportContext, Rows};
use crate::form::duplicates::NearDuplicates;
use crate::link_rows::LinkRows;
use crate::pages::Need;

/// Bytes that are held of a table.
const MOST_HELD: usize = 32 * 1024 * 1024;
/// Rows that are held of a table.
const MOST_ROWS: usize = 100_000;
/// Columns of long texts, of which neither dictionaries nor extremes are worth their room.
const LONG_TEXTS: [&str; 4] = ["text", "markdown", "headings", "item"];
/// A file with this ending is the table of pages alone.
pub(super) const ENDING: &str = "parquet";

pub(super) fn write(
    work: &mut ExportContext<'_>,
    path: &Path,
    existing: ExistingOutput,
) -> Result<(), ExportError> {
    if path.extension().is_some_and(|ending| ending == ENDING) {
        let (draft, file) = Draft::file(path, existing)?;
        write_pages(work, Table::new(file, path, &PAGES)?, None)?;
        return draft.finish();
    }
    let draft = Draft::folder(path, existing)?;
    let file = |name: &str| DraftFile::create(&draft.place().join(format!("{name}.{ENDING}")));
    let items = match &work.options.rules {
        Some(_) => Some(Table::new(file("items")?, path, &ITEMS)?),
        None => None,
    };
    write_pages(work, Table::new(file("pages")?, path, &PAGES)?, items)?;
    write_links(work, Table::new(file("links")?, path, &LINKS)?)?;
    work.finish(draft)
}

fn write_pages(
    work: &mut ExportContext<'_>,
    mut table: Table<PageRow>,
    mut items: Option<Table<ItemRow>>,
) -> Result<(), ExportError> {
    let mut rows = Rows::new(work)?;
    let mut near = NearDuplicates::default();
    let mut pages = work.pages(Need::Words(ReadingSpeed::Main))?;
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let row = rows.row(work, page)?;
        if row.duplicate_of.is_none() {
            near.take(&row.page);
        }
        if let (Some(table), Some(found)) = (&mut items, &row.page.items) {
            work.done.items += write_items(table, row.page.record.url.as_str(), found)?;
        }
        table.push(&row)?;
    }
    work.done.near = Some(near.count());
    items.map(Table::close).transpose()?;
    table.close()
}

/// Writes what rules found on a page; a list becomes a row for each member.
fn write_items(table: &mut Table<ItemRow>, url: &str, found: &Items) -> Result<u64, ExportError> {
    let mut count = 0;
    for (rule, value) in &found.items {
        let members = match value {
            Value::Null => &[][..],
            Value::Array(members) => members,
            single => std::slice::from_ref(single),
        };
        for (number, member) in members.iter().enumerate() {
            count += 1;
            table.push(&ItemRow {
                url: url.to_owned(),
                rule: rule.clone(),
                number: i32::try_from(number).unwrap_or(i32::MAX),
                item: member.to_string(),
            })?;
        }
    }
    Ok(count)
}

/// Writes the links of pages that filters let through.
fn write_links(work: &mut ExportContext<'_>, mut table: Table<LinkRow>) -> Result<(), ExportError> {
    let Some(mut rows) = LinkRows::new(work)? else {
        return table.close();
    };
    let failed = ExportError::input(work.job.path());
    let mut count = 0;
    let mut push = |row: LinkRow| {
        count += 1;
        table.push(&row)
    };
    while rows.next_page(&mut push, &failed)? {
        work.tell_of_links(rows.place());
    }
    work.done.links = count;
    table.close()
}

/// A table that is being written.
pub(super) struct Table<R: 'static> {
    columns: &'static [Column<R>],
    held: Vec<Values>,
    rows: usize,
    bytes: usize,
    writer: SerializedFileWriter<DraftFile>,
    path: PathBuf,
}

/// The values of a column in the row group to come; levels tell which rows have one.
struct Values {
    levels: Vec<i16>,
    data: Data,
}

enum Data {
    Text(Vec<ByteArray>),
    Integer(Vec<i32>),
    Long(Vec<i64>),
    Double(Vec<f64>),
    Flag(Vec<bool>),
}

impl<R> Table<R> {
    pub(super) fn new(
        file: DraftFile,
        path: &Path,
        columns: &'static [Column<R>],
    ) -> Result<Self, ExportError> {
        let failed = |error| failed(path, error);
        let schema = parse_message_type(&schema(columns)).map_err(failed)?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), properties());
        Ok(Self {
            columns,
            held: columns
                .iter()
                .map(|column| Values::for_type(column.kind))
                .collect(),
            rows: 0,
            bytes: 0,
            writer: writer.map_err(failed)?,
            path: path.to_owned(),
        })
    }

    pub(super) fn push(&mut self, row: &R) -> Result<(), ExportError> {
        for (column, values) in self.columns.iter().zip(&mut self.held) {
            self.bytes += values.push((column.value)(row));
        }
        self.rows += 1;
        if self.rows >= MOST_ROWS || self.bytes >= MOST_HELD {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes a row group of what is held.
    fn flush(&mut self) -> Result<(), ExportError> {
        let failed = |error| failed(&self.path, error);
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for (column, values) in self.columns.iter().zip(&mut self.held) {
            let Some(mut chunk) = group.next_column().map_err(failed)? else {
                break;
            };
            values.write(column.presence, &mut chunk).map_err(failed)?;
            chunk.close().map_err(failed)?;
            *values = Values::for_type(column.kind);
        }
        group.close().map_err(failed)?;
        self.rows = 0;
        self.bytes = 0;
        Ok(())
    }

    pub(super) fn close(mut self) -> Result<(), ExportError> {
        if self.rows > 0 {
            self.flush()?;
        }
        let failed = |error| failed(&self.path, error);
        self.writer.finish().map_err(failed)?;
        let flushed = self.writer.inner_mut().flush();
        flushed.map_err(ExportError::output(&self.path))
    }
}

impl Values {
    const fn for_type(kind: ColumnType) -> Self {
        let data = match kind {
            ColumnType::Text => Data::Text(Vec::new()),
            ColumnType::Integer => Data::Integer(Vec::new()),
            ColumnType::Long | ColumnType::Moment => Data::Long(Vec::new()),
            ColumnType::Double => Data::Double(Vec::new()),
            ColumnType::Flag => Data::Flag(Vec::new()),
        };
        let levels = Vec::new();
        Self { levels, data }
    }

    /// Takes a value; answers about how many bytes it holds.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        let mut bytes = 8;
        let mut text = |text: String| {
            bytes += text.len();
            ByteArray::from(text.into_bytes())
        };
        let is_there = match (&mut self.data, cell) {
            (Data::Text(values), Cell::Text(value)) => pushed(values, text(value.into_owned())),
            (Data::Text(values), Cell::Json(value)) => pushed(values, text(value)),
            (Data::Integer(values), Cell::Integer(value)) => pushed(values, value),
            (Data::Long(values), Cell::Long(value)) => pushed(values, value),
            (Data::Long(values), Cell::Moment(value)) => match Moment::parse(value) {
                Some(moment) => pushed(values, moment.milliseconds()),
                None => false,
            },
            (Data::Double(values), Cell::Double(value)) => pushed(values, value),
            (Data::Flag(values), Cell::Flag(value)) => pushed(values, value),
            _ => false,
        };
        self.levels.push(i16::from(is_there));
        bytes
    }

    fn write(
        &self,
        presence: Presence,
        chunk: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let levels = (presence == Presence::Maybe).then_some(self.levels.as_slice());
        match &self.data {
            Data::Text(values) => write_values::<ByteArrayType>(chunk, values, levels),
            Data::Integer(values) => write_values::<Int32Type>(chunk, values, levels),
            Data::Long(values) => write_values::<Int64Type>(chunk, values, levels),
            Data::Double(values) => write_values::<DoubleType>(chunk, values, levels),
            Data::Flag(values) => write_values::<BoolType>(chunk, values, levels),
        }
    }
}

fn pushed<T>(values: &mut Vec<T>, value: T) -> bool {
    values.push(value);
    true
}

fn write_values<T: DataType>(
    chunk: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    chunk.typed::<T>().write_batch(values, levels, None)?;
    Ok(())
}

/// The schema in the notation of the format's own documents.
fn schema<R>(columns: &[Column<R>]) -> String {
    let mut text = String::from("message table {\n");
    for column in columns {
        let presence = match column.presence {
            Presence::Always => "required",
            Presence::Maybe => "optional",
        };
        let (physical, logical) = match column.kind {
            ColumnType::Text => ("binary", " (STRING)"),
            ColumnType::Integer => ("int32", ""),
            ColumnType::Long => ("int64", ""),
            ColumnType::Double => ("double", ""),
            ColumnType::Flag => ("boolean", ""),
            ColumnType::Moment => ("int64", " (TIMESTAMP(MILLIS,true))"),
        };
        let name = column.name;
        let _ = writeln!(text, "  {presence} {physical} {name}{logical};");
    }
    text.push('}');
    text
}

fn properties() -> WriterPropertiesPtr {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("clewline ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "schema_version".to_owned(),
            SCHEMA_VERSION.to_string(),
        )]));
    for name in LONG_TEXTS {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    Arc::new(properties.build())
}

fn failed(path: &Path, error: ParquetError) -> ExportError {
    let source = std::io::Error::other(error);
    ExportError::output(path)(source)
}
