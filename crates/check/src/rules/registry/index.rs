//! Rules on what search engines may show, and by which address. It owns their names and texts and
//! refuses to judge. Invariant: only a whole site that hides itself is an error.

use super::declare_rules;

declare_rules! {
    NOINDEX_SITEWIDE = "index/noindex-sitewide", Error, "nearly the whole site asks not to be indexed" {
        why: "It is the classic accident of a deployment: the setting of the staging site goes live, and the site vanishes from search engines.",
        found: "At least 80 % of at least 10 pages say noindex, in the head of the answer or in the page.",
        mend: "Remove noindex from the template or from the server's configuration.",
        false_alarms: "A site that is meant to stay hidden. Switch the rule off for it.",
    }
    CONFLICT = "index/conflict", Warning, "a page says two things about its being indexed" {
        why: "Search engines choose one, and not always the one that was meant.",
        found: "The page says noindex and names another page as canonical, or one of header and meta says `index` and the other `noindex`.",
        mend: "Decide: noindex for what nobody should find, canonical for what is a copy.",
        false_alarms: "None known.",
    }
    CANONICAL_SEVERAL = "canonical/several", Warning, "a page names several canonical addresses" {
        why: "Search engines then ignore all of them.",
        found: "The head of the page and the Link fields name addresses that differ.",
        mend: "Keep one.",
        false_alarms: "None known.",
    }
    CANONICAL_OUTSIDE = "canonical/outside-head", Warning, "the canonical link stands outside of the head" {
        why: "Search engines ignore it there.",
        found: "The parser had left the head before the element came; often an element before it ends the head early.",
        mend: "Move it up, before scripts and elements that do not belong into a head.",
        false_alarms: "None known.",
    }
    CANONICAL_MALFORMED = "canonical/malformed", Warning, "the canonical link is no address" {
        why: "Search engines ignore it.",
        found: "The reference does not parse as an http address.",
        mend: "Write the whole address.",
        false_alarms: "None known.",
    }
    CANONICAL_BROKEN = "canonical/broken", Warning, "the canonical address is dead" {
        why: "Search engines are sent to an error page.",
        found: "The verdict on the address is broken.",
        mend: "Name the page itself, or the right one.",
        false_alarms: "As for `links/broken`.",
    }
    CANONICAL_REDIRECT = "canonical/redirect", Warning, "the canonical address redirects" {
        why: "A canonical address should be the last one.",
        found: "The address answers with a redirect.",
        mend: "Name the address at which the redirects end.",
        false_alarms: "None known.",
    }
    CANONICAL_NOINDEX = "canonical/noindex", Warning, "the canonical page asks not to be indexed" {
        why: "Neither page is shown then.",
        found: "The page that is named says noindex.",
        mend: "Remove noindex there, or name another page.",
        false_alarms: "None known.",
    }
    CANONICAL_DENIED = "canonical/denied", Warning, "robots.txt denies the canonical address" {
        why: "Search engines cannot read the page that should be shown.",
        found: "The crawl skipped the address because of robots.txt.",
        mend: "Allow it, or name another page.",
        false_alarms: "A rule for our user agent alone.",
    }
    CANONICAL_CHAIN = "canonical/chain", Warning, "the canonical page names yet another page" {
        why: "Search engines may follow one step, and not two.",
        found: "The page that is named names another one as canonical.",
        mend: "Name the last page everywhere.",
        false_alarms: "None known.",
    }
    CANONICAL_HTTP = "canonical/http", Warning, "an https page names an http address as canonical" {
        why: "It asks search engines to show the unprotected version.",
        found: "The schemes differ.",
        mend: "Write https.",
        false_alarms: "None known.",
    }
    CANONICAL_OTHER_HOST = "canonical/other-host", Notice, "the canonical address is on another host" {
        why: "The page asks not to be shown itself. That is meant for copies, and an accident elsewhere.",
        found: "The hosts differ by more than `www.`, and the other one is not of the site.",
        mend: "Nothing if the page is a copy.",
        false_alarms: "Syndicated articles.",
    }
    CANONICAL_MISSING = "canonical/missing", Notice, "pages name no canonical address" {
        why: "Copies under other parameters compete with the page.",
        found: "An indexable page has no canonical link. Sites with fewer than 20 pages are left alone.",
        mend: "Let every page name itself.",
        false_alarms: "Sites without parameters do not need it.",
    }
    SITEMAP_ENTRY = "sitemap/entry", Warning, "a sitemap lists what search engines cannot show" {
        why: "Search engines trust a sitemap less the more of it is wrong.",
        found: "An entry is broken, redirects, says noindex, is denied by robots.txt, names another page as canonical, or is on another host.",
        mend: "List final, good, indexable addresses only.",
        false_alarms: "Entries on another host are fine if its robots.txt names the sitemap.",
    }
    SITEMAP_FILE = "sitemap/file", Warning, "a sitemap cannot be used" {
        why: "Search engines ignore it.",
        found: "A sitemap that robots.txt or an index names does not answer well, cannot be read, lists nothing, has more than 50,000 addresses or more than 50 MB.",
        mend: "Correct the address, or split the file.",
        false_alarms: "An empty sitemap of a section that has no pages yet.",
    }
    ORPHAN = "graph/orphan", Warning, "no page links to a page of a sitemap or feed" {
        why: "Readers cannot reach it, and search engines take it for unimportant.",
        found: "A sitemap or feed lists the page, and no page that was read links to it, also not over a redirect. Only if the crawl came to its end and every page could be read.",
        mend: "Link to it, or take it out of the sitemap.",
        false_alarms: "Pages that only scripts or a search form link to; landing pages of campaigns.",
    }
    BLOCKS_PART = "robots/blocks-part", Warning, "robots.txt denies a file that pages need" {
        why: "Search engines render pages, and see this one without its style, script or image.",
        found: "The crawl skipped the file because of robots.txt.",
        mend: "Allow the folder of styles, scripts and images.",
        false_alarms: "Counters and trackers that nobody needs to see.",
    }
    HREFLANG_CODE = "hreflang/code", Warning, "a hreflang is no language" {
        why: "Search engines ignore the entry.",
        found: "The value is neither x-default nor a language of ISO 639, with a script and a region of ISO 3166 at most. `en-UK` is wrong, `en-GB` is right.",
        mend: "Correct the code.",
        false_alarms: "Rare languages with private codes.",
    }
    HREFLANG_RETURN = "hreflang/return", Warning, "a translation does not name the page in return" {
        why: "Search engines ignore a translation that only one side names.",
        found: "The page names a page of the site as its translation, and that page does not name it. Header fields and elements are one set.",
        mend: "Put the same list on all translations.",
        false_alarms: "Lists that stand in sitemaps only on one side.",
    }
    HREFLANG_TARGET = "hreflang/target", Warning, "a translation cannot be shown" {
        why: "Search engines ignore the entry.",
        found: "The address is broken, redirects, says noindex, or names another page as canonical.",
        mend: "Name the final address.",
        false_alarms: "None known.",
    }
    HREFLANG_SEVERAL = "hreflang/several", Warning, "a page names two translations for one language" {
        why: "Search engines cannot choose.",
        found: "The same code stands with two addresses.",
        mend: "Keep one, or use codes with regions.",
        false_alarms: "None known.",
    }
    HREFLANG_SELF = "hreflang/self", Notice, "a page with translations does not name itself" {
        why: "Google asks for it; others do without.",
        found: "The page names translations, and its own address is not among them.",
        mend: "Put the page itself into the list.",
        false_alarms: "None known.",
    }
    HREFLANG_DEFAULT = "hreflang/x-default", Notice, "translations have no default" {
        why: "Speakers of other languages get any of them.",
        found: "The list has two languages or more and no x-default.",
        mend: "Name a page for everybody else.",
        false_alarms: "It is optional.",
    }
}
