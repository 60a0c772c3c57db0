//! Cookie files in Netscape's format, as browsers' exporters, curl and wget write them.
//!
//! Owns the seven fields of a line; refuses to know the jar. Invariant: an error names the line
//! and what is wrong with it, never a name or value, which are secrets.

use super::Cookie;
use super::host::CookieReach;

/// Written before the domain of cookies that scripts may not see.
const HTTP_ONLY: &str = "#HttpOnly_";

/// What is wrong with a cookie file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CookieFileError {
    /// Not seven fields.
    #[error("line {line} does not have seven fields separated by tabs")]
    Fields {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The first field is no host.
    #[error("line {line}: the first field is not a host")]
    Domain {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The second or fourth field is neither `TRUE` nor `FALSE`.
    #[error("line {line}: the second and fourth field must be TRUE or FALSE")]
    Flag {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The third field is no path.
    #[error("line {line}: the third field is not a path that begins with a slash")]
    Path {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The fifth field is no time.
    #[error("line {line}: the fifth field is not a time in seconds since 1970")]
    Expiry {
        /// The number of the line, from 1.
        line: usize,
    },
    /// Name or value cannot stand in a header.
    #[error("line {line}: name and value are empty or hold a character that cookies may not")]
    Content {
        /// The number of the line, from 1.
        line: usize,
    },
    /// The cookie is larger than a jar takes.
    #[error("line {line}: the cookie is too large")]
    TooLarge {
        /// The number of the line, from 1.
        line: usize,
    },
}

pub(super) fn parse(text: &str) -> Result<Vec<Cookie>, CookieFileError> {
    let mut cookies = Vec::new();
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let entry = line.strip_prefix(HTTP_ONLY).unwrap_or(line);
        if !entry.trim().is_empty() && !entry.starts_with('#') {
            cookies.push(cookie(entry, index + 1)?);
        }
    }
    Ok(cookies)
}

fn cookie(entry: &str, line: usize) -> Result<Cookie, CookieFileError> {
    let mut fields: Vec<&str> = entry.splitn(8, '\t').collect();
    if fields.len() == 6 {
        // Some writers drop the last tab where the value is empty.
        fields.push("");
    }
    let [domain, subdomains, path, secure, expires, name, value] = *fields else {
        return Err(CookieFileError::Fields { line });
    };
    let domain = host_of(domain).ok_or(CookieFileError::Domain { line })?;
    let subdomains = flag(subdomains).ok_or(CookieFileError::Flag { line })?;
    let secure = flag(secure).ok_or(CookieFileError::Flag { line })?;
    if !path.starts_with('/') || path.contains(char::is_control) {
        return Err(CookieFileError::Path { line });
    }
    let expires = expiry(expires).ok_or(CookieFileError::Expiry { line })?;
    let cookie = Cookie {
        name: name.into(),
        value: value.into(),
        reach: if subdomains {
            CookieReach::below(&domain)
        } else {
            CookieReach::Host
        },
        domain,
        path: path.into(),
        secure,
        expires: Some(expires).filter(|&expires| expires > 0),
        created: 0,
        used: 0,
    };
    match (cookie.is_sendable(), cookie.is_small()) {
        (false, _) => Err(CookieFileError::Content { line }),
        (_, false) => Err(CookieFileError::TooLarge { line }),
        (true, true) => Ok(cookie),
    }
}

/// The host of a domain, which some writers begin with a dot.
fn host_of(domain: &str) -> Option<Box<str>> {
    let host = url::Host::parse(domain.strip_prefix('.').unwrap_or(domain)).ok()?;
    Some(host.to_string().into())
}

fn flag(text: &str) -> Option<bool> {
    let is = |known: &str| text.eq_ignore_ascii_case(known);
    is("true")
        .then_some(true)
        .or_else(|| is("false").then_some(false))
}

/// Seconds since 1970. Zero and less mean "as long as the session"; a fraction, which some
/// exporters write, is cut off.
fn expiry(text: &str) -> Option<u64> {
    let whole = text.split('.').next()?;
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_negative = digits.len() < whole.len();
    is_number.then(|| {
        if is_negative {
            0
        } else {
            digits.parse().unwrap_or(u64::MAX)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookies::{CookieContext, CookieJar, MAX_COOKIE_BYTES};

    #[test]
    fn a_cookie_file_is_loaded() {
        let mut jar = CookieJar::default();
        let text = "# Netscape HTTP Cookie File\n\n\
                    .example.com\tTRUE\t/\tFALSE\t0\ta\t1\r\n\
                    #HttpOnly_example.com\tFALSE\t/\tTRUE\t1800000000.5\tb\t2\n\
                    Example.com\tfalse\t/x\tFALSE\t-1\tc\n\
                    .co.uk\tTRUE\t/\tFALSE\t0\td\t4\n\
                    example.com\tFALSE\t/\tFALSE\t1600000000\told\t5\n";
        assert_eq!(jar.load_netscape(text), Ok(5));
        let sent = |url: &str| {
            let (scheme, rest) = url.split_once("://").unwrap();
            let (host, path) = rest.split_at(rest.find('/').unwrap());
            jar.header(
                CookieContext {
                    secure: scheme == "https",
                    host,
                    path,
                },
                1_700_000_000,
            )
        };
        assert_eq!(
            sent("https://example.com/x").as_deref(),
            Some("c=; a=1; b=2")
        );
        assert_eq!(sent("http://www.example.com/").as_deref(), Some("a=1"));
        assert_eq!(sent("http://example.co.uk/"), None);
        assert_eq!(sent("http://co.uk/").as_deref(), Some("d=4"));
    }

    #[test]
    fn a_wrong_cookie_file_is_named_without_its_values() {
        let check = |entry: &str, error: CookieFileError| {
            let mut jar = CookieJar::default();
            let text = format!("example.com\tFALSE\t/\tFALSE\t0\ta\t1\n{entry}\n");
            assert_eq!(jar.load_netscape(&text), Err(error), "{entry:?}");
            assert!(jar.is_empty());
            let message = error.to_string();
            assert!(
                message.contains("line 2") && !message.contains("hunter2"),
                "{message}"
            );
        };
        let line = 2;
        check(
            "a.test FALSE / FALSE 0 a hunter2",
            CookieFileError::Fields { line },
        );
        check(
            "a.test\tTRUE\t/\tTRUE\t0\ta\thunter2\tx",
            CookieFileError::Fields { line },
        );
        check(
            "a b\tTRUE\t/\tTRUE\t0\ta\thunter2",
            CookieFileError::Domain { line },
        );
        check(
            "a.test\tYES\t/\tTRUE\t0\ta\thunter2",
            CookieFileError::Flag { line },
        );
        check(
            "a.test\tTRUE\t/\t1\t0\ta\thunter2",
            CookieFileError::Flag { line },
        );
        check(
            "a.test\tTRUE\tx\tTRUE\t0\ta\thunter2",
            CookieFileError::Path { line },
        );
        check(
            "a.test\tTRUE\t/\tTRUE\tsoon\ta\thunter2",
            CookieFileError::Expiry { line },
        );
        check(
            "a.test\tTRUE\t/\tTRUE\t0\ta\thunter2; b=1",
            CookieFileError::Content { line },
        );
        check(
            "a.test\tTRUE\t/\tTRUE\t0\ta=b\thunter2",
            CookieFileError::Content { line },
        );
        check(
            "a.test\tTRUE\t/\tTRUE\t0\ta\thunter2\u{1b}",
            CookieFileError::Content { line },
        );
        let long = format!(
            "a.test\tTRUE\t/\tTRUE\t0\ta\t{}",
            "x".repeat(MAX_COOKIE_BYTES)
        );
        check(&long, CookieFileError::TooLarge { line });
    }
}
