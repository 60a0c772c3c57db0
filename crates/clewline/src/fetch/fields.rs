//! The header fields of a request.
//!
//! Owns which fields are sent, in which order, and who may see the secret ones. Refuses to know
//! the wire. Invariant: what passed [`FieldPlan::new`] can be written without another check,
//! and what the user added only leaves for an origin that the request says may have it, or for
//! a host that the user named with it.

use clewline_core::frontier::matches_host;

use super::Request;
use super::client::FetchSetupError;
use crate::config::{FetchConfig, HostHeaders, Secret};
use crate::escape::base64;

/// What a crawler can read best comes first; everything else is welcome too.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";
const ACCEPT_LANGUAGE: &str = "en,*;q=0.5";

/// Fields that change the framing of a request or of its answer. A user who sets them gets
/// connections that hang or answers that are cut at the wrong place.
const FRAMING: [&str; 7] = [
    "connection",
    "content-length",
    "expect",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields that are credentials, whoever set them.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Fields of the user's own that say nothing about who asks: they go to every host.
const EVERYWHERE: [&str; 2] = ["accept", "accept-language"];

/// The fields of all requests, checked once.
#[derive(Debug)]
pub(crate) struct FieldPlan {
    agent: String,
    authorization: Option<Secret>,
    own: Vec<(String, Secret)>,
    by_host: Vec<HostHeaders>,
}

impl FieldPlan {
    /// Checks the user's fields and credentials.
    pub(crate) fn new(config: &FetchConfig) -> Result<Self, FetchSetupError> {
        let by_host = config.host_headers.iter().flat_map(|table| &table.headers);
        for (name, value) in config.headers.iter().chain(by_host) {
            check_field(name, value.reveal())?;
        }
        check_field("User-Agent", &config.agent())?;
        Ok(Self {
            agent: config.agent(),
            authorization: config.user.as_ref().map(basic).transpose()?,
            own: config.headers.clone(),
            by_host: config.host_headers.clone(),
        })
    }

    /// The fields of one request. The user's own replace ours of the same name, and those for
    /// all roots replace those for some hosts; an empty value means that the field is not sent
    /// at all, as in curl.
    pub(crate) fn fields<'a>(&'a self, request: &'a Request) -> Vec<(&'a str, &'a [u8])> {
        let authorization = self.authorization.as_ref().filter(|_| request.credentials);
        // A jar holds what servers said; a value that would break the line is not sent.
        let cookie = request.cookie.as_deref().filter(|text| is_plain(text));
        // So are conditions: they were read from an archive.
        let condition = request.condition.as_ref();
        let plain = |text: &'a Option<String>| text.as_deref().filter(|text| is_plain(text));
        let ours = [
            ("Host", Some(request.url.authority())),
            ("User-Agent", Some(self.agent.as_str())),
            ("Accept", Some(ACCEPT)),
            ("Accept-Language", Some(ACCEPT_LANGUAGE)),
            ("Accept-Encoding", Some(ACCEPT_ENCODING)),
            ("Authorization", authorization.map(Secret::reveal)),
            ("Cookie", cookie.filter(|text| !text.is_empty())),
            ("If-None-Match", condition.and_then(|it| plain(&it.etag))),
            (
                "If-Modified-Since",
                condition.and_then(|it| plain(&it.last_modified)),
            ),
        ];
        let own = self.own_fields(request);
        let replaced = |ours: &str| own.iter().any(|(name, _)| name.eq_ignore_ascii_case(ours));
        ours.iter()
            .filter_map(|(name, value)| value.map(|value| (*name, value)))
            .filter(|(name, _)| !replaced(name))
            .chain(own.iter().copied().filter(|(_, value)| !value.is_empty()))
            .map(|(name, value)| (name, value.as_bytes()))
            .collect()
    }

    /// What the user added and this request may carry.
    fn own_fields(&self, request: &Request) -> Vec<(&str, &str)> {
        let general = self
            .own
            .iter()
            .filter(|(name, _)| request.credentials || is_one_of(name, &EVERYWHERE))
            .map(|(name, value)| (name.as_str(), value.reveal()));
        let mut fields: Vec<_> = general.collect();
        let host = request.url.host();
        let table = self
            .by_host
            .iter()
            .find(|table| matches_host(&table.host, host));
        let count = fields.len();
        for (name, value) in table.iter().flat_map(|table| &table.headers) {
            let is_known = |(known, _): &(&str, &str)| known.eq_ignore_ascii_case(name);
            if !fields[..count].iter().any(is_known) {
                fields.push((name, value.reveal()));
            }
        }
        fields
    }
}

/// What stands in place of a secret where a request is shown.
const CONCEALED: &[u8] = b"(removed)";

impl FieldPlan {
    /// Replaces the values that nobody but the server should see: credentials, and whatever
    /// the user added.
    pub(crate) fn conceal(&self, fields: &mut [(&str, &[u8])]) {
        let is_own = |name: &str| {
            let by_host = self.by_host.iter().flat_map(|table| &table.headers);
            let mut own = self.own.iter().chain(by_host);
            own.any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        for (name, value) in fields {
            if is_one_of(name, &CREDENTIALS) || is_own(name) {
                *value = CONCEALED;
            }
        }
    }
}

/// The value of a Basic authorization for `user:password` (RFC 7617).
pub(crate) fn basic(user: &Secret) -> Result<Secret, FetchSetupError> {
    let pair = user.reveal();
    if !pair.contains(':') || !is_plain(pair) {
        return Err(FetchSetupError::User);
    }
    Ok(Secret::new(format!("Basic {}", base64(pair.as_bytes()))))
}

fn check_field(name: &str, value: &str) -> Result<(), FetchSetupError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let problem = if name.is_empty() || !name.bytes().all(is_token) {
        "the name is empty or holds a character that is not allowed"
    } else if is_one_of(name, &FRAMING) {
        "this field belongs to the connection and can't be set"
    } else if !is_plain(value) {
        "the value holds a line break or another control character"
    } else {
        return Ok(());
    };
    Err(FetchSetupError::Header {
        name: name.escape_debug().take(64).collect(),
        problem,
    })
}

fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte == b'\t' || !byte.is_ascii_control())
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clewline_core::url::CrawlUrl;

    use super::*;

    fn shown(config: &FetchConfig, credentials: bool, cookie: Option<&str>) -> String {
        let plan = FieldPlan::new(config).unwrap();
        let request = Request {
            url: CrawlUrl::parse("http://a.test:81/x").unwrap(),
            is_head: false,
            address: None,
            cookie: cookie.map(ToOwned::to_owned),
            credentials,
            max_body: 0,
            recording: None,
            pauses: None,
            slots: None,
            first_byte: None,
            spaced: false,
            condition: None,
            timeout: Duration::ZERO,
            patience: None,
            streams: 1,
        };
        let fields = plan.fields(&request);
        let lines = fields
            .iter()
            .map(|(name, value)| format!("{name}: {}", std::str::from_utf8(value).unwrap()));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn config(headers: &[(&str, &str)]) -> FetchConfig {
        let own = |(name, value): &(&str, &str)| (name.to_string(), Secret::new(*value));
        FetchConfig {
            user_agent: Some("test".into()),
            user: Some(Secret::new("Aladdin:open sesame")),
            headers: headers.iter().map(own).collect(),
            ..FetchConfig::default()
        }
    }

    #[test]
    fn ours_come_in_order_and_credentials_only_where_allowed() {
        let all = shown(&config(&[]), true, Some("a=b"));
        let expected = format!(
            "Host: a.test:81\nUser-Agent: test\nAccept: {ACCEPT}\n\
             Accept-Language: {ACCEPT_LANGUAGE}\nAccept-Encoding: {ACCEPT_ENCODING}\n\
             Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\nCookie: a=b"
        );
        assert_eq!(all, expected);
        assert!(!shown(&config(&[]), false, None).contains("Authorization"));
    }

    #[test]
    fn own_fields_replace_and_remove_ours() {
        let headers = [
            ("accept", "x/y"),
            ("USER-agent", ""),
            ("X-Key", "1"),
            ("Cookie", "own=1"),
        ];
        let near = shown(&config(&headers), true, Some("a=b"));
        assert!(
            near.contains("accept: x/y") && !near.contains(ACCEPT),
            "{near}"
        );
        assert!(!near.to_lowercase().contains("user-agent"), "{near}");
        assert!(
            near.contains("Cookie: own=1") && !near.contains("a=b"),
            "{near}"
        );
        let far = shown(&config(&headers), false, Some("a=b"));
        assert!(
            far.contains("Cookie: a=b") && !far.contains("own=1"),
            "{far}"
        );
        assert!(!far.contains("X-Key"), "{far}");
        assert!(far.contains("accept: x/y"), "{far}");
    }

    #[test]
    fn fields_for_hosts_go_to_those_and_give_way_to_the_general_ones() {
        let table = |host: &str, headers: &[(&str, &str)]| HostHeaders {
            host: host.to_owned(),
            headers: config(headers).headers,
        };
        let check = |tables: &[HostHeaders], credentials: bool, expected: &[&str]| {
            let config = FetchConfig {
                host_headers: tables.to_vec(),
                ..config(&[("X-Key", "general")])
            };
            let shown = shown(&config, credentials, None);
            let found: Vec<_> = shown
                .lines()
                .filter(|line| line.starts_with("X-"))
                .collect();
            assert_eq!(found, expected, "{tables:?}");
        };
        let all = table("*", &[("X-Key", "all"), ("X-Other", "1")]);
        check(
            std::slice::from_ref(&all),
            false,
            &["X-Key: all", "X-Other: 1"],
        );
        check(
            std::slice::from_ref(&all),
            true,
            &["X-Key: general", "X-Other: 1"],
        );
        // The first name that matches counts.
        check(&[table("a.test", &[]), all.clone()], false, &[]);
        let others = [table("*.b.test", &[("X-B", "1")]), all];
        check(&others, false, &["X-Key: all", "X-Other: 1"]);
    }

    #[test]
    fn a_cookie_that_would_break_the_line_is_left_out() {
        assert!(!shown(&config(&[]), true, Some("a=b\r\nX: y")).contains("Cookie"));
    }

    #[test]
    fn injection_is_refused_and_secrets_stay_out_of_the_message() {
        for (name, value) in [
            ("X-Key", "hidden\r\nX-Other: 1"),
            ("X-Key", "hidden\nfolded"),
            ("X-Key", "hidden\0"),
            ("X Key", "hidden"),
            ("", "hidden"),
            ("X\r\nY", "hidden"),
            ("Transfer-Encoding", "hidden"),
        ] {
            let error = FieldPlan::new(&config(&[(name, value)]))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("header: "), "{error}");
            assert!(
                !error.contains("hidden") && !error.contains('\n'),
                "{error}"
            );
        }
        for user in ["hidden", "hidden:x\r\n"] {
            let config = FetchConfig {
                user: Some(Secret::new(user)),
                ..config(&[])
            };
            let error = FieldPlan::new(&config).unwrap_err().to_string();
            assert!(
                error.starts_with("user: ") && !error.contains("hidden"),
                "{error}"
            );
        }
    }
}
