//! The configuration of a fleet's job, as its members share it.
//!
//! Owns what of a configuration is the job's and what is one machine's: folder, memory and what
//! belongs to a command are not shared. Secrets are not in it. It also tells two of them apart.

use std::collections::BTreeSet;

use clewline_job::config::{Config, OutputConfig};
use toml::{Table, Value};

/// The text that is shared.
pub(super) fn write(config: &Config) -> anyhow::Result<String> {
    let mut shared = config.clone();
    let own = OutputConfig::default();
    shared.output.folder = None;
    shared.output.memory = own.memory;
    shared.output.min_free = own.min_free;
    shared.output.overwrite = false;
    shared.output.rescope = false;
    shared.output.repair = false;
    Ok(toml::to_string(&shared)?)
}

/// The configuration in a text that was shared; its secrets are withheld.
pub(super) fn read(text: &str) -> anyhow::Result<Config> {
    Ok(toml::from_str(text)?)
}

/// What differs between the job's configuration and another one, a line each.
pub(super) fn differences(job: &str, other: &str) -> anyhow::Result<Vec<String>> {
    let (job, other): (Table, Table) = (toml::from_str(job)?, toml::from_str(other)?);
    let mut lines = Vec::new();
    compare("", &Value::Table(job), &Value::Table(other), &mut lines);
    Ok(lines)
}

fn compare(name: &str, job: &Value, other: &Value, lines: &mut Vec<String>) {
    let (Value::Table(one), Value::Table(two)) = (job, other) else {
        if job != other {
            lines.push(format!("{name} is {job} there and {other} here"));
        }
        return;
    };
    let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
    for key in keys {
        let full = if name.is_empty() {
            key.clone()
        } else {
            format!("{name}.{key}")
        };
        match (one.get(key), two.get(key)) {
            (Some(job), Some(other)) => compare(&full, job, other, lines),
            (Some(job), None) => lines.push(format!("{full} is {job} there and not set here")),
            (None, Some(other)) => lines.push(format!("{full} is not set there and {other} here")),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_folder_is_the_machines_and_the_rest_is_the_jobs() {
        let mut config = Config::default();
        let shared = write(&config).unwrap();
        config.output.folder = Some(PathBuf::from("elsewhere"));
        assert_eq!(write(&config).unwrap(), shared);
        assert_eq!(write(&read(&shared).unwrap()).unwrap(), shared);
        config.limits.pages = Some(7);
        config.limits.concurrency = 3;
        let other = write(&config).unwrap();
        let told = differences(&shared, &other).unwrap();
        assert_eq!(
            told,
            [
                "limits.concurrency is 100 there and 3 here",
                "limits.pages is not set there and 7 here"
            ]
        );
    }
}
