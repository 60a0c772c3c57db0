//! Archives to test with.

use std::fs;
use std::path::Path;

use clewline_warc::{
    Block, Digest, Effort, Encoder, Moment, RecordDraft, RecordId, WarcCompression,
};

/// Writes an archive of messages: URL, time, head and body. What a browser made of a page has no head
/// and follows its page.
pub(crate) fn write(path: &Path, messages: &[(&str, &str, &[u8], &[u8])]) {
    let mut file = fs::File::create(path).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    for (number, (url, time, head, body)) in messages.iter().enumerate() {
        let id = RecordId::numbered([7; 16], number as u64);
        let date = Moment::from_timestamp(time).unwrap();
        let draft = if head.is_empty() {
            RecordDraft::resource(id, date, url, Block::plain(body)).content_type("text/html")
        } else {
            let block = Block::message(head).bytes(body);
            RecordDraft::response(id, date, url, block).payload_digest(Digest::sha1(body))
        };
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
    }
}
