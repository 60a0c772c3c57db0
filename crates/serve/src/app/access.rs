//! Who may do what.
//!
//! Owns tokens, the two rights, the cookie that a browser gets for a token, and the check that a
//! change comes from the app's own origin. Refuses to know what is read or changed. Invariants: a
//! token is compared in constant time; after [`MOST_WRONG`] wrong ones in a minute nobody's token is
//! looked at until the minute is over; no page of a foreign site, and no form of an archived page, can
//! change anything.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use clewline_warc::{Algorithm, Hasher};

use super::reply::ApiProblem;
use crate::server::{AnswerBody, ServerAnswer, ServerRequest};

/// Wrong tokens in a minute after which none is looked at.
const MOST_WRONG: u32 = 10;
/// A minute.
const WINDOW: Duration = Duration::from_mins(1);
/// Characters of a token with 128 bits in base64.
const SHORTEST_TOKEN: usize = 22;
/// The longest token.
const LONGEST_TOKEN: usize = 1024;
/// The name of the cookie.
const COOKIE: &str = "clewline";
/// Where a token becomes a cookie.
pub(crate) const SESSION_PATH: &str = "/session";

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Right {
    /// Look.
    Read,
    /// Look, start, steer and delete.
    Operate,
}

/// A secret that gives the right to read, and to operate if the server allows that at all.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

/// Why a text is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("the token cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It is too short, too long, or not of visible characters.
    #[error("a token has {SHORTEST_TOKEN} to {LONGEST_TOKEN} visible ASCII characters")]
    Form,
    /// The system has no random numbers.
    #[error("the system has no random numbers for a token")]
    Random,
}

impl AccessToken {
    /// A token that somebody chose.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_long = (SHORTEST_TOKEN..=LONGEST_TOKEN).contains(&text.len());
        if !is_long || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Form);
        }
        Ok(Self(text.to_owned()))
    }

    /// The token in the first line of a file.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        let text = std::fs::read_to_string(path)?;
        Self::new(text.lines().next().unwrap_or_default())
    }

    /// A random one.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; 18];
        aws_lc_rs::rand::fill(&mut bytes).map_err(|_| TokenError::Random)?;
        let text = clewline_job::escape::base64(&bytes);
        Self::new(&text.replace('+', "-").replace('/', "_"))
    }

    /// The path that gives a browser its cookie.
    pub fn link(&self) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("token", &self.0)
            .finish();
        format!("{SESSION_PATH}?{query}")
    }

    /// What the cookie holds: nobody learns the token from it.
    fn session(&self) -> String {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(b"clewline session\n");
        hasher.update(self.0.as_bytes());
        let digest = clewline_job::escape::base64(hasher.finish().as_bytes());
        digest.replace('+', "-").replace('/', "_").replace('=', "")
    }
}

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("AccessToken(…)")
    }
}

/// The rules of a server.
#[derive(Debug)]
pub(crate) struct Access {
    token: Option<AccessToken>,
    /// Whoever reaches the server may look.
    is_reading_open: bool,
    /// Somebody may change something.
    can_operate: bool,
    wrong: Mutex<Option<(Instant, u32)>>,
}

impl Access {
    pub(crate) const fn new(
        token: Option<AccessToken>,
        is_reading_open: bool,
        can_operate: bool,
    ) -> Self {
        Self {
            token,
            is_reading_open,
            can_operate,
            wrong: Mutex::new(None),
        }
    }

    /// What a request may do, or why it may do nothing.
    pub(crate) fn right_of(&self, request: &ServerRequest) -> Result<Right, ServerAnswer> {
        let full = if self.can_operate {
            Right::Operate
        } else {
            Right::Read
        };
        if let Some(given) = request.field("authorization") {
            let given = given.strip_prefix("Bearer ").unwrap_or_default();
            return match self.check(given.trim()) {
                Ok(()) => Ok(full),
                Err(problem) => Err(problem.answer()),
            };
        }
        if self.has_cookie(request) {
            return Ok(full);
        }
        if self.is_reading_open {
            return Ok(Right::Read);
        }
        Err(ApiProblem::new(401, "this server asks for its token").answer())
    }

    fn check(&self, given: &str) -> Result<(), ApiProblem> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.is_some_and(|(since, _)| since.elapsed() >= WINDOW) {
            *wrong = None;
        }
        let (since, count) = wrong.unwrap_or_else(|| (Instant::now(), 0));
        if count >= MOST_WRONG {
            return Err(ApiProblem::new(429, "too many wrong tokens; wait a minute"));
        }
        let is_right = self
            .token
            .as_ref()
            .is_some_and(|token| is_equal(given, &token.0));
        if is_right {
            return Ok(());
        }
        *wrong = Some((since, count + 1));
        Err(ApiProblem::new(401, "the token is wrong"))
    }

    fn has_cookie(&self, request: &ServerRequest) -> bool {
        let Some(token) = &self.token else {
            return false;
        };
        let session = token.session();
        let cookies = request.fields.get_all("cookie").iter();
        let texts = cookies.filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split(';')).any(|one| {
            let pair = one.trim().split_once('=');
            pair.is_some_and(|(name, value)| name == COOKIE && is_equal(value, &session))
        })
    }

    /// Gives a browser its cookie for a token, in the query or in a form.
    pub(crate) fn session(&self, request: &ServerRequest) -> ServerAnswer {
        let given = match request.method.as_str() {
            "GET" => request.query().as_bytes(),
            "POST" => &request.body[..],
            _ => return ApiProblem::method("GET, POST").answer(),
        };
        let given = url::form_urlencoded::parse(given).find(|(name, _)| name == "token");
        let Some((_, given)) = given else {
            return ApiProblem::new(401, "the token is missing").answer();
        };
        if let Err(problem) = self.check(given.trim()) {
            return problem.answer();
        }
        let session = self
            .token
            .as_ref()
            .map(AccessToken::session)
            .unwrap_or_default();
        let cookie = format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict");
        // A page between the link and the app: a browser that came here from elsewhere keeps a strict
        // cookie back for a redirect, and not for the page that follows.
        let page = "<!doctype html><meta http-equiv=refresh content=\"0; url=/\">\
            <title>Clewline</title><a href=\"/\">Go on</a>\n";
        ServerAnswer::new(200, AnswerBody::Bytes(page.into()))
            .with("Content-Type", "text/html; charset=utf-8")
            .with(
                "Content-Security-Policy",
                "default-src 'none'; frame-ancestors 'none'",
            )
            .with("Set-Cookie", &cookie)
    }
}

/// Both texts are hashed first, so that the time does not even tell a length.
fn is_equal(given: &str, known: &str) -> bool {
    let digest = |text: &str| {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(text.as_bytes());
        hasher.finish()
    };
    let (given, known) = (digest(given), digest(known));
    verify_slices_are_equal(given.as_bytes(), known.as_bytes()).is_ok()
}

/// Refuses a change that a page of another origin may have sent. Browsers tell where a request comes
/// from (Fetch Metadata); programs tell nothing.
pub(super) fn require_own_origin(request: &ServerRequest) -> Result<(), ApiProblem> {
    match request.field("sec-fetch-site") {
        None | Some("same-origin") => Ok(()),
        // Typed in, or from a bookmark: no page sent it, and no such request changes anything.
        Some(_) => Err(ApiProblem::new(403, "the request comes from another site")),
    }
}

/// Refuses a form that no page of the app has sent: browsers say where a form comes from, and nobody
/// else sends one.
pub(super) fn require_own_page(request: &ServerRequest) -> Result<(), ApiProblem> {
    require_own_origin(request)?;
    // The server has compared the origin with its own name.
    let is_told = ["sec-fetch-site", "origin"]
        .iter()
        .any(|name| request.field(name).is_some());
    let why = "a form must come from a page of this server; programs use /api/v1";
    is_told
        .then_some(())
        .ok_or_else(|| ApiProblem::new(403, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdefghijkl";

    fn request(name: &'static str, value: &str) -> ServerRequest {
        let mut request = ServerRequest::default();
        let value = hyper::header::HeaderValue::from_str(value).unwrap();
        request.fields.insert(name, value);
        request
    }

    fn access(is_reading_open: bool) -> Access {
        Access::new(
            Some(AccessToken::new(TOKEN).unwrap()),
            is_reading_open,
            true,
        )
    }

    #[test]
    fn tokens_and_cookies_give_rights() {
        let access = access(false);
        let right = |request: &ServerRequest| access.right_of(request).ok();
        assert_eq!(right(&ServerRequest::default()), None);
        let bearer = request("authorization", &format!("Bearer {TOKEN}"));
        assert_eq!(right(&bearer), Some(Right::Operate));
        let session = AccessToken::new(TOKEN).unwrap().session();
        let cookie = request("cookie", &format!("a=b; clewline={session}"));
        assert_eq!(right(&cookie), Some(Right::Operate));
        let token_as_cookie = request("cookie", &format!("clewline={TOKEN}"));
        assert_eq!(right(&token_as_cookie), None);
        for wrong in [
            "Bearer ",
            TOKEN,
            "Basic 0123456789abcdefghijkl",
            "Bearer 0123",
        ] {
            assert_eq!(right(&request("authorization", wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn after_ten_wrong_tokens_none_is_looked_at() {
        let access = access(true);
        for _ in 0..MOST_WRONG {
            let answer = access.right_of(&request("authorization", "Bearer wrong"));
            assert_eq!(answer.err().map(|answer| answer.status()), Some(401));
        }
        let bearer = request("authorization", &format!("Bearer {TOKEN}"));
        let answer = access.right_of(&bearer);
        assert_eq!(answer.err().map(|answer| answer.status()), Some(429));
        assert_eq!(
            access.right_of(&ServerRequest::default()).ok(),
            Some(Right::Read)
        );
    }

    #[test]
    fn tokens_are_long_and_never_shown() {
        assert!(AccessToken::new("short").is_err());
        assert!(AccessToken::new(&"a b".repeat(10)).is_err());
        let random = AccessToken::random().unwrap();
        assert_ne!(random, AccessToken::random().unwrap());
        assert!(!format!("{random:?}").contains(&random.0));
    }
}
