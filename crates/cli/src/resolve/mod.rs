//! Turns what people wrote into the one typed configuration.
//!
//! Owns the combination of flags, file and environment, the ranges of values and the rules
//! between settings. Everything that is wrong is told at once. After this step nobody looks at
//! texts again.

pub(crate) mod folder;
mod hosts;
mod parts;
mod read;
mod roots;
pub(crate) mod show;
mod wire;

use std::time::SystemTime;

use clewline::config::{ArchiveConfig, Compression, Config, Memory, MinFree, OutputConfig, Reach};

use self::read::{Reader, items, written};
use self::roots::Roots;
use crate::message::Colour;
use crate::settings::file::FileSettings;
use crate::settings::layer::{Layer, Origin};
use crate::settings::problem::Problem;
use crate::settings::{ConsoleSettings, OutputSettings, Settings};
use crate::views;

/// Sizes and counts end here: neither file systems nor the job folder can count further.
pub(crate) const LARGEST_NUMBER: u64 = i64::MAX as u64;

/// Less than this is not enough to work with.
const LEAST_MEMORY: u64 = 16 * 1024 * 1024;

/// The configuration of a crawl, and how the command is to behave around it.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) config: Config,
    pub(crate) options: Options,
    /// Where each value comes from.
    pub(crate) origins: Layer,
    /// What the first lines tell.
    pub(crate) notes: Vec<String>,
}

/// How the command behaves; the library need not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    pub(crate) list: bool,
    pub(crate) format: Format,
    pub(crate) fail_on: Option<FailOn>,
    pub(crate) talk: Talk,
    pub(crate) colour: Colour,
}

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

/// What makes a finished crawl exit with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailOn {
    /// A link that leads nowhere.
    Broken,
    /// A request that failed.
    Error,
    /// Either.
    Any,
}

/// How much the command says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Talk {
    Quiet,
    #[default]
    Normal,
    /// Every URL; from 2 on with details.
    Verbose(u8),
}

/// What resolving needs from outside.
pub(crate) struct Environment {
    /// The variable that names a proxy, if one does; its value is the fetcher's business.
    pub(crate) proxy_variable: Option<&'static str>,
    /// Today, for the name of a job folder.
    pub(crate) date: String,
}

/// In the order in which they are asked for.
const PROXY_VARIABLES: [&str; 6] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
];

impl Environment {
    pub(crate) fn of_process() -> Self {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            proxy_variable: PROXY_VARIABLES.into_iter().find(|name| is_set(name)),
            date: folder::date(SystemTime::now()),
        }
    }
}

const COMPRESSIONS: [(&str, Compression); 4] = [
    ("fast", Compression::Fast),
    ("balanced", Compression::Balanced),
    ("small", Compression::Small),
    ("zstd", Compression::Zstd),
];
const FORMATS: [(&str, Format); 2] = [("text", Format::Text), ("json", Format::Json)];
const FAIL_ON: [(&str, FailOn); 3] = [
    ("broken", FailOn::Broken),
    ("error", FailOn::Error),
    ("any", FailOn::Any),
];
const COLOURS: [(&str, Colour); 3] = [
    ("auto", Colour::Auto),
    ("always", Colour::Always),
    ("never", Colour::Never),
];

/// Combines the sources, or says all that is wrong.
pub(crate) fn resolve(
    flags: &Settings,
    file: FileSettings,
    environment: &Environment,
) -> Result<Resolved, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut layer = Layer::of_flags(flags);
    layer.tidy(&mut problems);
    let mut lower = file.layer;
    lower.tidy(&mut problems);
    let mut origins = layer.over(lower);
    let settings: Settings = origins.read();
    if let Some(variable) = environment
        .proxy_variable
        .filter(|_| settings.network.proxy.is_none())
    {
        origins.insert(
            "proxy",
            serde_json::Value::Null,
            Origin::Environment(variable),
        );
    }

    let mut roots = Roots::new(&origins);
    roots.take(&settings.input.url);
    settings
        .input
        .input_file
        .iter()
        .for_each(|path| roots.take_file(path));
    problems.append(&mut roots.problems);

    let mut reader = Reader::new(&origins);
    let mut config = Config {
        roots: roots.found,
        scope: parts::scope(&mut reader, &settings),
        politeness: parts::politeness(&mut reader, &settings),
        limits: parts::limits(&mut reader, &settings),
        fetch: parts::fetch(&mut reader, &settings),
        extract: parts::extract(&mut reader, &settings),
        output: OutputConfig::default(),
    };
    config.output = output(&mut reader, &settings.output, &config, &environment.date);
    let options = options(&mut reader, &settings.output, &settings.console);
    rules(&mut reader, &config, options);
    problems.append(&mut reader.into_problems());
    let hosts = hosts::read(&file.hosts, &mut problems);
    config.politeness.hosts = hosts.overrides;
    config.fetch.host_headers = hosts.headers;
    if !problems.is_empty() {
        return Err(problems);
    }
    let notes = notes(&config, &origins);
    Ok(Resolved {
        config,
        options,
        origins,
        notes,
    })
}

fn output(
    reader: &mut Reader<'_>,
    settings: &OutputSettings,
    config: &Config,
    date: &str,
) -> OutputConfig {
    let named = reader.one(written("output", settings.output.as_ref()), folder::named);
    let folder = || named.unwrap_or_else(|| folder::name(&config.roots, date));
    let memory = written("memory", settings.memory.as_ref());
    let min_free = written("min-free", settings.min_free.as_ref());
    let compression = written("warc-compression", settings.warc_compression.as_ref());
    let warc_size = written("warc-size", settings.warc_size.as_ref());
    let update_from = written("update-from", settings.update_from.as_ref());
    let update_from = reader.one(update_from, folder::earlier);
    let dedup_from = settings.dedup_from.iter().map(String::as_str);
    let dedup_from = reader.each("dedup-from", dedup_from, folder::earlier);
    let views = reader.each("to", items(&settings.to), views::named);
    let rules = written("rules", settings.rules.as_ref());
    let archive = ArchiveConfig::default();
    OutputConfig {
        folder: (!settings.no_output).then(folder),
        overwrite: settings.overwrite,
        in_memory: settings.in_memory,
        rescope: settings.rescope,
        repair: settings.repair,
        memory: reader
            .size(memory, &(LEAST_MEMORY..=LARGEST_NUMBER))
            .map_or_else(Memory::default, Memory),
        min_free: reader
            .size(min_free, &(0..=LARGEST_NUMBER))
            .map_or_else(MinFree::default, MinFree),
        archive: ArchiveConfig {
            write: !settings.no_archive,
            compression: reader
                .choice(compression, &COMPRESSIONS)
                .unwrap_or_default(),
            file_size: reader
                .size(warc_size, &(1..=ArchiveConfig::LARGEST_FILE))
                .unwrap_or(archive.file_size),
            keep_secrets: settings.archive_secrets,
            update_from,
            dedup_from,
        },
        views,
        rules: reader.one(rules, views::rules_file),
    }
}

fn options(reader: &mut Reader<'_>, output: &OutputSettings, console: &ConsoleSettings) -> Options {
    let format = reader.choice(written("format", output.format.as_ref()), &FORMATS);
    let colour = reader.choice(written("color", console.color.as_ref()), &COLOURS);
    Options {
        list: output.list,
        format: format.unwrap_or_default(),
        fail_on: reader.choice(written("fail-on", output.fail_on.as_ref()), &FAIL_ON),
        talk: match console.verbose {
            _ if console.quiet => Talk::Quiet,
            0 => Talk::Normal,
            more => Talk::Verbose(more),
        },
        colour: colour.unwrap_or_default(),
    }
}

/// What holds between settings.
fn rules(reader: &mut Reader<'_>, config: &Config, options: Options) {
    if options.list && options.format == Format::Json {
        reader.refuse("list", "is text, which contradicts --format json; keep one");
        reader.hint("urls.jsonl in the job folder has every URL as JSON");
    }
    let fetch = &config.fetch;
    let agent_tells = fetch
        .user_agent
        .as_ref()
        .is_some_and(|agent| agent.contains(['@', ':']));
    if config.scope.reach == Reach::Any && fetch.contact.is_none() && !agent_tells {
        let message = "`any` leaves your own sites, so their owners must be able to reach you";
        reader.refuse("scope", message);
        reader.hint("add --contact you@example.com, or a URL about your crawler");
    }
    if !config.output.archive.write
        && let Some(view) = views::of_bodies(config)
    {
        let message = format!("{view} is made of the archive, which --no-archive leaves out");
        reader.refuse("to", message);
    }
    for (setting, time) in [
        ("connect-timeout", fetch.connect_timeout),
        ("first-byte-timeout", fetch.first_byte_timeout),
    ] {
        if time > fetch.timeout {
            reader.refuse(setting, "is longer than --timeout, which covers it");
        }
    }
}

/// What a user may want to know before the first request.
fn notes(config: &Config, origins: &Layer) -> Vec<String> {
    let mut notes = Vec::new();
    let below = config.roots.iter().find(|root| root.url.path() != "/");
    if let Some(root) = below.filter(|_| origins.origin("scope") == Origin::Default) {
        let path = root.url.path();
        let folder = &path[..=path.rfind('/').unwrap_or(0)];
        if folder != "/" {
            notes.push(format!(
                "crawling all of {}; to stay below {folder} add --no-parent",
                root.url.authority()
            ));
        }
    }
    if !config.scope.robots {
        notes.push("robots.txt is ignored (--ignore-robots); only for your own sites".to_owned());
    }
    if config.fetch.insecure {
        notes.push("certificates are not checked (--insecure)".to_owned());
    }
    if config.output.archive.keep_secrets && config.output.archive.write {
        let note = "the archive keeps cookies and passwords (--archive-secrets); do not share it";
        notes.push(note.to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
