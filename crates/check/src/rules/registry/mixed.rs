//! Rules on pages over https that use http, and on weight. It owns their names and texts and refuses
//! to judge. Invariant: a link to an http page is never mixed content.

use super::declare_rules;

declare_rules! {
    ACTIVE = "mixed/active", Warning, "an https page loads a script, style, frame or object over http" {
        why: "Browsers block it, so the page lacks a part.",
        found: "The element refers to an http address, and browsers block elements of its kind (Mixed Content, section 3). Links, canonical and preconnect are no such elements.",
        mend: "Write https, or serve the file yourself.",
        false_alarms: "An element that a script replaces before it loads.",
    }
    PASSIVE = "mixed/passive", Warning, "an https page shows an image, sound or film over http" {
        why: "Browsers ask over https instead or warn; whoever sits between can change it.",
        found: "The element refers to an http address and is of a kind that browsers load all the same.",
        mend: "Write https.",
        false_alarms: "None known.",
    }
    FORM = "mixed/form", Warning, "an https page sends a form over http" {
        why: "What people type goes over the network in the clear, and browsers warn.",
        found: "The action of a form or the formaction of a button is an http address.",
        mend: "Write https.",
        false_alarms: "A form that a script sends elsewhere.",
    }
    UPGRADED = "mixed/upgraded", Notice, "http parts of a page are upgraded by its policy" {
        why: "The policy `upgrade-insecure-requests` repairs them in browsers that know it.",
        found: "The page has that policy, and parts of it have http addresses.",
        mend: "Write https all the same; other readers of the page do not know the policy.",
        false_alarms: "None: nothing is broken.",
    }
    WEIGHT_PAGE = "weight/page", Warning, "a page with its parts is heavy" {
        why: "On a phone it takes long and costs money.",
        found: "The bytes on the wire of the page and of its images, styles, scripts and fonts are more than 3 MB. Needs page requisites in the crawl.",
        mend: "Shrink the images first: they are mostly it.",
        false_alarms: "Lazy images that most readers never load.",
    }
    WEIGHT_IMAGE = "weight/image", Notice, "an image is heavy" {
        why: "It delays the page.",
        found: "Its bytes on the wire are more than 500 KB.",
        mend: "Scale it down, compress it, or use a newer format.",
        false_alarms: "Photographs that are meant to be downloaded.",
    }
    WEIGHT_UNCOMPRESSED = "weight/uncompressed", Warning, "text is sent without compression" {
        why: "It would be a quarter of the size.",
        found: "HTML, CSS, JavaScript, JSON, XML or SVG above 10 KB has no content-encoding. One finding for each host and type.",
        mend: "Switch gzip, brotli or zstd on for these types.",
        false_alarms: "A server that does not compress for robots. Ask it as a browser would.",
    }
    WEIGHT_UNCACHED = "weight/uncached", Notice, "a file with a hash in its name is not cached for a day" {
        why: "The name changes with the content, so browsers could keep it for a year.",
        found: "The name holds a hash, and Cache-Control has no max-age of a day or more. One finding for each host.",
        mend: "Cache-Control: public, max-age=31536000, immutable",
        false_alarms: "A name that only looks like a hash.",
    }
}
