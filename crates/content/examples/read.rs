//! Reads the pages whose paths are lines of standard input; prints a line of JSON for each.
//!
//! `cargo xtask quality` compares what it prints with the sources of the pages.

use std::io::{self, BufRead as _, Write as _};
use std::time::Duration;

use clewline_content::{Content, ContentLimits, ReadingSpeed, Url};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

fn main() -> io::Result<()> {
    let limits = ContentLimits::default();
    let mut out = io::stdout().lock();
    for path in io::stdin().lock().lines() {
        let path = path?;
        let html = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        let url = Url::from_file_path(&path).map_err(|()| io::ErrorKind::InvalidInput)?;
        let seconds = |speed| {
            let began = processor_time();
            let content = Content::read(&html, &url, speed, &limits);
            let spent = processor_time().saturating_sub(began);
            (content, spent.as_secs_f64())
        };
        let (_, skim) = seconds(ReadingSpeed::Skim);
        let (content, whole) = seconds(ReadingSpeed::Main);
        let line = match content.map(|content| content.main) {
            Ok(Some(main)) => json!({"text": main.text, "markdown": main.markdown,
                "skim": skim, "seconds": whole}),
            Ok(None) => json!({"text": "", "markdown": "", "skim": skim, "seconds": whole}),
            Err(refusal) => json!({"text": "", "markdown": "", "skim": skim, "seconds": whole,
                "refusal": refusal.to_string()}),
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Of this thread, so that a busy machine changes no figure.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
