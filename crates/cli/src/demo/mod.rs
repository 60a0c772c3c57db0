//! The verb `demo`: a first crawl without a network.
//!
//! Owns what is shown and in which order; each step is a command that a user could type, parsed and
//! run like one. It refuses to know what the site says (`site`). Invariant: the folder goes away
//! with the command unless the user names one.

mod site;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::Failure;
use crate::crawl;
use crate::exit::ExitStatus;
use crate::flags::{self, Verb};
use crate::serve::dashboard::DashboardFlags;
use crate::shell;

pub(crate) const DEMO_HELP: &str = "\
The site is part of the program and listens on 127.0.0.1 while the demo runs; nothing else is
contacted. It has dead links, a redirect loop, a page that fails once and a slow one.";

/// Where the crawl is kept.
#[derive(Args)]
pub(crate) struct DemoArguments {
    /// Keep the job folder here [default: it is removed]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

const NEXT: &str = "
Try next:
  clewline example.com                      crawl a site into example.com.crawl/
  clewline localhost:3000 --fail-on broken  find broken links of your own site
  clewline serve                            replay and search the crawl in a browser
  clewline -h                               the usual flags
";

/// Crawls the built-in site, then searches it and explains one of its faults.
pub(crate) fn demo(arguments: &DemoArguments) -> Result<ExitStatus, Failure> {
    let site = site::start().context("cannot serve the demo site on 127.0.0.1")?;
    let is_kept = arguments.output.is_some();
    // A container may have no folder for temporary files.
    let (folder, temporary) = if let Some(folder) = &arguments.output {
        (folder.clone(), None)
    } else {
        let made = tempfile::tempdir().context("cannot make a folder for the demo")?;
        (made.path().join("demo.crawl"), Some(made))
    };
    say("A small site with faults, served by this process. Nothing else is contacted.\n")?;
    let root = format!("http://{}", site.address());
    let status = crawl(&root, &folder, is_kept)?;
    if status != ExitStatus::Done {
        return Ok(status);
    }
    let page = format!("{root}{}", site::DEAD);
    step(
        "search lamp",
        &["search".as_ref(), folder.as_os_str(), "lamp".as_ref()],
    )?;
    step(
        &format!("why {page}"),
        &["why".as_ref(), folder.as_os_str(), page.as_ref()],
    )?;
    drop(site);
    if is_kept {
        let folder = shell::quoted(&folder.to_string_lossy());
        say(&format!("\nThe crawl is in {folder}.\n"))?;
    }
    say(NEXT)?;
    if let Some(temporary) = temporary {
        temporary
            .close()
            .context("cannot remove the demo's folder")?;
    }
    Ok(ExitStatus::Done)
}

/// The crawl itself. No file of the user's has a say in it, and a folder that goes away is not
/// named in the report.
fn crawl(root: &str, folder: &Path, is_kept: bool) -> Result<ExitStatus, Failure> {
    announce(&format!("{root}/ --page-requisites"))?;
    let words = [
        "crawl",
        root,
        "--no-config",
        "--page-requisites",
        "--noproxy=127.0.0.1",
        "--retry-delay=200ms",
        "--output",
    ];
    let mut words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    words.push(folder.as_os_str());
    let Verb::Crawl(arguments) = parsed(&words)? else {
        return Ok(ExitStatus::Usage);
    };
    let mut resolved = crate::resolved(arguments.settings.0, &arguments.sources)?;
    resolved.options.is_fleeting = !is_kept;
    crawl::crawl(resolved, None, &DashboardFlags::default())
}

/// Runs a command as if the user had typed it.
fn step(shown: &str, words: &[&OsStr]) -> Result<(), Failure> {
    announce(shown)?;
    crate::run(parsed(words)?)?;
    Ok(())
}

fn parsed(words: &[&OsStr]) -> Result<Verb, Failure> {
    let words = [&["clewline".as_ref()], words].concat();
    let cli = flags::parse(words.into_iter().map(OsString::from))?;
    cli.verb
        .context("the demo names every verb")
        .map_err(Failure::from)
}

fn announce(command: &str) -> io::Result<()> {
    say(&format!("\n$ clewline {command}\n"))
}

fn say(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
