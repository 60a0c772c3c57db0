//! The trail of one URL.
//!
//! Owns the order of its steps and their words. Refuses to know how the trail is found; `why` does.

use clewline_job::config::Root;
use clewline_job::look::Tone;
use clewline_job::record::Record;
use clewline_job::report::figures;
use clewline_job::why::{Fate, RedirectHop, Why};

use super::overview::outcome;
use super::{ArchiveNow, ShownJob};
use crate::app::reply::{ApiProblem, parameter};
use crate::pages::{TrailFact, TrailLink, TrailPage, TrailStep};
use crate::server::{ServerRequest, path_of};

pub(super) fn shown(
    job: &ShownJob<'_>,
    request: &ServerRequest,
    archive: &ArchiveNow<'_>,
) -> Result<String, ApiProblem> {
    let text = parameter(request, "url").unwrap_or_default();
    let root =
        Root::parse(&text).map_err(|error| ApiProblem::new(400, format!("the URL {error}")))?;
    let why = job.app.jobs.ask(&job.path, |job| job.why(&root.url))?;
    let url = why.url.to_string();
    // Without an archive there is no capture.
    let capture = archive()
        .ok()
        .and_then(|archive| archive.closest(&url, None).ok().flatten());
    let page = TrailPage {
        frame: job.frame()?,
        sentence: sentence(&why),
        steps: steps(&why),
        links: why
            .referrers
            .iter()
            .map(|one| TrailLink {
                url: one.url.to_string(),
                kind: one.kind.name().to_owned(),
            })
            .collect(),
        link_count: why.referrer_count,
        capture: capture.map(|held| path_of(&held.capture.timestamp, &held.capture.url)),
        facts: facts(&why),
        headers: Vec::new(),
        url,
    };
    Ok(page.html())
}

fn sentence(why: &Why) -> String {
    let rule = why
        .rule
        .as_ref()
        .map(|rule| format!(": {rule}"))
        .unwrap_or_default();
    match (why.fate, &why.record) {
        (Fate::Recorded, Some(record)) => {
            let (words, _) = outcome(record);
            format!("{}: {words}{rule}.", capital(record_word(record)))
        }
        (Fate::Queued, _) => format!("It waits in the queue{rule}."),
        (Fate::Withheld, _) => format!("It is withheld as part of a trap{rule}."),
        (Fate::Refused, _) => {
            let reason = why.reason.map_or("a rule", |reason| reason.about());
            format!("It was refused: {reason}{rule}.")
        }
        _ => "The crawl never met it, and nothing speaks against it.".to_owned(),
    }
}

fn record_word(record: &Record) -> &'static str {
    use clewline_job::record::OutcomeKind as Kind;
    match record.outcome {
        Kind::Fetched => "fetched",
        Kind::Redirected => "redirected",
        Kind::Unmodified => "unmodified",
        Kind::Skipped => "skipped",
        Kind::Failed => "failed",
    }
}

fn capital(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters
        .next()
        .map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + characters.as_str()
}

fn steps(why: &Why) -> Vec<TrailStep> {
    let step = |what: &str, why: String, tone, url| TrailStep {
        what: what.to_owned(),
        why,
        tone,
        url,
    };
    let hop = |what: &str, hop: &RedirectHop| {
        let status = hop.status.map(|status| status.to_string());
        step(
            what,
            status.unwrap_or_default(),
            Tone::Plain,
            Some(hop.url.to_string()),
        )
    };
    let mut steps: Vec<TrailStep> = why
        .before
        .iter()
        .map(|one| hop("Redirected by", one))
        .collect();
    if let Some(at) = &why.queued_at {
        steps.push(step("Queued", figures::instant(at), Tone::Plain, None));
    }
    if let Some(robots) = &why.robots {
        let line = robots
            .line
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        let text = robots.text.clone().unwrap_or_else(|| "no rule".to_owned());
        let (what, tone) = if robots.allowed {
            ("Allowed by robots.txt", Tone::Plain)
        } else {
            ("Forbidden by robots.txt", Tone::Warn)
        };
        steps.push(step(what, format!("{line}{text}"), tone, None));
    }
    if let Some(record) = &why.record {
        for (number, one) in record.earlier.iter().enumerate() {
            let status = one.status.map(|status| status.to_string());
            let what = status.or(one.failure.map(|class| class.about().to_owned()));
            let what = format!("{} {}", figures::instant(&one.at), what.unwrap_or_default());
            steps.push(step(&format!("Try {}", number + 1), what, Tone::Warn, None));
        }
        let (words, tone) = outcome(record);
        let words = format!("{} {words}", figures::instant(&record.fetched_at));
        steps.push(step(&capital(record_word(record)), words, tone, None));
    }
    steps.extend(why.after.iter().map(|one| hop("Redirects to", one)));
    steps
}

fn facts(why: &Why) -> Vec<TrailFact> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.push(TrailFact {
                name: name.to_owned(),
                value,
            });
        }
    };
    fact("Key", Some(why.key.to_string()));
    if let Some(record) = &why.record {
        fact("Status", record.status.map(|status| status.to_string()));
        fact("Type", record.content_type.clone());
        fact("Size", Some(figures::bytes(record.body_bytes)));
        fact("First byte", record.timings.first_byte.map(figures::millis));
        fact("Depth", Some(record.depth.to_string()));
        fact("Links", Some(figures::count(record.links.into())));
        fact("Address", record.address.map(|address| address.to_string()));
        fact("Digest", record.digest.clone());
    }
    facts
}
