//! The oracle against a client that walks the web by HTTP: both must meet the same URLs.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use terrarium::{
    Comparison, Expectation, Internet, LiveInternet, OracleRules, OracleScope, Profile,
    RefereeRules, Rule, Seen, Violation,
};
use url::Url;

use crate::client::{Answer, Client};
use crate::html;
use crate::robots::Rules;
use crate::{internet, quick};

/// Tries, hops, lengths and repetitions as the oracle's rules have them.
const TRIES: usize = 4;
const HOPS: u32 = 10;
const LONGEST: usize = 8192;
const REPEATED: usize = 3;

struct Walker<'a> {
    client: Client,
    robots: HashMap<String, Rules>,
    agent: &'a str,
    queue: VecDeque<(Url, u32)>,
    known: HashSet<String>,
    seen: Vec<Seen>,
}

impl Walker<'_> {
    fn walk(internet: &LiveInternet) -> Vec<Seen> {
        let mut walker = Walker {
            client: Client::new(internet),
            robots: HashMap::new(),
            agent: &internet.config().agent,
            queue: VecDeque::new(),
            known: HashSet::new(),
            seen: Vec::new(),
        };
        for root in internet.roots() {
            walker.admit(root.parse().unwrap(), HOPS);
        }
        while let Some((url, hops)) = walker.queue.pop_front() {
            let (outcome, status) = walker.visit(&url, hops);
            walker.seen.push(Seen {
                url: url.to_string(),
                outcome: outcome.to_owned(),
                status,
                reason: None,
            });
        }
        walker.seen
    }

    fn admit(&mut self, url: Url, hops: u32) {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let segments = url.path().split('/').filter(|segment| !segment.is_empty());
        segments.for_each(|segment| *counts.entry(segment).or_default() += 1);
        let repeats = counts.values().any(|count| *count > REPEATED);
        if url.as_str().len() <= LONGEST && !repeats && self.known.insert(url.to_string()) {
            self.queue.push_back((url, hops));
        }
    }

    /// What becomes of a URL; the proxy says 502 for hosts that cannot be reached.
    fn visit(&mut self, url: &Url, hops: u32) -> (&'static str, Option<u16>) {
        let origin = url.origin().ascii_serialization();
        if !self.robots.contains_key(&origin) {
            let Some(rules) = self.read_robots(url) else {
                return ("failed", None);
            };
            self.robots.insert(origin.clone(), rules);
        }
        if self.robots[&origin].deny(&url[url::Position::BeforePath..]) {
            return ("skipped", None);
        }
        let Some(answer) = self.patiently(url) else {
            return ("failed", None);
        };
        if let Some(location) = answer.headers.get("location") {
            let target = url.join(location).unwrap();
            // A cookie opens the wall behind it.
            if answer.headers.contains_key("set-cookie") {
                self.known.remove(target.as_str());
            }
            if hops > 0 {
                self.admit(target, hops - 1);
            }
            return ("redirected", Some(answer.status));
        }
        if answer.status == 200 {
            for link in found(url, &answer) {
                self.admit(link, HOPS);
            }
        }
        ("fetched", Some(answer.status))
    }

    fn patiently(&mut self, url: &Url) -> Option<Answer> {
        let mut last = None;
        for _ in 0..TRIES {
            last = self.client.get(url).ok();
            if last
                .as_ref()
                .is_some_and(|answer| !matches!(answer.status, 429 | 500..))
            {
                break;
            }
        }
        last.filter(|answer| answer.status != 502)
    }

    fn read_robots(&mut self, url: &Url) -> Option<Rules> {
        let mut at = url.join("/robots.txt").unwrap();
        loop {
            let answer = self
                .client
                .get(&at)
                .ok()
                .filter(|answer| answer.status != 502)?;
            if let Some(location) = answer.headers.get("location") {
                at = at.join(location).unwrap();
                continue;
            }
            return Some(match answer.status {
                200 => {
                    let text = String::from_utf8_lossy(&answer.body);
                    let (rules, sitemaps) = Rules::read(&text, self.agent);
                    for sitemap in sitemaps {
                        self.admit(sitemap.parse().unwrap(), HOPS);
                    }
                    rules
                }
                500.. => Rules::everything(),
                _ => Rules::none(),
            });
        }
    }
}

fn found(url: &Url, answer: &Answer) -> Vec<Url> {
    let kind = answer
        .headers
        .get("content-type")
        .map_or("", String::as_str);
    match kind {
        "application/xml" => locations(&String::from_utf8_lossy(&answer.body)),
        "application/gzip" => {
            let mut text = String::new();
            let mut decoder = flate2::read::GzDecoder::new(&answer.body[..]);
            std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
            locations(&text)
        }
        kind if kind.starts_with("text/html") => {
            let (text, charset) = html::decode(kind, &answer.body);
            html::links(url, &text, charset)
        }
        _ => Vec::new(),
    }
}

fn locations(text: &str) -> Vec<Url> {
    let parts = text.split("<loc>").skip(1);
    let urls = parts.filter_map(|part| part.split("</loc>").next());
    urls.map(|url| url.replace("&amp;", "&").parse().unwrap())
        .collect()
}

fn check(profile: Profile, hosts: u32, seed: u64) {
    let internet = internet(profile, hosts, seed);
    let oracle = internet.oracle(&OracleRules::default());
    let comparison = Comparison::new(&oracle, Walker::walk(&internet));
    assert!(comparison.is_perfect(), "{profile} {seed}: {comparison}");
    assert!(oracle.len() > hosts as usize, "{}", oracle.len());
    let findings = internet.referee(&RefereeRules::default());
    // This client does not wait where it is asked to, and gives up soon on what ails.
    let is_haste = |violation: &Violation| match violation.rule {
        Rule::RetryAfter => true,
        Rule::Repeat => violation.who.ends_with("/ailing"),
        _ => false,
    };
    assert!(findings.violations.iter().all(is_haste), "{findings}");
}

#[test]
fn a_client_finds_what_the_oracle_says_in_micro() {
    check(Profile::Micro, 40, 1);
}

#[test]
fn a_client_finds_what_the_oracle_says_in_bubing() {
    check(Profile::Bubing, 10, 1);
}

#[test]
fn a_client_finds_what_the_oracle_says_in_real() {
    check(Profile::Real, 40, 3);
}

#[test]
fn a_client_finds_what_the_oracle_says_in_hostile() {
    // Most of the time is spent on what stalls.
    std::thread::scope(|scope| {
        for seed in [1, 2] {
            scope.spawn(move || check(Profile::Hostile, 40, seed));
        }
    });
}

#[test]
fn every_verdict_occurs() {
    let internet = Internet::new(quick(Profile::Hostile, 2000, 5)).start();
    let oracle = internet.oracle(&OracleRules::default());
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for expectation in oracle.values() {
        let kind = match expectation {
            Expectation::Redirected { .. } => "redirected".to_owned(),
            other => other.to_string(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    for kind in [
        "fetched 200",
        "fetched 404",
        "fetched 410",
        "fetched 500",
        "redirected",
        "robots-denied",
        "no-such-host",
        "unreachable: dns",
        "unreachable: connect",
        "unreachable: certificate",
        "failed: reset",
        "failed: incomplete",
        "failed: headers-too-large",
        "failed: decode",
        "failed: protocol",
    ] {
        assert!(kinds.contains_key(kind), "{kind} is not in {kinds:?}");
    }
    for part in [
        "/members/",
        "/login?next=members",
        "?ref=1",
        "&ref=1",
        "/search?q=b%C3%BCcher",
        "/search?q=b%FCcher",
        "/search?q=%EA%ED",
        "/b%C3%BCcher/",
        "/sitemap.xml",
        "/sitemaps/1.xml.gz",
        "/orphan/",
        "/private/",
        "/calendar/1",
        "/chain/10",
        "/circle/2",
        "/ailing",
        "/grow?x=",
        ".farm.test",
        "/index.php?id=",
    ] {
        assert!(
            oracle.keys().any(|url| url.contains(part)),
            "{part} does not occur"
        );
    }
    let trapped = ["/calendar/2", "/chain/11", "/decoy/", "/asset/"];
    let beyond = |url: &&String| {
        let repeats = url.matches("/cart/").count() > 3;
        repeats || url.len() > 8192 || trapped.iter().any(|part| url.contains(part))
    };
    assert_eq!(oracle.keys().find(beyond), None);
    let names: HashSet<_> = oracle
        .keys()
        .filter_map(|url| url.split(['/', ':']).nth(3))
        .collect();
    assert_eq!(names.len(), 2000, "every host is reached");
}

#[test]
fn scope_and_sitemaps_are_rules() {
    let internet = internet(Profile::Real, 200, 2);
    let whole = internet.oracle(&OracleRules::default());
    let near = internet.oracle(&OracleRules {
        scope: OracleScope::RootHosts,
        ..OracleRules::default()
    });
    let linked = internet.oracle(&OracleRules {
        sitemaps: false,
        ..OracleRules::default()
    });
    assert!(near.len() < whole.len() && linked.len() < whole.len());
    assert!(whole.keys().any(|url| url.contains("/orphan/")));
    assert!(!linked.keys().any(|url| url.contains("/orphan/")));
    let roots = internet.roots();
    let hosts: HashSet<_> = roots
        .iter()
        .filter_map(|url| url.split('/').nth(2))
        .collect();
    let is_near = |url: &String| hosts.contains(url.split('/').nth(2).unwrap());
    // The other scheme of a root's host has another port.
    let name = |url: &String| url.split(['/', ':']).nth(3).map(str::to_owned);
    let names: HashSet<_> = roots.iter().filter_map(name).collect();
    assert!(
        near.keys()
            .all(|url| is_near(url) || names.contains(&name(url).unwrap()))
    );
}
