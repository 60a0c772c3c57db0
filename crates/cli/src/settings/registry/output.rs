//! What a crawl leaves behind, and what the command says meanwhile.

use clewline_job::config::{ArchiveConfig, Compression};

use super::LARGEST_NUMBER;
use crate::message::{Colour, LogForm};
use crate::resolve::{FailOn, Format, StreamForm, Talk, folder};
use crate::settings::Effective;
use crate::settings::SettingMark::{NewCrawl, NotInInspect, OneRun, Usual, UsualInInspect};
use crate::settings::binding::Binding;
use crate::views;

const COMPRESSIONS: &[(&str, Compression)] = &[
    ("fast", Compression::Fast),
    ("balanced", Compression::Balanced),
    ("small", Compression::Small),
    ("zstd", Compression::Zstd),
];
const FORMATS: &[(&str, Format)] = &[("text", Format::Text), ("json", Format::Json)];
const STREAMS: &[(&str, StreamForm)] = &[("jsonl", StreamForm::Jsonl)];
const LOG_FORMS: &[(&str, LogForm)] = &[("text", LogForm::Text), ("json", LogForm::Json)];
const FAIL_ON: &[(&str, FailOn)] = &[
    ("broken", FailOn::Broken),
    ("failed", FailOn::Failed),
    ("any", FailOn::Any),
];
/// What `failed` was called before there was `check`, where an error is a finding.
const FAIL_ON_ONCE: &[(&str, FailOn)] = &[("error", FailOn::Failed)];
const COLOURS: &[(&str, Colour)] = &[
    ("auto", Colour::Auto),
    ("always", Colour::Always),
    ("never", Colour::Never),
];
/// Less than this is not enough to work with.
const LEAST_MEMORY: u64 = 16 * 1024 * 1024;

settings! { pub(super) OUTPUT for Effective:
    /// The job folder
    "output" "DIR" => one(config.output.folder, folder::named)
        .short('o').contradicts("no-output").marked(&[Usual, NewCrawl]);
    /// Replace an existing job folder
    "overwrite" => switch(config.output.overwrite).marked(&[Usual, NewCrawl]);
    /// Write nothing to disk
    "no-output" => with(no_output).marked(&[Usual, NewCrawl]);
    /// Keep the state in memory only; the crawl cannot be resumed
    "in-memory" => switch(config.output.in_memory).marked(&[NewCrawl]);
    /// Continue an unfinished crawl with a changed scope
    "rescope" => switch(config.output.rescope).marked(&[OneRun]);
    /// Repair a damaged job from its archive, then continue
    "repair" => switch(config.output.repair).marked(&[OneRun]);
    /// Memory to use for active hosts, responses and caches
    "memory" "SIZE" => size(config.output.memory.0, LEAST_MEMORY..=LARGEST_NUMBER);
    /// Pause while less disk space than this is free
    "min-free" "SIZE" => size(config.output.min_free.0, 0..=LARGEST_NUMBER);
    /// Do not write a WARC archive
    "no-archive" => switch_off(config.output.archive.write).marked(&[Usual]);
    /// How to compress the archive: gzip at three levels, or zstd (much smaller, fewer tools read
    /// it)
    "warc-compression" "HOW" => choice(config.output.archive.compression, COMPRESSIONS);
    /// Same as --warc-compression zstd
    "warc-zstd" => elsewhere(Switch).stands_for("warc-compression", "zstd");
    /// Start a new WARC file at this size
    "warc-size" "SIZE" => size(config.output.archive.file_size, 1..=ArchiveConfig::LARGEST_FILE);
    /// Store cookies, passwords and --header values in the archive
    "archive-secrets" => switch(config.output.archive.keep_secrets);
    /// Only fetch what changed since the crawl in this folder
    "update-from" "DIR" => one(config.output.archive.update_from, folder::earlier)
        .marked(&[Usual]);
    /// Do not store what the crawl in this folder already stored
    "dedup-from" "DIR" => list(config.output.archive.dedup_from, folder::earlier);
    /// Export when the crawl ends, `markdown,parquet,index`; the index grows during the crawl
    "to" "FORMS" => items(config.output.views, views::named).marked(&[Usual]);
    /// Extract items with the rules in this file, for jsonl and parquet
    "rules" "FILE" => one(config.output.rules, views::rules_file);
    /// Print one line per URL at the end
    "list" => switch(options.list).marked(&[Usual, OneRun]);
    /// How to print the report
    "format" "FORMAT" => choice(options.format, FORMATS).marked(&[Usual, OneRun]);
    /// Print the record of each URL when it is done, as in urls.jsonl, and no report
    "stream" "FORM" => choice(options.stream, STREAMS).unset("nothing").marked(&[Usual, OneRun]);
    /// Exit with 1 if links are broken, requests failed, or either (any)
    "fail-on" "WHAT" => choice_also(options.fail_on, FAIL_ON, FAIL_ON_ONCE).unset("nothing").marked(&[Usual, OneRun]);
}

settings! { pub(super) MESSAGES for Effective:
    /// Hide progress and notes; keep the report and errors
    "quiet" => with(quiet)
        .short('q').contradicts("verbose").marked(&[Usual, NotInInspect, OneRun]);
    /// Print each URL when it is done; -vv adds details
    "verbose" => with(verbose)
        .short('v').marked(&[Usual, UsualInInspect, OneRun]);
    /// When to use colour; auto obeys `NO_COLOR`
    "color" "WHEN" => choice(options.colour, COLOURS).marked(&[OneRun]);
    /// How to write messages to stderr; json is one object per line
    "log-format" "FORM" => choice(options.log_form, LOG_FORMS).marked(&[OneRun]);
}

fn no_output(bind: &mut Binding<'_>, to: &mut Effective) {
    let folder = &mut to.config.output.folder;
    let mut is_none = folder.is_none();
    bind.switch(&mut is_none);
    folder.take_if(|_| is_none);
}

fn quiet(bind: &mut Binding<'_>, to: &mut Effective) {
    let mut is_quiet = to.options.talk == Talk::Quiet;
    bind.switch(&mut is_quiet);
    if is_quiet {
        to.options.talk = Talk::Quiet;
    }
}

fn verbose(bind: &mut Binding<'_>, to: &mut Effective) {
    let mut level = match to.options.talk {
        Talk::Verbose(level) => level,
        Talk::Quiet | Talk::Normal => 0,
    };
    bind.level(&mut level);
    if level > 0 {
        to.options.talk = Talk::Verbose(level);
    }
}
