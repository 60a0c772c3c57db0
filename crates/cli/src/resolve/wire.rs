//! The notations of settings that concern the wire: header fields, proxies, addresses, patterns.
//!
//! Owns their syntax. Each reader answers with a phrase that follows the quoted text or, for
//! secrets, stands alone; none of them repeats the text.

use std::net::{IpAddr, SocketAddr};

use clewline_core::address::Cidr;
use clewline_core::url::CrawlUrl;
use clewline_job::config::{PageBehavior, Secret};

use crate::settings::registry::ALL_PRIVATE;

type Read<T> = Result<T, &'static str>;

const DNS_PORT: u16 = 53;
/// A regular expression that takes more room is not meant.
const LARGEST_PATTERN: usize = 10 << 20;
/// Fields that frame a message or that another setting owns.
const OWNED_FIELDS: [(&str, &str); 6] = [
    (
        "host",
        "Host follows from the URL; use --connect-to or --resolve to ask another server",
    ),
    ("user-agent", "User-Agent has a flag of its own: -A"),
    ("content-length", "Content-Length is not sent with GET"),
    (
        "transfer-encoding",
        "Transfer-Encoding is not sent with GET",
    ),
    ("connection", "Connection is the client's own business"),
    (
        "proxy-authorization",
        "Proxy-Authorization belongs into the proxy's URL: user:pass@",
    ),
];

/// `Name: value`; RFC 9110 section 5.
pub(crate) fn header(text: &str) -> Read<(String, Secret)> {
    let (name, value) = text.split_once(':').ok_or("write `Name: value`")?;
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("the name has a character that header fields may not have");
    }
    let value = value.trim();
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err("the value has a line break or another control character");
    }
    let lower = name.to_ascii_lowercase();
    match OWNED_FIELDS.iter().find(|(owned, _)| *owned == lower) {
        Some((_, reason)) => Err(reason),
        None => Ok((name.to_owned(), Secret::new(value))),
    }
}

/// A token of RFC 9110 section 5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+')
        || matches!(byte, b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~')
}

/// `user:password`; RFC 7617 section 2 forbids control characters in both.
pub(crate) fn user(text: &str) -> Read<Secret> {
    if text.chars().any(char::is_control) {
        return Err("a name or password has no control characters");
    }
    match text.split_once(':') {
        Some((name, _)) if !name.is_empty() => Ok(Secret::new(text)),
        _ => Err("write user:password, or put `user = \"user:password\"` into the file"),
    }
}

/// `[scheme://][user:password@]host[:port]`, http where no scheme is written.
pub(crate) fn proxy(text: &str) -> Read<Secret> {
    let text = text.trim();
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "socks5" | "socks5h") {
        return Err("a proxy begins with http:// or socks5://");
    }
    // The rules for host, port and user are the same for all of them.
    match CrawlUrl::parse(&format!("http://{rest}")) {
        Ok(url) if url.path_and_query() == "/" => Ok(Secret::new(format!("{scheme}://{rest}"))),
        _ => Err("a proxy is written as http://host:3128 or socks5://user:pass@host:1080"),
    }
}

/// A User-Agent that begins with a product name, which robots.txt is searched for.
pub(crate) fn user_agent(text: &str) -> Read<String> {
    let text = text.trim();
    if text.chars().any(char::is_control) {
        Err("has a control character")
    } else if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Ok(text.to_owned())
    } else {
        Err("does not begin with a name that robots.txt could address, such as mybot/1.0")
    }
}

/// A URL or mail address that stands in the comment of our User-Agent.
pub(crate) fn contact(text: &str) -> Read<String> {
    let text = text.trim();
    let is_safe = text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['(', ')']);
    let is_mail = text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !host.starts_with('.')
    });
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    if is_safe && (is_mail || is_url) {
        Ok(text.to_owned())
    } else {
        Err("is not a mail address or an http(s) URL under which you can be reached")
    }
}

/// `type/subtype` or `type/*`.
pub(crate) fn media_type(text: &str) -> Read<String> {
    let valid = text.split_once('/').is_some_and(|(main, sub)| {
        let token = |part: &str| !part.is_empty() && part.bytes().all(is_token);
        token(main) && token(sub)
    });
    if valid {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("is not a media type such as text/html or image/*")
    }
}

/// A parameter name; only the last character may be a `*`.
pub(crate) fn parameter(text: &str) -> Read<String> {
    let name = text.strip_suffix('*').unwrap_or(text);
    let is_bad = |c: char| "*&=?#".contains(c) || c.is_control() || c.is_whitespace();
    if text == "*" || name.contains(is_bad) {
        Err("is not a name of a parameter such as sid or utm_*")
    } else {
        Ok(text.to_owned())
    }
}

/// curl's `[+]HOST:PORT:ADDRESS[,ADDRESS…]`.
pub(crate) fn resolve(text: &str) -> Read<String> {
    const SYNTAX: &str = "is not HOST:PORT:ADDRESS[,ADDRESS], such as example.com:443:127.0.0.1";
    let rest = text.strip_prefix('+').unwrap_or(text);
    let (host, rest) = split_host(rest).ok_or(SYNTAX)?;
    let (port, addresses) = rest.split_once(':').ok_or(SYNTAX)?;
    let address = |one: &str| {
        let bare = one.strip_prefix('[').and_then(|one| one.strip_suffix(']'));
        bare.unwrap_or(one).parse::<IpAddr>().is_ok()
    };
    let valid = !host.is_empty() && is_port(port) && addresses.split(',').all(address);
    if valid {
        Ok(text.to_owned())
    } else {
        Err(SYNTAX)
    }
}

/// curl's `HOST1:PORT1:HOST2:PORT2`; each part may be empty.
pub(crate) fn connect_to(text: &str) -> Read<String> {
    const SYNTAX: &str = "is not HOST1:PORT1:HOST2:PORT2, such as example.com:443:localhost:8443";
    let (_, rest) = split_host(text).ok_or(SYNTAX)?;
    let (port, rest) = rest.split_once(':').ok_or(SYNTAX)?;
    let (_, second_port) = split_host(rest).ok_or(SYNTAX)?;
    let fine = |port: &str| port.is_empty() || is_port(port);
    if fine(port) && fine(second_port) {
        Ok(text.to_owned())
    } else {
        Err(SYNTAX)
    }
}

/// Takes a host, maybe an IPv6 address in brackets, and its colon from the front.
fn split_host(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        let (host, rest) = text.split_once("]:")?;
        host[1..].parse::<std::net::Ipv6Addr>().ok()?;
        Some((host, rest))
    } else {
        text.split_once(':')
    }
}

fn is_port(text: &str) -> bool {
    text == "*" || text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// An address, with or without a port.
pub(crate) fn dns(text: &str) -> Read<SocketAddr> {
    let bare = || text.parse().map(|ip: IpAddr| SocketAddr::new(ip, DNS_PORT));
    text.parse()
        .or_else(|_| bare())
        .map_err(|_| "is not an address such as 9.9.9.9 or [::1]:5353")
}

/// A range, or every address for `all`.
pub(crate) fn private_range(text: &str) -> Result<Vec<Cidr>, String> {
    if text == ALL_PRIVATE {
        return Ok(Cidr::ALL.to_vec());
    }
    text.parse()
        .map(|range| vec![range])
        .map_err(|error: clewline_core::address::CidrError| error.to_string())
}

/// A word for what is done with a rendered page, as Browsertrix writes it.
pub(crate) fn behavior(text: &str) -> Read<PageBehavior> {
    match text {
        "autoscroll" => Ok(PageBehavior::Autoscroll),
        "autoclick" => Ok(PageBehavior::Autoclick),
        "autoplay" => Err("is not done: rendered pages load no audio and video; -p fetches it"),
        "autofetch" => Err("is not done: -p fetches all images that a page names"),
        "siteSpecific" | "sitespecific" => {
            Err("is not done: there are no scripts for single sites; autoclick needs none")
        }
        _ => Err("is not one of autoscroll, autoclick"),
    }
}

/// A CSS selector; the browser alone knows whether it is sound.
pub(crate) fn selector(text: &str) -> Read<String> {
    match text.trim() {
        "" => Err("is empty; write a CSS selector such as #accept"),
        text => Ok(text.to_owned()),
    }
}

/// A regular expression over URLs.
pub(crate) fn pattern(text: &str) -> Result<String, String> {
    let built = regex::RegexBuilder::new(text)
        .size_limit(LARGEST_PATTERN)
        .build();
    built.map(|_| text.to_owned()).map_err(|error| {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default();
        let last = last.strip_prefix("error: ").unwrap_or(last);
        format!("is not a regular expression: {last}")
    })
}

/// `example.com`, `*.example.com` or `*`, in the form in which hosts are compared.
pub(crate) fn host_pattern(text: &str) -> Read<String> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let (prefix, host) = match text.strip_prefix("*.") {
        Some(host) => ("*.", host),
        None => ("", text),
    };
    clewline_core::url::parse_host(host)
        .map(|host| format!("{prefix}{host}"))
        .ok_or("is not a host name; write it without scheme, port and path")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T>(read: fn(&str) -> Read<T>, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(
                read(text).is_ok(),
                "{text} is refused: {:?}",
                read(text).err()
            );
        }
        for text in bad {
            assert!(read(text).is_err(), "{text} is taken");
        }
    }

    #[test]
    fn headers() {
        check(
            header,
            &["X-A: b", "Authorization: Bearer x", "Cookie:a=b", "A:"],
            &[
                "X-A",
                ": b",
                "X A: b",
                "X: a\r\nEvil: b",
                "Host: x",
                "user-agent: x",
                "É: b",
            ],
        );
    }

    #[test]
    fn users_and_proxies() {
        check(user, &["u:p", "u:", "u:p:q"], &["u", ":p", "", "u:\n"]);
        check(
            proxy,
            &[
                "http://h:1",
                "h:3128",
                "socks5://u:p@h:1080",
                "socks5h://[::1]:1080",
                "h",
            ],
            &[
                "ftp://h",
                "https://h",
                "http://h/path",
                "http://",
                "http://h:99999",
            ],
        );
        let shown = format!("{:?}", proxy("http://u:hunter2@h:1"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn agents_contacts_types_and_parameters() {
        check(
            user_agent,
            &["mybot/1.0 (x)", "a"],
            &["", "/1.0", "1bot", "a\nb"],
        );
        check(
            contact,
            &["me@example.com", "https://example.com/bot"],
            &[
                "me",
                "@x.org",
                "me@x",
                "a b@c.d",
                "me@x.org)",
                "ftp://x.org",
            ],
        );
        check(
            media_type,
            &["text/html", "image/*"],
            &["text", "text/", "/x", "a/b/c", "a b/c"],
        );
        check(
            parameter,
            &["sid", "utm_*", "a[]"],
            &["*", "a*b", "a=b", "a b"],
        );
    }

    #[test]
    fn addresses() {
        check(
            resolve,
            &[
                "a.com:443:127.0.0.1",
                "+*:80:::1",
                "a:*:1.1.1.1,[::1]",
                "[::1]:80:127.0.0.1",
            ],
            &[
                "a.com",
                "a:443",
                "a:0:1.1.1.1",
                "a:443:b",
                "a:443:1.1.1.1,",
                ":443:1.1.1.1",
            ],
        );
        check(
            connect_to,
            &[
                "a:443:b:8443",
                "::b:80",
                "a:443::",
                "[::1]:80:[::2]:81",
                ":::",
            ],
            &["a", "a:443:b", "a:x:b:80", "[x]:80:b:80", "a:443:b:99999"],
        );
        check(
            dns,
            &["9.9.9.9", "127.0.0.1:5353", "::1", "[::1]:53"],
            &["dns.example", "1.2.3"],
        );
        assert_eq!(dns("9.9.9.9").map(|address| address.port()), Ok(DNS_PORT));
    }
}
