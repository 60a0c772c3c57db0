//! The machine and the versions that figures hold for; nothing that names its owner.

use std::fs;

use serde_json::{Value, json};

use super::ground::said;

/// What the figures depend on.
pub(crate) fn describe() -> Value {
    json!({
        "date": line("date", &["--utc", "+%Y-%m-%d"]),
        "processor": field("/proc/cpuinfo", "model name"),
        "cores": line("nproc", &["--all"]),
        "memory": field("/proc/meminfo", "MemTotal"),
        "system": field("/etc/os-release", "PRETTY_NAME").map(|name| name.replace('"', "")),
        "kernel": line("uname", &["-r"]).map(|text| kernel(&text)),
        "rustc": rustc(),
        "commit": line("git", &["rev-parse", "--short=12", "HEAD"]),
    })
}

/// The compiler's version, with its commit.
pub(crate) fn rustc() -> String {
    line("rustc", &["--version"]).unwrap_or_else(|| "unknown".to_owned())
}

/// What a program says, without the end of the line.
fn line(program: &str, arguments: &[&str]) -> Option<String> {
    said(program, arguments).map(|text| text.trim().to_owned())
}

/// The number alone: what follows it is often a name of whoever built the kernel.
fn kernel(release: &str) -> String {
    let end = release.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    release[..end.unwrap_or(release.len())].to_owned()
}

/// The value of the first line `NAME: value` or `NAME=value`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let (_, value) = line.split_once([':', '='])?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn kernels_are_named_by_number() {
        assert_eq!(super::kernel("6.18.3-somebody1\n"), "6.18.3");
        assert_eq!(super::kernel("6.1"), "6.1");
    }
}
