//! Fuzz bodies of the files that a check is told by.
//!
//! Owns the claims that hold for any bytes. Refuses to know how bytes are found.

use std::path::Path;

use clewline_job::escape::is_steering;

use super::{CheckSettings, LycheeSettings, lychee_ignore};
use crate::baseline::Baseline;

/// Bytes as each of the files of settings: nothing breaks, and no message steers a terminal.
pub fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let problems = [
        CheckSettings::from_toml("clewline.toml", &text).err(),
        LycheeSettings::from_toml("lychee.toml", &text).err(),
        lychee_ignore(".lycheeignore", &text).err(),
    ];
    for problem in problems.into_iter().flatten().flatten() {
        let told = problem.to_string();
        assert!(!told.chars().any(is_steering), "{told:?}");
    }
}

/// Bytes as a baseline: nothing breaks, and what can be read is written the same again.
pub fn baseline(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Baseline::parse(Path::new("known.json"), &text) {
        Ok(read) => {
            let written = read.to_text();
            let again = Baseline::parse(Path::new("known.json"), &written);
            assert_eq!(again.expect("what is written can be read"), read);
        }
        Err(error) => {
            let told = error.to_string();
            assert!(!told.chars().any(is_steering), "{told:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"[check]\n",
            b"[[check.ignore]]\n",
            b"severity = { '*' = 'off' }\n",
            b"accept = ['200..=299', 403]\n",
            b"until = 2027-01-31\n",
            b"remap = 'https://a.test=http://b.test'\n",
            b"exclude = '('\n",
            b"\"fingerprint\":\"\",",
            b"{\"v\":1,\"findings\":[\n",
            b"]}\n",
            b"\\u001b",
            b"\x1b",
            b"..=",
            b"'",
            b"\"",
            b"\n",
        ],
        rounds: 300,
    };

    #[test]
    fn files_of_settings() {
        TRIAL.run("settings", super::settings);
    }

    #[test]
    fn baselines() {
        TRIAL.run("baseline", super::baseline);
    }
}
