//! The walk to one page: whatever the frontier of a crawl asks for, until the page is settled.
//!
//! Owns the loop around a frontier of its own that holds one root. Redirects, robots.txt,
//! private addresses, guessed schemes and cookie walls are the frontier's decisions; here they
//! are only written down; the jobs are run as in a crawl, one at a time. It refuses to try again:
//! a person is waiting, who can.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clewline_core::cookies::CookieJar;
use clewline_core::frontier::{
    Admission, Ending, Failure, FetchJob, Finished, Frontier, HoldKind, HostRules, MemoryStore,
    Moment, Next, Note, Patience, Rules, Settled, Work,
};
use clewline_core::limits::Limits;
use clewline_core::outcome::{FailureClass, Outcome, Retry, SkipReason, is_redirect_status};
use clewline_core::url::CrawlUrl;

use clewline_job::inspection::{
    Conclusion, FORMAT, Hop, HopFailure, Inspection, Remark, RobotsFile,
};

use super::hop::{Reading, Sent};
use super::judge::judge;
use crate::clock::millis;
use crate::config::{Config, Root};
use crate::crawl::{CrawlError, load_cookies};
use crate::engine::runner::{JobResult, JobRunner, RequestExtras};
use crate::engine::{keep_cookies, sent_cookies};
use crate::extract::PageExtractor;
use crate::fetch::HttpFetcher;
use crate::folder::new_seed;
use crate::trusted::{Trusted, Way};

/// The longest pause between two requests. A crawl waits as long as it is asked to; these are
/// the few requests of one person for one page.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An inspection under way.
pub(super) struct Visit<'a> {
    config: &'a Config,
    trusted: Trusted,
    runner: JobRunner,
    frontier: Frontier<MemoryStore>,
    jar: CookieJar,
    pub(super) begun: Instant,
    /// The time of a resolution that no request has been charged with yet.
    resolve_time: Option<Duration>,
    pub(super) hops: Vec<Hop>,
    /// The last page that was read.
    reading: Option<Reading>,
    /// What the frontier said to each of its links.
    verdicts: Vec<Admission>,
    /// The rules as configured; those of the frontier always ask for robots.txt.
    pub(super) configured: Rules,
    /// The URL that is tried now.
    pub(super) at: CrawlUrl,
    /// Addresses by origin, and how many of them failed.
    addresses: HashMap<String, (Vec<IpAddr>, usize)>,
    /// The next request goes to another address of the same host.
    rotates: bool,
    pub(super) files: Vec<RobotsFile>,
    /// Where the redirect of a robots.txt leads.
    pub(super) files_next: Option<CrawlUrl>,
    remarks: Vec<Remark>,
}

/// What a settled job was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Resolve,
    Robots,
    Page,
}

impl<'a> Visit<'a> {
    pub(super) fn new(config: &'a Config, root: &Root) -> Result<Self, CrawlError> {
        let configured = config.rules(new_seed())?;
        let fetcher = Arc::new(HttpFetcher::new(&config.fetch)?);
        let extractor = PageExtractor::new(&config.extract, &config.fetch.robots_token());
        let frontier = Frontier::new(rules(&configured), MemoryStore::default());
        let mut runner = JobRunner::new(config, &frontier, fetcher, Arc::new(extractor));
        runner.keeps_whole = true;
        runner.wants_verdicts = true;
        Ok(Self {
            config,
            trusted: Trusted::for_roots(config),
            runner,
            frontier,
            jar: load_cookies(config)?,
            begun: Instant::now(),
            resolve_time: None,
            hops: Vec::new(),
            reading: None,
            verdicts: Vec::new(),
            configured,
            at: root.url.clone(),
            addresses: HashMap::new(),
            rotates: false,
            files: Vec::new(),
            files_next: None,
            remarks: Vec::new(),
        })
    }

    pub(super) async fn run(mut self, root: &Root) -> Inspection {
        let now = self.runner.clock.now();
        let Ok(_) = self
            .frontier
            .admit_root(root.url.clone(), root.guessed_scheme, now);
        let conclusion = loop {
            if let Some(conclusion) = self.step().await {
                break conclusion;
            }
        };
        self.conclude(root, conclusion)
    }

    fn conclude(self, root: &Root, conclusion: Conclusion) -> Inspection {
        let is_read = match conclusion {
            Conclusion::Fetched => true,
            Conclusion::Skipped { reason, .. } => reason == SkipReason::ContentType,
            _ => false,
        };
        let mut inspection = Inspection {
            v: FORMAT,
            url: root.url.clone(),
            user_agent: self.config.fetch.agent(),
            conclusion,
            hops: self.hops,
            robots: Vec::new(),
            page: None,
            links: Vec::new(),
            remarks: self.remarks,
            total: millis(self.begun.elapsed()),
            body: bytes::Bytes::new(),
        };
        if let Some(reading) = self.reading.filter(|_| is_read) {
            let sitemaps = self.configured.sitemaps;
            inspection.links = judge(reading.links, &self.verdicts, sitemaps, &self.files);
            inspection.page = Some(reading.facts);
            inspection.body = reading.body;
        }
        inspection.robots = self.files;
        inspection
    }

    async fn step(&mut self) -> Option<Conclusion> {
        let now = self.runner.clock.now();
        let Ok(next) = self.frontier.next(now);
        match next {
            Next::Start(job) => self.perform(job).await,
            Next::Settled(finished) => self.refused(&finished),
            Next::WaitUntil(at) => self.pause(at).await,
            // One root is either handed out, held or settled.
            Next::Waiting | Next::Idle | Next::Done(_) => Some(Conclusion::Failed {
                failure: FailureClass::Internal,
                why: "the frontier lost the URL".to_owned(),
            }),
        }
    }

    async fn perform(&mut self, job: FetchJob) -> Option<Conclusion> {
        self.rotates = false;
        let (step, url, address) = match &job.work {
            Work::Resolve { .. } => return self.resolve(job).await,
            Work::Robots { url, address, .. } => (Step::Robots, url.clone(), *address),
            Work::Page { url, address, .. } | Work::Errand { url, address, .. } => {
                (Step::Page, url.clone(), *address)
            }
        };
        match step {
            Step::Robots => self.open_file(&url),
            Step::Page | Step::Resolve => self.judge_by_robots(&url),
        }
        let cookie = self.cookie(&url);
        let proxied = self.runner.fetcher.proxied(&url);
        let sent = Sent {
            url: url.clone(),
            started: self.begun.elapsed(),
            address: address.filter(|_| !proxied),
            proxied,
            with_cookies: cookie.is_some(),
            resolve: self.resolve_time.take(),
        };
        // Whatever is asked here is a root or behind its redirects.
        let extras = RequestExtras::new(cookie, self.trusted.includes(&url, Way::Root));
        let mut result = self.run_job(job, extras).await;
        let mut hop = sent.hop(&result);
        if step == Step::Robots {
            self.note_robots(&url, hop, &result);
            self.excuse(&mut result.settlement.ending);
        } else {
            hop.cookies_kept = self.keep_cookies(&url, &result);
            if let Some(answer) = result.answer_mut() {
                answer.cookie = hop.cookies_kept > 0;
            }
            self.hops.push(hop);
            self.reading = Reading::new(&mut result).or(self.reading.take());
        }
        self.settle(step, result)
    }

    /// Runs a job as a crawl does, but in its full time: nobody waits for its slot, and a request
    /// that was lost on an old connection is sent once more, at once.
    async fn run_job(&self, mut job: FetchJob, extras: RequestExtras) -> JobResult {
        job.patience = Patience::Full;
        if let Work::Page { spaced, .. } | Work::Robots { spaced, .. } = &mut job.work {
            *spaced = false;
        }
        let mut result = self.runner.run(self.runner.prepare(job, extras)).await;
        // However long it asks to be left alone, its answer is shown.
        if let Some(answer) = result.answer_mut() {
            answer.retry_after = None;
        }
        result
    }

    fn cookie(&self, url: &CrawlUrl) -> Option<String> {
        let cookie = sent_cookies(&self.jar, url);
        cookie.filter(|_| self.config.fetch.cookies)
    }

    /// Keeps the cookies of an answer, of one that broke off, too; answers how many.
    fn keep_cookies(&mut self, url: &CrawlUrl, result: &JobResult) -> u32 {
        let Some(whole) = result.whole.as_ref().filter(|_| self.config.fetch.cookies) else {
            return 0;
        };
        keep_cookies(&mut self.jar, url, whole.headers.all("set-cookie"))
    }

    async fn resolve(&mut self, job: FetchJob) -> Option<Conclusion> {
        let url = job.work.url().clone();
        let begun = Instant::now();
        let result = self.run_job(job, RequestExtras::default()).await;
        if !self.runner.fetcher.proxied(&url) {
            self.resolve_time = Some(begun.elapsed());
        }
        match &result.settlement.ending {
            Ending::Resolved { addresses, .. } if !addresses.is_empty() => {
                let known = (addresses.clone(), 0);
                self.addresses.insert(url.origin().to_owned(), known);
            }
            Ending::Failed(failure) => {
                let is_next = self.files_next.as_ref() == Some(&url);
                if let Some(file) = self.files.last_mut().filter(|_| is_next) {
                    let hop = Hop::unasked(&url, millis(self.begun.elapsed()));
                    file.hops.push(hop.failed(failure));
                }
            }
            _ => {}
        }
        self.settle(Step::Resolve, result)
    }

    fn settle(&mut self, step: Step, mut result: JobResult) -> Option<Conclusion> {
        let failure = match &result.settlement.ending {
            Ending::Failed(failure) => Some(failure.clone()),
            _ => None,
        };
        let tried = self.at.clone();
        let now = self.runner.clock.now();
        let Ok(settled) = self.frontier.settle(&mut result.settlement, now);
        let fell_back = self.hear();
        if let Some(failure) = &failure
            && !matches!(settled, Settled::Prepared)
        {
            self.note_host_failure(&tried, step, failure);
        }
        match (settled, failure) {
            (Settled::Done(finished), _) => {
                let verdicts = result
                    .answer_mut()
                    .and_then(|answer| answer.verdicts.take());
                self.verdicts = verdicts.unwrap_or_default();
                self.finished(&finished)
            }
            // It set a cookie and leads to itself: it is asked again with that.
            (Settled::Again(_), None) if self.is_redirected() => None,
            (Settled::Again(_), None) => {
                self.not_now();
                Some(Conclusion::Fetched)
            }
            (Settled::Again(_), Some(_)) if fell_back => None,
            (Settled::Again(_), Some(failure)) => {
                self.rotates = self.has_another_address(&tried, &failure);
                (!self.rotates).then(|| failed(&failure))
            }
            (Settled::Prepared | Settled::Errand(_), failure) => failure
                .filter(|failure| failure.excuse.is_some())
                .map(|failure| failed(&failure)),
        }
    }

    /// The host failed before the page was asked for: that is the page's failure.
    fn note_host_failure(&mut self, tried: &CrawlUrl, step: Step, failure: &Failure) {
        let asked = match step {
            Step::Page => return,
            Step::Resolve => None,
            Step::Robots => self.files.pop().and_then(|mut file| file.hops.pop()),
        };
        let hop = asked.map(|hop| Hop {
            url: tried.clone(),
            ..hop
        });
        let unasked = || Hop::unasked(tried, millis(self.begun.elapsed())).failed(failure);
        self.hops.push(hop.unwrap_or_else(unasked));
    }

    /// Whether the host has an address that may be asked and was not.
    fn has_another_address(&mut self, url: &CrawlUrl, failure: &Failure) -> bool {
        let Some((addresses, failures)) = self.addresses.get_mut(url.origin()) else {
            return false;
        };
        *failures += 1;
        let policy = &self.frontier.rules().addresses;
        let permitted = addresses.iter().filter(|it| policy.permits(**it)).count();
        failure.class.retry() == Retry::Host && failure.excuse.is_none() && *failures < permitted
    }

    fn is_redirected(&self) -> bool {
        let status = self.hops.last().and_then(|hop| hop.status);
        status.is_some_and(is_redirect_status)
    }

    /// The status says "not now", and a crawl would come back.
    fn not_now(&mut self) {
        let status = self.hops.last().and_then(|hop| hop.status);
        let remark = status.map(|status| Remark::WouldRetry { status });
        self.remarks.extend(remark);
    }

    fn finished(&mut self, finished: &Finished) -> Option<Conclusion> {
        match &finished.outcome {
            Outcome::Redirected(to) if finished.new_links > 0 => {
                self.at = to.clone();
                None
            }
            Outcome::Redirected(to) => Some(Conclusion::Redirected {
                to: to.clone(),
                why: words(
                    finished,
                    "it was asked for already: the redirects run in a circle",
                ),
            }),
            Outcome::Fetched | Outcome::Unmodified => Some(Conclusion::Fetched),
            Outcome::Skipped(reason) => Some(Conclusion::Skipped {
                reason: *reason,
                why: words(finished, reason.about()),
            }),
            Outcome::Failed(class) => Some(Conclusion::Failed {
                failure: *class,
                why: words(finished, class.about()),
            }),
        }
    }

    /// A URL reached its end without a request.
    fn refused(&mut self, finished: &Finished) -> Option<Conclusion> {
        let url = &finished.entry.url;
        self.hear();
        if finished.outcome == Outcome::Skipped(SkipReason::Robots) {
            self.judge_by_robots(url);
        }
        let conclusion = self.finished(finished);
        let mut hop = Hop::unasked(url, millis(self.begun.elapsed()));
        if let Some(Conclusion::Failed { failure, why }) = &conclusion {
            hop.failure = Some(HopFailure {
                class: *failure,
                message: why.clone(),
            });
        }
        self.hops.push(hop);
        conclusion
    }

    /// Waits as the frontier asks, but not long; what parks a host ends the inspection.
    async fn pause(&mut self, at: Moment) -> Option<Conclusion> {
        let now = self.runner.clock.now();
        let held = self.frontier.hold(now).map(|hold| hold.by);
        let is_long = matches!(
            held,
            Some(HoldKind::Parked | HoldKind::Robots | HoldKind::Retry { .. })
        );
        if !self.rotates && is_long {
            return Some(self.robots_unreachable());
        }
        if !self.rotates {
            tokio::time::sleep(at.saturating_sub(now).min(LONGEST_PAUSE)).await;
        }
        // Of a pause that was cut short the frontier knows nothing.
        self.runner.clock.skip_to(at);
        None
    }

    /// Takes in what the frontier has to say; whether https became http.
    fn hear(&mut self) -> bool {
        let mut fell_back = false;
        for note in self.frontier.notes() {
            match note {
                Note::SchemeFellBack { url } => {
                    self.at = url.clone();
                    self.remarks.push(Remark::SchemeFellBack { url });
                    fell_back = true;
                }
                Note::HostJoined { host } => {
                    let host = host.into();
                    self.remarks.push(Remark::HostJoined { host });
                }
                _ => {}
            }
        }
        fell_back
    }
}

/// The rules of a frontier that leads to one page: no budgets, no sitemaps, and robots.txt is
/// always asked for, because its verdict is worth knowing where it is not obeyed, too.
fn rules(configured: &Rules) -> Rules {
    let mut rules = configured.clone();
    rules.sitemaps = false;
    rules.limits = Limits {
        pages: None,
        pages_per_host: None,
        bytes: None,
        time: None,
        ..rules.limits
    };
    let asks = |host: &mut Arc<HostRules>| {
        let host = Arc::make_mut(host);
        host.robots = true;
        host.pages = None;
    };
    asks(&mut rules.host);
    for pattern in &mut rules.hosts {
        asks(&mut pattern.rules);
    }
    rules
}

fn failed(failure: &Failure) -> Conclusion {
    Conclusion::Failed {
        failure: failure.class,
        why: failure.message.to_string(),
    }
}

fn words(finished: &Finished, otherwise: &str) -> String {
    let error = finished.error.as_deref();
    error.unwrap_or(otherwise).to_owned()
}
