//! The verb `mcp`: the door for assistants.
//!
//! Owns the flags and which settings hold for all calls. It refuses to know the protocol and the
//! tools; the crate `clewline-mcp` does. Invariant: standard output belongs to the protocol, unless
//! the block for a client is printed.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clewline_core::address::Cidr;
use clewline_mcp::{AssistantDoor, DoorSettings, client_block, serve};

use crate::exit::ExitStatus;
use crate::flags::SettingSources;
use crate::settings::layer::Layer;
use crate::settings::show;
use crate::{Failure, resolved, write_out};

pub(crate) const MCP_HELP: &str = "\
Speaks the Model Context Protocol on standard input and output; a client starts it.
--print-config prints the block to paste into the client's settings.

Pages are fetched as a crawl would: robots.txt, pace, no private addresses. Settings such as
contact, rate and timeout come from clewline.toml. `crawl` makes new jobs in DIR; it never
changes or removes one.

Exit codes: 0 the client left; 2 usage; 3 the client does not speak the protocol.";

/// What is shown to an assistant.
#[derive(Args)]
pub(crate) struct McpArguments {
    /// The folder of a crawl, or a folder of them
    #[arg(value_name = "DIR", default_value = ".")]
    place: PathBuf,
    /// Let calls reach private addresses, such as those of this machine
    #[arg(long)]
    allow_private: bool,
    /// Print what to paste into the settings of a client, and end
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    sources: SettingSources,
}

/// Serves until the client leaves.
pub(crate) fn mcp(arguments: &McpArguments) -> Result<ExitStatus, Failure> {
    if arguments.print_config {
        return print_block(arguments);
    }
    let resolved = resolved(Layer::default(), &arguments.sources)?;
    if arguments.sources.show_config {
        return write_out(&show::show(&resolved));
    }
    let mut config = resolved.config;
    config.scope.foreign_roots = !arguments.allow_private;
    config.fetch.allow_private = if arguments.allow_private {
        Cidr::ALL.to_vec()
    } else {
        Vec::new()
    };
    let settings = DoorSettings {
        place: arguments.place.clone(),
        config,
    };
    serve(&Arc::new(AssistantDoor::new(settings)))?;
    Ok(ExitStatus::Done)
}

fn print_block(arguments: &McpArguments) -> Result<ExitStatus, Failure> {
    let command = std::env::current_exe()?;
    let place = std::path::absolute(&arguments.place)?;
    let mut words = vec![place.to_string_lossy().into_owned()];
    if arguments.allow_private {
        words.push("--allow-private".to_owned());
    }
    write_out(&client_block(&command, &words))
}
