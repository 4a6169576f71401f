//! `hashtune`: which password-hash setting is the strongest that this machine can really serve?

mod cli;
mod command;
mod failure;
mod interrupt;
mod output;
mod terminal;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = interrupt::install()
        .and_then(|()| cli::parse(env::args_os()))
        .and_then(command::run);
    match done {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            terminal::failure(&failure);
            ExitCode::from(2)
        }
    }
}
