//! `terrarium serve --site`: one generated site, or one web in trouble, to be crawled by hand.
//!
//! Owns the names of such sites, what to type to crawl them, and the figures at the end.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use terrarium::traps::{Density, Family, LookAlike, Resemblance, TrapSite};
use terrarium::trouble::{HOST, Order, Strain, Trouble};
use terrarium::{LiveWeb, Log, Web};

use crate::flags::ServeArguments;
use crate::live;

/// A site that can be named.
#[derive(Clone)]
pub(crate) enum Place {
    Trap(Arc<TrapSite>, Family),
    Alike(Arc<LookAlike>),
    Trouble(Trouble),
}

/// Reads `traps:FAMILY[:DENSITY[:SEED]]`, `alike:KIND[:SEED]` or `trouble:KIND[:NUMBER…]`.
pub(crate) fn place(text: &str) -> Result<Place, String> {
    let (kind, rest) = text.split_once(':').ok_or_else(grammar)?;
    let mut parts = rest.split(':');
    let name = parts.next().unwrap_or_default();
    let seed = |text: Option<&str>| text.unwrap_or("1").parse::<u64>();
    match kind {
        "traps" => {
            let family = name.parse::<Family>().map_err(|error| told(&error))?;
            let density = parts.next().unwrap_or("dense").parse::<Density>()?;
            let seed = seed(parts.next()).map_err(|_| "a seed is a number".to_owned())?;
            Ok(Place::Trap(TrapSite::new(family, density, seed), family))
        }
        "alike" => {
            let kind = name.parse::<Resemblance>().map_err(|error| told(&error))?;
            let seed = seed(parts.next()).map_err(|_| "a seed is a number".to_owned())?;
            Ok(Place::Alike(LookAlike::new(kind, seed)))
        }
        "trouble" => rest.parse().map(Place::Trouble),
        _ => Err(grammar()),
    }
}

fn told(error: &str) -> String {
    format!("{error}; {}", grammar())
}

/// What can be typed.
fn grammar() -> String {
    let families: Vec<&str> = Family::ALL.iter().map(|family| family.name()).collect();
    let kinds: Vec<&str> = Resemblance::ALL.iter().map(|kind| kind.name()).collect();
    format!(
        "write traps:FAMILY[:sparse|:dense[:SEED]] with {}; alike:KIND[:SEED] with {}; \
         or trouble:KIND with {}",
        families.join(", "),
        kinds.join(", "),
        Trouble::grammar()
    )
}

impl Place {
    fn start(&self) -> io::Result<LiveWeb> {
        let web = match self {
            Self::Trap(site, _) => site.mount(Web::new()),
            Self::Alike(site) => site.mount(Web::new()),
            Self::Trouble(trouble) => trouble.mount(Web::new()),
        };
        web.try_start()
    }

    /// Flags that go with the site.
    fn flags(&self) -> String {
        match self {
            Self::Trap(site, Family::WildcardHosts | Family::MirroredHosts) => {
                format!("--scope domain -n {}", 5 * site.real_pages().len())
            }
            Self::Trap(site, _) => format!("-n {}", 5 * site.real_pages().len()),
            Self::Trouble(Trouble::Passing { .. }) => "--rate 60/s".to_owned(),
            Self::Trouble(Trouble::Silent { .. } | Trouble::Dripping { .. }) => {
                "--scope any --contact you@example.org".to_owned()
            }
            Self::Trouble(Trouble::SilentRoot { .. }) => "--depth 1".to_owned(),
            Self::Alike(_) | Self::Trouble(_) => String::new(),
        }
    }

    fn roots(&self, web: &LiveWeb) -> Vec<String> {
        match self {
            Self::Trap(site, _) => vec![web.url(site.name(), "/")],
            Self::Alike(site) => vec![web.url(site.name(), "/")],
            Self::Trouble(trouble) => {
                let roots = trouble.roots().into_iter();
                roots
                    .map(|(host, target)| web.url(&host, &target))
                    .collect()
            }
        }
    }

    /// What was found, or borne.
    fn figures(&self, log: &Log) -> String {
        let found = match self {
            Self::Trap(site, _) => site.found(log, usize::MAX),
            Self::Alike(site) => site.found(log, usize::MAX),
            Self::Trouble(trouble) => return borne(trouble, log),
        };
        format!(
            "{} of {} real pages ({:.1} %) with {} requests",
            found.pages,
            found.real,
            found.share(),
            found.requests
        )
    }
}

fn borne(trouble: &Trouble, log: &Log) -> String {
    let order = Order::from_log(trouble, log);
    let strain = Strain::from_log(log, HOST);
    let mut text = format!(
        "{} of {} good pages, the last with request {} of {}; {} tries again",
        order.good,
        trouble.good().len(),
        order.last_good,
        order.requests,
        order.retries,
    );
    if strain.refused() > 0 {
        let (refused, all) = (strain.refused(), strain.requests());
        let share = 100.0 * refused as f64 / all as f64;
        let _ = write!(
            text,
            "\n{refused} of {all} requests refused ({share:.1} %), {} of them after a refusal; \
             at most {} in a second",
            strain.pressed(),
            strain.greatest_rate()
        );
    }
    if let Some((begin, end)) = trouble.spell(log) {
        let _ = match strain.return_after(begin, end) {
            Some(time) => write!(text, "\nfull speed {time:.1?} after the trouble"),
            None => write!(text, "\nfull speed never came back"),
        };
    }
    text
}

pub(crate) fn run(arguments: &ServeArguments, place: &Place) -> io::Result<ExitCode> {
    let web = place.start()?;
    let mut out = io::stdout().lock();
    let (dns, flags) = (web.dns_addr(), place.flags());
    let roots = place.roots(&web).join(" ");
    writeln!(
        out,
        "Type:\n  clewline --dns {dns} --allow-private 127.0.0.0/8 {flags} {roots}"
    )?;
    out.flush()?;
    let mut asked = 0;
    live::watch(arguments, || {
        let log = web.log();
        let fresh = log.len() - std::mem::replace(&mut asked, log.len());
        let busy = log.iter().filter(|hit| hit.done_at.is_none()).count();
        format!("{fresh:8} requests/s {busy:6} in flight {asked:9} requests in all ")
    })?;
    writeln!(out, "{}", place.figures(&web.log()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_named() {
        for text in [
            "traps:calendar",
            "traps:facets:sparse:3",
            "traps:soft-404:dense",
            "alike:git",
            "alike:forum:2",
            "trouble:busy:5:429",
        ] {
            assert!(place(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "calendar",
            "traps:",
            "traps:calendar:thick",
            "alike:x",
            "alike:git:a",
        ] {
            assert!(place(text).is_err(), "{text}");
        }
    }
}
