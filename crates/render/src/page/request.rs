//! A request that the browser made and that waits for an answer.
//!
//! Owns what is decoded of it and what is to be done with it. It refuses to know who fetches. Invariant:
//! only GET and HEAD for http and https leave the crate.

use serde_json::Value;

use crate::part::{PartKind, PartRequest};

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PausedRequest {
    pub(super) id: String,
    pub(super) session: Option<String>,
    pub(super) url: String,
    pub(super) method: String,
    pub(super) kind: PartKind,
    frame: String,
    /// Who asks, where the answer depends on it (Fetch standard, "CORS protocol").
    pub(super) origin: Option<String>,
    wishes: Vec<(String, String)>,
    resource: String,
}

/// What is done with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestPlan {
    /// It is the page: it is here already.
    GivePage,
    /// The page wants to leave: its target is noted, and it stays.
    Stay,
    /// A question whether a request would be allowed; the answer is always yes, because no request that
    /// needs the question is sent.
    AllowMethod,
    /// Somebody fetches it.
    Fetch(PartRequest),
    /// Its method is not safe, and the page would use the answer.
    RefuseMethod,
    /// A rendering has no use for it.
    Refuse,
    /// It needs no network.
    Continue,
}

/// What a rendering does with requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestRules<'a> {
    /// The main frame.
    pub(super) frame: &'a str,
    /// Whether the browser has the page.
    pub(super) has_page: bool,
    /// Whether images, fonts and media are seen by somebody.
    pub(super) wants_looks: bool,
}

impl PausedRequest {
    /// Reads the parameters of `Fetch.requestPaused`.
    pub(super) fn read(session: Option<String>, params: &Value) -> Option<Self> {
        let request = &params["request"];
        let resource = params["resourceType"].as_str().unwrap_or_default();
        let headers = request["headers"].as_object();
        let header = |wanted: &str| {
            let found = headers?
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found?.1.as_str().map(str::to_owned)
        };
        let wishes = [
            "Access-Control-Request-Method",
            "Access-Control-Request-Headers",
        ];
        let wishes = wishes.map(|name| Some((name.to_owned(), header(name)?)));
        Some(Self {
            id: params["requestId"].as_str()?.to_owned(),
            session,
            url: request["url"].as_str()?.to_owned(),
            method: request["method"].as_str()?.to_ascii_uppercase(),
            kind: kind(resource),
            frame: params["frameId"].as_str().unwrap_or_default().to_owned(),
            origin: header("Origin"),
            wishes: wishes.into_iter().flatten().collect(),
            resource: resource.to_owned(),
        })
    }

    /// What the browser would like to send, if this asks whether it may.
    pub(super) fn wish(&self, name: &str) -> Option<&str> {
        let wish = self.wishes.iter().find(|(known, _)| known == name);
        wish.map(|(_, value)| value.as_str())
    }

    /// What is done with it.
    pub(super) fn plan(&self, rules: RequestRules<'_>) -> RequestPlan {
        if self.url.starts_with("data:") || self.url.starts_with("blob:") {
            return RequestPlan::Continue;
        }
        if !self.url.starts_with("http://") && !self.url.starts_with("https://") {
            return RequestPlan::Refuse;
        }
        if self.kind == PartKind::Document && self.frame == rules.frame {
            return if rules.has_page {
                RequestPlan::Stay
            } else {
                RequestPlan::GivePage
            };
        }
        if self.method == "OPTIONS" && self.wish("Access-Control-Request-Method").is_some() {
            return RequestPlan::AllowMethod;
        }
        // Nobody on the page reads the answer to these, and an event stream never ends.
        if matches!(
            &*self.resource,
            "Ping" | "CSPViolationReport" | "EventSource"
        ) {
            return RequestPlan::Refuse;
        }
        let is_head = self.method == "HEAD";
        if self.method != "GET" && !is_head {
            return RequestPlan::RefuseMethod;
        }
        let is_look = matches!(
            self.kind,
            PartKind::Image | PartKind::Font | PartKind::Media
        );
        let is_media = self.kind == PartKind::Media;
        if is_media || (is_look && !rules.wants_looks) {
            return RequestPlan::Refuse;
        }
        RequestPlan::Fetch(PartRequest {
            url: self.url.clone(),
            kind: self.kind,
            is_head,
        })
    }

    /// Whether the page wants to leave by a method that is not safe.
    pub(super) fn is_unsafe(&self) -> bool {
        self.method != "GET" && self.method != "HEAD"
    }
}

fn kind(resource: &str) -> PartKind {
    match resource {
        "Document" => PartKind::Document,
        "Stylesheet" => PartKind::Style,
        "Script" => PartKind::Script,
        "XHR" | "Fetch" | "EventSource" => PartKind::Fetch,
        "Image" => PartKind::Image,
        "Font" => PartKind::Font,
        "Media" | "TextTrack" => PartKind::Media,
        _ => PartKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use serde_json::json;

    fn plan(method: &str, url: &str, resource: &str, rules: RequestRules<'_>) -> RequestPlan {
        let headers = match method {
            "OPTIONS" => json!({ "access-control-request-method": "PUT" }),
            _ => json!({}),
        };
        let request = json!({ "url": url, "method": method, "headers": headers });
        let frame = if resource == "Document" { "main" } else { "" };
        let params = json!({
            "requestId": "1", "resourceType": resource, "frameId": frame, "request": request,
        });
        PausedRequest::read(None, &params).unwrap().plan(rules)
    }

    #[test]
    fn every_request_has_a_plan() {
        let first = RequestRules {
            frame: "main",
            has_page: false,
            wants_looks: false,
        };
        let later = RequestRules {
            has_page: true,
            ..first
        };
        let seen = RequestRules {
            wants_looks: true,
            ..later
        };
        let url = "https://a.test/x";
        let fetch = |kind| {
            RequestPlan::Fetch(PartRequest {
                url: url.to_owned(),
                kind,
                is_head: false,
            })
        };
        for (method, url, resource, rules, expected) in [
            ("GET", url, "Document", first, RequestPlan::GivePage),
            ("GET", url, "Document", later, RequestPlan::Stay),
            ("POST", url, "Document", later, RequestPlan::Stay),
            ("GET", url, "Script", later, fetch(PartKind::Script)),
            ("get", url, "XHR", later, fetch(PartKind::Fetch)),
            ("POST", url, "Fetch", later, RequestPlan::RefuseMethod),
            ("DELETE", url, "XHR", later, RequestPlan::RefuseMethod),
            ("POST", url, "Ping", later, RequestPlan::Refuse),
            ("OPTIONS", url, "Preflight", later, RequestPlan::AllowMethod),
            ("GET", url, "Image", later, RequestPlan::Refuse),
            ("GET", url, "Image", seen, fetch(PartKind::Image)),
            ("GET", url, "Media", seen, RequestPlan::Refuse),
            ("GET", url, "EventSource", later, RequestPlan::Refuse),
            (
                "GET",
                "file:///etc/passwd",
                "Fetch",
                later,
                RequestPlan::Refuse,
            ),
            ("GET", "data:,a", "Image", later, RequestPlan::Continue),
        ] {
            assert_eq!(
                plan(method, url, resource, rules),
                expected,
                "{method} {resource}"
            );
        }
    }

    #[test]
    fn what_is_no_request_is_none() {
        for params in [json!(null), json!({}), json!({"requestId": 1}), json!([1])] {
            assert_eq!(PausedRequest::read(None, &params), None, "{params}");
        }
    }
}
