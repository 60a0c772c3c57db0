//! How a crawl treats hosts and talks to servers.

use std::ops::RangeInclusive;
use std::time::Duration;

use clewline_core::frontier::ROBOTS_RETRY;
use clewline_core::politeness::Politeness;
use clewline_job::config::Http2Use;

use super::{
    ALL_PRIVATE, IN_FLIGHT, LONGEST_PERIOD, MOST_IN_FLIGHT, PERIODS, RATES, SHORTEST_TIMEOUT,
    SPEEDS,
};
use crate::resolve::{folder, wire};
use crate::settings::Effective;
use crate::settings::SettingMark::{
    NotInInspect, OneRun, Secret, Usual, UsualInInspect, ValueOptional,
};

const TIMEOUTS: RangeInclusive<Duration> = SHORTEST_TIMEOUT..=LONGEST_PERIOD;
/// Bodies are held and spooled; what is larger than this is not a page.
const LARGEST_BODY: u64 = 1 << 40;
const LARGEST_HEAD: usize = 16 << 20;

const HTTP2: &[(&str, Http2Use)] = &[
    ("auto", Http2Use::Auto),
    ("never", Http2Use::Never),
    ("always", Http2Use::Always),
];

settings! { pub(super) POLITENESS for Effective:
    /// How fast to ask a host; use fast and max only on your own sites
    "speed" "SPEED" => choice(config.politeness.speed, SPEEDS)
        .default("polite; max on loopback").marked(&[Usual]);
    /// Wait this long between requests to a host, one at a time, `500ms`
    "delay" "TIME" => period(config.politeness.delay, PERIODS)
        .alias("wait").contradicts("rate").unset("by the speed").marked(&[Usual]);
    /// Maximum request rate per host, `5/s`, `30/m`
    "rate" "RATE" => rate(config.politeness.rate, RATES).unset("by the speed").marked(&[Usual]);
    /// Maximum number of parallel requests; a quarter is reserved for hosts that have answered
    "concurrency" "N" => count(config.limits.concurrency, IN_FLIGHT).alias("max_tasks");
    /// Maximum number of parallel requests per host
    "host-concurrency" "N" => count(config.politeness.host_concurrency, IN_FLIGHT)
        .unset("by the speed");
    /// Ignore Crawl-delay in robots.txt; only for your own sites
    "ignore-crawl-delay" => switch(config.politeness.ignore_crawl_delay);
    /// Maximum number of attempts per URL
    "tries" "N" => count(config.limits.tries, 1..=1000).short('t').alias("max_tries");
    /// Wait this long before the second attempt; doubles each time
    "retry-delay" "TIME" =>
        period_or(config.politeness.retry_delay, PERIODS, Politeness::default().retry_delay);
    /// Wait at most this long for a Retry-After, then try another URL
    "max-retry-after" "TIME" => period_or(
        config.politeness.max_retry_after, PERIODS, Politeness::default().longest_retry_after
    );
    /// Wait this long before asking again for a robots.txt that failed
    "robots-retry" "TIME" => period_or(config.politeness.robots_retry, PERIODS, ROBOTS_RETRY);
    /// Address ranges shared by many unrelated hosts, such as a CDN's
    "shared-addresses" "CIDR" => items(config.politeness.shared_addresses, str::parse);
}

settings! { pub(super) REQUESTS for Effective:
    /// Replace the whole User-Agent
    "user-agent" "TEXT" => one(config.fetch.user_agent, wire::user_agent)
        .short('A').unset("clewline's own").marked(&[Usual, UsualInInspect]);
    /// Your URL or email address, added to the User-Agent
    "contact" "CONTACT" => one(config.fetch.contact, wire::contact).marked(&[Usual]);
    /// Send this header, `Name: value`, to the roots' origins only
    "header" "FIELD" => list(config.fetch.headers, wire::header)
        .short('H').marked(&[Usual, UsualInInspect, Secret]);
    /// Send this name and password to the roots' origins only
    "user" "USER:PASS" => one(config.fetch.user, wire::user)
        .short('u').marked(&[Usual, UsualInInspect, Secret]);
    /// Load cookies from a cookies.txt file
    "cookies" "FILE" => one(config.fetch.cookie_file, folder::existing_file)
        .short('b').alias("load-cookies").contradicts("no-cookies")
        .marked(&[Usual, UsualInInspect, OneRun]);
    /// When to use HTTP/2 (auto: where a host may have 16 requests in flight and nothing is archived)
    "http2" "WHEN" => choice(config.fetch.http2, HTTP2);
    /// Disable cookies
    "no-cookies" => switch_off(config.fetch.cookies);
    /// Maximum time for a complete response
    "timeout" "TIME" => period(config.fetch.timeout, TIMEOUTS)
        .short('T').marked(&[UsualInInspect]);
    /// Maximum time to connect, including TLS
    "connect-timeout" "TIME" => period(config.fetch.connect_timeout, TIMEOUTS);
    /// Maximum time until the first byte of a response
    "first-byte-timeout" "TIME" => period(config.fetch.first_byte_timeout, TIMEOUTS);
    /// Truncate bodies at this size
    "max-body" "SIZE" => size(config.fetch.max_body, 1..=LARGEST_BODY);
    /// Maximum number of redirects in a row
    "max-redirects" "N" => count(config.limits.redirects, 0..=100).alias("max_redirect");
    /// Maximum size of response headers
    "max-head" "SIZE" => size(config.fetch.max_head, 1024..=LARGEST_HEAD);
    /// Give up responses slower than this many bytes per second; 0 never does
    "min-rate" "SIZE" => size(config.fetch.min_rate, 0..=LARGEST_BODY);
}

settings! { pub(super) NETWORK for Effective:
    /// Use a proxy, `http://host:3128` or `socks5://host:1080`
    "proxy" "URL" => one(config.fetch.proxy, wire::proxy)
        .short('x').marked(&[Usual, UsualInInspect, Secret]);
    /// Do not use the proxy for these hosts, `localhost,.example.com`
    "noproxy" "HOSTS" => items(config.fetch.no_proxy, str::parse);
    /// Accept any certificate
    "insecure" => switch(config.fetch.insecure)
        .short('k').alias("no-check-certificate").marked(&[Usual, UsualInInspect]);
    /// Trust the certificate authorities in this PEM file as well
    "cacert" "FILE" => one(config.fetch.cacert, folder::existing_file).alias("ca-certificate");
    /// Use this address for a host, as in curl: `HOST:PORT:ADDRESS[,ADDRESS]`
    "resolve" "ENTRY" => list(config.fetch.resolve, wire::resolve);
    /// Connect to another host, as in curl: `HOST1:PORT1:HOST2:PORT2`
    "connect-to" "ENTRY" => list(config.fetch.connect_to, wire::connect_to);
    /// Use this DNS server, `9.9.9.9` or `127.0.0.1:5353`
    "dns" "ADDRESS" => one(config.fetch.dns, wire::dns).default("the system's");
    /// Allow private addresses, all of them or a range
    "allow-private" "CIDR" => lists(config.fetch.allow_private, wire::private_range)
        .default("only what the roots themselves use").marked(&[ValueOptional(ALL_PRIVATE)]);
    /// Maximum number of idle connections to keep
    "idle-connections" "N" => count(config.fetch.idle_connections, 0..=MOST_IN_FLIGHT as usize)
        .marked(&[NotInInspect]);
}
