//! Where a crawl begins, how far it goes and what it may spend.

use std::time::Duration;

use clewline_job::config::Reach;

use super::{BUDGETS, SHORTEST_TIMEOUT};
use crate::resolve::wire;
use crate::settings::Effective;
use crate::settings::SettingMark::{NotInInspect, OneRun, Positional, Usual};
use crate::settings::binding::Binding;

const REACHES: &[(&str, Reach)] = &[
    ("page", Reach::Page),
    ("path", Reach::Path),
    ("host", Reach::Host),
    ("domain", Reach::Domain),
    ("any", Reach::Any),
];
const LONGEST_CRAWL: Duration = Duration::from_hours(24 * 3660);
/// Longer URLs cannot be represented.
const LONGEST_URL: usize = 64 * 1024 - 1;

settings! { pub(super) ROOTS for Effective:
    /// Where to start; without a scheme, https is tried first, then http
    "url" "URL" => roots(config.roots)
        .completed_by("input-file").marked(&[Usual, OneRun, Positional]);
    /// Read more roots from a file, one per line; `#` starts a comment, `-` is standard input
    "input-file" "FILE" => elsewhere(Texts).short('i').marked(&[Usual]);
}

settings! { pub(super) SCOPE for Effective:
    /// How far to follow links from the roots
    "scope" "REACH" => choice(config.scope.reach, REACHES).marked(&[Usual]);
    /// Stay at or below the roots' folders (same as `--scope path`)
    "no-parent" => elsewhere(Switch)
        .stands_for("scope", "path").marked(&[Usual]);
    /// Include the roots' whole domains (same as `--scope domain`)
    "lenient" => elsewhere(Switch).stands_for("scope", "domain");
    /// Stay on the roots' hosts (same as `--scope host`)
    "strict" => elsewhere(Switch).stands_for("scope", "host");
    /// Only follow URLs that match this regular expression; repeatable
    "include" "REGEX" => list(config.scope.include, wire::pattern)
        .alias("accept-regex").marked(&[Usual]);
    /// Skip URLs that match this regular expression; repeatable
    "exclude" "REGEX" => list(config.scope.exclude, wire::pattern)
        .alias("reject-regex").marked(&[Usual]);
    /// Maximum number of links away from a root; 0 fetches only the roots
    "depth" "N" => count(config.limits.depth, 0..=u32::MAX - 1)
        .short('d').alias("level").default("unlimited").marked(&[Usual, NotInInspect]);
    /// Also fetch images, styles, scripts and fonts
    "page-requisites" => switch(config.scope.page_requisites).short('p').marked(&[Usual]);
    /// With --page-requisites, skip images that scripts load later (such as `data-src`)
    "no-lazy-images" => switch_off(config.extract.lazy_images);
    /// Try URL-like strings in scripts and JSON of the site, after all other links
    "script-links" => switch(config.extract.script_links);
    /// Media types to download completely, `text/*,application/pdf`
    "accept-types" "TYPES" => items(config.scope.accept_types, wire::media_type).default("all");
    /// Ignore these query parameters, `utm_*,sid`
    "drop-params" "NAMES" => items(config.scope.drop_params, wire::parameter);
    /// Do not read sitemaps
    "no-sitemaps" => switch_off(config.scope.sitemaps).marked(&[NotInInspect]);
    /// Follow links marked nofollow
    "follow-nofollow" => switch(config.scope.follow_nofollow);
    /// Ignore robots.txt; only for your own sites
    "ignore-robots" => switch_off(config.scope.robots);
    /// Also fetch URLs that look like an endless trap
    "no-trap-detection" => switch_off(config.scope.traps);
}

settings! { pub(super) BUDGET for Effective:
    /// Stop after this many pages; images and other parts do not count
    "max-pages" "N" => with(max_pages).short('n').default("unlimited").marked(&[Usual]);
    /// Maximum number of pages per host
    "max-pages-per-host" "N" => count(config.limits.pages_per_host, BUDGETS).default("unlimited");
    /// Stop after this much network traffic, `500M`
    "max-bytes" "SIZE" => size(config.limits.bytes, BUDGETS).alias("quota").default("unlimited");
    /// Stop after this time, `1h30m`
    "max-time" "TIME" => period(config.limits.time, SHORTEST_TIMEOUT..=LONGEST_CRAWL)
        .default("unlimited").marked(&[Usual]);
    /// Maximum number of links to take from a page
    "max-links" "N" => count(config.extract.max_links, 1..=10_000_000);
    /// Skip URLs longer than this many bytes
    "max-url" "SIZE" => size(config.limits.url_length, 16..=LONGEST_URL);
    /// Skip URLs in which a path segment occurs more often than this
    "max-repeats" "N" => count(config.limits.repeated_segments, 1..=1000);
    /// Give up a host after this many failures in a row
    "max-host-failures" "N" => count(config.limits.host_failures, 1..=1_000_000);
}

fn max_pages(bind: &mut Binding<'_>, to: &mut Effective) {
    bind.count(&mut to.config.limits.pages, BUDGETS);
    bind.hint("p", "wget's -np is --no-parent here");
}
