//! The loop of a crawl without its network.
//!
//! Owns the frontier, as the engine does: it hands out, settles, seals and hears of what became
//! durable, by the same rules and sizes. Names are resolved and robots.txt files answered on
//! the spot, pages come from the made-up web, and time is virtual: where the frontier would wait for
//! politeness, the clock is put forward. Invariant: every answer of the frontier is compared with
//! what the web knows.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clewline::measuring::{DiskStore, SealedBatch, frontier_notes};
use clewline_core::frontier::{
    Answer, Counts, Ending, FetchJob, Frontier, JobId, Moment, Next, Sealed as _, Settled,
    Settlement, Work,
};
use clewline_core::url::CrawlUrl;

use super::gauge::WEB_THREAD;
use super::web::{Brought, Web, address};

/// Pages in flight.
const ROOM: usize = 256;
/// Virtual time that a page takes.
const PAGE_TIME: Duration = Duration::from_millis(1);
/// Batches that may wait to become durable, as in the engine.
const UNWRITTEN: usize = 2;
/// The engine's batches: so often …
const BATCH_TIME: Duration = Duration::from_millis(50);
/// … or at so many records, or links that weigh as much.
const BATCH_SIZE: usize = 2000;
const LINKS_PER_RECORD: usize = 32;
/// Pages that it hears of at once, at the most.
const TOGETHER: usize = 32;

/// What was done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    pub(crate) pages: u64,
    pub(crate) offered: u64,
    pub(crate) new: u64,
    pub(crate) hosts: u64,
}

enum Message {
    Brought(Brought),
    Written(Result<(), clewline::measuring::StoreError>),
}

/// A crawl under way.
pub(crate) struct Drive {
    frontier: Frontier<DiskStore>,
    pub(crate) done: Done,
    pub(crate) now: Moment,
    asks: Option<Sender<(JobId, CrawlUrl)>>,
    batches: Option<SyncSender<SealedBatch>>,
    inbox: Receiver<Message>,
    threads: Vec<JoinHandle<()>>,
    asked: usize,
    unwritten: usize,
    settled: usize,
    sealed_at: Instant,
    /// The keys of all pages that were settled.
    ledger: BufWriter<File>,
}

impl Drive {
    /// Takes up a frontier; the keys of settled pages are appended to `ledger`.
    pub(crate) fn start(
        mut frontier: Frontier<DiskStore>,
        web: Web,
        ledger: &Path,
    ) -> Result<Self> {
        frontier.set_slots(ROOM);
        let (outbox, inbox) = channel();
        let (asks, questions) = channel();
        let (batches, queue) = sync_channel(UNWRITTEN);
        let ledger = File::options().create(true).append(true).open(ledger)?;
        let threads = vec![
            thread(WEB_THREAD, {
                let outbox = outbox.clone();
                move || answer(web, &questions, &outbox)
            })?,
            thread("flat-writer", move || write(&queue, &outbox))?,
        ];
        Ok(Self {
            frontier,
            done: Done::default(),
            now: Moment::ZERO,
            asks: Some(asks),
            batches: Some(batches),
            inbox,
            threads,
            asked: 0,
            unwritten: 0,
            settled: 0,
            sealed_at: Instant::now(),
            ledger: BufWriter::new(ledger),
        })
    }

    pub(crate) const fn frontier(&mut self) -> &mut Frontier<DiskStore> {
        &mut self.frontier
    }

    /// Works until so many URLs are known, or nothing is left; answers whether there is more.
    pub(crate) fn until(&mut self, new: u64, pages: u64) -> Result<bool> {
        while self.done.new < new && self.done.pages < pages {
            self.take_all(None)?;
            self.hand_over(BATCH_SIZE)?;
            if self.asked >= ROOM || self.is_behind() {
                self.wait()?;
                continue;
            }
            match self.frontier.next(self.now)? {
                Next::Start(job) => self.begin(job)?,
                Next::WaitUntil(at) if self.asked == 0 => self.now = at,
                Next::WaitUntil(_) | Next::Waiting | Next::Idle => self.wait()?,
                Next::Done(_) => return Ok(false),
                Next::Settled(finished) => bail!("{} ended unasked", finished.entry.url),
            }
        }
        Ok(true)
    }

    fn wait(&mut self) -> Result<()> {
        let message = self.inbox.recv().context("a thread has died")?;
        self.take_all(Some(message))
    }

    /// Takes a message and what else is there.
    fn take_all(&mut self, first: Option<Message>) -> Result<()> {
        let mut pages = Vec::new();
        let mut next = first.or_else(|| self.inbox.try_recv().ok());
        while let Some(message) = next {
            match message {
                Message::Brought(brought) => pages.push(brought),
                Message::Written(written) => {
                    written?;
                    self.unwritten -= 1;
                    self.frontier.committed();
                }
            }
            if pages.len() == TOGETHER {
                self.settle_all(std::mem::take(&mut pages))?;
            }
            next = self.inbox.try_recv().ok();
        }
        self.settle_all(pages)
    }

    /// Settles pages that came together.
    fn settle_all(&mut self, pages: Vec<Brought>) -> Result<()> {
        let came = pages.into_iter().map(|page| {
            let mut ending = self.answered(200);
            if let Ending::Answered(answer) = &mut ending {
                answer.links = page.links;
            }
            let job = page.job;
            (Settlement { job, ending }, page.new, page.hosts)
        });
        let came: Vec<(Settlement, u32, u64)> = came.collect();
        let settlements = came.iter().map(|(settlement, ..)| settlement);
        self.frontier.look_ahead(settlements)?;
        for (settlement, new, hosts) in came {
            self.done.hosts = hosts;
            self.settle(settlement, new)?;
        }
        Ok(())
    }

    fn begin(&mut self, job: FetchJob) -> Result<()> {
        let ending = match job.work {
            Work::Page { url, .. } => {
                self.asked += 1;
                let asks = self.asks.as_ref().context("the web is closed")?;
                return asks.send((job.id, url)).context("the web has died");
            }
            Work::Resolve { url } => Ending::Resolved {
                addresses: vec![address(url.host())],
                ttl: Duration::from_hours(1),
                trusted: false,
            },
            Work::Robots { .. } | Work::Errand { .. } => self.answered(404),
        };
        let mut settlement = Settlement {
            job: job.id,
            ending,
        };
        let settled = self.frontier.settle(&mut settlement, self.now)?;
        ensure!(matches!(settled, Settled::Prepared), "{settled:?}");
        Ok(())
    }

    fn answered(&self, status: u16) -> Ending {
        Ending::Answered(Box::new(Answer {
            status,
            first_byte: Duration::from_millis(30),
            sent_at: Some(self.now),
            wire: 27_000,
            ..Answer::default()
        }))
    }

    fn settle(&mut self, mut settlement: Settlement, new: u32) -> Result<()> {
        self.asked -= 1;
        self.now += PAGE_TIME;
        if let Ending::Answered(answer) = &settlement.ending {
            self.done.offered += answer.links.len() as u64;
        }
        self.done.new += u64::from(new);
        self.done.pages += 1;
        let Settled::Done(finished) = self.frontier.settle(&mut settlement, self.now)? else {
            bail!("a page that was answered is not done");
        };
        let url = &finished.entry.url;
        ensure!(
            finished.new_links == new,
            "{new} links of {url} are new, not {}",
            finished.new_links
        );
        self.ledger.write_all(finished.entry.key.as_bytes())?;
        self.settled += 1;
        Ok(())
    }

    fn open_records(&self) -> usize {
        let links = self.frontier.open_size() / LINKS_PER_RECORD;
        links.max(self.settled)
    }

    fn is_behind(&self) -> bool {
        self.unwritten >= UNWRITTEN && self.open_records() >= BATCH_SIZE
    }

    /// Seals the open batch when it is large or old enough and there is room.
    fn hand_over(&mut self, size: usize) -> Result<()> {
        let open = self.open_records();
        let due = open >= size || self.sealed_at.elapsed() >= BATCH_TIME;
        if open == 0 || !due || self.unwritten >= UNWRITTEN {
            return Ok(());
        }
        let notes = frontier_notes(&self.frontier.state());
        let sealed = self.frontier.seal(notes)?;
        let batches = self.batches.as_ref().context("the log writer is closed")?;
        batches
            .send(sealed)
            .ok()
            .context("the log writer has died")?;
        self.unwritten += 1;
        self.settled = 0;
        self.sealed_at = Instant::now();
        Ok(())
    }

    /// Waits for the pages in flight, makes everything durable and ends, with the last counts.
    pub(crate) fn stop(mut self) -> Result<Counts> {
        while self.asked > 0 {
            self.wait()?;
        }
        loop {
            self.hand_over(1)?;
            if self.settled == 0 && self.unwritten == 0 {
                break;
            }
            self.wait()?;
        }
        (self.asks, self.batches) = (None, None);
        for thread in self.threads {
            ensure!(thread.join().is_ok(), "a thread has panicked");
        }
        self.ledger.flush()?;
        Ok(self.frontier.counts())
    }
}

/// Admits the roots.
pub(crate) fn begin_with(
    frontier: &mut Frontier<DiskStore>,
    roots: impl Iterator<Item = CrawlUrl>,
) -> Result<()> {
    for root in roots {
        frontier.admit_root(root, false, Moment::ZERO)?;
    }
    Ok(())
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let named = std::thread::Builder::new().name(name.to_owned());
    Ok(named.spawn(work)?)
}

fn answer(mut web: Web, questions: &Receiver<(JobId, CrawlUrl)>, outbox: &Sender<Message>) {
    for (job, url) in questions {
        let brought = web.visit(job, &url);
        if outbox.send(Message::Brought(brought)).is_err() {
            return;
        }
    }
}

fn write(batches: &Receiver<SealedBatch>, outbox: &Sender<Message>) {
    for (number, mut batch) in (0_u64..).zip(batches) {
        let written = batch.commit(&[("urls", number)]);
        if outbox.send(Message::Written(written)).is_err() {
            return;
        }
    }
}
