//! The words between `clewline ctl` and a running crawl.
//!
//! Owns the line protocol: one request and one answer, each a line of JSON, per connection. It
//! refuses to know sockets. Invariant: no line is longer than its limit, and none takes longer
//! than the time it is given, however slowly the bytes come.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use clewline_core::url::CrawlUrl;
use clewline_job::exclusion::ExclusionPreview;
use clewline_job::hosts::{HostPage, HostQuestion};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Change, Sight};
use crate::report::Tally;
use crate::status::Status;

/// The longest request: a URL and a little around it.
pub(crate) const LONGEST_REQUEST: usize = 128 * 1024;

/// The longest answer: the figures of a few dozen hosts.
pub(crate) const LONGEST_ANSWER: usize = 4 * 1024 * 1024;

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ControlRequest {
    Status,
    Look(CrawlUrl),
    Hosts(Box<HostQuestion>),
    Tally,
    Pause,
    Continue,
    Stop,
    Change(Change),
    Add(String),
    Preview(String),
    Exclude(String),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ControlAnswer {
    Status(Box<Status>),
    Sight(Box<Sight>),
    Hosts(Box<HostPage>),
    Tally(Box<Tally>),
    Preview(Box<ExclusionPreview>),
    Done,
    Refused(String),
    Ending,
}

/// A stream whose reading can be given a time limit.
pub(crate) trait Patient {
    fn wait_at_most(&self, time: Duration) -> io::Result<()>;
}

#[cfg(unix)]
impl Patient for std::os::unix::net::UnixStream {
    fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

/// Reads one line of JSON.
pub(crate) fn receive<T: DeserializeOwned>(
    stream: &mut (impl Read + Patient),
    longest: usize,
    within: Duration,
) -> io::Result<T> {
    let until = Instant::now() + within;
    let mut line = Vec::new();
    let mut piece = [0; 4096];
    while line.last() != Some(&b'\n') {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.wait_at_most(left)?;
        match stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => line.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
        if line.len() > longest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the line is too long",
            ));
        }
    }
    serde_json::from_slice(&line).map_err(io::Error::from)
}

/// Writes one line of JSON.
pub(crate) fn send(stream: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const SOON: Duration = Duration::from_millis(50);

    fn received(bytes: &[u8], longest: usize) -> io::Result<ControlRequest> {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        far.write_all(bytes).unwrap();
        receive(&mut near, longest, SOON)
    }

    #[test]
    fn requests_come_back_as_they_were_sent() {
        for request in [
            ControlRequest::Status,
            ControlRequest::Look(CrawlUrl::parse("http://a.test/x").unwrap()),
            ControlRequest::Pause,
            ControlRequest::Continue,
            ControlRequest::Stop,
            ControlRequest::Change(Change::Rate(5.0)),
            ControlRequest::Change(Change::MaxPages(None)),
        ] {
            let mut line = Vec::new();
            send(&mut line, &request).unwrap();
            assert_eq!(received(&line, LONGEST_REQUEST).unwrap(), request);
        }
    }

    #[test]
    fn nobody_who_is_slow_or_endless_is_waited_for() {
        let kind = |bytes: &[u8]| received(bytes, 100).unwrap_err().kind();
        assert_eq!(kind(b"\"status\""), io::ErrorKind::TimedOut);
        assert_eq!(kind(&[b' '; 200]), io::ErrorKind::InvalidData);
        assert_eq!(kind(b"\"unknown\"\n"), io::ErrorKind::InvalidData);
        let (mut near, far) = UnixStream::pair().unwrap();
        drop(far);
        let gone = receive::<ControlRequest>(&mut near, 100, SOON).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
    }
}
