//! The tool `check`: what is wrong with a site that was crawled.
//!
//! Owns which findings an answer names first. The rules are those of `clewline-check`, as they are
//! without settings; links to other sites are not asked, so nothing leaves the machine. Invariant: the
//! counts are those of all findings, however few of them an answer names.

use std::collections::BTreeMap;

use clewline::AnswerReader;
use clewline_check::{CheckFinding, check_alone, rules};
use clewline_job::{Job, JobFile, JobStanding};
use serde_json::{Map, Value, json};

use crate::answer::{AnswerRoom, NOTICE, ToolAnswer};
use crate::arguments::{CheckCall, cursor};
use crate::door::AssistantDoor;
use crate::jobs::NamedJob;

/// Pages that one finding names.
const MOST_SAMPLES: usize = 3;
/// Characters of a target or of what was seen: both are foreign.
const LONGEST_TEXT: usize = 500;

impl AssistantDoor {
    /// The findings of a job, the worst first.
    pub(crate) fn check(&self, call: &CheckCall) -> Result<ToolAnswer, ToolAnswer> {
        let job = self.shelf.only(call.job.as_deref())?;
        let skipped = cursor(call.cursor.as_deref())?;
        let (mut findings, is_complete) = judged(&job).map_err(|why| {
            ToolAnswer::refused(
                format!("{}: {why}", job.name),
                "`status` says how the job stands",
            )
        })?;
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in &findings {
            *counts.entry(finding.rule.id).or_default() += 1;
        }
        if let Some(rule) = &call.rule {
            if !rules::all().iter().any(|known| known.id == rule) {
                let error = format!("there is no rule {rule:?}");
                return Err(ToolAnswer::refused(
                    error,
                    "`by_rule` of an answer without rule has them",
                ));
            }
            findings.retain(|finding| finding.rule.id == rule);
        }
        let mut room = AnswerRoom::from_tokens(call.max_tokens);
        let mut fields = Map::new();
        room.put(&mut fields, "notice", json!(NOTICE));
        room.put(&mut fields, "job", json!(job.name));
        room.put(&mut fields, "findings_in_all", json!(findings.len()));
        if skipped == 0 {
            room.put(&mut fields, "by_rule", json!(counts));
        }
        if !is_complete {
            let remark = "the crawl has not come to its end: more may be wrong, or less";
            room.put(&mut fields, "remarks", json!([remark]));
        }
        let rows = findings.iter().skip(skipped).map(row);
        let shown: Vec<_> = rows.take_while(|row| room.take(row)).collect();
        let next = skipped + shown.len();
        if next < findings.len() {
            fields.insert("cursor".to_owned(), json!(next.to_string()));
        }
        fields.insert("findings".to_owned(), Value::Array(shown));
        Ok(ToolAnswer::from_fields(&fields))
    }
}

fn judged(job: &NamedJob) -> Result<(Vec<CheckFinding>, bool), String> {
    let is_complete =
        JobFile::read(&job.path).is_ok_and(|file| file.standing == JobStanding::Finished);
    let opened = Job::open(&job.path).map_err(|error| error.to_string())?;
    let answers = AnswerReader::default();
    let report = check_alone(&opened, &answers.reader(), is_complete, None);
    let found = report.map_err(|error| error.to_string())?.findings;
    Ok((
        found.into_iter().map(|one| one.finding).collect(),
        is_complete,
    ))
}

fn row(finding: &CheckFinding) -> Value {
    let short = |text: &str| text.chars().take(LONGEST_TEXT).collect::<String>();
    let mut row = json!({
        "rule": finding.rule.id,
        "severity": finding.rule.severity,
        "page": finding.page.as_str(),
        "seen": short(&finding.evidence),
        "count": finding.count,
    });
    for (name, text) in [
        ("target", &finding.target),
        ("subject", &finding.subject),
        ("write_instead", &finding.mend),
    ] {
        if let Some(text) = text {
            row[name] = json!(short(text));
        }
    }
    if !finding.samples.is_empty() {
        let samples = finding.samples.iter().take(MOST_SAMPLES);
        row["also_on"] = samples.map(|url| json!(url.as_str())).collect();
    }
    row
}
