//! A host that asks for a pause while requests to it are on their way.

use std::sync::Arc;

use bytes::Bytes;
use clewline::Crawl;
use clewline::fetch::{
    Body, BodyTally, FetchFailure, Fetcher, HttpFetcher, Request, Resolution, Response,
};
use clewline_core::url::CrawlUrl;
use futures_util::future::BoxFuture;
use terrarium::{Page, Reply, Site, Step, Web};
use tokio::sync::Semaphore;

use super::support::{config, millis};

/// The way to servers, on which some requests leave only when the head of a refusal was read and
/// its body is being waited for.
struct Staged {
    way: HttpFetcher,
    refused: Arc<Semaphore>,
}

/// The body of the refusal: whoever asks for it has seen the head.
struct Refusal {
    body: Box<dyn Body>,
    refused: Arc<Semaphore>,
}

impl Body for Refusal {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchFailure>> {
        self.refused.add_permits(1);
        self.body.chunk()
    }

    fn tally(&self) -> BodyTally {
        self.body.tally()
    }
}

impl Fetcher for Staged {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<Resolution, FetchFailure>> {
        self.way.resolve(host, port)
    }

    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Response, FetchFailure>> {
        Box::pin(async move {
            let path = request.url.path().to_owned();
            if path.starts_with("/late") {
                // One goes in after the other, and leaves the door open.
                drop(self.refused.acquire().await.unwrap());
            }
            let mut response = self.way.fetch(request).await?;
            if path == "/refused" {
                response.body = Box::new(Refusal {
                    body: response.body,
                    refused: Arc::clone(&self.refused),
                });
            }
            Ok(response)
        })
    }

    fn proxied(&self, url: &CrawlUrl) -> bool {
        self.way.proxied(url)
    }
}

#[test]
fn a_pause_counts_from_the_head_of_the_refusal() {
    let head = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\n";
    let refusal = Reply::Script(vec![
        Step::send(head),
        Step::Wait(millis(1500)),
        Step::send("busy"),
    ]);
    let site = Site::new()
        .robots("")
        .page("/refused", refusal)
        .under("/", |_| Page::html("").into());
    let other = Site::new()
        .robots("")
        .page("/late", Page::html("<a href={{a.test}}/new>new</a>"));
    let web = Web::new()
        .site("a.test", site)
        .site("b.test", other)
        .start();
    let mut config = config(&web, &["a.test/refused", "a.test/late", "b.test/late"]);
    config.limits.tries = 1;
    config.scope.sitemaps = false;
    let fetcher = Staged {
        way: HttpFetcher::new(&config.fetch).unwrap(),
        refused: Arc::new(Semaphore::new(0)),
    };
    let summary = Crawl::from_config(config)
        .fetcher(fetcher)
        .run()
        .and_then(clewline::Running::wait)
        .unwrap();
    assert_eq!(summary.report.facts.todo, 0);
    let log = web.log();
    let of = |path: &str| {
        let log = log.of("a.test");
        let hits: Vec<_> = log
            .iter()
            .filter(|hit| hit.target == path)
            .cloned()
            .collect();
        assert_eq!(hits.len(), 1, "{path}");
        hits[0].clone()
    };
    let refused = of("/refused");
    // One was on its way already, the other was only found while the refusal was still being read.
    for path in ["/late", "/new"] {
        let waited = of(path).at - refused.at;
        assert!(waited >= millis(990), "{path}: {waited:?}");
    }
}
