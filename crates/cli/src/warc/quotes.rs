//! Quotes, compared with what was captured.
//!
//! Owns where a quote is looked for and what is said of it. What counts as the same words is decided
//! in `clewline-content`. Invariant: a quote is accepted only if the capture that it names is there,
//! is sound and holds its words; of several archives one is enough.

use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _, stdout};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clewline_content::{ContentLimits, Quote, QuoteError, QuotedPage, ReadPage};
use clewline_core::url::CrawlUrl;
use clewline_job::Job;
use clewline_job::charset::text_of;
use clewline_job::pages::{AnswerError, FoundCapture, PageReader, Provenance};
use clewline_job::report::figures::plural;
use clewline_warc::Moment;

use super::Screen;
use crate::Failure;
use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};
use crate::settings::problem::Problem;

/// Bytes of a file of quotes that are read.
const MOST_READ: u64 = 256 << 20;
/// Bytes of a body in which words are looked for: what the content of a page may have.
const MOST_BODY: u64 = 16 << 20;
/// Words of a quote that are shown.
const SHOWN_CHARACTERS: usize = 60;

/// Why a quote is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
enum QuoteFault {
    NoCapture,
    Damaged,
    Unreadable(String),
    Absent,
}

impl fmt::Display for QuoteFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCapture => out.write_str("there is no such capture"),
            Self::Damaged => {
                out.write_str("the capture is damaged: its payload is not that of its digest")
            }
            Self::Unreadable(why) => write!(out, "the capture cannot be read: {}", shown(why)),
            Self::Absent => out.write_str("these words do not stand there"),
        }
    }
}

/// Says of each quote whether it stands in its capture: 1 if one does not.
pub(super) fn verify(paths: &[PathBuf], file: &Path) -> Result<ExitStatus, Failure> {
    let text = read(file)?;
    let quotes = Quote::read_all(&text).map_err(|error: QuoteError| {
        let problem = Problem::new("--quote", error.to_string());
        Failure::Usage(vec![problem])
    })?;
    let mut readers = Vec::new();
    for path in paths {
        readers.push(
            Job::open(path)
                .context("cannot open the archive")?
                .reader()?,
        );
    }
    let mut verifier = QuoteVerifier {
        readers,
        last: None,
    };
    let mut out = Screen::new(stdout());
    let mut refused = 0;
    for (index, quote) in quotes.iter().enumerate() {
        if let Err(fault) = verifier.check(quote) {
            refused += 1;
            let words: String = quote.text.chars().take(SHOWN_CHARACTERS).collect();
            let (url, words) = (shown(&quote.url), shown(&words).into_owned());
            writeln!(out, "quote {}: {url}: {fault}: {words:?}", index + 1)?;
        }
    }
    out.finish()?;
    let text = format!(
        "{}, {refused} refused",
        plural(quotes.len() as u64, "quote")
    );
    Speaker::new(Colour::Auto).note(&text);
    Ok(if refused == 0 {
        ExitStatus::Done
    } else {
        ExitStatus::Threshold
    })
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let unreadable = || format!("cannot read the quotes in {}", file.display());
    if file == Path::new("-") {
        io::stdin().take(MOST_READ).read_to_string(&mut text)
    } else {
        let input = fs::File::open(file).with_context(unreadable)?;
        input.take(MOST_READ).read_to_string(&mut text)
    }
    .with_context(unreadable)?;
    ensure!(
        (text.len() as u64) < MOST_READ,
        "{} is too long",
        file.display()
    );
    Ok(text)
}

/// Compares quotes; those of one page mostly follow each other.
struct QuoteVerifier {
    readers: Vec<Arc<PageReader>>,
    last: Option<(String, Provenance, Rc<[QuotedPage]>)>,
}

impl QuoteVerifier {
    fn check(&mut self, quote: &Quote) -> Result<(), QuoteFault> {
        let at = match quote.captured.as_str() {
            "" => None,
            text => Some(Moment::parse(text).ok_or(QuoteFault::NoCapture)?),
        };
        let page = match &self.last {
            Some((url, place, page)) if *url == quote.url && at.is_some() && fits(quote, place) => {
                Rc::clone(page)
            }
            _ => self.open(quote, at)?,
        };
        if page.iter().any(|page| page.holds(quote)) {
            Ok(())
        } else {
            Err(QuoteFault::Absent)
        }
    }

    fn open(&mut self, quote: &Quote, at: Option<Moment>) -> Result<Rc<[QuotedPage]>, QuoteFault> {
        let mut fault = QuoteFault::NoCapture;
        for reader in &self.readers {
            match reader.capture(&quote.url, at, MOST_BODY, |place| fits(quote, place)) {
                Ok(found) => {
                    let is_sound = reader.is_sound(&quote.url, &found.provenance);
                    if !is_sound.is_ok_and(|is_sound| is_sound) {
                        fault = QuoteFault::Damaged;
                        continue;
                    }
                    let page = quoted(&quote.url, &found)?;
                    let place = found.provenance;
                    self.last = Some((quote.url.clone(), place, Rc::clone(&page)));
                    return Ok(page);
                }
                Err(AnswerError::NoCapture) => {}
                Err(error) => fault = QuoteFault::Unreadable(error.to_string()),
            }
        }
        Err(fault)
    }
}

/// Whether a capture is the one that a quote names.
fn fits(quote: &Quote, place: &Provenance) -> bool {
    let agrees = |said: &str, found: &str| said.is_empty() || said == found;
    agrees(&quote.captured, &place.captured)
        && agrees(&quote.digest, &place.digest)
        && agrees(&quote.file, &place.file)
        && quote.offset.is_none_or(|offset| offset == place.offset)
}

/// What may be quoted of a page: its answer and what a browser made of it.
fn quoted(url: &str, found: &FoundCapture) -> Result<Rc<[QuotedPage]>, QuoteFault> {
    let unreadable = |why: String| QuoteFault::Unreadable(why);
    let url = CrawlUrl::parse(url).map_err(|error| unreadable(error.to_string()))?;
    let read = |text: &str| {
        let limits = ContentLimits::default();
        let page = ReadPage::from_body(text, found.media_type(), &url.to_url(), &limits);
        page.map(|page| page.quoted())
            .map_err(|refusal| unreadable(refusal.to_string()))
    };
    let charset = found.charset.as_deref();
    let answer = read(&text_of(&found.answer.body, charset));
    if found.answer.rendered.is_none() {
        return Ok(Rc::new([answer?]));
    }
    let rendered = read(&found.answer.text(charset))?;
    Ok(answer.into_iter().chain([rendered]).collect())
}
