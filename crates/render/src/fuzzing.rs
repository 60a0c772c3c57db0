//! Bodies for fuzzing: each takes any bytes and asserts what must hold for all of them.
//!
//! Owns nothing but the names; the promises stand beside what they are about. It refuses to know who makes
//! the bytes.

use crate::page::fuzzing;

/// What a browser says while it renders a page: messages that end with a zero byte.
pub fn devtools(data: &[u8]) {
    fuzzing::events(data);
    fuzzing::answers(data);
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    #[test]
    fn devtools() {
        let trial = Trial {
            home: env!("CARGO_MANIFEST_DIR"),
            tokens: &[
                b"\0",
                b"{\"method\":\"Target.attachedToTarget\",\"params\":",
                b"\"sessionId\":\"s\",",
                b"\"method\":\"Fetch.requestPaused\",",
                b"\"frameId\":\"f\"",
                b"\"requestId\":\"1\"",
                b"\\ud800",
                b"{}",
                b"[",
                b"null",
                b"\"",
                b"http://a.test/",
                b"1e400",
            ],
            rounds: 300,
        };
        trial.run("devtools", super::devtools);
    }
}
