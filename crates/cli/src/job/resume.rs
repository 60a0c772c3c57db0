//! The verb `resume`: a crawl goes on with what its folder knows.
//!
//! Owns the laying of flags over the stored configuration. A stored setting reads as if it
//! stood in a file, so that flags win over it by the same rules as over `clewline.toml`; what
//! has no flag is taken over as it is.

use clewline::StoredJob;
use clewline_job::JobStanding;
use clewline_job::config::Config;

use crate::exit::ExitStatus;
use crate::flags::ResumeArguments;
use crate::message::Speaker;
use crate::resolve::{Environment, ResolvedSettings, Talk, resolve};
use crate::settings::SettingMark::NewCrawl;
use crate::settings::all;
use crate::settings::file::FileSettings;
use crate::settings::layer::{Layer, SettingOrigin};
use crate::settings::problem::Problem;
use crate::{Failure, advice, crawl, views};

/// Goes on with a job.
pub(crate) fn resume(arguments: ResumeArguments) -> Result<ExitStatus, Failure> {
    let flags = arguments.settings.0;
    let foreign = all().filter(|setting| setting.is(NewCrawl) && flags.is_given(setting.name));
    let problems: Vec<Problem> = foreign
        .map(|setting| {
            Problem::new(
                flags.place(setting.name),
                "belongs to a new crawl, not to `resume`",
            )
        })
        .collect();
    if !problems.is_empty() {
        return Err(Failure::Usage(problems));
    }
    let job = super::unfinished(arguments.dir)?;
    let resolved = combined(flags, &job).map_err(Failure::Usage)?;
    if job.standing == JobStanding::Finished && !job.has_work_for(&resolved.config) {
        if resolved.options.talk != Talk::Quiet {
            let path = job.path.display();
            let note = if job.withholds {
                format!(
                    "{path} holds a finished crawl: only URLs that look like a trap are left; \
                     `resume --no-trap-detection` fetches them"
                )
            } else {
                format!("{path} holds a finished crawl: nothing is left to do")
            };
            let speaker = Speaker::new(resolved.options.colour);
            speaker.note(&note);
            if let Some(flags) = advice::to_update(&job.path) {
                let again = "to bring it up to date, give the command that made it with";
                speaker.note(&format!("{again} {flags}"));
            }
        }
        // The run that finished the crawl may have been killed before its views were made.
        let output = &resolved.config.output;
        return Ok(views::update(&job.path, output, resolved.options));
    }
    missing(&resolved.config).map_err(Failure::Usage)?;
    crawl::crawl(resolved, None, &arguments.dashboard)
}

/// The stored configuration with the flags over it.
fn combined(flags: Layer, job: &StoredJob) -> Result<ResolvedSettings, Vec<Problem>> {
    let mut resolved = over_stored(flags, &job.config)?;
    resolved.config.output.folder = Some(job.path.clone());
    resolved.config.output.in_memory = job.config.output.in_memory;
    Ok(resolved)
}

/// A configuration that was stored, without its folder, with flags over it.
pub(crate) fn over_stored(flags: Layer, stored: &Config) -> Result<ResolvedSettings, Vec<Problem>> {
    let lower = FileSettings {
        layer: Layer::from_job(stored),
        hosts: Vec::new(),
    };
    let mut resolved = resolve(flags, lower, &Environment::from_process())?;
    let config = &mut resolved.config;
    config.roots.clone_from(&stored.roots);
    config.politeness.hosts.clone_from(&stored.politeness.hosts);
    let fields = &mut config.fetch.host_headers;
    fields.clone_from(&stored.fetch.host_headers);
    if resolved.origins.origin("cookies") != SettingOrigin::Flag {
        config
            .fetch
            .cookie_file
            .clone_from(&stored.fetch.cookie_file);
    }
    for (name, secret) in &stored.fetch.headers {
        let is_given = |(given, _): &(String, _)| given.eq_ignore_ascii_case(name);
        if !config.fetch.headers.iter().any(is_given) {
            config.fetch.headers.push((name.clone(), secret.clone()));
        }
    }
    for (given, kept) in [
        (&mut config.fetch.user, &stored.fetch.user),
        (&mut config.fetch.proxy, &stored.fetch.proxy),
    ] {
        if given.is_none() {
            given.clone_from(kept);
        }
    }
    Ok(resolved)
}

/// Secrets are not kept, and must be given again.
pub(crate) fn missing(config: &Config) -> Result<(), Vec<Problem>> {
    let withheld = config.withheld();
    let problems: Vec<Problem> = withheld
        .iter()
        .map(|one| Problem::new(format!("--{}", one.setting), one.problem.clone()))
        .collect();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}
