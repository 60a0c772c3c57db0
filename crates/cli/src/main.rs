//! The program `clewline`.
//!
//! Owns what belongs to the process: its allocator, its arguments and its exit code.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(clewline_cli::run_command(std::env::args_os()))
}
