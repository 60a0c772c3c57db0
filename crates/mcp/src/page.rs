//! A page on its way into an answer.
//!
//! Owns the outline, the sections and the stretch of a page that an answer holds. It refuses to know
//! whether the page was fetched or comes from an archive. Invariant: with the cursors of its answers
//! all of a page is read, once and in order.

use clewline_content::{HiddenText, OutlineEntry, outline};
use clewline_job::pages::Provenance;
use serde_json::{Map, Value, json};

use crate::answer::{AnswerRoom, NOTICE, ToolAnswer};
use crate::arguments::{PagePart, cursor};

/// Of 100 characters, those that the outline may take.
const OUTLINE_PERCENT: usize = 25;
/// Characters of a title.
const LONGEST_TITLE: usize = 300;

/// A page that was read.
#[derive(Debug, Clone)]
pub(crate) struct AnsweredPage {
    pub(crate) url: String,
    pub(crate) title: Option<String>,
    pub(crate) provenance: Option<Provenance>,
    /// When it was captured, and the digest of what came, where no archive has it.
    pub(crate) fetched: Option<(String, String)>,
    pub(crate) markdown: String,
    pub(crate) hidden: HiddenText,
    /// What the reader should know besides.
    pub(crate) remarks: Vec<String>,
}

impl AnsweredPage {
    /// The part that is wanted, as long as the budget.
    pub(crate) fn answer(&self, part: &PagePart) -> Result<ToolAnswer, ToolAnswer> {
        let entries = outline(&self.markdown);
        let (from, until) = self.stretch(part, &entries)?;
        let mut room = AnswerRoom::from_tokens(part.max_tokens);
        let mut fields = Map::new();
        room.put(&mut fields, "notice", json!(NOTICE));
        self.put_facts(&mut room, &mut fields);
        if part.cursor.is_none() && part.section.is_none() {
            put_outline(&mut room, &mut fields, &entries);
        }
        let length = self.markdown.chars().count();
        room.put(&mut fields, "characters_in_all", json!(length));
        let text = &self.markdown[from..until];
        let end = room.fitting(text);
        fields.insert("text".to_owned(), json!(text[..end].trim_end()));
        if end < text.len() {
            fields.insert("cursor".to_owned(), json!((from + end).to_string()));
            let more = "call again with this cursor, or with a section of the outline";
            fields.insert("more".to_owned(), json!(more));
        }
        Ok(ToolAnswer::from_fields(&fields))
    }

    fn put_facts(&self, room: &mut AnswerRoom, fields: &mut Map<String, Value>) {
        room.put(fields, "url", json!(self.url));
        if let Some(title) = &self.title {
            let title: String = title.chars().take(LONGEST_TITLE).collect();
            room.put(fields, "title", json!(title));
        }
        if let Some(place) = &self.provenance {
            put_provenance(room, fields, place);
        }
        if let Some((captured, digest)) = &self.fetched {
            room.put(fields, "captured", json!(captured));
            room.put(fields, "body_digest", json!(digest));
        }
        if !self.hidden.is_nothing() {
            room.put(fields, "hidden_text_left_out", json!(self.hidden));
        }
        if !self.remarks.is_empty() {
            room.put(fields, "remarks", json!(self.remarks));
        }
    }

    /// Where the wanted part begins and ends.
    fn stretch(
        &self,
        part: &PagePart,
        entries: &[OutlineEntry],
    ) -> Result<(usize, usize), ToolAnswer> {
        let mut whole = (0, self.markdown.len());
        if let Some(section) = &part.section {
            whole = section_of(section, entries, self.markdown.len())?;
        }
        if part.cursor.is_some() {
            let at = cursor(part.cursor.as_deref())?;
            if at < whole.0 || at >= whole.1 || !self.markdown.is_char_boundary(at) {
                let hint = "take the cursor of the answer before, or none to begin";
                return Err(ToolAnswer::refused("cursor lies outside of the page", hint));
            }
            whole.0 = at;
        }
        Ok(whole)
    }
}

/// Adds the headings, as many as the outline may take.
fn put_outline(room: &mut AnswerRoom, fields: &mut Map<String, Value>, entries: &[OutlineEntry]) {
    let mut share = room.share(OUTLINE_PERCENT);
    let lines = entries.iter().enumerate().map(|(index, entry)| {
        let indent = "  ".repeat(usize::from(entry.level.saturating_sub(1)));
        format!("{indent}{} {}", index + 1, entry.words)
    });
    let shown: Vec<_> = lines.take_while(|line| share.take(line)).collect();
    if shown.len() < entries.len() {
        room.put(fields, "headings_in_all", json!(entries.len()));
    }
    if !shown.is_empty() {
        room.put(fields, "outline", json!(shown));
    }
}

/// The stretch of a section, found by its number in the outline or by words of its heading.
fn section_of(
    wanted: &str,
    entries: &[OutlineEntry],
    end: usize,
) -> Result<(usize, usize), ToolAnswer> {
    let by_number = wanted
        .trim()
        .parse()
        .ok()
        .and_then(|number: usize| number.checked_sub(1));
    let lower = wanted.trim().to_lowercase();
    let is_named = |entry: &OutlineEntry| entry.words.to_lowercase() == lower;
    let is_like = |entry: &OutlineEntry| entry.words.to_lowercase().contains(&lower);
    let found = by_number
        .filter(|index| *index < entries.len())
        .or_else(|| entries.iter().position(is_named))
        .or_else(|| entries.iter().position(is_like));
    let Some(index) = found else {
        let error = format!("there is no section {wanted:?}");
        return Err(ToolAnswer::refused(
            error,
            "ask without section for the outline",
        ));
    };
    let entry = &entries[index];
    let next = entries[index + 1..]
        .iter()
        .find(|other| other.level <= entry.level);
    Ok((entry.at, next.map_or(end, |next| next.at)))
}

/// Adds where a text stands, under the names that `clewline warc verify --quote` reads.
pub(crate) fn put_provenance(
    room: &mut AnswerRoom,
    fields: &mut Map<String, Value>,
    place: &Provenance,
) {
    room.put(fields, "captured", json!(place.captured));
    room.put(fields, "digest", json!(place.digest));
    room.put(fields, "file", json!(place.file));
    room.put(fields, "offset", json!(place.offset));
}
