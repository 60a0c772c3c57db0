//! `ctl` for a whole fleet.
//!
//! Owns how an order reaches all workers: it is written down in the database, so that it outlives
//! them, and those that join later hear it, too.

use clewline::{Change, Crawl};
use clewline_postgres::FleetServer;

use super::{connect, named, spec, stuck};
use crate::Failure;
use crate::job::ctl::Order;
use crate::message::shown;
use crate::settings::problem::Problem;

/// Orders something of all workers of a job; what comes of it, in words.
pub(crate) fn order(address: &str, job: Option<&str>, order: &Order) -> Result<String, Failure> {
    let job = named(job)?;
    let mut server = connect(address)?;
    let told = match order {
        Order::Pause => {
            server.pause(job).map_err(stuck)?;
            "paused until `ctl continue`, whoever joins or restarts meanwhile".to_owned()
        }
        Order::Continue => {
            server.go_on(job).map_err(stuck)?;
            "going on".to_owned()
        }
        Order::Stop => {
            server.stop(job, "stopped by hand").map_err(stuck)?;
            "stopping: every worker commits what it has and ends".to_owned()
        }
        Order::Change(Change::MaxPages(Some(pages))) => {
            server.change_pages(job, *pages).map_err(stuck)?;
            format!("max-pages is {pages} for all workers together")
        }
        Order::Change(Change::MaxPages(None)) => {
            let message = "the workers of a job that was made with --max-pages go on counting";
            let hint = "name a larger number; `ctl stop` ends the job early";
            return Err(Failure::Usage(vec![
                Problem::new("ctl", message).with_hint(hint),
            ]));
        }
        Order::Change(change) => {
            let text = change.as_fleet_order();
            server.order(job, &text).map_err(stuck)?;
            format!("{change}, for every worker and those that join later")
        }
        Order::Add(url) => add(&mut server, job, url)?,
        Order::Exclude(_) => {
            let message = "exclude works for a crawl of one machine";
            let hint = "a fleet takes its patterns when the job is made";
            let problem = Problem::new("ctl", message).with_hint(hint);
            return Err(Failure::Usage(vec![problem]));
        }
    };
    Ok(told)
}

fn add(server: &mut FleetServer, name: &str, url: &str) -> Result<String, Failure> {
    let job = server.job(name).map_err(stuck)?;
    let Some(job) = job else {
        return Err(Failure::Stuck(anyhow::anyhow!("there is no job `{name}`")));
    };
    let mut config = spec::read(&job.spec)?;
    config.roots.clear();
    let (order, shard, mail) = Crawl::from_config(config).root(url).root_for_fleet(&job)?;
    // Workers know that it belongs to the crawl before one of them asks for it.
    server.order(name, &order).map_err(stuck)?;
    server.post(name, &[(shard, mail)]).map_err(stuck)?;
    Ok(format!("{} is queued", shown(url)))
}
