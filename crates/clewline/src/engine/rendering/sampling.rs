//! Whether rendering pays, by the template of a page.
//!
//! Owns a small sample: of pages that do not look empty, the first of each template are rendered, and
//! whether that brought links or text decides for the others. A failed rendering teaches nothing. It
//! refuses to know what is done with the answer. Invariant: at most [`PER_TEMPLATE`] samples of a
//! template and [`PER_HOST`] of a host are taken, and what is remembered is bounded.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use clewline_core::key::HostId;
use clewline_core::url::CrawlUrl;

use crate::config::RenderUse;

/// Samples of a template.
const PER_TEMPLATE: u8 = 2;
/// Samples of a host.
const PER_HOST: u8 = 20;
/// Templates that are remembered; pages of others are not rendered.
const MOST_TEMPLATES: usize = 20_000;
/// Segments of a path that tell templates apart.
const SEGMENTS: usize = 4;

/// What is known of a template.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    begun: u8,
    useful: u8,
}

/// What is known of a host.
#[derive(Debug, Clone, Copy, Default)]
struct HostSamples {
    taken: u8,
    /// A template of it is rendered.
    has_useful: bool,
}

/// What a page has to be for a browser to get it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenderProspect {
    /// Anything.
    Open,
    /// A page that looks empty.
    ShellOnly,
    /// No browser gets it.
    Closed,
}

/// Which pages may be rendered, for those who read them: what nobody will render is not kept.
#[derive(Debug, Clone)]
pub(crate) struct RenderWish {
    when: RenderUse,
    sampling: Arc<RwLock<Sampling>>,
    /// The crawl renders nothing more.
    is_over: Arc<AtomicBool>,
}

impl RenderWish {
    pub(crate) fn new(when: RenderUse) -> Self {
        Self {
            when,
            sampling: Arc::default(),
            is_over: Arc::default(),
        }
    }

    /// What a page has to be for a browser to get it, going by what is known just now.
    pub(crate) fn prospect(&self, host: HostId, url: &CrawlUrl) -> RenderProspect {
        if self.is_over.load(Ordering::Relaxed) {
            return RenderProspect::Closed;
        }
        match self.when {
            RenderUse::Never => RenderProspect::Closed,
            RenderUse::Always => RenderProspect::Open,
            RenderUse::Auto => {
                let sampling = self.sampling.read();
                let sampling = sampling.unwrap_or_else(PoisonError::into_inner);
                if sampling.may_want(host, url) {
                    RenderProspect::Open
                } else {
                    RenderProspect::ShellOnly
                }
            }
        }
    }

    /// No page is rendered any more.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Whether a page is to be rendered.
    pub(super) fn wants(&self, host: HostId, url: &CrawlUrl, is_shell: bool) -> bool {
        match self.when {
            RenderUse::Never => false,
            RenderUse::Always => true,
            RenderUse::Auto => is_shell || self.change(|sampling| sampling.wants(host, url)),
        }
    }

    /// A rendering of a page succeeded, and this is what it was good for.
    pub(super) fn learn(&self, host: HostId, url: &CrawlUrl, use_of_it: Gain) {
        self.change(|sampling| sampling.learn(host, url, use_of_it));
    }

    fn change<T>(&self, change: impl FnOnce(&mut Sampling) -> T) -> T {
        let sampling = self.sampling.write();
        change(&mut sampling.unwrap_or_else(PoisonError::into_inner))
    }
}

/// What renderings taught.
#[derive(Debug, Default)]
struct Sampling {
    templates: HashMap<(HostId, String), Sample>,
    hosts: HashMap<HostId, HostSamples>,
}

impl Sampling {
    /// Whether a page that does not look empty may be rendered, as a sample or by what its template taught.
    fn may_want(&self, host: HostId, url: &CrawlUrl) -> bool {
        let of_host = self.hosts.get(&host).copied().unwrap_or_default();
        if of_host.taken >= PER_HOST && !of_host.has_useful {
            return false;
        }
        let known = self.templates.get(&(host, template(url)));
        let known = known.copied().unwrap_or_default();
        known.useful > 0 || self.has_sample(host, known)
    }

    /// Whether a template that is known so well has one more sample.
    fn has_sample(&self, host: HostId, known: Sample) -> bool {
        let taken = self.hosts.get(&host).map_or(0, |samples| samples.taken);
        let has_room = self.templates.len() < MOST_TEMPLATES || known.begun > 0;
        known.begun < PER_TEMPLATE && taken < PER_HOST && has_room
    }

    /// Whether a page that does not look empty is to be rendered.
    fn wants(&mut self, host: HostId, url: &CrawlUrl) -> bool {
        let template = (host, template(url));
        let known = self.templates.get(&template).copied().unwrap_or_default();
        if known.useful > 0 {
            return true;
        }
        if !self.has_sample(host, known) {
            return false;
        }
        self.templates.entry(template).or_default().begun += 1;
        self.hosts.entry(host).or_default().taken += 1;
        true
    }

    fn learn(&mut self, host: HostId, url: &CrawlUrl, use_of_it: Gain) {
        if use_of_it == Gain::Something
            && let Some(sample) = self.templates.get_mut(&(host, template(url)))
        {
            sample.useful = sample.useful.saturating_add(1);
            self.hosts.entry(host).or_default().has_useful = true;
        }
    }
}

/// What a rendering brought that the answer alone does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gain {
    Nothing,
    Something,
}

/// The shape of a path: numbers and last names do not count.
fn template(url: &CrawlUrl) -> String {
    let path = url.path();
    let mut shape = String::with_capacity(path.len());
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    for segment in folder.split('/').skip(1).take(SEGMENTS) {
        shape.push('/');
        let has_digit = segment.bytes().any(|byte| byte.is_ascii_digit());
        shape.push_str(if has_digit { "{n}" } else { segment });
    }
    shape.push('/');
    if !file.is_empty() {
        shape.push_str("{name}");
        if let Some((_, kind)) = file.rsplit_once('.') {
            shape.push('.');
            shape.push_str(kind);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostId = HostId(7);

    fn url(path: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://a.test{path}")).unwrap()
    }

    #[test]
    fn pages_of_one_make_have_one_template() {
        for (path, expected) in [
            ("/", "/"),
            ("/a/b.html", "/a/{name}.html"),
            ("/a/2024/x", "/a/{n}/{name}"),
            ("/a/v2/", "/a/{n}/"),
        ] {
            assert_eq!(template(&url(path)), expected);
        }
    }

    #[test]
    fn a_template_is_tried_twice_and_then_follows_what_it_taught() {
        let mut sampling = Sampling::default();
        assert!(sampling.wants(HOST, &url("/a/1.html")));
        assert!(sampling.wants(HOST, &url("/a/2.html")));
        assert!(!sampling.wants(HOST, &url("/a/3.html")));
        sampling.learn(HOST, &url("/a/1.html"), Gain::Nothing);
        assert!(!sampling.wants(HOST, &url("/a/3.html")));
        assert!(!sampling.may_want(HOST, &url("/a/3.html")));
        assert!(sampling.may_want(HOST, &url("/b/3.html")));
        sampling.learn(HOST, &url("/a/2.html"), Gain::Something);
        assert!(sampling.may_want(HOST, &url("/a/3.html")));
        assert!(sampling.wants(HOST, &url("/a/3.html")));
    }

    #[test]
    fn a_host_has_few_samples_however_many_templates_it_has() {
        let mut sampling = Sampling::default();
        let taken = (0..100_u8)
            .filter(|number| {
                let path = format!(
                    "/{}/x",
                    char::from(b'a' + number % 26).to_string().repeat(2)
                );
                sampling.wants(HOST, &url(&format!("{path}.{number}")))
            })
            .count();
        assert_eq!(taken, usize::from(PER_HOST));
    }

    #[test]
    fn a_host_whose_samples_are_spent_is_rendered_where_one_was_useful() {
        let mut sampling = Sampling::default();
        let pages = (0..PER_HOST).map(|number| url(&format!("/x.{number}")));
        assert!(pages.into_iter().all(|page| sampling.wants(HOST, &page)));
        assert!(!sampling.may_want(HOST, &url("/x.3")));
        sampling.learn(HOST, &url("/x.3"), Gain::Something);
        assert!(sampling.may_want(HOST, &url("/y.3")));
        assert!(!sampling.may_want(HOST, &url("/y.4")) && !sampling.may_want(HOST, &url("/y")));
    }

    #[test]
    fn a_page_that_looks_empty_is_always_wanted_and_asking_takes_no_sample() {
        let page = url("/a/1.html");
        let prospect = |wish: &RenderWish| wish.prospect(HOST, &page);
        let auto = RenderWish::new(RenderUse::Auto);
        for _ in 0..3 {
            assert_eq!(prospect(&auto), RenderProspect::Open);
        }
        for _ in 0..PER_TEMPLATE {
            assert!(auto.wants(HOST, &page, false));
        }
        assert_eq!(prospect(&auto), RenderProspect::ShellOnly);
        assert!(auto.wants(HOST, &page, true) && !auto.wants(HOST, &page, false));
        auto.learn(HOST, &page, Gain::Something);
        assert_eq!(prospect(&auto), RenderProspect::Open);
        let always = RenderWish::new(RenderUse::Always);
        assert_eq!(prospect(&always), RenderProspect::Open);
        assert_eq!(
            prospect(&RenderWish::new(RenderUse::Never)),
            RenderProspect::Closed
        );
        for wish in [auto, always] {
            wish.clone().end();
            assert_eq!(prospect(&wish), RenderProspect::Closed);
        }
    }
}
