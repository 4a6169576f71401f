//! What the program does, one file a subcommand. A command computes; `terminal` prints, `output` writes.

pub mod profiles;

use std::process::ExitCode;

use crate::cli::{Plan, Request};
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
        Request::Recommend(plan) => recommend(&plan),
        // SEAM: one arm a subcommand, for example
        //     Request::Part(Command::Probe(args)) => part(|out| probe::run(args, out)),
        // with `part` below, which gives each an output that tolerates a closed pipe.
        Request::Part(part) => Err(Failure::new(format!("{part:?}: not part of this build")).hint("hashtune --help")),
    }
}

/// Runs a part that only writes data. Nothing is printed when it fails half-way.
#[allow(dead_code)] // SEAM: used by the first subcommand.
fn part(write: impl FnOnce(&mut Output) -> Result<(), Failure>) -> Result<Outcome, Failure> {
    let mut output = Output::open(None)?;
    write(&mut output)?;
    output.save()?;
    Ok(Outcome::Done)
}

/// SEAM: becomes `recommend.rs`. The order matters: everything that can be refused is refused before anything is measured.
fn recommend(plan: &Plan) -> Result<Outcome, Failure> {
    let _output = Output::open(plan.output.as_deref())?;
    let _profiles = profiles::read(&plan.profiles)?;
    Err(Failure::new("measuring is not part of this build"))
}
