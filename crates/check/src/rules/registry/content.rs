//! Rules on what pages say. It owns their names and texts and refuses to judge. Invariant: none of
//! them is an error by default, since each is a matter of judgement.

use super::declare_rules;

declare_rules! {
    TITLE_MISSING = "title/missing", Warning, "a page has no title" {
        why: "Tabs, bookmarks and search results show its address instead.",
        found: "An indexable page has no title element, or an empty one. Titles of drawings do not count.",
        mend: "Write one that tells this page from the others.",
        false_alarms: "Pages whose title a script sets.",
    }
    TITLE_SEVERAL = "title/several", Warning, "a page has several titles" {
        why: "Only the first counts, and often the wrong one comes first.",
        found: "There are two title elements outside of drawings.",
        mend: "Remove one; often a plugin adds it.",
        false_alarms: "None known.",
    }
    TITLE_DUPLICATE = "title/duplicate", Warning, "several pages have the same title" {
        why: "Nobody can tell them apart in search results and tabs.",
        found: "Indexable pages of one host and language have the same title. Pages of a series and copies with a canonical address elsewhere do not count.",
        mend: "Say in the title what is special about each.",
        false_alarms: "Pages that are one for their readers, such as the parts of a form.",
    }
    TITLE_LENGTH = "title/length", Off, "a title is very short or very long" {
        why: "Search engines cut long ones.",
        found: "It has fewer than 10 or more than 60 characters.",
        mend: "Put what matters first.",
        false_alarms: "Most: the limits are habits, so the rule is off.",
    }
    DESCRIPTION_MISSING = "description/missing", Notice, "a page has no description" {
        why: "Search engines choose some words of the page.",
        found: "An indexable page has no meta description.",
        mend: "Write one or two sentences.",
        false_alarms: "What search engines choose is often as good.",
    }
    DESCRIPTION_DUPLICATE = "description/duplicate", Notice, "several pages have the same description" {
        why: "It says nothing about any of them.",
        found: "Indexable pages of one host and language have the same meta description.",
        mend: "Write one for each, or none.",
        false_alarms: "None known.",
    }
    DESCRIPTION_LENGTH = "description/length", Off, "a description is very short or very long" {
        why: "Search engines cut long ones.",
        found: "It has fewer than 50 or more than 160 characters.",
        mend: "Put what matters first.",
        false_alarms: "Most: the limits are habits, so the rule is off.",
    }
    H1_MISSING = "h1/missing", Warning, "a page has no first-level heading" {
        why: "Readers of screen readers jump to it, and search engines read it as the topic.",
        found: "An indexable page has no h1 element.",
        mend: "Make the headline an h1.",
        false_alarms: "Pages whose heading is an image without a text, or made by a script.",
    }
    H1_SEVERAL = "h1/several", Notice, "a page has several first-level headings" {
        why: "HTML allows it; an outline with one is clearer.",
        found: "There are two h1 elements or more.",
        mend: "Make the others h2.",
        false_alarms: "Pages that join several articles.",
    }
    SOFT_404 = "content/soft-404", Warning, "an error page answers as if it were good" {
        why: "Search engines index it, and link checkers cannot see that pages are gone.",
        found: "Two signs that do not depend on each other: the title or first heading says that there is no page; there are fewer than 500 words; the page looks like what the site answers to a name that cannot exist, and does so with 200. The home page and the error page itself never count, nor a phrase in the text. A site that answers 200 to every name is told once.",
        mend: "Answer 404 or 410.",
        false_alarms: "Applications that answer every address with the same shell. Switch the rule off for them.",
    }
    DUPLICATE = "content/duplicate", Warning, "several pages say the same" {
        why: "They compete in search engines, and somebody mends only one of them.",
        found: "The words of indexable pages are the same, at least 20 of them.",
        mend: "Redirect, or name one as canonical.",
        false_alarms: "Pages that differ only by images.",
    }
    NEAR = "content/near", Notice, "several pages say nearly the same" {
        why: "They may be copies that drifted apart.",
        found: "The SimHash of the words of indexable pages differs in at most 3 of 64 bits, and they have at least 50 words.",
        mend: "Join them, or name one as canonical.",
        false_alarms: "Lists and products that share most of their words.",
    }
    CHARSET = "content/charset", Warning, "the encoding of a page is not clear" {
        why: "Some readers see other letters than were written.",
        found: "The header and the page name different encodings, or neither names one in its first 1,024 bytes.",
        mend: "Send `Content-Type: text/html; charset=utf-8`, and write `<meta charset=utf-8>` first.",
        false_alarms: "Names of one encoding count as the same. Pages of ASCII alone do no harm.",
    }
    MOJIBAKE = "content/mojibake", Warning, "a text was decoded wrongly before it was published" {
        why: "Readers see question marks or strange pairs of letters.",
        found: "The text holds replacement characters, or pairs that arise when UTF-8 is read as Latin-1, at least two of them.",
        mend: "Find the step that reads the text with the wrong encoding.",
        false_alarms: "Pages about encodings.",
    }
    JSON_LD = "data/json-ld", Warning, "structured data is no JSON" {
        why: "Search engines ignore the whole block.",
        found: "A script element of type application/ld+json does not parse.",
        mend: "Mend the JSON; often a comma or a quotation mark is wrong.",
        false_alarms: "Templates that a script fills in.",
    }
}
