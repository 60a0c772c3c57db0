//! Rules on what a whole host does: header fields and cookies. It owns their names and texts and
//! refuses to judge. Invariant: values of cookies are never shown.

use super::declare_rules;

declare_rules! {
    HSTS = "header/hsts", Warning, "an https host does not insist on https" {
        why: "The first request of a visitor may go out in the clear, and somebody may take it over.",
        found: "Strict-Transport-Security is missing on pages, or lasts less than 31 days. One finding for each host; addresses without a name are left out.",
        mend: "Strict-Transport-Security: max-age=31536000",
        false_alarms: "Domains that browsers have on their built-in list do not need the field.",
    }
    CSP = "header/csp", Notice, "pages have no policy against foreign scripts" {
        why: "A script that slips into a page can do anything.",
        found: "Content-Security-Policy is missing on HTML pages, or allows every script. One finding for each host.",
        mend: "Start with Content-Security-Policy-Report-Only, then enforce it.",
        false_alarms: "Policies in meta elements are seen only in part.",
    }
    COOKIE_SECURE = "cookie/secure", Warning, "a cookie of an https page is also sent over http" {
        why: "Whoever listens to one plain request has it.",
        found: "The cookie has no attribute Secure. One finding for each name and host; cookies that are being deleted do not count.",
        mend: "Add Secure.",
        false_alarms: "Cookies that hold nothing worth hiding.",
    }
    COOKIE_SAMESITE = "cookie/samesite", Warning, "a cookie for foreign pages is not secure" {
        why: "Browsers refuse it.",
        found: "The cookie has SameSite=None and not Secure.",
        mend: "Add Secure.",
        false_alarms: "None known.",
    }
    COOKIE_HTTPONLY = "cookie/httponly", Notice, "scripts can read a login cookie" {
        why: "A foreign script in the page can take over the session.",
        found: "The name says that it is a session or a token, and HttpOnly is missing. Tokens against forged requests are left out, since scripts must read them.",
        mend: "Add HttpOnly.",
        false_alarms: "Names that only look like it.",
    }
    COOKIE_PREFIX = "cookie/prefix", Warning, "a cookie breaks the promise of its name" {
        why: "Browsers refuse it.",
        found: "`__Host-` asks for Secure, Path=/ and no Domain, and `__Secure-` for Secure.",
        mend: "Add what is missing.",
        false_alarms: "None known.",
    }
}
