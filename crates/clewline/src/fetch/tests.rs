//! The whole path of a request against raw servers on loopback.

mod bodies;
mod connections;
mod http2;
mod pauses;
mod proxies;
mod recording;
mod secure;
mod server;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use clewline_core::outcome::FailureClass;
use clewline_core::url::CrawlUrl;

use super::flow::MinimumRate;
use super::proxy::ProxySettings;
use super::{BodyTally, FetchFailure, Fetcher, HttpFetcher, Request, Response, SlotDemand};
use crate::config::FetchConfig;

/// Long enough for any machine; no test waits for it.
const PATIENCE: Duration = Duration::from_mins(1);
/// Short enough to wait for.
const HASTE: Duration = Duration::from_millis(150);

/// A fetcher that no variable of the environment can change.
fn fetcher(config: &FetchConfig) -> HttpFetcher {
    let proxies = ProxySettings::new(config, std::iter::empty()).unwrap();
    HttpFetcher::with_proxies(config, proxies).unwrap()
}

/// The same, with a shorter window for the minimum rate.
fn impatient(rate: u64) -> HttpFetcher {
    let mut fetcher = fetcher(&FetchConfig::default());
    fetcher.pace = MinimumRate::new(rate, HASTE);
    fetcher
}

fn request(url: &str) -> Request {
    Request {
        url: CrawlUrl::parse(url).unwrap(),
        is_head: false,
        address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        cookie: None,
        credentials: false,
        max_body: 1 << 20,
        timeout: PATIENCE,
        patience: None,
        recording: None,
        pauses: None,
        slots: None,
        first_byte: None,
        spaced: false,
        condition: None,
        streams: 1,
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
struct Whole {
    status: u16,
    text: String,
    tally: BodyTally,
    reused: bool,
}

async fn fetch(fetcher: &HttpFetcher, request: Request) -> Result<Whole, FetchFailure> {
    read(fetcher.fetch(request).await?).await
}

async fn read(mut response: Response) -> Result<Whole, FetchFailure> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.body.chunk().await? {
        assert!(
            !piece.is_empty() && piece.len() <= 64 * 1024,
            "{}",
            piece.len()
        );
        bytes.extend_from_slice(&piece);
    }
    assert!(
        response.body.chunk().await?.is_none(),
        "the end stays the end"
    );
    let tally = response.body.tally();
    assert_eq!(tally.decoded, bytes.len() as u64);
    Ok(Whole {
        status: response.status,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        tally,
        reused: response.timings.connect.is_none(),
    })
}

/// The class of a fetch that must fail.
async fn class(fetcher: &HttpFetcher, request: Request) -> FailureClass {
    fetch(fetcher, request).await.unwrap_err().class
}
