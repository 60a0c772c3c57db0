//! Numbered files: `1.html`, `2.html` and so on, in the order of the crawl.
//!
//! Owns the layout that small search engines for teaching read: the URL on the first line, the
//! page's depth on the second, then the content as it was sent, without content codings.

use std::io::Write as _;
use std::path::Path;

use crate::ExistingOutput;
use crate::draft::{Draft, DraftFile};
use crate::error::ExportError;
use crate::export::ExportContext;
use crate::pages::{Need, ReadContent};
use crate::words::BodyKind;

pub(super) fn write(
    work: &mut ExportContext<'_>,
    path: &Path,
    existing: ExistingOutput,
) -> Result<(), ExportError> {
    let draft = Draft::folder(path, existing)?;
    let mut pages = work.pages(Need::Body)?;
    while let Some(page) = pages.next() {
        let page = page?;
        work.take(&page, pages.offset());
        let record = &page.record;
        let is_page = BodyKind::from_record(record) == Some(BodyKind::Html);
        let (ReadContent::Body(body), true) = (&page.found, is_page) else {
            continue;
        };
        work.done.rows += 1;
        let path = draft.place().join(format!("{}.html", work.done.rows));
        let mut file = DraftFile::create(&path)?;
        let head = format!("{}\n{}\n", record.url.as_str(), record.depth);
        let written = file.write_all(head.as_bytes());
        let written = written.and_then(|()| file.write_all(body));
        written.map_err(ExportError::output(&path))?;
        file.close()?;
    }
    work.finish(draft)
}
