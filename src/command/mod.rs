//! What the program does, one file a subcommand. A command computes; `terminal` prints, `output` writes.

mod bench;
mod machine;
mod odd;
pub mod pages;
pub mod presets;
pub mod probe;
mod recommend;
mod sources;
pub mod strength;
mod tax;

use std::io;
use std::process::ExitCode;

use hashtune::engine;

use crate::cli::{Command, Request};
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal;

/// How a run that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A setting fits, or the part that was asked for is done.
    Done,
    /// It is certain that nothing fits.
    NothingFits,
    /// The measurements do not tell.
    Undecided,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::NothingFits => Self::from(1),
            Outcome::Undecided => Self::from(2),
        }
    }
}

/// Does what was asked.
///
/// # Errors
/// Whatever kept it from an answer.
pub fn run(request: Request) -> Result<Outcome, Failure> {
    match request {
        Request::Show(text) => {
            terminal::show(&text);
            Ok(Outcome::Done)
        }
        Request::Recommend(plan) => recommend::run(&plan),
        Request::Part(Command::Worker) => worker(),
        Request::Part(Command::Probe(args)) => part(|out| probe::run(&args, out)),
        Request::Part(Command::Presets(args)) => part(|out| presets::run(&args, out)),
        Request::Part(Command::Pages(args)) => part(|out| pages::run(&args, out)),
        Request::Part(Command::Bench(args)) => bench::run(&args.plan()?),
        Request::Part(Command::Strength(args)) => part(|out| strength::run(&args, out)),
    }
}

/// Serves the program that started this one, until it closes our input or ends.
fn worker() -> Result<Outcome, Failure> {
    // Without it the end of stdin still ends the worker.
    let _ = engine::worker::die_with_parent();
    let served = engine::worker::serve(io::stdin().lock(), io::stdout().lock());
    served
        .map(|()| Outcome::Done)
        .map_err(|error| Failure::new(error.to_string()))
}

/// Runs a part that only writes data. Nothing is printed when it fails half-way.
fn part(write: impl FnOnce(&mut Output) -> Result<(), Failure>) -> Result<Outcome, Failure> {
    let mut output = Output::open(None)?;
    write(&mut output)?;
    output.save()?;
    Ok(Outcome::Done)
}
