//! The rows of the table of links, page by page in the order of the link log.
//!
//! Owns the joining of a link with the URLs behind its keys and with what its page says about it.
//! Pages are read out of the archive on all cores. Invariant: the links of a bounded number of
//! pages are held.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_job::log::LinksReader;
use clewline_job::pages::{Ordered, PageReader, threads};
use clewline_job::record::Record;

use crate::anchors::Anchors;
use crate::columns::LinkRow;
use crate::error::ExportError;
use crate::export::ExportContext;
use crate::outlinks::Outlinks;
use crate::urls::Urls;

/// Links of a page that are held at once; a page with more is read once more for the rest.
const MOST_LINKS: usize = 65_536;

/// Makes rows of the links of pages that filters let through.
pub(crate) struct LinkRows {
    links: LinksReader,
    /// The first link of the next page.
    first: Option<(Key, Key, LinkKind)>,
    urls: Urls,
    readers: Ordered<Task, Says>,
    /// Pages that are being read.
    pages: VecDeque<PageLinks>,
}

/// A page and its links.
struct PageLinks {
    source: Key,
    url: Arc<str>,
    links: Vec<(Key, LinkKind)>,
}

/// A page to read.
struct Task {
    record: Record,
    /// One of its links leads to a URL that has no record.
    leads_elsewhere: bool,
}

/// What a page says about its links.
#[derive(Default)]
struct Says {
    anchors: Anchors,
    outlinks: Outlinks,
}

impl LinkRows {
    /// Nothing if there is no log of links.
    pub(crate) fn new(work: &ExportContext<'_>) -> Result<Option<Self>, ExportError> {
        let Some(links) = work.job.links()? else {
            return Ok(None);
        };
        let found = match work.job.keyer() {
            Some(keyer) => Some((work.job.reader()?, keyer.clone())),
            // The keys of the job cannot be made again.
            None => None,
        };
        let read = move |task: Task| match &found {
            Some((reader, keyer)) => Says::read(reader, keyer, &task),
            None => Says::default(),
        };
        let readers = Ordered::start(threads(work.options.threads), read);
        Ok(Some(Self {
            links,
            first: None,
            urls: Urls::by_key(work.job, &work.options.filters)?,
            readers: readers.map_err(ExportError::input(work.job.path()))?,
            pages: VecDeque::new(),
        }))
    }

    /// How far in the link log it is.
    pub(crate) const fn place(&self) -> u64 {
        self.links.place()
    }

    /// Hands on the rows of the next page; false at the end.
    pub(crate) fn next_page(
        &mut self,
        push: &mut dyn FnMut(LinkRow) -> Result<(), ExportError>,
        failed: &dyn Fn(io::Error) -> ExportError,
    ) -> Result<bool, ExportError> {
        while self.readers.has_room()
            && let Some((page, task)) = self.read_links().map_err(failed)?
        {
            self.pages.push_back(page);
            self.readers.push(task);
        }
        let Some(says) = self.readers.next() else {
            return Ok(false);
        };
        let says = says.map_err(failed)?;
        let page = self.pages.pop_front().expect("each has a result");
        for (target, kind) in page.links {
            let settled = self.urls.of(target).map_err(failed)?;
            let target_url = settled.map(|url| url.as_ref().to_owned());
            push(LinkRow {
                source: page.url.as_ref().to_owned(),
                target: target_url.or_else(|| says.outlinks.url(target).map(ToOwned::to_owned)),
                source_key: page.source.to_string(),
                target_key: target.to_string(),
                kind: kind.name(),
                said: says.anchors.said(target, kind),
            })?;
        }
        Ok(true)
    }

    /// The links of the next page that is wanted, and what is to be read of it.
    fn read_links(&mut self) -> io::Result<Option<(PageLinks, Task)>> {
        while let Some((source, target, kind)) = self.next_link()? {
            let wanted = self.urls.find(source).filter(|place| place.is_wanted);
            let mut links = vec![(target, kind)];
            while links.len() < MOST_LINKS
                && let Some(next) = self.next_link()?
            {
                if next.0 != source {
                    self.first = Some(next);
                    break;
                }
                links.push((next.1, next.2));
            }
            let Some(place) = wanted else {
                continue;
            };
            let is_elsewhere = |(target, _): &(Key, LinkKind)| self.urls.find(*target).is_none();
            let leads_elsewhere = links.iter().any(is_elsewhere);
            let page = PageLinks {
                source,
                url: self.urls.at(place.at)?,
                links,
            };
            let record = self.urls.record(place.at)?;
            let task = Task {
                record,
                leads_elsewhere,
            };
            return Ok(Some((page, task)));
        }
        Ok(None)
    }

    fn next_link(&mut self) -> io::Result<Option<(Key, Key, LinkKind)>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        match self.links.next().transpose() {
            // A crash may leave a torn block, which nobody committed.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            next => next,
        }
    }
}

impl Says {
    fn read(reader: &PageReader, keyer: &Keyer, task: &Task) -> Self {
        let outlinks = task
            .leads_elsewhere
            .then(|| Outlinks::read(reader, keyer, &task.record.url));
        Self {
            anchors: Anchors::read(reader, keyer, &task.record),
            outlinks: outlinks.unwrap_or_default(),
        }
    }
}
