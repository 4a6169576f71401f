//! Parses, runs, and turns the outcome into an exit code.

mod command;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use command::probe::{self, ProbeArgs, ProbeError};

#[derive(Parser)]
enum Cli {
    /// Show what this process may use, and which file decides it
    Probe(ProbeArgs),
}

fn main() -> ExitCode {
    let Cli::Probe(args) = Cli::parse();
    match probe::run(&args, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ProbeError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
