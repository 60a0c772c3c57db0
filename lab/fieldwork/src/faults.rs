//! What a test needs to do harm to a machine: a file system of its own, a clock that lies.
//!
//! Owns whether such a thing can be had here, and where. It refuses to know what is harmed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command behind which a process may mount file systems that only it sees, if there is one.
pub fn own_mounts() -> Option<&'static str> {
    let ways = ["unshare -m", "unshare -r -m"];
    ways.into_iter().find(|way| {
        let script = format!("{way} sh -c 'mount -t tmpfs -o size=1m none /mnt'");
        let mut command = Command::new("sh");
        let tried = command.args(["-c", &script]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    })
}

/// The library that lies about the time, installed or unpacked below the target folder.
pub fn faketime() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let unpacked = target.join("packages/libfaketime");
    let below = ["x86_64", "aarch64"]
        .map(|machine| format!("usr/lib/{machine}-linux-gnu/faketime/libfaketimeMT.so.1"));
    let roots = [PathBuf::from("/"), unpacked];
    let mut files = roots
        .iter()
        .flat_map(|root| below.iter().map(move |file| root.join(file)));
    files.find(|file| file.is_file())
}
