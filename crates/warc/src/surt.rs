//! Keys of an index: URLs turned so that what belongs together sorts together.
//!
//! Owns the canonical form that the tools of the field share (the SURT of pywb and of the
//! wayback machine), so that they find captures in our index and we in theirs: the host reversed,
//! `www` and default ports gone, all in lower case, arguments sorted, session identifiers gone.
//! It is a key for looking up, never a URL to ask for.

use std::fmt::Write as _;

use percent_encoding::percent_encode_byte;

/// The key of a URL.
///
/// ```
/// use clewline_warc::surt;
/// assert_eq!(surt("https://www.Example.com/A/?b=2&a=1"), "com,example)/a?a=1&b=2");
/// ```
pub fn surt(url: &str) -> String {
    let url: String = url.trim().replace(['\r', '\n', '\t'], "");
    let parts = Parts::from_url(&url);
    let mut key = String::with_capacity(url.len());
    if let Some(host) = &parts.host {
        push_host(host, &mut key);
    } else {
        key.push_str(parts.scheme);
        key.push(':');
    }
    if let (Some(_), Some(port)) = (&parts.host, parts.port) {
        write!(key, ":{port}").expect("a string takes all text");
    }
    if parts.host.is_some() {
        key.push(')');
    }
    push_path(parts.path, parts.host.is_some(), &mut key);
    if let Some(query) = parts
        .query
        .map(canonical_query)
        .filter(|query| !query.is_empty())
    {
        key.push('?');
        key.push_str(&query);
    }
    key
}

struct Parts<'a> {
    scheme: &'a str,
    host: Option<Vec<u8>>,
    port: Option<u16>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn from_url(url: &'a str) -> Self {
        let url = url.split('#').next().unwrap_or_default();
        let is_scheme = |scheme: &&str| {
            let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            scheme.starts_with(|one: char| one.is_ascii_alphabetic()) && scheme.bytes().all(sound)
        };
        let colon = url.find(':').filter(|&at| is_scheme(&&url[..at]));
        let (scheme, rest) = colon.map_or(("http", url), |at| (&url[..at], &url[at + 1..]));
        let (rest, query) = rest
            .split_once('?')
            .map_or((rest, None), |(a, b)| (a, Some(b)));
        let authority = match colon {
            Some(_) => rest.strip_prefix("//"),
            None => Some(rest),
        };
        let (authority, path) = match authority {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (Some(authority), path)
            }
            None => (None, rest),
        };
        let (host, port) = authority.map_or((None, None), |authority| {
            let (host, port) = host_and_port(authority);
            (Some(canonical_host(host)), port)
        });
        let default = match scheme.to_ascii_lowercase().as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        Self {
            scheme,
            host: host.filter(|host| !host.is_empty()),
            port: port.filter(|&port| Some(port) != default),
            path,
            query,
        }
    }
}

fn host_and_port(authority: &str) -> (&str, Option<u16>) {
    let host = authority.rsplit('@').next().unwrap_or_default();
    if let Some((inner, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (
            inner,
            port.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    match host.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (host, None),
    }
}

fn canonical_host(host: &str) -> Vec<u8> {
    let host = single_dots(&unescaped(host.as_bytes()));
    let start = host
        .iter()
        .position(|&byte| byte != b'.')
        .unwrap_or(host.len());
    let end = host
        .iter()
        .rposition(|&byte| byte != b'.')
        .map_or(start, |at| at + 1);
    let host = host[start..end].to_ascii_lowercase();
    let is_number = !host.is_empty() && host.iter().all(u8::is_ascii_digit);
    if is_number {
        // An address written as one number; what exceeds four bytes is cut as others do.
        let number = host.iter().fold(0_u32, |number, byte| {
            number.wrapping_mul(10).wrapping_add(u32::from(byte - b'0'))
        });
        return std::net::Ipv4Addr::from(number).to_string().into_bytes();
    }
    host
}

/// Each two dots become one, once, as elsewhere.
fn single_dots(host: &[u8]) -> Vec<u8> {
    let mut single = Vec::with_capacity(host.len());
    let mut rest = host;
    while let Some(at) = memchr::memmem::find(rest, b"..") {
        single.extend_from_slice(&rest[..=at]);
        rest = &rest[at + 2..];
    }
    single.extend_from_slice(rest);
    single
}

fn push_host(host: &[u8], key: &mut String) {
    let mut host = host;
    if let Some(rest) = host.strip_prefix(b"www") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        host = rest[digits..].strip_prefix(b".").unwrap_or(host);
    }
    let mut labels = host.rsplit(|&byte| byte == b'.');
    push_escaped(labels.next().unwrap_or_default(), key);
    for label in labels {
        key.push(',');
        push_escaped(label, key);
    }
}

fn push_path(path: &str, has_host: bool, key: &mut String) {
    let mut path = unescaped(path.as_bytes());
    if has_host {
        path = normalised_path(&path);
    }
    let mut escaped = String::with_capacity(path.len());
    push_escaped(&path, &mut escaped);
    escaped.make_ascii_lowercase();
    let path = without_path_session(&escaped);
    let path = match path.strip_suffix('/') {
        Some(shorter) if !shorter.is_empty() => shorter,
        _ => &path,
    };
    key.push_str(path);
}

/// Dots and repeated slashes resolved; a `..` that leads out stays, as it does elsewhere.
fn normalised_path(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    let mut normalised = vec![b'/'];
    let last = kept.pop().unwrap_or_default();
    for segment in kept.into_iter().filter(|segment| !segment.is_empty()) {
        normalised.extend_from_slice(segment);
        normalised.push(b'/');
    }
    normalised.extend_from_slice(last);
    normalised
}

fn canonical_query(query: &str) -> String {
    let mut escaped = String::with_capacity(query.len());
    push_escaped(&unescaped(query.as_bytes()), &mut escaped);
    let mut query = without_query_session(escaped);
    query.make_ascii_lowercase();
    if query.len() <= 1 {
        return query;
    }
    let mut arguments: Vec<(&str, Option<&str>)> = query
        .split('&')
        .map(|one| {
            one.split_once('=')
                .map_or((one, None), |(name, value)| (name, Some(value)))
        })
        .collect();
    arguments.sort_unstable();
    let written = arguments.into_iter().map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    });
    written.collect::<Vec<_>>().join("&")
}

/// Percent-decoded until nothing is left to decode, in one pass: a decoded byte may complete an
/// escape that began before it.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let hex = |byte: u8| char::from(byte).to_digit(16);
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    for &byte in text {
        out.push(byte);
        while let [.., b'%', high, low] = out[..]
            && let (Some(high), Some(low)) = (hex(high), hex(low))
        {
            out.truncate(out.len() - 3);
            out.push((high * 16 + low) as u8);
        }
    }
    out
}

/// Everything but printable ASCII, `#` and `%` stands for itself.
fn push_escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            out.push(char::from(byte));
        } else {
            out.push_str(percent_encode_byte(byte));
        }
    }
}

/// Identifiers of sessions that stand as a segment before an `.aspx` page.
fn without_path_session(path: &str) -> String {
    let mut path = path.to_owned();
    for is_session in [is_long_session as fn(&str) -> bool, is_short_session] {
        let mut end = path.len();
        while let Some(slash) = path[..end].rfind('/') {
            let segment = &path[slash + 1..end];
            let after = path.get(end + 1..).unwrap_or_default();
            let page = after.get(1..).is_some_and(|rest| rest.contains(".aspx"));
            if page && is_session(segment) {
                path = format!("{}{}", &path[..=slash], after);
                break;
            }
            end = slash;
        }
    }
    path
}

/// `(24 characters)`
fn is_short_session(segment: &str) -> bool {
    let inner = segment
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| inner.len() == 24 && is_alphanumeric(inner))
}

/// `(a(24 characters)b(24 characters))`
fn is_long_session(segment: &str) -> bool {
    let inner = segment
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let groups = inner.as_bytes().chunks(27);
        let sound = |group: &[u8]| {
            group.len() == 27
                && group[0].is_ascii_alphabetic()
                && std::str::from_utf8(&group[1..]).is_ok_and(is_short_session)
        };
        !inner.is_empty() && groups.into_iter().all(sound)
    })
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn without_query_session(query: String) -> String {
    let mut query = query;
    for name in ["jsessionid=", "phpsessid=", "sid="] {
        query = without(query, name, |rest| {
            rest.len() == 32 && is_alphanumeric(rest)
        });
    }
    query = without(query, "aspsessionid", |rest| {
        let letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
        let (name, value) = rest.split_once('=').unwrap_or_default();
        name.len() == 8 && value.len() == 24 && letters(name) && letters(value)
    });
    without_cold_fusion(query)
}

/// Removes the last `name` whose argument is a session, and the `&` behind it.
fn without(query: String, name: &str, is_session: fn(&str) -> bool) -> String {
    let lower = query.to_ascii_lowercase();
    let mut end = lower.len();
    while let Some(at) = lower[..end].rfind(name) {
        let rest = &query[at + name.len()..];
        let argument = rest.split('&').next().unwrap_or_default();
        if is_session(argument) {
            let after = rest[argument.len()..].strip_prefix('&').unwrap_or_default();
            return format!("{}{after}", &query[..at]);
        }
        end = at;
    }
    query
}

/// `cfid=…&cftoken=…`, a pair of arguments.
fn without_cold_fusion(query: String) -> String {
    let lower = query.to_ascii_lowercase();
    let Some(at) = lower.rfind("cfid=") else {
        return query;
    };
    let mut arguments = lower[at..].split('&');
    let first = arguments.next().unwrap_or_default();
    let second = arguments.next().unwrap_or_default();
    if first.len() <= 5 || second.len() <= 8 || !second.starts_with("cftoken=") {
        return query;
    }
    let after = at + first.len() + 1 + second.len();
    let rest = query[after..].strip_prefix('&').unwrap_or_default();
    format!("{}{rest}", &query[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_field() {
        for (url, key) in [
            ("http://example.com", "com,example)/"),
            ("http://www2.example.com:80/", "com,example)/"),
            (
                "https://u:p@Sub.Example.COM:8443/A/../B//c/?",
                "com,example,sub:8443)/b/c",
            ),
            (
                "http://example.com/a%2525b%20c/#frag",
                "com,example)/a%25b%20c",
            ),
            (
                "http://example.com/?b&a=2&a=1&A=0&c=",
                "com,example)/?a=0&a=1&a=2&b&c=",
            ),
            ("http://example.com/ü?ü", "com,example)/%c3%bc?%c3%bc"),
            ("http://192.168.1.2/x", "2,1,168,192)/x"),
            ("http://3232235778/", "2,1,168,192)/"),
            ("http://[2001:DB8::1]:81/", "2001:db8::1:81)/"),
            ("example.com/x", "com,example)/x"),
            ("dns:www.example.com", "dns:www.example.com"),
            ("urn:X:y", "urn:x:y"),
            (
                "http://a.test/?PHPSESSID=0123456789abcdef0123456789abcdef&x=1",
                "test,a)/?x=1",
            ),
            ("http://a.test/?x=1&cfid=1&cftoken=2&y", "test,a)/?x=1&y"),
            (
                "http://a.test/(s(0123456789abcdefghijklmn))/p.aspx?q",
                "test,a)/p.aspx?q",
            ),
            ("http://www.com/", "com)/"),
            ("http://a....b/%2e%2e/x/", "b,,a)/../x"),
            ("http://a.test?b?c=d", "test,a)/?b?c=d"),
            ("http://a.test/x?&", "test,a)/x?&"),
            (
                "http://a.test/?x=1&sid=0123456789abcdef0123456789abcdef",
                "test,a)/?&x=1",
            ),
        ] {
            assert_eq!(surt(url), key, "{url}");
        }
    }

    #[test]
    fn nested_escapes_cost_no_more_than_their_length() {
        let url = format!("http://a.test/%{}", "25".repeat(500_000));
        assert_eq!(surt(&url), "test,a)/%25");
    }
}
