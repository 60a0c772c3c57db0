//! A browser that is driven: pages opened, keys pressed, links clicked.
//!
//! Owns the conversation with Chromium over its debugging pipe: JSON in both directions, each
//! message ended by a zero byte (Chrome `DevTools` Protocol). It refuses to know what a page should
//! do. Invariant: what a page complains of, a policy that was broken included, is kept.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::browser::width_of;
use crate::stage::say;

/// How long a page may take to become what is expected, and how often we look.
const PATIENCE: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(20);

/// The browser reads from its third descriptor and writes to its fourth; a shell puts them there.
pub(crate) const PIPED: [&str; 2] = ["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >&2"#];
/// What makes the browser listen there.
pub(crate) const LISTEN: &str = "--remote-debugging-pipe";

/// A window, and whether it is dark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) size: (u32, u32),
    pub(crate) scheme: &'static str,
}

/// Keys that write nothing or are no letters, with their codes.
const KEYS: [(&str, u32); 4] = [
    ("Enter", 13),
    ("Escape", 27),
    ("ArrowUp", 38),
    ("ArrowDown", 40),
];

/// A browser with one page; it ends with this value.
pub(crate) struct Driver {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    calls: u64,
    complaints: Vec<String>,
}

impl Driver {
    /// Starts the browser, which must have been told to listen.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the browser does not start")?;
        let input = child.stdin.take().context("stdin was asked for")?;
        let output = child.stdout.take().context("stdout was asked for")?;
        let mut driver = Self {
            child,
            input,
            output: BufReader::new(output),
            session: None,
            calls: 0,
            complaints: Vec::new(),
        };
        let target = driver.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = driver.call("Target.attachToTarget", attach)?;
        driver.session = session["sessionId"].as_str().map(ToOwned::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            driver.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(driver)
    }

    /// Calls a method and waits for its answer.
    fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method });
        message["params"] = parameters;
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = serde_json::to_vec(&message)?;
        bytes.push(0);
        self.input.write_all(&bytes)?;
        self.input.flush()?;
        loop {
            let mut answer = self.message()?;
            if answer["id"] != self.calls {
                self.note(&answer);
            } else if answer["error"].is_null() {
                return Ok(answer["result"].take());
            } else {
                bail!("{method}: {}", answer["error"]["message"]);
            }
        }
    }

    fn message(&mut self) -> Result<Value> {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes)?;
        ensure!(bytes.pop() == Some(0), "the browser has gone");
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Keeps what a page complains of.
    fn note(&mut self, event: &Value) {
        let told = match event["method"].as_str() {
            Some("Log.entryAdded") => &event["params"]["entry"]["text"],
            Some("Runtime.exceptionThrown") => &event["params"]["exceptionDetails"],
            Some("Runtime.consoleAPICalled") => &event["params"]["args"],
            _ => return,
        };
        self.complaints.push(told.to_string());
    }

    /// What pages complained of since this was asked last.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    /// Opens a page, and waits until it is there.
    pub(crate) fn open(&mut self, url: &str) -> Result<()> {
        let opened = self.call("Page.navigate", json!({ "url": url }))?;
        ensure!(opened["errorText"].is_null(), "{url}: {opened}");
        self.until(&format!(
            "location.href === {} && document.readyState === 'complete'",
            json!(url)
        ))
    }

    /// The value of an expression on the page.
    pub(crate) fn value(&mut self, expression: &str) -> Result<Value> {
        let ask = json!({ "expression": expression, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", ask)?;
        if !answer["exceptionDetails"].is_null() {
            bail!("{expression}: {}", answer["exceptionDetails"]);
        }
        Ok(answer["result"]["value"].take())
    }

    /// Waits until an expression is true on the page.
    pub(crate) fn until(&mut self, expression: &str) -> Result<()> {
        let began = Instant::now();
        // A page that is being left has no values.
        while !self.value(expression).is_ok_and(|value| value == true) {
            if began.elapsed() > PATIENCE {
                let page = self.value("document.body.innerText").unwrap_or_default();
                bail!("{expression} does not become true on {page}");
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) -> Result<()> {
        let known = KEYS.iter().find(|(name, _)| *name == key);
        let code = known.map_or(0, |(_, code)| *code);
        let mut event = json!({ "key": key, "windowsVirtualKeyCode": code, "type": "keyDown" });
        match key {
            "Enter" => event["text"] = "\r".into(),
            _ if known.is_none() => event["text"] = key.into(),
            _ => {}
        }
        self.call("Input.dispatchKeyEvent", event)?;
        let up = json!({ "key": key, "windowsVirtualKeyCode": code, "type": "keyUp" });
        self.call("Input.dispatchKeyEvent", up)?;
        Ok(())
    }

    /// Writes, key by key.
    pub(crate) fn write(&mut self, text: &str) -> Result<()> {
        for character in text.chars() {
            self.press(&character.to_string())?;
        }
        Ok(())
    }

    /// Clicks on the first element of a selector.
    pub(crate) fn click(&mut self, selector: &str) -> Result<()> {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}}); \
            const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        ))?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1
            });
            self.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// Makes the window so large, in light or dark.
    pub(crate) fn resize(&mut self, window: Window) -> Result<()> {
        let (width, height) = window.size;
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600
        });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let scheme = json!({ "name": "prefers-color-scheme", "value": window.scheme });
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [scheme] }),
        )?;
        Ok(())
    }

    /// Lets the page's scripts run, or not.
    pub(crate) fn scripts(&mut self, scripts: Scripts) -> Result<()> {
        let value = scripts == Scripts::Blocked;
        self.call(
            "Emulation.setScriptExecutionDisabled",
            json!({ "value": value }),
        )?;
        Ok(())
    }

    /// Takes a picture for people to look at.
    pub(crate) fn picture(&mut self, file: &Path, width: u32) -> Result<()> {
        let taken = self.call("Page.captureScreenshot", json!({ "format": "png" }))?;
        let data = taken["data"].as_str().unwrap_or_default();
        let bytes = decoded(data).context("a picture is no base 64")?;
        ensure!(
            width_of(&bytes) == Some(width),
            "{} is not {width} wide",
            file.display()
        );
        fs::write(file, bytes)?;
        say(&format!("picture: {}", file.display()));
        Ok(())
    }
}

/// Whether scripts of a page run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scripts {
    Allowed,
    Blocked,
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// RFC 4648, section 4; nothing if it is none.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(sextet);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_read() {
        for (text, bytes) in [
            ("", Some(&b""[..])),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9vYmFy", Some(b"foobar")),
            ("/+8=", Some(b"\xff\xef")),
            ("a b", None),
        ] {
            assert_eq!(decoded(text).as_deref(), bytes, "{text}");
        }
    }
}
