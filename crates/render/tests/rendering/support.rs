//! Browsers and the web that they see.
//!
//! Owns a web of answers in memory, and the choice whether a machine without a browser is a failure. The
//! test command sets `CLEWLINE_BROWSER_TESTS` after it installed a browser: from then on nothing is
//! skipped in silence.

use std::collections::HashMap;
use std::env;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use clewline_render::{
    BrowserOptions, BrowserPool, LaunchError, PartAnswer, PartFetcher, PartRefusal, PartRequest,
    RenderError, RenderInput, Rendering,
};
use futures_util::future::BoxFuture;

/// The page that all tests render.
pub(crate) const PAGE: &str = "http://site.test/dir/page";

/// A web in memory. A path that it lacks has no answer.
#[derive(Default)]
pub(crate) struct Web {
    answers: HashMap<String, (&'static str, Vec<u8>)>,
    pub(crate) redirects: HashMap<String, String>,
    pub(crate) refusals: HashMap<String, PartRefusal>,
    asked: Mutex<Vec<PartRequest>>,
    slow: Option<(String, Duration)>,
}

impl Web {
    pub(crate) fn with(answers: &[(&str, &'static str, &str)]) -> Self {
        let answers = answers
            .iter()
            .map(|(url, kind, body)| ((*url).to_owned(), (*kind, body.as_bytes().to_vec())));
        Self {
            answers: answers.collect(),
            ..Self::default()
        }
    }

    /// A web that lacks everything, and says so late for one URL.
    pub(crate) fn slow(url: &str, delay: Duration) -> Self {
        Self {
            slow: Some((url.to_owned(), delay)),
            ..Self::default()
        }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|request| request.url.clone()).collect()
    }

    fn answer(&self, request: &PartRequest) -> PartAnswer {
        if let Some(refusal) = self.refusals.get(&request.url) {
            return PartAnswer::Refused(*refusal);
        }
        if let Some(target) = self.redirects.get(&request.url) {
            return PartAnswer::Response {
                status: 302,
                headers: vec![("Location".to_owned(), target.as_bytes().to_vec())],
                body: Bytes::new(),
            };
        }
        match self.answers.get(&request.url) {
            Some((kind, body)) => PartAnswer::Response {
                status: 200,
                headers: vec![("Content-Type".to_owned(), kind.as_bytes().to_vec())],
                body: body.clone().into(),
            },
            None => PartAnswer::Failed("nobody answers".to_owned()),
        }
    }
}

impl PartFetcher for Web {
    fn fetch(&self, request: PartRequest) -> BoxFuture<'_, PartAnswer> {
        let answer = self.answer(&request);
        let slow = self.slow.iter().find(|(url, _)| *url == request.url);
        let delay = slow.map(|(_, delay)| *delay);
        self.asked.lock().unwrap().push(request);
        Box::pin(async move {
            if let Some(delay) = delay {
                tokio::time::sleep(delay).await;
            }
            answer
        })
    }
}

/// An HTML page as it was fetched.
pub(crate) fn html(url: &str, body: &str) -> RenderInput {
    RenderInput {
        url: url.to_owned(),
        status: 200,
        headers: vec![(
            "Content-Type".to_owned(),
            b"text/html; charset=utf-8".to_vec(),
        )],
        body: body.to_owned().into(),
    }
}

/// Browsers, or none where no test command installed one.
pub(crate) fn pool(options: BrowserOptions) -> Option<BrowserPool> {
    let is_promised = env::var_os("CLEWLINE_BROWSER_TESTS").is_some();
    match BrowserPool::launch(options) {
        Ok(pool) => Some(pool),
        Err(
            error @ (LaunchError::NotInstalled(_)
            | LaunchError::NoSandbox
            | LaunchError::NoBubblewrap),
        ) if !is_promised => {
            eprintln!("SKIPPED, although it matters: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Renders one page.
pub(crate) async fn render(
    pool: &BrowserPool,
    body: &str,
    web: &Arc<Web>,
) -> Result<Rendering, RenderError> {
    let parts: Arc<dyn PartFetcher> = web.clone();
    pool.render(html(PAGE, body), parts).await
}
