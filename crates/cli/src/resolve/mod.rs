//! Turns what people wrote into the one typed configuration.
//!
//! Owns the combination of flags, file and environment, and the rules between settings.
//! Everything that is wrong is told at once. After this step nobody looks at texts again.

pub(crate) mod folder;
mod roots;
pub(crate) mod wire;

use std::time::SystemTime;

use clewline_job::config::{Config, FetchConfig, Reach};

use self::roots::Roots;
use crate::message::{Colour, LogForm};
use crate::settings::binding::SettingValue;
use crate::settings::file::FileSettings;
use crate::settings::layer::{Layer, SettingOrigin};
use crate::settings::problem::Problem;
use crate::settings::{Effective, all, hosts};
use crate::views;

/// The configuration of a crawl, and how the command is to behave around it.
#[derive(Debug)]
pub(crate) struct ResolvedSettings {
    pub(crate) config: Config,
    pub(crate) options: CommandOptions,
    /// Where each value comes from.
    pub(crate) origins: Layer,
    /// What the first lines tell.
    pub(crate) notes: Vec<String>,
}

/// How the command behaves; the library need not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CommandOptions {
    pub(crate) list: bool,
    pub(crate) format: Format,
    pub(crate) stream: Option<StreamForm>,
    pub(crate) fail_on: Option<FailOn>,
    pub(crate) talk: Talk,
    pub(crate) colour: Colour,
    pub(crate) log_form: LogForm,
    /// Whether the folder goes away when the command ends; nothing leads there then.
    pub(crate) is_fleeting: bool,
}

/// The form of records that are printed while a crawl runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamForm {
    Jsonl,
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
    Failed,
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
    pub(crate) fn from_process() -> Self {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            proxy_variable: PROXY_VARIABLES.into_iter().find(|name| is_set(name)),
            date: folder::date(SystemTime::now()),
        }
    }
}

/// Combines the sources, or says all that is wrong.
pub(crate) fn resolve(
    mut flags: Layer,
    mut file: FileSettings,
    environment: &Environment,
) -> Result<ResolvedSettings, Vec<Problem>> {
    let mut problems = Vec::new();
    flags.tidy(&mut problems);
    file.layer.tidy(&mut problems);
    let mut layer = flags.over(file.layer);

    let mut roots = Roots::new(&layer);
    roots.take(layer.texts("url"));
    for path in layer.texts("input-file") {
        roots.take_file(path);
    }
    problems.append(&mut roots.problems);

    let mut effective = Effective::default();
    effective.config.output.folder = Some(folder::name(&roots.found, &environment.date));
    effective.config.roots = roots.found;
    layer.read(all(), &mut effective, &mut problems);
    let Effective {
        mut config,
        options,
    } = effective;
    cover(&mut config.fetch, &layer);
    rules(&config, options, &layer, &mut problems);
    hosts::read(file.hosts, &mut config, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    if let Some(variable) = environment
        .proxy_variable
        .filter(|_| config.fetch.proxy.is_none())
    {
        // The value is not here: the fetcher asks for it.
        let nothing = SettingValue::Texts(Vec::new());
        layer.insert("proxy", nothing, SettingOrigin::Environment(variable));
    }
    let notes = notes(&config, &layer);
    Ok(ResolvedSettings {
        config,
        options,
        origins: layer,
        notes,
    })
}

/// `--timeout` covers the other times. One that nobody wrote for this run is never the longer
/// one, and whoever names a time for the whole answer means the wait for its beginning, too.
fn cover(fetch: &mut FetchConfig, layer: &Layer) {
    if layer.is_given("timeout") && !layer.is_given("first-byte-timeout") {
        fetch.first_byte_timeout = fetch.timeout;
    }
    for (name, time) in [
        ("connect-timeout", &mut fetch.connect_timeout),
        ("first-byte-timeout", &mut fetch.first_byte_timeout),
    ] {
        if !layer.is_written(name) {
            *time = fetch.timeout.min(*time);
        }
    }
}

/// What holds between settings.
fn rules(config: &Config, options: CommandOptions, layer: &Layer, problems: &mut Vec<Problem>) {
    let mut refuse = |name: &str, message: &str, hint: Option<&str>| {
        let mut problem = Problem::new(layer.place(name), message);
        problem.hint = hint.map(str::to_owned);
        problems.push(problem);
    };
    if options.list && options.format == Format::Json {
        let hint = "urls.jsonl in the job folder has every URL as JSON";
        let message = "is text, which contradicts --format json; keep one";
        refuse("list", message, Some(hint));
    }
    if options.stream.is_some() && (options.list || options.format == Format::Json) {
        let message = "takes stdout for records, which contradicts --list and --format json";
        refuse("stream", message, None);
    }
    let fetch = &config.fetch;
    let agent_tells = fetch
        .user_agent
        .as_ref()
        .is_some_and(|agent| agent.contains(['@', ':']));
    if config.scope.reach == Reach::Any && fetch.contact.is_none() && !agent_tells {
        let message = "`any` leaves your own sites, so their owners must be able to reach you";
        let hint = "add --contact you@example.com, or a URL about your crawler";
        refuse("scope", message, Some(hint));
    }
    if !config.output.archive.write
        && let Some(view) = views::of_bodies(config)
    {
        let message = format!("{view} is made of the archive, which --no-archive leaves out");
        refuse("to", &message, None);
    }
    for (name, time) in [
        ("connect-timeout", fetch.connect_timeout),
        ("first-byte-timeout", fetch.first_byte_timeout),
    ] {
        if time > fetch.timeout {
            refuse(name, "is longer than --timeout, which covers it", None);
        }
    }
}

/// What a user may want to know before the first request.
fn notes(config: &Config, origins: &Layer) -> Vec<String> {
    let mut notes = Vec::new();
    let below = config.roots.iter().find(|root| root.url.path() != "/");
    if let Some(root) = below.filter(|_| origins.origin("scope") == SettingOrigin::Default) {
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
