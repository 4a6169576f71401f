//! `hashtune`: which password-hash setting is the strongest that this machine can really serve?

mod command;
mod failure;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(version)]
enum Part {
    /// List the presets with their sources
    Presets(command::presets::PresetsArgs),
    /// Explain what an attacker gets against a setting or a stored hash
    Strength(command::strength::StrengthArgs),
}

fn main() -> ExitCode {
    let mut out = Vec::new();
    let done = match Part::parse() {
        Part::Presets(args) => command::presets::run(&args, &mut out),
        Part::Strength(args) => command::strength::run(&args, &mut out),
    };
    match done {
        Ok(()) => {
            // A reader that has gone away has what it wanted.
            let _ = io::stdout().write_all(&out);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {}", failure.line);
            if let Some(hint) = failure.hint {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}
