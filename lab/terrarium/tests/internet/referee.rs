//! The referee must catch an impolite client for every rule, and only then.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use terrarium::{
    Expectation, Findings, Internet, InternetConfig, Limit, LiveInternet, OracleRules, Profile,
    RefereeRules, Rule,
};

use crate::{internet, quick};

/// A connection to the site of a URL, which is a plain one.
struct Visitor {
    stream: TcpStream,
    host: String,
}

impl Visitor {
    fn new(internet: &LiveInternet, host: &str) -> Self {
        let name = host.split(':').next().unwrap();
        let address = resolve(internet, name);
        let stream = TcpStream::connect(SocketAddr::from((address, internet.port()))).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        Self {
            stream,
            host: host.to_owned(),
        }
    }

    fn ask(&mut self, path: &str) {
        let host = &self.host;
        write!(self.stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    }

    /// Reads one answer with a length.
    fn read(&mut self) -> String {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(b"\r\n\r\n") {
            self.stream.read_exact(&mut byte).unwrap();
            text.push(byte[0]);
        }
        let head = String::from_utf8(text).unwrap();
        let length = head
            .split("Content-Length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next());
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        self.stream.read_exact(&mut body).unwrap();
        head
    }

    fn get(&mut self, path: &str) -> String {
        self.ask(path);
        self.read()
    }
}

/// The address of a host, as the name server says it.
fn resolve(internet: &LiveInternet, name: &str) -> Ipv4Addr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut query = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend_from_slice(label.as_bytes());
    }
    query.extend([0, 0, 1, 0, 1]);
    socket
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut answer = [0; 512];
    let length = loop {
        socket.send_to(&query, internet.dns_addr()).unwrap();
        // Some names lose the first question.
        if let Ok(length) = socket.recv(&mut answer) {
            break length;
        }
    };
    let octets: [u8; 4] = answer[length - 4..length].try_into().unwrap();
    octets.into()
}

fn host_of(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}

/// Waits for real time to pass, without a sleep: a socket that nobody answers times out.
fn pass(time: Duration) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        socket
            .set_read_timeout(Some(left.max(Duration::from_micros(1))))
            .unwrap();
        let _ = socket.recv(&mut [0; 1]);
    }
}

fn limits(host: Limit, domain: Limit, address: Limit) -> RefereeRules {
    RefereeRules {
        host,
        domain,
        address,
        ..RefereeRules::default()
    }
}

fn broken(findings: &Findings) -> Vec<Rule> {
    let mut rules: Vec<Rule> = findings.violations.iter().map(|one| one.rule).collect();
    rules.dedup();
    rules
}

/// What was broken, once it is what is expected; the server notes a page when it is sent, which
/// is a moment after it was read.
fn wait_for(internet: &LiveInternet, expected: &[Rule]) -> Findings {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let findings = internet.referee(&RefereeRules::default());
        if broken(&findings) == expected || Instant::now() > until {
            return findings;
        }
        std::thread::yield_now();
    }
}

fn all(limit: Limit) -> RefereeRules {
    limits(limit, limit, limit)
}

#[test]
fn haste_is_caught_for_host_domain_and_address() {
    let internet = internet(Profile::Micro, 4, 1);
    let roots = internet.roots();
    let mut visitor = Visitor::new(&internet, host_of(&roots[0]));
    for path in ["/robots.txt", "/", "/p1", "/p2"] {
        visitor.get(path);
    }
    let gap = |milliseconds| Limit {
        gap: Some(Duration::from_millis(milliseconds)),
        ..Limit::default()
    };
    let rate = |rate| Limit {
        rate: Some(rate),
        ..Limit::default()
    };
    let none = Limit::default();
    let slow = gap(10_000);
    let check = |rules: RefereeRules, expected: &[Rule]| {
        let findings = internet.referee(&rules);
        assert_eq!(broken(&findings), expected, "{findings}");
        assert_eq!(findings.violation_count > 0, !expected.is_empty());
    };
    check(RefereeRules::default(), &[]);
    check(limits(slow, none, none), &[Rule::HostGap]);
    check(limits(none, slow, none), &[Rule::DomainGap]);
    check(limits(none, none, slow), &[Rule::AddressGap]);
    check(limits(rate(3), none, none), &[Rule::HostRate]);
    check(limits(none, rate(3), none), &[Rule::DomainRate]);
    check(limits(none, none, rate(3)), &[Rule::AddressRate]);
    check(all(rate(4)), &[]);
    let exempt = RefereeRules {
        exempt: internet.addresses(),
        ..limits(none, none, slow)
    };
    check(exempt, &[]);
}

#[test]
fn patience_is_not_punished() {
    let internet = internet(Profile::Micro, 4, 1);
    let roots = internet.roots();
    let mut visitor = Visitor::new(&internet, host_of(&roots[1]));
    for path in ["/robots.txt", "/", "/p1"] {
        visitor.get(path);
        pass(Duration::from_millis(60));
    }
    let polite = Limit {
        gap: Some(Duration::from_millis(60)),
        rate: Some(17),
        in_flight: Some(1),
    };
    let findings = internet.referee(&all(polite));
    assert_eq!(findings.violation_count, 0, "{findings}");
    assert!(findings.hosts.smallest_gap.unwrap() >= Duration::from_millis(59));
}

#[test]
fn too_much_at_once_is_caught() {
    let slow = InternetConfig {
        latency: 1.0,
        addresses: Some(1),
        ..quick(Profile::Slow, 16, 1)
    };
    let internet = Internet::new(slow).start();
    let roots = internet.roots();
    let mut visitors: Vec<Visitor> = (0..3)
        .map(|_| Visitor::new(&internet, host_of(&roots[0])))
        .collect();
    visitors[0].get("/robots.txt");
    for (number, visitor) in visitors.iter_mut().enumerate() {
        visitor.ask(&format!("/p{number}"));
    }
    for visitor in &mut visitors {
        visitor.read();
    }
    let most = |most| Limit {
        in_flight: Some(most),
        ..Limit::default()
    };
    let none = Limit::default();
    let check = |rules: RefereeRules, expected: &[Rule]| {
        let findings = internet.referee(&rules);
        assert_eq!(broken(&findings), expected, "{findings}");
    };
    check(limits(most(2), none, none), &[Rule::HostInFlight]);
    check(limits(none, most(2), none), &[Rule::DomainInFlight]);
    check(limits(none, none, most(2)), &[Rule::AddressInFlight]);
    check(all(most(3)), &[]);
}

#[test]
fn robots_are_enforced() {
    let internet = internet(Profile::Hostile, 200, 3);
    let oracle = internet.oracle(&OracleRules::default());
    let denied = |(url, expected): (&String, &Expectation)| {
        let is_plain = url.starts_with("http://") && url.contains("/private/a.html");
        (is_plain && *expected == Expectation::RobotsDenied).then(|| url.clone())
    };
    let url = oracle.iter().find_map(denied).unwrap();
    let mut visitor = Visitor::new(&internet, host_of(&url));
    visitor.get("/robots.txt");
    assert_eq!(
        internet.referee(&RefereeRules::default()).violation_count,
        0
    );
    visitor.ask("/private/a.html");
    let _ = visitor.stream.read(&mut [0; 64]);
    let findings = internet.referee(&RefereeRules::default());
    assert_eq!(broken(&findings), [Rule::RobotsDenied], "{findings}");
    assert_eq!(findings.violations[0].who, url);
    let lawless = RefereeRules {
        robots: false,
        ..RefereeRules::default()
    };
    assert_eq!(internet.referee(&lawless).violation_count, 0);
}

#[test]
fn pages_before_robots_and_pages_twice_are_caught() {
    let internet = internet(Profile::Micro, 4, 1);
    let roots = internet.roots();
    Visitor::new(&internet, host_of(&roots[0])).get("/");
    let findings = internet.referee(&RefereeRules::default());
    assert_eq!(broken(&findings), [Rule::RobotsUnread], "{findings}");
    let mut visitor = Visitor::new(&internet, host_of(&roots[1]));
    for path in ["/robots.txt", "/robots.txt", "/", "/missing", "/missing"] {
        visitor.get(path);
    }
    let findings = internet.referee(&RefereeRules::default());
    assert_eq!(broken(&findings), [Rule::RobotsUnread], "{findings}");
    visitor.get("/");
    let findings = wait_for(&internet, &[Rule::RobotsUnread, Rule::Repeat]);
    assert_eq!(
        broken(&findings),
        [Rule::RobotsUnread, Rule::Repeat],
        "{findings}"
    );
}

#[test]
fn crawl_delay_is_enforced() {
    let config = InternetConfig {
        latency: 1.0,
        ..quick(Profile::Hostile, 300, 3)
    };
    let internet = Internet::new(config).start();
    let oracle = internet.oracle(&OracleRules::default());
    let is_delayed = |url: &&String| {
        let is_home = url.starts_with("http://") && url.matches('/').count() == 3;
        is_home && oracle[*url] == Expectation::Fetched { status: 200 } && {
            let mut visitor = Visitor::new(&internet, host_of(url));
            visitor.ask("/robots.txt");
            let mut text = [0; 1024];
            let length = visitor.stream.read(&mut text).unwrap();
            String::from_utf8_lossy(&text[..length]).contains("crawl-DELAY:0.100")
        }
    };
    let url = oracle
        .keys()
        .filter(|url| url.ends_with('/'))
        .find(is_delayed)
        .unwrap();
    assert_eq!(
        internet.referee(&RefereeRules::default()).violation_count,
        0
    );
    let mut visitor = Visitor::new(&internet, host_of(url));
    visitor.ask("/orphan/0.html");
    let _ = visitor.stream.read(&mut [0; 64]);
    let mut visitor = Visitor::new(&internet, host_of(url));
    visitor.ask("/orphan/1.html");
    let _ = visitor.stream.read(&mut [0; 64]);
    let findings = internet.referee(&RefereeRules::default());
    assert_eq!(broken(&findings), [Rule::CrawlDelay], "{findings}");
}

#[test]
fn a_pause_that_was_asked_for_is_enforced() {
    let internet = internet(Profile::Hostile, 400, 3);
    let oracle = internet.oracle(&OracleRules::default());
    let ailing = oracle
        .keys()
        .filter(|url| url.starts_with("http://") && url.ends_with("/ailing"));
    let busy = ailing.into_iter().find_map(|url| {
        let mut visitor = Visitor::new(&internet, host_of(url));
        visitor.get("/missing/0");
        visitor.ask("/ailing");
        let mut text = [0; 1024];
        let length = visitor.stream.read(&mut text).unwrap_or(0);
        let is_busy = String::from_utf8_lossy(&text[..length]).contains("Retry-After: 1");
        is_busy.then(|| (visitor, Instant::now()))
    });
    let (mut visitor, asked_at) = busy.unwrap();
    let rules = RefereeRules {
        robots: false,
        ..RefereeRules::default()
    };
    assert_eq!(internet.referee(&rules).violation_count, 0);
    pass(Duration::from_millis(400));
    // A machine that was asleep in between may have waited long enough by accident.
    visitor.get("/missing/1");
    if asked_at.elapsed() < Duration::from_millis(900) {
        let findings = internet.referee(&rules);
        assert_eq!(broken(&findings), [Rule::RetryAfter], "{findings}");
    }
}
