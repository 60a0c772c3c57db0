//! The tool `status`: how jobs stand.
//!
//! Owns which figures are told. It refuses to know how they are found; the library tells.

use clewline::{JobError, StoredJob};
use clewline_job::{JobFile, JobStanding};
use serde_json::{Map, Value, json};

use crate::answer::{AnswerRoom, ToolAnswer};
use crate::arguments::StatusCall;
use crate::door::AssistantDoor;
use crate::jobs::NamedJob;

/// Hosts that are told of one job.
const MOST_HOSTS: usize = 5;
/// What is not told: it is long, and says little to somebody who waits.
const LEFT_OUT: [&str; 3] = ["folder", "waits", "hosts"];

impl AssistantDoor {
    /// How a job stands, or all jobs in short.
    pub(crate) fn status(&self, call: &StatusCall) -> Result<ToolAnswer, ToolAnswer> {
        let jobs = self.shelf.meant(call.job.as_deref())?;
        if let [job] = jobs.as_slice() {
            return self.of_job(job);
        }
        let mut room = AnswerRoom::from_tokens(None);
        let mut fields = Map::new();
        room.put(&mut fields, "jobs_in_all", json!(jobs.len()));
        let rows = jobs.iter().map(in_short);
        let shown: Vec<_> = rows.take_while(|row| room.take(row)).collect();
        fields.insert("jobs".to_owned(), Value::Array(shown));
        fields.insert("hint".to_owned(), json!("name a job for its figures"));
        Ok(ToolAnswer::from_fields(&fields))
    }

    fn of_job(&self, job: &NamedJob) -> Result<ToolAnswer, ToolAnswer> {
        let mut fields = Map::new();
        fields.insert("job".to_owned(), json!(job.name));
        let status = match StoredJob::read(&job.path).and_then(|stored| stored.status()) {
            Ok(status) => status,
            Err(JobError::Ending(_)) => {
                fields.insert("state".to_owned(), json!("ending"));
                return Ok(ToolAnswer::from_fields(&fields));
            }
            Err(error) => {
                let why = error.to_string();
                return Err(ToolAnswer::refused(why, "ask again in a moment"));
            }
        };
        let hosts = status.summary.hosts.iter().take(MOST_HOSTS).map(
            |host| json!({ "host": host.host, "queued": host.queued, "in_flight": host.in_flight }),
        );
        let hosts = hosts.collect();
        let told = serde_json::to_value(&status).unwrap_or_default();
        if let Value::Object(told) = told {
            let told = told
                .into_iter()
                .filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
            fields.extend(told);
        }
        fields.insert("busiest_hosts".to_owned(), Value::Array(hosts));
        if let Some(why) = self.crawls().fault(&job.name) {
            fields.insert("error".to_owned(), json!(why));
        }
        Ok(ToolAnswer::from_fields(&fields))
    }
}

fn in_short(job: &NamedJob) -> Value {
    let state = match JobFile::read(&job.path) {
        Ok(file) if file.owner().is_ok_and(|owner| owner.is_some()) => "running",
        Ok(file) => match file.standing {
            JobStanding::Finished => "finished",
            JobStanding::Unfinished => "unfinished",
            JobStanding::Unreached => "unreached",
        },
        Err(_) => "unreadable",
    };
    json!({ "job": job.name, "state": state })
}
