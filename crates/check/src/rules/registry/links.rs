//! Rules on links and what they lead to. It owns their names and texts and refuses to judge.
//! Invariant: what is an error here is proven by an answer.

use super::declare_rules;

declare_rules! {
    BROKEN = "links/broken", Error, "a page links to an address of the site that is dead" {
        why: "Whoever follows the link sees an error page, and search engines lose their way there.",
        found: "The crawl asked for the address by GET and got 404, 410 or another answer that says there is nothing. Links, frames, feeds and entries of sitemaps count; links in comments do not.",
        mend: "Correct the address, remove the link, or redirect the old address to where its content is now.",
        false_alarms: "An address that answers only to a browser or to people who are logged in. Give its status a verdict in `accept`, for example \"404:ok\", or ignore the target.",
    }
    BROKEN_PART = "links/broken-part", Error, "a page needs a file that is dead" {
        why: "The page shows without its image, style, script, font or sound, and may not work at all.",
        found: "An image, a candidate of srcset, a style sheet, a script, a font, a media file, an icon, a manifest or a url() of a style leads to an answer that says there is nothing. `preconnect` and `dns-prefetch` name no file and are not asked.",
        mend: "Put the file back, or correct the address.",
        false_alarms: "A file that the page never loads, in a style that applies to nothing. It is still worth removing.",
    }
    BROKEN_EXTERNAL = "links/broken-external", Error, "a page links to an address of another site that is dead" {
        why: "Readers end at an error, and think that the page is as old as its links.",
        found: "GET was asked twice, minutes apart, and both answers say so: 404, 410, a host name that does not exist, a closed port, or a certificate for another name. HEAD is never believed, and 401, 403, 429, 451 and 503 never count.",
        mend: "Link to where the content is now, to an archived copy, or remove the link.",
        false_alarms: "A site that answers 404 to whom it takes for a robot. Open the link in a browser; if it works there, give the status a verdict in `accept` or ignore the target.",
    }
    BLOCKED = "links/blocked", Warning, "a page links to an address of the site that refuses visitors" {
        why: "Visitors may be refused as the crawler was, with 401 or 403.",
        found: "The address answered 401, 402 with a price, 403, 407, 429 or 451, or with a page that keeps robots out. What robots.txt of the site denies is meant so and makes no finding.",
        mend: "Check that visitors may go there, or do not link to it in public.",
        false_alarms: "A members' area. Ignore its addresses.",
    }
    BLOCKED_EXTERNAL = "links/blocked-external", Notice, "another site refuses to be checked" {
        why: "Nobody knows whether the link works. It usually does.",
        found: "The answer was 401, 403, 407, 429, 451 or 999, a challenge of a wall against robots, or robots.txt denies the address.",
        mend: "Nothing. Look at it by hand once in a while.",
        false_alarms: "None: it says only that nobody could look.",
    }
    UNSURE = "links/unsure", Warning, "nobody can say yet whether a link works" {
        why: "The address failed in a way that may pass: a time-out, a reset, a fault of the server, trouble with TLS.",
        found: "All tries of this run failed, or a page answers 200 and its title says that there is none. After three runs that span three days a failure counts as broken.",
        mend: "Wait for the next run. If it goes on, treat it as a dead link.",
        false_alarms: "A slow host, or one that is down for an hour. That is why this is no error.",
    }
    FRAGMENT = "links/fragment", Error, "a link names a part of a page of the site that is not there" {
        why: "The browser shows the top of the page, and readers search for what was promised.",
        found: "The target is HTML and no element has the id, nor an anchor the name. It is compared as written and percent-decoded, and case counts. Empty fragments, `top`, text fragments, routes of scripts (`#!`, `#/`) and lines of sources (`#L12`) always hold.",
        mend: "Correct the fragment, or give the heading that id.",
        false_alarms: "An id that a script makes. On pages made mostly of scripts `links/fragment-unsure` says so instead.",
    }
    FRAGMENT_EXTERNAL = "links/fragment-external", Notice, "a link names a part of a foreign page that is not there" {
        why: "The browser shows the top of the page.",
        found: "The page was read to its end or to 512 KiB and has no such id. Pages made mostly of scripts are left out.",
        mend: "Open the page and copy the address of the part anew.",
        false_alarms: "Ids that scripts make.",
    }
    FRAGMENT_UNSURE = "links/fragment-unsure", Notice, "a link names a part of a page that scripts may make" {
        why: "The part may be there once the scripts have run; the archive cannot tell.",
        found: "The id is not in the HTML, and the target is mostly script.",
        mend: "Open the link in a browser.",
        false_alarms: "Most of them are fine.",
    }
    EMPTY_ROOT = "links/empty-root", Error, "the page that the check begins with is empty without JavaScript" {
        why: "Nothing can be checked: there is no link to follow. Search engines and readers without scripts see an empty page, too.",
        found: "A root has a script, hardly any text outside of scripts, styles and `noscript`, and no link, and no browser rendered it.",
        mend: "Render the page on the server or when the site is built. To check it as it is, check the built files, or crawl with --render.",
        false_alarms: "A page that is meant to be a single screen.",
    }
    REDIRECT = "links/redirect", Warning, "a link of the site leads to a permanent redirect" {
        why: "Every click costs another request, and the redirect may be removed one day.",
        found: "The address answers 301 or 308. Where only a slash, https or www differs, one finding stands for all links of that pattern.",
        mend: "Write the address at which the redirects end.",
        false_alarms: "Short addresses that are meant to redirect. Ignore them by target.",
    }
    REDIRECT_TEMPORARY = "links/redirect-temporary", Notice, "a link of the site leads to a temporary redirect" {
        why: "It is often meant: to a login, to a language, to the latest version.",
        found: "The address answers 302, 303 or 307.",
        mend: "Nothing if it is meant; a permanent redirect if the address moved for good.",
        false_alarms: "Most are meant.",
    }
    REDIRECT_LOOP = "links/redirect-loop", Error, "a link leads into redirects that never end" {
        why: "Browsers give up with an error.",
        found: "The redirects come back to an address that was there before, or there are more than 20.",
        mend: "Find the two rules that send to each other, often slash and no slash, or http and https.",
        false_alarms: "A page that redirects until a cookie is set. Look at it in a private window.",
    }
    REDIRECT_TO_BROKEN = "links/redirect-to-broken", Error, "a link of the site is redirected to a dead end" {
        why: "The redirect hides that the page is gone.",
        found: "The address redirects, and what the redirects end at is broken.",
        mend: "Correct the target of the redirect.",
        false_alarms: "As for `links/broken`.",
    }
    REDIRECT_CHAIN = "links/redirect-chain", Warning, "a link of the site passes two redirects or more" {
        why: "Each hop takes a round trip; search engines follow only a few.",
        found: "Two redirects or more stand between the link and a good page.",
        mend: "Link to the end, and let the first redirect lead there.",
        false_alarms: "None known.",
    }
    MALFORMED = "links/malformed", Error, "a link is no address" {
        why: "Browsers do nothing, or go where nobody meant.",
        found: "The reference does not parse, has a blank in its host, one slash behind `http:`, or is a `mailto:` without an address. `href=\"#\"` and an empty reference are fine.",
        mend: "Write the address out; the finding shows what stands there.",
        false_alarms: "A template's placeholder that a script fills in. Mark the element with `data-clewline-ignore`.",
    }
    JAVASCRIPT = "links/javascript", Notice, "a link is a script" {
        why: "It cannot be opened in another tab, nor be followed by search engines.",
        found: "The href of an anchor begins with `javascript:`.",
        mend: "Use a button, or a link with an address and a script beside it.",
        false_alarms: "`javascript:void(0)` in old widgets does no harm beyond that.",
    }
    PRIVATE = "links/private", Error, "a public page links to a private address" {
        why: "Nobody outside can open it, and it shows how the site is built.",
        found: "The host is localhost, a private address, a `.local` or `.internal` name or the staging host of the site, or the scheme is `file:`. Sites that are private themselves are not judged.",
        mend: "Link to the public address.",
        false_alarms: "Instructions that mean the reader's own machine, `http://localhost:8080`. Write them as code, or ignore the target.",
    }
    SERVER_ERROR = "http/server-error", Error, "a page of the site answers with a fault of the server" {
        why: "Nobody can read the page.",
        found: "After all tries the answer is still 500 or above.",
        mend: "Look into the log of the server at that time.",
        false_alarms: "An outage during the crawl. Run the check again.",
    }
    NOT_HTTPS = "http/not-https", Warning, "the site answers over plain http instead of sending to https" {
        why: "Whoever types the name without https is not protected, and both versions compete in search engines.",
        found: "The root over http answers with a page, and the site is on https.",
        mend: "Redirect every http address permanently to https.",
        false_alarms: "A host that only old devices ask over http.",
    }
    SLOW = "speed/slow", Notice, "the first byte of a page comes late" {
        why: "Readers wait for it before anything else can happen.",
        found: "It took more than 3 s, or more than 1 s and five times the site's median, at the first try. It was measured once.",
        mend: "Cache the page, or find what it waits for.",
        false_alarms: "A busy moment. Compare with the next run.",
    }
}
