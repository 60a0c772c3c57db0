//! The way of a crawl into a fleet.
//!
//! Owns making the job or finding it there, and a new place in it for each process that joins. A
//! configuration that differs from the job's is refused with the difference, and so is what a fleet
//! cannot do. It refuses to know how a member works.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;
use std::time::{Duration, Instant};

use clewline_core::fleet::{Bus as _, BusError, FleetJob, FleetPlace, KnownView};
use clewline_job::config::{Config, RenderUse};
use clewline_postgres::{FleetCreation, FleetServer};

use super::flags::{FleetFlags, JoinArguments};
use super::merge::{upload as upload_to, upload_end};
use super::{spec, stuck};
use crate::exit::ExitStatus;
use crate::job::ENDING;
use crate::job::resume::{missing, over_stored};
use crate::message::{Colour, Speaker, shown};
use crate::resolve::ResolvedSettings;
use crate::serve::dashboard::DashboardFlags;
use crate::settings::layer::Layer;
use crate::settings::problem::Problem;
use crate::settings::quantity;
use crate::{Failure, crawl};

/// Which messages the members of a job understand.
const FORMAT: u32 = 2;
/// Shards of a job, if nobody says otherwise: enough for sixteen machines.
const SHARDS: u32 = 64;
/// After this time without a sign of life a worker counts as dead.
const EXPIRY: Duration = Duration::from_secs(10);
/// A shorter one would not survive a busy machine.
const SHORTEST_EXPIRY: Duration = Duration::from_millis(500);

/// A database that does not answer for longer is not there.
const LONGEST_OUTAGE: Duration = Duration::from_mins(1);
/// How often it is asked again.
const AGAIN: Duration = Duration::from_millis(500);

/// A job to be a member of.
pub(crate) struct FleetDoor {
    server: FleetServer,
    job: FleetJob,
    upload_to: Option<String>,
}

impl FleetDoor {
    /// Makes the job of a crawl, or finds it there with the same configuration.
    pub(crate) fn open(
        flags: &FleetFlags,
        resolved: &ResolvedSettings,
    ) -> Result<Option<Self>, Failure> {
        let (Some(address), Some(name)) = (&flags.fleet, &flags.job) else {
            return match &flags.job {
                Some(_) => Err(usage(
                    "--job",
                    "needs --fleet with the address of a database",
                )),
                None => Ok(None),
            };
        };
        refuse_what_cannot_be_shared(&resolved.config)?;
        let config = &resolved.config;
        let job = FleetJob {
            name: name.clone(),
            format: FORMAT,
            spec: spec::write(config)?,
            seed: random(),
            bits: flags.shards.unwrap_or(SHARDS).next_power_of_two().ilog2(),
            expiry: expiry(flags.lease.as_deref())?,
            pages: config.limits.pages,
        };
        let mut server = patiently(|| FleetServer::connect(address))?;
        let job = match patiently(|| server.create(&job))? {
            FleetCreation::Created => job,
            FleetCreation::There(there) => {
                refuse_other_format(&there)?;
                refuse_differences(&there.name, &there.spec, &job.spec)?;
                there
            }
        };
        Ok(Some(Self {
            server,
            job,
            upload_to: flags.upload_to.clone(),
        }))
    }

    /// A place for one more member, once the database answers.
    pub(crate) fn place(&self) -> Result<FleetPlace, Failure> {
        let mut bus = self.server.bus(&self.job);
        let clock = patiently(|| bus.view(KnownView::default()))?.clock;
        let upload = self.upload_to.clone();
        Ok(FleetPlace {
            job: self.job.clone(),
            bus: Box::new(bus),
            clock,
            upload: upload.map(|to| upload_to(to, &self.job)),
        })
    }

    /// Brings what a worker wrote down at the end of the job to where its results are.
    pub(crate) fn upload_end(&self, folder: &Path) -> anyhow::Result<()> {
        match &self.upload_to {
            Some(to) => upload_end(to, &self.job, folder),
            None => Ok(()),
        }
    }
}

/// Joins a job that is there.
pub(super) fn join(arguments: JoinArguments) -> Result<ExitStatus, Failure> {
    let mut server = patiently(|| FleetServer::connect(&arguments.address))?;
    let job = patiently(|| server.job(&arguments.job))?;
    let Some(job) = job else {
        let problem = format!("there is no job `{}` in this database", arguments.job);
        let hint = "the first worker makes it: clewline URL… --fleet … --job …";
        return Err(Failure::Usage(vec![
            Problem::new("--job", problem).with_hint(hint),
        ]));
    };
    refuse_other_format(&job)?;
    let stored = spec::read(&job.spec)?;
    let flags = arguments.settings.0;
    let is_folder_given = flags.is_given("output");
    let mut resolved = over_stored(flags, &stored).map_err(Failure::Usage)?;
    if !is_folder_given {
        resolved.config.output.folder = Some(format!("{}{ENDING}", job.name).into());
    }
    missing(&resolved.config).map_err(Failure::Usage)?;
    refuse_what_cannot_be_shared(&resolved.config)?;
    // What has no flag reads alike in both.
    let unchanged = over_stored(Layer::default(), &stored).map_err(Failure::Usage)?;
    let [there, here] = [&unchanged, &resolved].map(|resolved| spec::write(&resolved.config));
    refuse_differences(&job.name, &there?, &here?)?;
    let door = FleetDoor {
        server,
        job,
        upload_to: arguments.upload_to,
    };
    crawl::crawl(resolved, Some(&door), &DashboardFlags::default())
}

/// Asks a database, again and again for a while if it does not answer: a worker may start while it
/// restarts or fails over.
fn patiently<T>(mut ask: impl FnMut() -> Result<T, BusError>) -> Result<T, Failure> {
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        match ask() {
            Err(error @ BusError::Away(_)) if begun.elapsed() < LONGEST_OUTAGE => {
                if !std::mem::replace(&mut is_told, true) {
                    let seconds = LONGEST_OUTAGE.as_secs();
                    let note = format!("{error}; trying again for {seconds} s");
                    Speaker::new(Colour::Auto).note(&shown(&note));
                }
                std::thread::sleep(AGAIN);
            }
            other => return other.map_err(stuck),
        }
    }
}

/// Members of a job must understand each other's messages.
fn refuse_other_format(job: &FleetJob) -> Result<(), Failure> {
    if job.format == FORMAT {
        return Ok(());
    }
    let other = format!(
        "is of another version ({}; this command has {FORMAT}): use the command that made it",
        job.format
    );
    Err(usage("--job", &other))
}

fn refuse_differences(name: &str, there: &str, here: &str) -> Result<(), Failure> {
    let differences = spec::differences(there, here)?;
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the job `{name}` is there with another configuration: {}",
        differences.join("; ")
    );
    let hint = "give the same flags, join it with `clewline fleet join`, or choose another name";
    Err(Failure::Usage(vec![
        Problem::new("--job", message).with_hint(hint),
    ]))
}

/// What works only where one process sees the whole crawl.
fn refuse_what_cannot_be_shared(config: &Config) -> Result<(), Failure> {
    let archive = &config.output.archive;
    let refused = [
        (
            config.limits.depth.is_some(),
            "--depth",
            "cannot be used with --fleet: depth is the shortest way from a root, and no worker \
             knows when all others have finished a level; limit the scope or --max-pages instead",
        ),
        (
            config.output.folder.is_none(),
            "--no-output",
            "cannot be used with --fleet: what a worker fetches is merged from its folder",
        ),
        (
            archive.update_from.is_some(),
            "--update-from",
            "cannot be used with --fleet: the earlier crawl is on one machine only",
        ),
        (
            !archive.dedup_from.is_empty(),
            "--dedup-from",
            "cannot be used with --fleet: the earlier crawl is on one machine only",
        ),
        (
            config.render.when != RenderUse::Never,
            "--render",
            "cannot be used with --fleet: a page's parts belong to hosts of other workers, and each \
             worker asks only its own",
        ),
    ];
    match refused.iter().find(|(is_set, _, _)| *is_set) {
        Some((_, flag, why)) => Err(usage(flag, why)),
        None => Ok(()),
    }
}

fn expiry(text: Option<&str>) -> Result<Duration, Failure> {
    let Some(text) = text else {
        return Ok(EXPIRY);
    };
    match quantity::period(text) {
        Some(time) if time >= SHORTEST_EXPIRY => Ok(time),
        Some(_) => Err(usage("--lease", "is too short; the least is 500ms")),
        None => Err(usage("--lease", "is not a time such as 10s")),
    }
}

fn usage(place: &str, message: &str) -> Failure {
    Failure::Usage(vec![Problem::new(place, message.to_owned())])
}

/// The seed of a new job's keys.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rendering_is_refused_with_the_reason() {
        let mut config = Config::default();
        config.output.folder = Some("a.crawl".into());
        assert!(refuse_what_cannot_be_shared(&config).is_ok());
        config.render.when = RenderUse::Auto;
        let Err(Failure::Usage(problems)) = refuse_what_cannot_be_shared(&config) else {
            panic!("--render is not refused");
        };
        assert!(format!("{problems:?}").contains("hosts of other workers"));
    }
}
