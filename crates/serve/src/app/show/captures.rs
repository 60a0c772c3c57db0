//! What is archived: URLs by their beginnings, and the captures of one URL by month.
//!
//! Owns how captures become days. Refuses to know how archives are searched.

use std::sync::Arc;

use clewline_archive::{Archive, ArchivedCapture};

use super::{ArchiveNow, ShownJob};
use crate::app::reply::{ApiProblem, parameter};
use crate::pages::{CaptureDay, CapturedUrl, CapturesPage, DayCapture, MonthPage};
use crate::server::{ServerRequest, path_of, thumbnail_path_of};

/// Captures on one page of the list.
const MOST_LISTED: usize = 100;
/// Pages of the list that are searched for a picture.
const MOST_LOOKED_AT: usize = 24;
/// Captures of one day that are shown.
const MOST_OF_DAY: usize = 24;

fn opened(archive: &ArchiveNow<'_>) -> Result<Arc<Archive>, ApiProblem> {
    archive().map_err(|error| ApiProblem::new(404, error))
}

pub(super) fn listed(
    job: &ShownJob<'_>,
    request: &ServerRequest,
    archive: &ArchiveNow<'_>,
) -> Result<String, ApiProblem> {
    let prefix = parameter(request, "url").unwrap_or_default();
    let from = parameter(request, "from").unwrap_or_default();
    let (mut rows, mut files) = (Vec::new(), 0);
    if let Ok(archive) = opened(archive) {
        rows = archive.list(&from, &Archive::key_prefix(&prefix), MOST_LISTED + 1)?;
        files = archive.file_count() as u64;
    }
    let rest = rows.split_off(MOST_LISTED.min(rows.len()));
    let next = rest.first();
    let next = next.map(|(key, held)| format!("{key} {}", held.capture.timestamp));
    let page = CapturesPage {
        frame: job.frame()?,
        prefix,
        rows: pictured(rows.iter().map(|(_, held)| held), archive),
        next: next.filter(|next| *next != from),
        files,
    };
    Ok(page.html())
}

/// The rows; the first pages of which there are pictures show them.
fn pictured<'a>(
    captures: impl Iterator<Item = &'a ArchivedCapture>,
    archive: &ArchiveNow<'_>,
) -> Vec<CapturedUrl> {
    let archive = opened(archive).ok();
    let mut looked_at = 0;
    let row = |held: &ArchivedCapture| {
        let mut row = row(held);
        let is_page = held.capture.mime.contains("html");
        if let Some(archive) = archive
            .as_ref()
            .filter(|_| is_page && looked_at < MOST_LOOKED_AT)
        {
            looked_at += 1;
            let has_picture = matches!(archive.thumbnail(held), Ok(Some(_)));
            row.thumbnail = has_picture.then(|| thumbnail_path_of(&held.capture));
        }
        row
    };
    captures.map(row).collect()
}

fn row(held: &ArchivedCapture) -> CapturedUrl {
    let capture = &held.capture;
    CapturedUrl {
        url: capture.url.clone(),
        time: moment(&capture.timestamp),
        status: capture.status.clone(),
        media_type: capture.mime.clone(),
        link: path_of(&capture.timestamp, &capture.url),
        thumbnail: None,
    }
}

/// `2026-11-15 12:03:04`
fn moment(timestamp: &str) -> String {
    let part = |from: usize, to: usize| timestamp.get(from..to).unwrap_or("00");
    format!(
        "{}-{}-{} {}",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        clock(timestamp)
    )
}

fn clock(timestamp: &str) -> String {
    let part = |from: usize, to: usize| timestamp.get(from..to).unwrap_or("00");
    format!("{}:{}:{}", part(8, 10), part(10, 12), part(12, 14))
}

pub(super) fn month(
    job: &ShownJob<'_>,
    request: &ServerRequest,
    archive: &ArchiveNow<'_>,
) -> Result<String, ApiProblem> {
    let url = parameter(request, "url").unwrap_or_default();
    let captures = opened(archive)?.captures(&url)?;
    let month_of = |held: &ArchivedCapture| held.capture.timestamp.get(..6).map(str::to_owned);
    let mut months: Vec<String> = captures.iter().filter_map(month_of).collect();
    months.dedup();
    let wanted = parameter(request, "month").map(|month| month.replace('-', ""));
    let wanted = wanted.filter(|month| months.contains(month));
    let Some(shown) = wanted.or_else(|| months.last().cloned()) else {
        return Err(ApiProblem::new(404, "there is no capture of this URL"));
    };
    let at = months
        .iter()
        .position(|month| *month == shown)
        .unwrap_or_default();
    let dashed = |month: &String| format!("{}-{}", &month[..4], &month[4..]);
    let number = |text: &str| text.parse().unwrap_or(1);
    let of_month = captures
        .iter()
        .filter(|held| month_of(held).as_ref() == Some(&shown));
    let page = MonthPage {
        frame: job.frame()?,
        url,
        month: (number(&shown[..4]), number(&shown[4..])),
        days: days(of_month),
        previous: at.checked_sub(1).and_then(|at| months.get(at)).map(dashed),
        next: months.get(at + 1).map(dashed),
        total: captures.len() as u64,
    };
    Ok(page.html())
}

fn days<'a>(captures: impl Iterator<Item = &'a ArchivedCapture>) -> Vec<CaptureDay> {
    let mut days: Vec<CaptureDay> = Vec::new();
    let mut digest = None;
    for held in captures {
        let capture = &held.capture;
        let day = capture.timestamp.get(6..8).and_then(|day| day.parse().ok());
        let day = day.unwrap_or(1);
        if days.last().is_none_or(|last| last.day != day) {
            days.push(CaptureDay {
                day,
                captures: Vec::new(),
                more: 0,
            });
        }
        let last = days.last_mut().expect("a day was pushed");
        let is_changed = digest
            .replace(&capture.digest)
            .is_some_and(|before| before != &capture.digest);
        if last.captures.len() == MOST_OF_DAY {
            last.more += 1;
            continue;
        }
        last.captures.push(DayCapture {
            time: clock(&capture.timestamp),
            status: capture.status.clone(),
            link: path_of(&capture.timestamp, &capture.url),
            is_changed,
        });
    }
    days
}
