//! Which requests go through a proxy, and through which.
//!
//! Owns proxy URLs, the environment's variables for them and `NO_PROXY` patterns. Refuses to
//! know how a proxy is spoken to. Invariant: a proxy from the environment is never used for
//! this machine itself, and credentials never print.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use clewline_core::address::Cidr;
use clewline_core::url::{CrawlUrl, Scheme, host_ip};
use percent_encoding::percent_decode_str;
use url::Url;

use super::client::FetchSetupError;
use super::fields::basic;
use crate::config::{FetchConfig, Secret};

/// How a proxy is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    /// HTTP: absolute-form for http, CONNECT for https.
    Http,
    /// SOCKS version 5; the proxy resolves names.
    Socks5,
}

/// One proxy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) kind: ProxyKind,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// User and password, for SOCKS.
    pub(crate) user: Option<(Secret, Secret)>,
    /// The value of Proxy-Authorization, for HTTP.
    pub(crate) authorization: Option<Secret>,
}

/// The proxies of a crawl.
#[derive(Debug, Default)]
pub(crate) struct ProxySettings {
    http: Option<Arc<Proxy>>,
    https: Option<Arc<Proxy>>,
    exempt: Vec<Exempt>,
    /// Named by the user for this crawl, so that it counts for loopback too.
    explicit: bool,
}

/// A pattern of `NO_PROXY`.
#[derive(Debug, PartialEq, Eq)]
enum Exempt {
    All,
    Range(Cidr, Option<u16>),
    /// A host and everything below it.
    Domain(String, Option<u16>),
}

impl ProxySettings {
    /// The configured proxy, or else those of the environment.
    pub(crate) fn new(
        config: &FetchConfig,
        vars: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, FetchSetupError> {
        let mut settings = match &config.proxy {
            None => Self::from_environment(vars)?,
            Some(url) => {
                let proxy = Proxy::parse("proxy", url.reveal())?.map(Arc::new);
                Self {
                    http: proxy.clone(),
                    https: proxy,
                    exempt: Vec::new(),
                    explicit: true,
                }
            }
        };
        let own = config.no_proxy.iter().flat_map(|list| list.split(','));
        settings.exempt.extend(own.filter_map(Exempt::parse));
        Ok(settings)
    }

    /// The proxies that the environment names: `http_proxy`, `https_proxy`, `all_proxy`,
    /// `no_proxy`; the lower-case name counts first. `HTTP_PROXY` is ignored under CGI, where a
    /// client's `Proxy` header ends up in it.
    pub(crate) fn from_environment(
        vars: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, FetchSetupError> {
        const NAMES: [&str; 9] = [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
            "no_proxy",
            "NO_PROXY",
            "REQUEST_METHOD",
        ];
        let vars: HashMap<_, _> = vars
            .filter(|(name, value)| NAMES.contains(&name.as_str()) && !value.trim().is_empty())
            .collect();
        let first = |names: &[&'static str]| {
            names
                .iter()
                .find_map(|name| vars.get(*name).map(|value| (*name, value.trim())))
        };
        let read = |names: &[&'static str]| {
            let names = first(names).or_else(|| first(&["all_proxy", "ALL_PROXY"]));
            let proxy = names.map(|(name, value)| Proxy::parse(name, value));
            Ok(proxy.transpose()?.flatten().map(Arc::new))
        };
        let under_cgi = vars.contains_key("REQUEST_METHOD");
        let http: &[_] = if under_cgi {
            &["http_proxy"]
        } else {
            &["http_proxy", "HTTP_PROXY"]
        };
        let exempt = first(&["no_proxy", "NO_PROXY"]).map_or("", |(_, list)| list);
        Ok(Self {
            http: read(http)?,
            https: read(&["https_proxy", "HTTPS_PROXY"])?,
            exempt: exempt.split([',', ' ']).filter_map(Exempt::parse).collect(),
            explicit: false,
        })
    }

    /// The proxy for a URL, if there is one.
    pub(crate) fn choose(&self, url: &CrawlUrl) -> Option<&Arc<Proxy>> {
        let proxy = match url.scheme() {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        }?;
        let (host, port) = (url.host(), url.port());
        let spared = (!self.explicit && is_this_machine(host))
            || self.exempt.iter().any(|pattern| pattern.covers(host, port));
        (!spared).then_some(proxy)
    }
}

impl Proxy {
    /// Reads a proxy's URL; without a scheme it is an HTTP proxy, as in curl. Empty is none.
    fn parse(setting: &'static str, text: &str) -> Result<Option<Self>, FetchSetupError> {
        let wrong = |problem| FetchSetupError::Proxy { setting, problem };
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let whole = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let url = Url::parse(&whole).map_err(|_| wrong("is not a valid URL"))?;
        let (kind, default_port) = match url.scheme() {
            "http" => (ProxyKind::Http, 80),
            "socks5" | "socks5h" => (ProxyKind::Socks5, 1080),
            _ => return Err(wrong("must begin with http://, socks5:// or socks5h://")),
        };
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong("names no host"))?.to_owned();
        let user = match (url.username(), url.password()) {
            ("", None) => None,
            (name, password) => {
                let decoded = decode(name).zip(decode(password.unwrap_or_default()));
                Some(decoded.ok_or_else(|| wrong("has a user or password that is not text"))?)
            }
        };
        let authorization = user.as_ref().map(|(name, password)| {
            basic(&Secret::new(format!("{name}:{password}")))
                .map_err(|_| wrong("has a user or password with control characters"))
        });
        // RFC 1929 gives both fields one byte for their length.
        let fits = |part: &String| (1..=255).contains(&part.len());
        if kind == ProxyKind::Socks5 && user.as_ref().is_some_and(|(a, b)| !fits(a) || !fits(b)) {
            return Err(wrong("needs a user and a password of 1 to 255 bytes"));
        }
        Ok(Some(Self {
            kind,
            host,
            port: url.port().unwrap_or(default_port),
            authorization: authorization.transpose()?,
            user: user.map(|(name, password)| (Secret::new(name), Secret::new(password))),
        }))
    }
}

impl Exempt {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "*" {
            return Some(Self::All);
        }
        if let Ok(range) = text.trim_start_matches('[').trim_end_matches(']').parse() {
            return Some(Self::Range(range, None));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (text, None),
        };
        if let Some(address) = host_ip(host) {
            return Some(Self::Range(address.to_string().parse().ok()?, port));
        }
        let host = host.strip_prefix('*').unwrap_or(host);
        let host = host.trim_start_matches('.').trim_end_matches('.');
        (!host.is_empty()).then(|| Self::Domain(host.to_ascii_lowercase(), port))
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        let fits = |only: &Option<u16>| only.is_none_or(|only| only == port);
        match self {
            Self::All => true,
            Self::Range(range, only) => {
                fits(only) && host_ip(host).is_some_and(|address| range.contains(address))
            }
            Self::Domain(domain, only) => fits(only) && is_within(host, domain),
        }
    }
}

/// Whether a host is this machine by its very name (RFC 6761 section 6.3) or address.
pub(crate) fn is_this_machine(host: &str) -> bool {
    match host_ip(host).map(|address| address.to_canonical()) {
        Some(IpAddr::V4(address)) => address.is_loopback(),
        Some(IpAddr::V6(address)) => address.is_loopback(),
        None => is_within(host, "localhost"),
    }
}

fn is_within(host: &str, domain: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Undoes percent-encoding; none if the result is not text.
fn decode(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(vars: &[(&str, &str)]) -> Result<ProxySettings, FetchSetupError> {
        let vars = vars
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ProxySettings::from_environment(vars)
    }

    fn check(settings: &ProxySettings, url: &str, expected: Option<&str>) {
        let chosen = settings.choose(&CrawlUrl::parse(url).unwrap());
        assert_eq!(chosen.map(|proxy| proxy.host.as_str()), expected, "{url}");
    }

    #[test]
    fn the_environment_by_scheme() {
        let settings = environment(&[
            ("http_proxy", "plain.test:3128"),
            ("HTTPS_PROXY", "http://u:p@secure.test"),
            (
                "no_proxy",
                "spared.test, .dotted.test *.star.test,10.0.0.0/8,port.test:8080,[::9]",
            ),
        ])
        .unwrap();
        for (url, expected) in [
            ("http://a.test/", Some("plain.test")),
            ("https://a.test/", Some("secure.test")),
            ("http://spared.test/", None),
            ("http://x.spared.test/", None),
            ("http://notspared.test/", Some("plain.test")),
            ("http://dotted.test/", None),
            ("http://x.star.test/", None),
            ("http://10.1.2.3/", None),
            ("http://11.1.2.3/", Some("plain.test")),
            ("http://[::9]/", None),
            ("http://port.test:8080/", None),
            ("http://port.test/", Some("plain.test")),
            ("http://localhost:3000/", None),
            ("http://x.localhost/", None),
            ("http://127.9.9.9/", None),
            ("https://[::1]/", None),
        ] {
            check(&settings, url, expected);
        }
        assert_eq!(settings.http.as_ref().map(|proxy| proxy.port), Some(3128));
    }

    #[test]
    fn all_proxy_stands_in_and_cgi_is_not_trusted() {
        let settings = environment(&[("ALL_PROXY", "socks5h://s.test")]).unwrap();
        check(&settings, "http://a.test/", Some("s.test"));
        check(&settings, "https://a.test/", Some("s.test"));
        let settings = environment(&[("HTTP_PROXY", "p.test")]).unwrap();
        check(&settings, "http://a.test/", Some("p.test"));
        let cgi = [("HTTP_PROXY", "p.test"), ("REQUEST_METHOD", "GET")];
        check(&environment(&cgi).unwrap(), "http://a.test/", None);
        let spared = [("http_proxy", "p.test"), ("NO_PROXY", "*")];
        check(&environment(&spared).unwrap(), "http://a.test/", None);
    }

    #[test]
    fn an_explicit_proxy_counts_for_this_machine_too() {
        let config = FetchConfig {
            proxy: Some(Secret::new("socks5://us%65r:p%40ss@p.test:9")),
            no_proxy: vec!["b.test".into()],
            ..FetchConfig::default()
        };
        let settings = ProxySettings::new(&config, std::iter::empty()).unwrap();
        check(&settings, "http://localhost/", Some("p.test"));
        check(&settings, "http://b.test/", None);
        let user = settings.http.as_ref().unwrap().user.as_ref().unwrap();
        assert_eq!((user.0.reveal(), user.1.reveal()), ("user", "p@ss"));
        assert!(!format!("{settings:?}").contains("p@ss"));
    }

    #[test]
    fn bad_urls_are_refused_without_their_secrets() {
        for url in [
            "ftp://u:hidden@p.test",
            "https://u:hidden@p.test",
            "http://u:hidden@",
            "http://u:hidden@p.test:99999",
            "http://u:hidden%0d%0a@p.test",
            "http://u:hidden%ff@p.test",
            "socks5://hidden@p.test",
        ] {
            let error = environment(&[("http_proxy", url)]).unwrap_err().to_string();
            assert!(error.starts_with("http_proxy: "), "{url}: {error}");
            assert!(!error.contains("hidden"), "{error}");
        }
    }
}
