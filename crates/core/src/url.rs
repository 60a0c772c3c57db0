//! The one form in which a URL lives inside the crawler.
//!
//! Owns canonicalisation: a [`CrawlUrl`] is absolute, http or https, without fragment and
//! without credentials, in the WHATWG serialisation. What is requested, stored and archived is
//! exactly this text. Nothing here judges scope; nothing here touches the network.

mod plain;
mod spelling;

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use url::{Host, Url};

/// No URL longer than this is ever represented; the configured limit is usually far lower.
pub const HARD_LENGTH_LIMIT: usize = 32 * 1024;

/// Why a text is not a URL that this crawler could ever fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The text does not parse by the WHATWG rules.
    #[error("is not a valid URL")]
    Invalid,
    /// There is no host name.
    #[error("has no host name")]
    NoHost,
    /// The port is no number, or too large.
    #[error("has a port that is no number up to 65535")]
    Port,
    /// The host looks like an address, and is none.
    #[error("has an IP address that is none")]
    Address,
    /// A character that cannot stand in a host name.
    #[error("has {} in its host name", named(*.0))]
    HostCharacter(char),
    /// The host name is not one by the rules for international names.
    #[error("has a host name that cannot be one")]
    HostName,
    /// Another scheme than http or https.
    #[error("is neither http nor https")]
    Scheme,
    /// Longer than [`HARD_LENGTH_LIMIT`].
    #[error("is longer than {HARD_LENGTH_LIMIT} bytes")]
    TooLong,
}

/// A character as people call it.
fn named(character: char) -> String {
    match character {
        ' ' => "a space".to_owned(),
        other => format!("the character `{}`", other.escape_debug()),
    }
}

/// What keeps a text from being a URL.
fn fault(text: &str, error: url::ParseError) -> UrlError {
    use url::ParseError as Fault;
    match error {
        Fault::EmptyHost => UrlError::NoHost,
        Fault::InvalidPort => UrlError::Port,
        Fault::InvalidIpv4Address | Fault::InvalidIpv6Address => UrlError::Address,
        Fault::IdnaError | Fault::InvalidDomainCharacter => {
            let stranger = host_part(text).chars().find(|c| !may_stand_in_host(*c));
            stranger.map_or(UrlError::HostName, UrlError::HostCharacter)
        }
        _ => UrlError::Invalid,
    }
}

/// What stands where the host of a URL should.
fn host_part(text: &str) -> &str {
    let rest = text.split_once("//").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// Letters of any script may; of ASCII only those of names, addresses and ports.
const fn may_stand_in_host(character: char) -> bool {
    !character.is_ascii()
        || character.is_ascii_alphanumeric()
        || matches!(character, '.' | '-' | '_' | ':' | '%')
}

/// http or https.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// The scheme's name, without the colon.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that is left out of a serialised URL.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// A canonical, absolute http(s) URL without fragment and credentials.
///
/// One allocation; the offsets into it fit two bytes each because of [`HARD_LENGTH_LIMIT`]. The
/// text may also lie elsewhere: a `CrawlUrl<&str>` is a URL among those of a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CrawlUrl<Text = Box<str>> {
    text: Text,
    host_end: u16,
    path_start: u16,
    query_start: u16,
    port: u16,
    scheme: Scheme,
}

impl CrawlUrl {
    /// Parses an absolute URL.
    ///
    /// ```
    /// use clewline_core::url::CrawlUrl;
    /// let url = CrawlUrl::parse("HTTP://u:p@Example.com:80/a/../b?x#frag").unwrap();
    /// assert_eq!(url.as_str(), "http://example.com/b?x");
    /// ```
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        guard_length(text)?;
        Url::parse(text)
            .map_err(|error| fault(text, error))
            .and_then(Self::from_url)
    }

    /// Resolves a reference found on this page.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        guard_length(reference)?;
        if let Some(joined) = self.join_plain(reference) {
            return Ok(joined);
        }
        self.to_url()
            .join(&with_two_slashes(reference))
            .map_err(|_| UrlError::Invalid)
            .and_then(Self::from_url)
    }

    /// Takes over a URL that was parsed elsewhere, for example with a document's encoding.
    pub fn from_url(mut url: Url) -> Result<Self, UrlError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(UrlError::Scheme),
        };
        url.set_fragment(None);
        if !url.username().is_empty() || url.password().is_some() {
            let stripped = url.set_username("").is_ok() && url.set_password(None).is_ok();
            if !stripped {
                return Err(UrlError::Invalid);
            }
        }
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or(UrlError::Invalid)?;
        let port = url.port().unwrap_or(scheme.default_port());
        let host_end = scheme.as_str().len() + "://".len() + host.len();
        let path_start = host_end + url.port().map_or(0, |port| 1 + port.to_string().len());
        let text: String = url.into();
        if text.len() > HARD_LENGTH_LIMIT {
            return Err(UrlError::TooLong);
        }
        let query_start = text[path_start..]
            .find('?')
            .map_or(text.len(), |at| path_start + at);
        Ok(Self {
            text: text.into_boxed_str(),
            host_end: host_end as u16,
            path_start: path_start as u16,
            query_start: query_start as u16,
            port,
            scheme,
        })
    }

    /// Another path on the same origin, such as `/robots.txt`.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        debug_assert!(path.starts_with('/'), "an absolute path");
        let text = [self.origin(), path].concat();
        let query_start = text.find('?').unwrap_or(text.len()) as u16;
        Self {
            query_start,
            ..self.with_text(text.into_boxed_str())
        }
    }

    /// The same resource over plain HTTP, for roots that were typed without a scheme.
    #[must_use]
    pub fn over_http(&self) -> Self {
        let rest = &self.text[self.host_start()..];
        Self::parse(&["http://", rest].concat()).expect("only the scheme differs")
    }
}

impl<Text> CrawlUrl<Text> {
    /// http or https.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The port, the scheme's own if none is written.
    pub const fn port(&self) -> u16 {
        self.port
    }

    const fn host_start(&self) -> usize {
        self.scheme.as_str().len() + 3
    }

    /// The same URL with its text in another place.
    pub(crate) fn with_text<Other>(&self, text: Other) -> CrawlUrl<Other> {
        CrawlUrl {
            text,
            host_end: self.host_end,
            path_start: self.path_start,
            query_start: self.query_start,
            port: self.port,
            scheme: self.scheme,
        }
    }

    /// The text as it is held: of a URL among others, one that may outlive this.
    pub const fn text(&self) -> &Text {
        &self.text
    }
}

impl<Text: Deref<Target = str>> CrawlUrl<Text> {
    /// The text that is requested, stored and archived.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host in serialised form: lower-case, punycode, IPv6 in brackets.
    pub fn host(&self) -> &str {
        &self.text[self.host_start()..usize::from(self.host_end)]
    }

    /// The address if the host is an IP literal.
    pub fn ip(&self) -> Option<IpAddr> {
        host_ip(self.host())
    }

    /// Host and, where it is not the scheme's own, port: the value of a Host header.
    pub fn authority(&self) -> &str {
        &self.text[self.host_start()..usize::from(self.path_start)]
    }

    /// Scheme, host and port: the unit of robots.txt.
    pub fn origin(&self) -> &str {
        &self.text[..usize::from(self.path_start)]
    }

    /// The path, always beginning with a slash.
    pub fn path(&self) -> &str {
        &self.text[usize::from(self.path_start)..usize::from(self.query_start)]
    }

    /// The query without its question mark.
    pub fn query(&self) -> Option<&str> {
        self.text.get(usize::from(self.query_start) + 1..)
    }

    /// What robots.txt is matched against and what a request line carries.
    pub fn path_and_query(&self) -> &str {
        &self.text[usize::from(self.path_start)..]
    }

    /// The same URL as the `url` crate's type.
    pub fn to_url(&self) -> Url {
        Url::parse(&self.text).expect("a canonical URL parses again")
    }

    /// The same URL with a text of its own.
    pub fn to_owned(&self) -> CrawlUrl {
        self.with_text(Box::from(self.as_str()))
    }
}

impl<Text: Deref<Target = str>> fmt::Display for CrawlUrl<Text> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl<Text: Deref<Target = str>> fmt::Debug for CrawlUrl<Text> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}>", self.as_str())
    }
}

impl<Text: Deref<Target = str>> Serialize for CrawlUrl<Text> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for CrawlUrl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// A reference that begins with more than two slashes, with two of them: for schemes like http the
/// standard ignores the others (URL section 4.4, special authority ignore slashes state), and the
/// parser that we use takes what follows two for an empty host. Apply it before resolving against
/// an http or https URL.
///
/// ```
/// use clewline_core::url::with_two_slashes;
/// assert_eq!(with_two_slashes("///a.test/x"), "//a.test/x");
/// assert_eq!(with_two_slashes("/x//y"), "/x//y");
/// ```
pub fn with_two_slashes(reference: &str) -> Cow<'_, str> {
    if !reference.starts_with(['/', '\\']) {
        return Cow::Borrowed(reference);
    }
    // The parser removes tabs and line ends, wherever they are.
    let rest = reference.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
    let slashes = &reference.as_bytes()[..reference.len() - rest.len()];
    let count = slashes.iter().filter(|byte| matches!(byte, b'/' | b'\\'));
    if count.count() > 2 {
        Cow::Owned(format!("//{rest}"))
    } else {
        Cow::Borrowed(reference)
    }
}

/// The address in a serialised host, brackets or not.
pub fn host_ip(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

/// Whether a text names a host by the WHATWG rules, as in `--resolve`.
pub fn parse_host(text: &str) -> Option<String> {
    Host::parse(text).ok().map(|host| host.to_string())
}

/// A text that may have been meant as a URL, with `***` in place of the user and password that
/// may stand in it. It is lenient like the URL parser, which ignores tabs and takes backslashes
/// for slashes.
///
/// ```
/// use clewline_core::url::redacted;
/// assert_eq!(redacted("ftp://me:secret@a.test/x"), "ftp://***@a.test/x");
/// assert_eq!(redacted("http://a.test/@me"), "http://a.test/@me");
/// ```
pub fn redacted(text: &str) -> Cow<'_, str> {
    let is_scheme = |name: &str| {
        let mut bytes = name.bytes();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.\t\n\r ".contains(&byte))
    };
    let after_scheme = text.find(':').filter(|at| is_scheme(&text[..*at]));
    let rest = &text[after_scheme.map_or(0, |at| at + 1)..];
    let authority = rest.trim_start_matches(['/', '\\', '\t', '\n', '\r', ' ']);
    let end = authority.find(['/', '\\', '?', '#']);
    match authority[..end.unwrap_or(authority.len())].rfind('@') {
        Some(at) => {
            let before = &text[..text.len() - authority.len()];
            Cow::Owned(format!("{before}***{}", &authority[at..]))
        }
        None => Cow::Borrowed(text),
    }
}

fn guard_length(text: &str) -> Result<(), UrlError> {
    if text.len() > HARD_LENGTH_LIMIT {
        Err(UrlError::TooLong)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, text: &str, place: (&str, u16), path: &str, query: Option<&str>) {
        let url = CrawlUrl::parse(input).unwrap();
        assert_eq!(url.as_str(), text, "{input}");
        assert_eq!((url.host(), url.port()), place, "{input}");
        assert_eq!((url.path(), url.query()), (path, query), "{input}");
        assert_eq!(
            CrawlUrl::parse(text).unwrap(),
            url,
            "canonical form is a fixed point"
        );
        assert_eq!(url.origin().to_owned() + url.path_and_query(), text);
    }

    #[test]
    fn surplus_slashes_are_ignored() {
        let page = CrawlUrl::parse("https://a.test/b/c").unwrap();
        for (reference, expected) in [
            ("//h.test/x", Some("https://h.test/x")),
            ("///h.test/x", Some("https://h.test/x")),
            ("////h.test//x", Some("https://h.test//x")),
            ("\\\\\\h.test\\x", Some("https://h.test/x")),
            ("/\t/\n/h.test/x", Some("https://h.test/x")),
            ("/x///y", Some("https://a.test/x///y")),
            ("x///y", Some("https://a.test/b/x///y")),
            ("///", None),
        ] {
            let found = page.join(reference).ok();
            assert_eq!(
                found.as_ref().map(CrawlUrl::as_str),
                expected,
                "{reference:?}"
            );
        }
    }

    #[test]
    fn parts_of_urls() {
        check("http://a.test", "http://a.test/", ("a.test", 80), "/", None);
        check(
            "https://A.test:8443/x?",
            "https://a.test:8443/x?",
            ("a.test", 8443),
            "/x",
            Some(""),
        );
        check(
            "http://u:p@a.test/#f",
            "http://a.test/",
            ("a.test", 80),
            "/",
            None,
        );
        check(
            "http://[::1]:9/?q=1",
            "http://[::1]:9/?q=1",
            ("[::1]", 9),
            "/",
            Some("q=1"),
        );
        check(
            "http://2130706433/",
            "http://127.0.0.1/",
            ("127.0.0.1", 80),
            "/",
            None,
        );
        check(
            "http://a.test:80?x",
            "http://a.test/?x",
            ("a.test", 80),
            "/",
            Some("x"),
        );
        check(
            "http://bücher.test/ü",
            "http://xn--bcher-kva.test/%C3%BC",
            ("xn--bcher-kva.test", 80),
            "/%C3%BC",
            None,
        );
    }

    #[test]
    fn refusals_say_why() {
        assert_eq!(
            CrawlUrl::parse("javascript:alert(1)").unwrap_err(),
            UrlError::Scheme
        );
        assert_eq!(
            CrawlUrl::parse("file:///etc/hostname").unwrap_err(),
            UrlError::Scheme
        );
        let check = |text: &str, expected: &str| {
            let error = CrawlUrl::parse(text).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text}");
        };
        check("http://", "has no host name");
        check("https://:80/", "has no host name");
        check("http://exa mple.com/", "has a space in its host name");
        check("http://a<b/", "has the character `<` in its host name");
        check(
            "http://a.test:99999/",
            "has a port that is no number up to 65535",
        );
        check(
            "http://a.test:http/",
            "has a port that is no number up to 65535",
        );
        check("http://1.2.3.999/", "has an IP address that is none");
        check("http://[::1/", "has an IP address that is none");
        check(
            "http://xn--a-\u{fffe}/",
            "has a host name that cannot be one",
        );
        check("nonsense", "is not a valid URL");
        let long = format!("http://a.test/{}", "x".repeat(HARD_LENGTH_LIMIT));
        assert_eq!(CrawlUrl::parse(&long).unwrap_err(), UrlError::TooLong);
    }

    #[test]
    fn the_longest_url_is_taken_however_it_is_written() {
        let page = CrawlUrl::parse("http://a.test/").unwrap();
        let longest = HARD_LENGTH_LIMIT - page.as_str().len();
        for (more, is_taken) in [(0, true), (1, false)] {
            let path = "x".repeat(longest + more);
            let dotted = format!("./{path}");
            let absolute = format!("http://a.test/{path}");
            // A space is written in three bytes.
            let spaced = format!("/{} x", "x".repeat(longest + more - 4));
            for reference in [&path, &dotted, &absolute, &spaced] {
                let found = page.join(reference);
                let length = found.as_ref().map(|url| url.as_str().len());
                let expected = is_taken.then_some(HARD_LENGTH_LIMIT);
                let start = &reference[..9];
                assert_eq!(length.ok(), expected, "{start} and {more}");
            }
            assert_eq!(CrawlUrl::parse(&absolute).is_ok(), is_taken, "{more}");
        }
    }

    #[test]
    fn credentials_are_hidden() {
        for (text, expected) in [
            ("http://u:p@a.test:99999/x@y", "http://***@a.test:99999/x@y"),
            ("//u:p@a.test", "//***@a.test"),
            ("u:p@a.test", "u:***@a.test"),
            ("http://u:p@q@a.test", "http://***@a.test"),
            ("ht\ttp:\t/\\u:p@a.test", "ht\ttp:\t/\\***@a.test"),
            ("http:u:p@a.test", "http:***@a.test"),
            (" http://ü:p@", " http://***@"),
            ("http://a.test?u:p@b", "http://a.test?u:p@b"),
            ("", ""),
        ] {
            assert_eq!(redacted(text), expected, "{text}");
        }
    }

    #[test]
    fn siblings() {
        let url = CrawlUrl::parse("https://a.test:444/x/y?z").unwrap();
        assert_eq!(
            url.with_path("/robots.txt").as_str(),
            "https://a.test:444/robots.txt"
        );
        assert_eq!(url.with_path("/s?q").query(), Some("q"));
        assert_eq!(url.join("../b#c").unwrap().as_str(), "https://a.test:444/b");
        assert_eq!(url.over_http().as_str(), "http://a.test:444/x/y?z");
        assert_eq!(
            CrawlUrl::parse("https://[::1]/").unwrap().ip(),
            Some("::1".parse().unwrap())
        );
    }
}
