//! What can happen to a URL. This is data, never an error.
//!
//! Owns the closed lists of skip reasons and failure classes, with what each means for trying
//! again. Every settled URL ends with exactly one [`Outcome`].

use serde::{Deserialize, Serialize};

use crate::url::CrawlUrl;

/// The end of one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered, with whatever status, and the answer was read.
    Fetched,
    /// The server answered with a redirect.
    Redirected(CrawlUrl),
    /// The server said that nothing changed since an earlier crawl.
    Unmodified,
    /// It was not fetched, on purpose.
    Skipped(SkipReason),
    /// It could not be fetched.
    Failed(FailureClass),
}

impl Outcome {
    /// The name used in outputs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fetched => "fetched",
            Self::Redirected(_) => "redirected",
            Self::Unmodified => "unmodified",
            Self::Skipped(_) => "skipped",
            Self::Failed(_) => "failed",
        }
    }
}

/// Makes a fieldless enum whose variants have names, documentation and a complete list.
macro_rules! named {
    ($(#[$meta:meta])* $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal, $about:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum $enum { $(#[doc = $about] #[serde(rename = $name)] $variant,)+ }

        impl $enum {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name used in outputs.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// One sentence for people.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)+ }
            }
        }
    };
}

named! {
    /// Why a URL was not fetched, on purpose.
    SkipReason {
        Robots = "robots", "robots.txt disallows it";
        RobotsUnreachable = "robots-unreachable", "robots.txt could not be read";
        OutOfScope = "out-of-scope", "it lies outside the scope of the crawl";
        Excluded = "excluded", "an --exclude pattern matches";
        NotIncluded = "not-included", "no --include pattern matches";
        Depth = "depth", "it is deeper than --depth";
        Requisite = "requisite", "it is part of a page, not a page (ask with --page-requisites)";
        Nofollow = "nofollow", "the page asks not to follow its links";
        TooLong = "too-long", "the URL is too long";
        RepeatedSegments = "repeated-segments", "the path repeats itself, as crawler traps do";
        RedirectLimit = "redirect-limit", "the chain of redirects is too long";
        ContentType = "content-type", "its type is not among --accept-types";
        PrivateAddress = "private-address", "its address is private (see --allow-private)";
        CrawlDelay = "crawl-delay", "robots.txt asks for a longer delay than is acceptable";
        RetryAfter = "retry-after", "the host asked to come back too late";
        NoSitemap = "no-sitemap", "there is no sitemap at the usual place";
        HostUnreachable = "host-unreachable", "the host could not be reached again and again";
    }
}

named! {
    /// Why a URL could not be fetched.
    FailureClass {
        DnsNotFound = "dns-not-found", "the host name does not exist";
        Dns = "dns", "the host name could not be resolved";
        Connect = "connect", "no connection could be made";
        Tls = "tls", "the secure connection failed";
        Certificate = "certificate", "the server's certificate is not accepted";
        Proxy = "proxy", "the proxy refused or failed";
        Reset = "reset", "the connection ended before an answer came";
        Timeout = "timeout", "the answer took too long";
        TooSlow = "too-slow", "the answer came below the minimum rate";
        Incomplete = "incomplete", "the answer ended in the middle";
        Protocol = "protocol", "the answer is not valid HTTP";
        HeadersTooLarge = "headers-too-large", "the header is too large";
        Decode = "decode", "the content coding is broken or unknown";
        RedirectLoop = "redirect-loop", "its redirects lead back to it";
        Internal = "internal", "a defect of the crawler itself";
    }
}

impl SkipReason {
    /// Its place in [`SkipReason::ALL`], for counts by reason.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}

/// What a failure says about trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same URL may work later.
    Transient,
    /// Trying again is pointless.
    Permanent,
    /// The host as a whole is in trouble: park its lane.
    Host,
}

impl FailureClass {
    /// What the class means for another try.
    pub const fn retry(self) -> Retry {
        match self {
            Self::Dns
            | Self::Connect
            | Self::Tls
            | Self::Certificate
            | Self::Proxy
            | Self::Reset => Retry::Host,
            Self::Timeout | Self::TooSlow | Self::Incomplete => Retry::Transient,
            Self::DnsNotFound
            | Self::Protocol
            | Self::HeadersTooLarge
            | Self::Decode
            | Self::RedirectLoop
            | Self::Internal => Retry::Permanent,
        }
    }
}

/// Whether an HTTP status says "not now" rather than "no".
pub const fn is_retryable_status(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// Whether an HTTP status asks to be left alone for a while (RFC 9110 section 15.6.4, RFC 6585
/// section 4).
pub const fn is_refusal_status(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// Whether an HTTP status with a Location header is a redirect that is followed.
pub const fn is_redirect_status(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn these_statuses_are_followed_and_no_others() {
        let followed: Vec<u16> = (100..600)
            .filter(|status| is_redirect_status(*status))
            .collect();
        assert_eq!(followed, [301, 302, 303, 307, 308]);
        let refusals: Vec<u16> = (100..600)
            .filter(|status| is_refusal_status(*status))
            .collect();
        assert_eq!(refusals, [429, 503]);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = SkipReason::ALL.iter().map(|reason| reason.name()).collect();
        names.extend(FailureClass::ALL.iter().map(|class| class.name()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for (place, reason) in SkipReason::ALL.iter().enumerate() {
            assert_eq!(reason.place(), place);
        }
        for class in FailureClass::ALL {
            assert_eq!(
                serde_json::to_string(class).unwrap(),
                format!("\"{}\"", class.name())
            );
        }
    }
}
