//! What to fetch next, and what an answer means: a crawl without its sockets.
//!
//! Owns the rules of the crawler in the book: which links are followed, how often a URL is
//! tried, where redirects lead, one record per URL. It refuses to know how waiting is done.
//! Invariant: a URL is handed out again only after a failed try, and ends with one record.

use std::collections::{HashSet, VecDeque};
use std::io;

use url::Url;

use crate::hosts::Hosts;
use crate::http::Answer;
use crate::links::{absolute, links};
use crate::options::Options;
use crate::report::Meter;

/// One URL to be fetched.
#[derive(Clone, Debug)]
pub struct Task {
    /// What to fetch.
    pub url: Url,
    max_redirect: u32,
    tries: u32,
}

/// What became of one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchStatistic {
    /// The URL that was asked for.
    pub url: Url,
    /// Where it redirects.
    pub next_url: Option<Url>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The kind of the last failure, and the failure in words.
    pub exception: Option<(String, String)>,
    /// Bytes of the body.
    pub size: usize,
    /// The content type without its parameters.
    pub content_type: Option<String>,
    /// The encoding of the text.
    pub encoding: Option<String>,
    /// Links that may be followed.
    pub num_urls: usize,
    /// Those of them that nobody had seen before.
    pub num_new_urls: usize,
}

impl FetchStatistic {
    /// A record that says nothing yet.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            next_url: None,
            status: None,
            exception: None,
            size: 0,
            content_type: None,
            encoding: None,
            num_urls: 0,
            num_new_urls: 0,
        }
    }
}

/// A crawl under way.
#[derive(Debug)]
pub struct Crawl {
    options: Options,
    hosts: Hosts,
    todo: VecDeque<Task>,
    seen: HashSet<Url>,
    done: Vec<FetchStatistic>,
    in_flight: usize,
    meter: Meter,
}

impl Crawl {
    /// A crawl that begins at the roots.
    pub fn new(options: &Options) -> Result<Self, String> {
        let roots = options.root_urls()?;
        let mut crawl = Self {
            options: options.clone(),
            hosts: Hosts::new(options.lenient, &roots),
            todo: VecDeque::with_capacity(roots.len()),
            seen: HashSet::new(),
            done: Vec::with_capacity(roots.len()),
            in_flight: 0,
            meter: Meter::start(),
        };
        for root in roots {
            crawl.add_url(root, options.max_redirect);
        }
        crawl.meter = Meter::start();
        Ok(crawl)
    }

    /// Hands out the next URL, which must be settled.
    pub fn next_task(&mut self) -> Option<Task> {
        let task = self.todo.pop_front()?;
        self.in_flight += 1;
        self.meter.in_flight(self.in_flight);
        Some(task)
    }

    /// URLs that nobody has taken yet.
    pub fn todo(&self) -> usize {
        self.todo.len()
    }

    /// Whether nothing is to be fetched and nothing is under way.
    pub fn is_finished(&self) -> bool {
        self.todo.is_empty() && self.in_flight == 0
    }

    /// Takes what became of a try; answers how many tasks that added.
    pub fn settle(&mut self, task: Task, result: io::Result<Answer>) -> usize {
        let before = self.todo.len();
        self.in_flight -= 1;
        match result {
            Err(error) => self.fail(task, &error),
            Ok(answer) => match redirect_target(&task.url, &answer) {
                Some(next_url) => self.redirect(&task, &answer, next_url),
                None => self.read(&task, &answer),
            },
        }
        self.todo.len() - before
    }

    /// Everything that is known at the end: what was done, how much was left, how it went.
    pub fn into_parts(self) -> (Vec<FetchStatistic>, usize, Meter) {
        (self.done, self.todo.len() + self.in_flight, self.meter)
    }

    fn add_url(&mut self, url: Url, max_redirect: u32) {
        if self.seen.len() < self.options.max_urls && self.seen.insert(url.clone()) {
            self.todo.push_back(Task {
                url,
                max_redirect,
                tries: 0,
            });
        }
    }

    fn fail(&mut self, mut task: Task, error: &io::Error) {
        task.tries += 1;
        let (url, tries) = (&task.url, task.tries);
        // Nothing that this program could do differently the next time.
        let is_hopeless = error.kind() == io::ErrorKind::Unsupported;
        if tries < self.options.max_tries && !is_hopeless {
            self.options
                .info(&format!("try {tries} for {url} raised {error}"));
            self.todo.push_front(task);
            return;
        }
        self.options
            .error(&format!("{url} failed after {tries} tries: {error}"));
        self.done.push(FetchStatistic {
            exception: Some((format!("{:?}", error.kind()), error.to_string())),
            ..FetchStatistic::new(task.url)
        });
    }

    /// Redirects may leave the roots' hosts. Several URLs may lead to the same place, which is
    /// fetched once; that is also how circles end.
    fn redirect(&mut self, task: &Task, answer: &Answer, next_url: Url) {
        let url = &task.url;
        self.done.push(FetchStatistic {
            next_url: Some(next_url.clone()),
            ..statistic(url, answer)
        });
        if self.seen.contains(&next_url) {
            return;
        }
        if task.max_redirect == 0 {
            let text = format!("redirect limit reached for {next_url} from {url}");
            self.options.error(&text);
            return;
        }
        self.options
            .info(&format!("redirect to {next_url} from {url}"));
        self.add_url(next_url, task.max_redirect - 1);
    }

    fn read(&mut self, task: &Task, answer: &Answer) {
        let mut statistic = statistic(&task.url, answer);
        let content_type = statistic.content_type.as_deref();
        let is_page = matches!(content_type, Some("text/html" | "application/xml"));
        if answer.status == 200 && is_page {
            let (text, encoding, _) = answer.encoding().decode(&answer.body);
            statistic.encoding = Some(encoding.name().to_ascii_lowercase());
            let mut found = links(&task.url, &text);
            found.retain(|url| self.may_follow(url));
            statistic.num_urls = found.len();
            found.retain(|url| !self.seen.contains(url));
            statistic.num_new_urls = found.len();
            let (all, new) = (statistic.num_urls, statistic.num_new_urls);
            self.options
                .debug(&format!("{new} of {all} links of {} are new", task.url));
            for url in found {
                self.add_url(url, self.options.max_redirect);
            }
        }
        self.done.push(statistic);
    }

    fn may_follow(&self, url: &Url) -> bool {
        let exclude = self.options.exclude.as_ref();
        let is_excluded = exclude.is_some_and(|exclude| exclude.is_match(url.as_str()));
        !is_excluded && self.hosts.allow(url)
    }
}

fn redirect_target(url: &Url, answer: &Answer) -> Option<Url> {
    let location = answer.header("location")?;
    matches!(answer.status, 300..=303 | 307).then(|| absolute(url, location))?
}

fn statistic(url: &Url, answer: &Answer) -> FetchStatistic {
    FetchStatistic {
        status: Some(answer.status),
        size: answer.body.len(),
        content_type: answer.content_type(),
        ..FetchStatistic::new(url.clone())
    }
}

#[cfg(test)]
mod tests;
